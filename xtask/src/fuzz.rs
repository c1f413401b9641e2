//! The fuzz targets: built with the flags of LLVM's fuzzer, and run for a while.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::build;
use crate::steps::Runner;

/// The options of `cargo xtask fuzz`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// The seconds for each target.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

/// The seconds for each target in the gate.
const GATE_SECONDS: u32 = 20;

/// The programs in `fuzz/`, and the longest input of each, in bytes.
const TARGETS: [(&str, u32); 2] = [("pipelines", 40), ("frames", 200)];

/// Makes the compiler count which edges of the program have been taken.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// Fuzzes, and returns whether nothing was found.
///
/// # Errors
///
/// Fails if the step cannot be set up or the report cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    for (target, len_max) in TARGETS {
        add_step(&mut runner, target, len_max, args.seconds)?;
    }
    Ok(runner.finish()?)
}

/// Adds a short run to the gate.
///
/// # Errors
///
/// As [`run`].
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    for (target, len_max) in TARGETS {
        add_step(runner, target, len_max, GATE_SECONDS)?;
    }
    Ok(())
}

fn add_step<W: Write>(
    runner: &mut Runner<'_, W>,
    target: &str,
    len_max: u32,
    seconds: u32,
) -> anyhow::Result<()> {
    let name = &format!("fuzz {target}");
    let compiler = Command::new("c++")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !compiler.is_ok_and(|status| status.success()) {
        return Ok(runner.skip(name, "there is no C++ compiler to build the fuzzer with")?);
    }
    // With a target named, the flags do not apply to build scripts.
    let version = Command::new("rustc").arg("-vV").output();
    let version = version
        .context("could not ask rustc for its version")?
        .stdout;
    let version = String::from_utf8_lossy(&version);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc -vV did not say which system it is for")?;
    let root = runner.root();
    let found = build::target_folder(&root, "fuzz").join("found");
    std::fs::create_dir_all(&found)?;
    let mut command = Command::new("cargo");
    command
        .args(["run", "--release", "--manifest-path", "fuzz/Cargo.toml"])
        .arg("--target-dir")
        .arg(build::target_folder(&root, "fuzz"))
        .args(["--target", host, "--bin", target, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .arg(format!("-max_len={len_max}"))
        .args(["-timeout=30", "-print_final_stats=1"])
        .env("RUSTFLAGS", build::flags(FLAGS));
    Ok(runner.command(name, &mut command)?)
}
