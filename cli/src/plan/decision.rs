//! A decision of the planner as text.

use std::io::{self, Write};

use heist_cluster::planner::Decision;

/// Prints what should be done, and then every reason, a line each.
pub(super) fn write(decision: &Decision, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "decision\n  {}", decision.outcome)?;
    if !decision.reasons.is_empty() {
        writeln!(out, "\nreasons")?;
    }
    for reason in &decision.reasons {
        writeln!(out, "  {reason}")?;
    }
    Ok(())
}
