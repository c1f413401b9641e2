//! The soak: the package `heist-soak`, built with delays and run for a while.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use crate::build;
use crate::machine;
use crate::steps::Runner;

/// The options of `cargo xtask soak`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// The hours to run.
    #[arg(long, conflicts_with = "minutes")]
    hours: Option<f64>,
    /// The minutes to run; 2 by default.
    #[arg(long)]
    minutes: Option<f64>,
    /// The seed of the rounds and the delays; a new one each time if none is given.
    #[arg(long)]
    seed: Option<u64>,
    /// Repeat this round only, which a failure has named.
    #[arg(long, requires = "seed")]
    round: Option<u64>,
    /// Without delays and debug assertions: the library as programs use it.
    #[arg(long)]
    plain: bool,
    /// Run under the stall watchdog, and fail if it speaks.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10")]
    watched: Option<f64>,
    /// Keep what was found in bench/record/DATE-NAME.md.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "soak")]
    record: Option<String>,
}

const MINUTES: f64 = 2.0;

/// Soaks, and returns whether nothing was found.
///
/// # Errors
///
/// Fails if the step cannot be set up or the report or the record cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    let report = add_step(&mut runner, args)?;
    let passed = runner.finish()?;
    if let Some(name) = &args.record {
        let path = machine::new_record(&root.join("bench/record"), name)?;
        let found = fs::read_to_string(&report)
            .with_context(|| format!("the soak left no {}", report.display()))?;
        let text = format!("- Load averages after: {}\n{found}", machine::load());
        machine::write_record(&path, root, &text)?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(passed)
}

/// Adds a short soak to the gate.
///
/// # Errors
///
/// As [`run`].
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    add_step(runner, &Args::default()).map(drop)
}

/// Returns the path of the report to be.
fn add_step<W: Write>(runner: &mut Runner<'_, W>, args: &Args) -> anyhow::Result<PathBuf> {
    let name = if args.plain { "soak-plain" } else { "soak" };
    let folder = build::target_folder(&runner.root(), name);
    let report = folder.join("report.md");
    if !cfg!(target_os = "linux") {
        runner.skip(name, "memory and threads are read from Linux")?;
        return Ok(report);
    }
    fs::create_dir_all(&folder)?;
    let _ = fs::remove_file(&report); // of an earlier run, if there was one
    let minutes = args.hours.map(|hours| hours * 60.0).or(args.minutes);
    let seconds = minutes.unwrap_or(MINUTES) * 60.0;
    let seed = match args.seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .args(["--release", "--target-dir"])
            .arg(&folder);
        if !args.plain {
            command
                .env("HEIST_SOAK_SEED", seed.to_string())
                .env("RUSTFLAGS", build::flags("--cfg heist_soak"))
                .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
        }
        command
    };
    if !args.plain {
        // The package has tests in this mode only.
        let mut test = cargo(&["test", "--package", "heist-sync", "--lib", "delay"]);
        runner.command("soak delays", &mut test)?;
    }
    let mut command = cargo(&["run", "--package", "heist-soak"]);
    command
        .args(["--", "--seconds", &seconds.to_string()])
        .args(["--seed", &seed.to_string(), "--report"])
        .arg(&report)
        // Arenas are reserved as threads happen to meet in the allocator, at any time.
        .env("MALLOC_ARENA_MAX", "2");
    if let Some(round) = args.round {
        command.args(["--round", &round.to_string()]);
    }
    if let Some(patience) = args.watched {
        command.args(["--watched", &patience.to_string()]);
    }
    runner.command(name, &mut command)?;
    Ok(report)
}
