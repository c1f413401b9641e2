//! Every operation at its smallest, in an interpreter that sees undefined behaviour: Miri.
//!
//! A sanitizer sees accesses to memory that is not there, and races; the interpreter also sees
//! references that are used when others have taken their place, values that their types do not
//! have, and threads and memory that are left at the end. It is some thousand times slower.

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
    for seed in 0..args.seeds {
        add(&mut runner, seed, args.trees)?;
    }
    Ok(runner.finish()?)
}

/// Adds the run for which the gate has time.
///
/// # Errors
///
/// As [`run`].
pub fn add_step<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    add(runner, 0, false)
}

fn add<W: Write>(runner: &mut Runner<'_, W>, seed: u32, trees: bool) -> anyhow::Result<()> {
    let name = format!("miri {seed}");
    if let Err(reason) = prepare() {
        return Ok(runner.skip(&name, &reason)?);
    }
    let mut flags = format!("-Zmiri-seed={seed}");
    if trees {
        flags.push_str(" -Zmiri-tree-borrows");
    }
    let mut command = nightly();
    command
        .args("miri test --package heist --features futures --test smallest".split(' '))
        .arg("--target-dir")
        .arg(build::target_folder(&runner.root(), "miri"))
        .env("MIRIFLAGS", flags);
    Ok(runner.command(&name, &mut command)?)
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
