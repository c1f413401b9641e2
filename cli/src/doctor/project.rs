//! `heist doctor --manifest`: whether what a project does with rayon really runs on heist.
//!
//! Cargo only warns of a patch that it does not use, and the program then runs
//! on rayon's own core. [`evidence`] collects what cargo knows of the project,
//! [`finding`] judges it, and both leave the project as it is.

mod evidence;
mod finding;
mod text;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use self::evidence::Evidence;
use self::finding::Finding;

/// Prints the finding on the project at `path`; the exit code is 1 if it does
/// not run on heist.
pub(super) fn run(path: &Path, json: bool, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let finding = Finding::new(&Evidence::collect(path)?);
    if json {
        let json = serde_json::to_string_pretty(&finding).context("could not write JSON")?;
        writeln!(out, "{json}")?;
    } else {
        text::write(&finding, out)?;
    }
    Ok(ExitCode::from(u8::from(!finding.verdict.is_on_heist())))
}
