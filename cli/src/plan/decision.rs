//! A decision of the planner as text.

use std::io::{self, Write};

use heist_cluster::planner::Decision;
use heist_run::terminal::{harmless, room, wrapped};

/// Prints what should be done, and then every reason, a line each where there is room for it. Names
/// in them come from elsewhere and do nothing to a terminal.
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
        let lines = wrapped(&harmless(&reason.to_string()), room().saturating_sub(4));
        writeln!(out, "  {}", lines.join("\n    "))?;
    }
    Ok(())
}
