//! `heist doctor`: what heist sees of the machine and its own settings, and what follows.
//!
//! Every fact comes either from [`Host`], what the standard library and the
//! kernel answer when asked, or from a [`Tree`], the files in which Linux
//! describes itself. Both are arguments, so that the tests describe machines
//! that nobody has at hand.

mod cgroup;
mod cpu_list;
mod environment;
mod host;
mod report;
mod text;
mod topology;
mod tree;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use environment::Environment;
use host::Host;
use report::Report;
use tree::Tree;

/// Say what heist sees of this machine and of its own settings, and what follows.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print one JSON document instead of the text.
    #[arg(long)]
    json: bool,
}

/// Prints the report of this machine; the exit code is 1 if no pool can start with
/// the present settings.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let environment = Environment::new(std::env::vars_os());
    let host = Host::ask(environment.asked_workers());
    let report = Report::new(host, Tree::new(Path::new("/")), environment);
    if args.json {
        let json = serde_json::to_string_pretty(&report).context("could not write JSON")?;
        writeln!(out, "{json}")?;
    } else {
        text::write(&report, out)?;
    }
    Ok(ExitCode::from(u8::from(report.has_trouble())))
}
