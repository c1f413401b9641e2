//! Every operation at its smallest, in an interpreter that sees undefined behaviour: Miri.
//!
//! A sanitizer sees accesses to memory that is not there, and races; the interpreter also sees
//! references that are used when others have taken their place, values that their types do not
//! have, and threads and memory that are left at the end. It is hundreds of times slower.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::build;
use crate::steps::Runner;

/// The schedules, and the rules for references.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// The number of schedules, each from a seed of its own: 0, 1, and so on.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Check references by the newer rules (Tree Borrows), and not by the stricter ones (Stacked
    /// Borrows).
    #[arg(long)]
    trees: bool,
}

/// Runs the tests, and returns whether nothing was found.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn run(root: &Path, args: Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    add(&mut runner, args)?;
    Ok(runner.finish()?)
}

/// Adds the run for which the gate has time.
///
/// # Errors
///
/// As [`run`].
pub fn add_step<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let (seeds, trees) = (1, false);
    add(runner, Args { seeds, trees })
}

fn add<W: Write>(runner: &mut Runner<'_, W>, args: Args) -> anyhow::Result<()> {
    if let Err(reason) = prepare() {
        return Ok(runner.skip("miri", &reason)?);
    }
    let borrows = if args.trees {
        " -Zmiri-tree-borrows"
    } else {
        ""
    };
    for seed in 0..args.seeds {
        let mut command = nightly();
        command
            .args("miri test --package heist --features futures --test smallest".split(' '))
            .arg("--target-dir")
            .arg(build::target_folder(&runner.root(), "miri"))
            .env("MIRIFLAGS", format!("-Zmiri-seed={seed}{borrows}"));
        runner.command(&format!("miri {seed}"), &mut command)?;
    }
    Ok(())
}

fn nightly() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]);
    command
}

/// Builds the standard library for it, if that was not done before.
fn prepare() -> Result<(), String> {
    let output = nightly().args(["miri", "setup"]).output();
    let output = output.map_err(|error| format!("could not start rustup: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.starts_with("error"));
    let why = first.unwrap_or("`cargo miri setup` failed");
    Err(format!(
        "{why}; `rustup component add miri rust-src --toolchain nightly` adds what it needs"
    ))
}
