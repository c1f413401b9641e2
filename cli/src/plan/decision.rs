//! A decision of the planner as text.

use std::io::{self, Write};

use heist_cluster::planner::Decision;
use heist_run::terminal::harmless;

/// Prints what should be done, and then every reason, a line each. Names in them come from
/// elsewhere and do nothing to a terminal.
pub(super) fn write(decision: &Decision, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "decision\n  {}",
        harmless(&decision.outcome.to_string())
    )?;
    if !decision.reasons.is_empty() {
        writeln!(out, "\nreasons")?;
    }
    for reason in &decision.reasons {
        writeln!(out, "  {}", harmless(&reason.to_string()))?;
    }
    Ok(())
}
