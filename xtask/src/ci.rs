//! Everything that a change must pass, cheapest first.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use crate::fuzz;
use crate::model;
use crate::mutate;
use crate::sanitize;
use crate::soak;
use crate::steps::{Outcome, Runner};
use crate::targets;
use crate::tidy;

/// Steps besides the usual.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Add what takes minutes: the sanitizers, a short soak, the fuzzer, rayon's tests on the
    /// stand-in and on our iterators, Ray and Slurm on three nodes, the benchmark's own checks,
    /// the instructions of a join.
    #[arg(long)]
    slow: bool,
}

/// Runs the steps, and returns whether all passed.
///
/// # Errors
///
/// Fails if a step cannot be set up or the report cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    runner.command("fmt", &mut cargo(&["fmt", "--all", "--check"]))?;
    runner.step("tidy", |out| tidy_step(root, out))?;
    runner.command(
        "clippy",
        &mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    runner.command(
        "rustdoc",
        cargo(&["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    runner.command("coverage", &mut cargo(&["lab", "coverage", "--check"]))?;
    targets::add_steps(&mut runner)?;
    runner.command("test", &mut cargo(&["test", "--workspace"]))?;
    runner.command(
        "test release",
        &mut cargo(&["test", "--release", "-p", "heist-core", "-p", "heist"]),
    )?;
    model::add_steps(&mut runner)?;
    mutate::add_step(&mut runner)?;
    if args.slow {
        sanitize::add_steps(&mut runner)?;
        soak::add_steps(&mut runner)?;
        fuzz::add_steps(&mut runner)?;
        lab_steps(&mut runner)?;
        bench_steps(root, &mut runner)?;
    }
    Ok(runner.finish()?)
}

/// The benchmark's runner, ready for its arguments.
///
/// # Errors
///
/// Fails if there is no benchmark in this checkout.
pub fn bench(root: &Path) -> anyhow::Result<Command> {
    let manifest = Path::new("bench/Cargo.toml");
    anyhow::ensure!(
        root.join(manifest).is_file(),
        "could not run the benchmark: {} does not exist",
        root.join(manifest).display()
    );
    let mut command = cargo(&["run", "--release", "--manifest-path"]);
    command.arg(manifest).arg("--").current_dir(root);
    Ok(command)
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    command
}

fn tidy_step(root: &Path, out: &mut impl Write) -> io::Result<Outcome> {
    let report = match tidy::check(root) {
        Ok(report) => report,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}"))),
    };
    writeln!(out, "{report}")?;
    Ok(match report.violations.len() {
        0 => Outcome::Passed,
        count => Outcome::Failed(format!("{count} violations")),
    })
}

/// Rayon's tests, the real backends of clusters, and the cost of a join; also without membarrier.
fn lab_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    runner.command("rayon tests", &mut cargo(&["lab", "rayon-tests"]))?;
    runner.command("rayon iterators", &mut cargo(&["lab", "rayon-iterators"]))?;
    runner.command("instructions", &mut cargo(&["lab", "instructions"]))?;
    for backend in ["ray", "slurm"] {
        let name = format!("cluster {backend}");
        runner.command(&name, &mut cargo(&["lab", "cluster", "suite", backend]))?;
    }
    let fence = ("HEIST_BARRIER", "fence");
    runner.command(
        "test fences",
        cargo(&["test", "--release", "-p", "heist-core", "--tests"]).env(fence.0, fence.1),
    )?;
    runner.command(
        "rayon tests fences",
        cargo(&["lab", "rayon-tests", "--no-doc"]).env(fence.0, fence.1),
    )?;
    Ok(())
}

/// The benchmark is a workspace of its own; these steps keep it from rotting.
fn bench_steps<W: Write>(root: &Path, runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let manifest = ["--manifest-path", "bench/Cargo.toml"];
    runner.command(
        "bench fmt",
        cargo(&["fmt", "--all", "--check"]).args(manifest),
    )?;
    // A rival may declare a newer compiler than it needs, as the runner knows.
    runner.command(
        "bench clippy",
        cargo(&["clippy", "--workspace", "--all-targets"])
            .arg("--ignore-rust-version")
            .args(manifest)
            .args(["--", "-D", "warnings"]),
    )?;
    // Those that need no peer; the peers have no tests of their own.
    runner.command(
        "bench test",
        cargo(&["test", "-p", "heist-bench", "-p", "heist-bench-workloads"])
            .args(["-p", "heist-bench-demos"])
            .args(manifest),
    )?;
    runner.command(
        "bench smoke",
        bench(root)?.args(["--quick", "--only", "fib", "--peers", "serial,rayon,heist"]),
    )?;
    Ok(())
}
