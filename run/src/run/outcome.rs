//! The end of a comparison: the parts of the input that were left out, and the exit code.

use std::io::Write as _;
use std::process::ExitCode;

use super::comparison::Comparison;
use crate::strategy::Strategy;
use crate::terminal::harmless;
use crate::workload::Skipped;

/// The most skipped parts of the input that are listed one by one.
const SKIPPED_LISTED: usize = 10;

/// The exit code, if every strategy gave the serial result.
pub(super) fn check_results(comparisons: &[Comparison]) -> anyhow::Result<ExitCode> {
    for comparison in comparisons {
        let wrong: Vec<_> = comparison.wrong().map(Strategy::as_str).collect();
        match wrong[..] {
            [] => {}
            ["serial", ..] => anyhow::bail!(
                "{}: the serial strategy itself gave two results, so the input changed during the \
                 run; run again",
                comparison.workload
            ),
            _ => anyhow::bail!(
                "{}: {} gave another result than serial (if the input changed meanwhile, run again)",
                comparison.workload,
                wrong.join(" and ")
            ),
        }
    }
    let all_used = comparisons.iter().all(|it| it.skipped.is_empty());
    Ok(if all_used {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Tells on stderr which parts of the input were not used.
pub(super) fn list_skipped(skipped: &[Skipped]) -> std::io::Result<()> {
    if skipped.is_empty() {
        return Ok(());
    }
    let mut err = std::io::stderr().lock();
    for Skipped { what, reason } in skipped.iter().take(SKIPPED_LISTED) {
        writeln!(err, "{}", harmless(&format!("skipped {what}: {reason}")))?;
    }
    let more = skipped.len().saturating_sub(SKIPPED_LISTED);
    if more > 0 {
        writeln!(err, "... and {more} more")?;
    }
    let plural = if skipped.len() == 1 {
        "part of the input was"
    } else {
        "parts of the input were"
    };
    writeln!(err, "{} {plural} skipped", skipped.len())
}
