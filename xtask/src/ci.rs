//! Everything that a change must pass, cheapest first.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::fuzz;
use crate::instructions;
use crate::model;
use crate::mutate;
use crate::steps::{Outcome, Runner};
use crate::targets;
use crate::tidy;

/// What to run besides the usual.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Add what takes minutes: the address sanitizer, the fuzzer, rayon's tests on the
    /// stand-in and on our iterators, Ray and Slurm on three nodes, the benchmark's own checks,
    /// the instructions of a join.
    #[arg(long)]
    slow: bool,
    /// Leave out `cargo test --workspace`, because it has just passed.
    #[arg(long)]
    tests_passed: bool,
}

/// The only target on which the sanitizer is tried.
const ASAN_TARGET: &str = "x86_64-unknown-linux-gnu";

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
    runner.command("coverage", &mut cargo(&["xtask", "coverage", "--check"]))?;
    targets::add_steps(&mut runner)?;
    if args.tests_passed {
        runner.skip("test", "it has just passed")?;
    } else {
        runner.command("test", &mut cargo(&["test", "--workspace"]))?;
    }
    runner.command(
        "test release",
        &mut cargo(&["test", "--release", "-p", "heist-core", "-p", "heist"]),
    )?;
    model::add_steps(&mut runner)?;
    mutate::add_step(&mut runner)?;
    if args.slow {
        asan(root, &mut runner)?;
        fuzz::add_steps(&mut runner)?;
        runner.command("rayon tests", &mut cargo(&["xtask", "rayon-tests"]))?;
        runner.command("rayon iterators", &mut cargo(&["xtask", "rayon-iterators"]))?;
        #[cfg(target_os = "linux")]
        crate::cluster::add_steps(&mut runner)?;
        // Where the system has no membarrier.
        runner.command(
            "test fences",
            cargo(&["test", "--release", "-p", "heist-core", "--tests"])
                .env("HEIST_BARRIER", "fence"),
        )?;
        runner.command(
            "rayon tests fences",
            cargo(&["xtask", "rayon-tests", "--no-doc"]).env("HEIST_BARRIER", "fence"),
        )?;
        bench_steps(root, &mut runner)?;
        runner.step("instructions", |out| {
            let outcome = instructions::run(root, instructions::Args::default(), out);
            Ok(outcome.unwrap_or_else(|error| Outcome::Failed(format!("{error:#}"))))
        })?;
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
    let violations = match tidy::check(root) {
        Ok(violations) => violations,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}"))),
    };
    let summary = tidy::Summary(&violations).to_string();
    writeln!(out, "{summary}")?;
    Ok(match violations.as_slice() {
        [] => Outcome::Passed,
        _ => Outcome::Failed(summary.lines().next_back().unwrap_or_default().to_owned()),
    })
}

/// The tests of the crates with unsafe code, under the address sanitizer.
fn asan<W: Write>(root: &Path, runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let name = "asan";
    if let Err(reason) = asan_works(root) {
        return Ok(runner.skip(name, &reason)?);
    }
    // Documentation tests would need the flags a second time, and say nothing about memory.
    let mut command = cargo(&["test", "--tests"]);
    for package in ["heist-deque", "heist-core", "heist-par"] {
        command.args(["-p", package]);
    }
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTFLAGS",
            model::flags("-Zsanitizer=address --cfg heist_asan"),
        )
        .args(["--target", ASAN_TARGET, "--target-dir"])
        .arg(model::target_folder(root, "asan"));
    Ok(runner.command(name, &mut command)?)
}

/// Builds and runs an empty program under the sanitizer, which needs a runtime
/// library that not every toolchain has. The error is the reason.
fn asan_works(root: &Path) -> Result<(), String> {
    if !cfg!(all(
        target_arch = "x86_64",
        target_os = "linux",
        target_env = "gnu"
    )) {
        return Err(format!("it is only tried on {ASAN_TARGET}"));
    }
    let folder = model::target_folder(root, "asan");
    let program = folder.join("probe");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("rustc")
        .args(["-Zsanitizer=address", "--target", ASAN_TARGET, "-o"])
        .arg(&program)
        .arg("-")
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("could not start rustc: {error}"))?;
    if let Some(mut source) = compiler.stdin.take() {
        source
            .write_all(b"fn main() {}")
            .map_err(|error| error.to_string())?;
    }
    succeeded("build", compiler.wait_with_output())?;
    succeeded("run", Command::new(&program).output())
}

fn succeeded(what: &str, output: io::Result<Output>) -> Result<(), String> {
    let output = output.map_err(|error| format!("an empty program does not {what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or("no message");
    Err(format!("an empty program does not {what}: {first}"))
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
    // What needs no rival; the engines have no tests of their own.
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
