//! Everything that a change must pass, cheapest first.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::book;
use crate::fuzz;
use crate::miri;
use crate::model;
use crate::mutate;
use crate::newcomer;
use crate::release;
use crate::sanitize;
use crate::soak;
use crate::steps::{Outcome, Runner};
use crate::targets;
use crate::tidy;
use crate::workflow;

/// Steps besides the usual.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Add what takes minutes: the book's first chapter from an empty folder, sanitizers and Miri,
    /// a short soak, the fuzzer, rayon's tests on the stand-in and on our iterators, two minutes of
    /// chaos, Ray and Slurm on three nodes, the benchmark's own checks, the instructions of a join.
    #[arg(long)]
    slow: bool,
}

/// The time limit of a step: twice the longest on two cores.
const EACH: Duration = Duration::from_secs(20 * 60);

/// The time limit of all steps: less than the hour and a half after which a run is cut off.
const ALL: Duration = Duration::from_secs(85 * 60);

/// Runs the steps, and returns whether all passed. Where `CI` is set, their output is kept in
/// `target/ci`, and the report has only the lines that show why a step failed.
///
/// # Errors
///
/// Fails if a step cannot be set up or the report cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out).with_limits(EACH, ALL);
    if std::env::var_os("CI").is_some() {
        runner = runner.with_logs(root.join("target/ci"));
    }
    runner.command("fmt", &mut cargo("fmt --all --check"))?;
    runner.step("tidy", |out| tidy_step(root, out))?;
    let mut clippy = cargo("clippy --workspace --all-targets -- -D warnings");
    runner.command("clippy", &mut clippy)?;
    // As the first command has it; with the whole workspace all features are on.
    let mut least = cargo("clippy -p heist-observe --no-default-features -- -D warnings");
    runner.command("clippy least", &mut least)?;
    let mut doc = cargo("doc --no-deps --workspace");
    runner.command("rustdoc", doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    book::add_step(&mut runner)?;
    runner.command("coverage", &mut cargo("lab coverage --check"))?;
    release::add_steps(&mut runner)?;
    workflow::add_step(&mut runner)?;
    targets::add_steps(&mut runner)?;
    match args.slow {
        false => test_steps(root, &mut runner)?,
        true => runner.beside(
            |runner| {
                test_steps(root, runner)?;
                slow_steps(runner)
            },
            cluster_steps,
        )?,
    }
    Ok(runner.finish()?)
}

/// Cargo with these arguments, which are separated by spaces.
fn cargo(arguments: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments.split(' '));
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

/// The tests, the models, and the mutants that the models must catch.
fn test_steps<W: Write>(root: &Path, runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    runner.command("test", &mut cargo("test --workspace --no-fail-fast"))?;
    if cfg!(target_os = "linux") {
        let tests = SCHEDULED.map(|name| format!(" --test {name}")).concat();
        for seed in 1..=SCHEDULES {
            let mut scheduled = cargo(&format!("test -p heist-core{tests} -- --test-threads=1"));
            let seed = format!("random:{seed}");
            let name = format!("test schedule {seed}");
            runner.command(&name, scheduled.env("HEIST_SCHEDULE", seed))?;
        }
    }
    let release = release_tests(root)?;
    runner.command("test release", &mut cargo(&release))?;
    let mut fences = cargo(&release);
    runner.command("test fences", fences.env("HEIST_BARRIER", "fence"))?;
    model::add_steps(runner)?;
    mutate::add_step(runner)
}

/// Files of heist-core's tests that also pass when one worker runs at a time, and a seed says
/// which: so a test that relies on a thief being late, or in time, fails here and not once in a
/// thousand runs. Left out are those that wait for a time, or for another thread without a call of
/// heist.
const SCHEDULED: [&str; 6] = [
    "cancelled_jobs",
    "cancelled_scopes",
    "oracle",
    "panics",
    "propagation",
    "regions",
];

/// The number of schedules, each of which takes some seconds.
const SCHEDULES: u64 = 8;

/// Files of heist-core's tests that an optimiser makes no difference to: they are about processes,
/// files and settings. Each takes some twenty seconds to build with one.
const NOT_IN_RELEASE: [&str; 14] = [
    "check",
    "cpu_limit",
    "forked",
    "insight",
    "insight_random",
    "live_view",
    "pinned_limit",
    "pinning",
    "profile",
    "recorder",
    "seccomp",
    "short_of",
    "stall",
    "timeline",
];

/// The call of cargo that runs the tests of heist-core's protocols, of futures, and of how loops
/// are cut, with optimisations.
fn release_tests(root: &Path) -> anyhow::Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("crates/core/tests"))? {
        let path = entry?.path();
        let name = path
            .file_stem()
            .map(|name| name.to_string_lossy().into_owned());
        let is_test = path.extension().is_some_and(|ending| ending == "rs");
        names.extend(name.filter(|name| is_test && !NOT_IN_RELEASE.contains(&&**name)));
    }
    names.sort_unstable();
    let tests = names.iter().map(|name| format!(" --test {name}"));
    // In optimised programs only, wakers of one future differed once, and long loops were run by
    // one worker if short ones of their code had come before.
    Ok(format!(
        "test --release -p heist-core -p heist-futures -p heist-par --lib --test futures \
         --test granularity{}",
        tests.collect::<String>()
    ))
}

/// The book's first chapter, sanitizers and Miri, the soak and the fuzzer, rayon's tests, the cost
/// of a join, and the benchmark.
fn slow_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    newcomer::add_step(runner)?;
    sanitize::add_steps(runner)?;
    miri::add_step(runner)?;
    soak::add_steps(runner)?;
    fuzz::add_steps(runner)?;
    for (name, arguments) in [
        ("rayon tests", "rayon-tests"),
        ("rayon iterators", "rayon-iterators"),
        ("instructions", "instructions"),
        ("size", "size"),
        ("vectors", "vectors"),
    ] {
        runner.command(name, &mut cargo(&format!("lab {arguments}")))?;
    }
    bench_steps(runner)
}

/// The cluster backends, on three nodes each: most of the time they wait.
fn cluster_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    for (name, arguments) in [
        ("cluster chaos", "chaos --minutes 2"),
        ("cluster ray", "suite ray"),
        ("cluster slurm", "suite slurm"),
    ] {
        runner.command(name, &mut cargo(&format!("lab cluster {arguments}")))?;
    }
    Ok(())
}

/// The checks of the benchmark, which is a workspace of its own. The only peer that they need is
/// rayon, and a peer may declare a newer compiler than it needs.
fn bench_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let manifest = "--manifest-path bench/Cargo.toml";
    for (name, arguments) in [
        ("bench fmt", format!("fmt --all --check {manifest}")),
        (
            "bench clippy",
            format!(
                "clippy --workspace --all-targets --ignore-rust-version {manifest} -- -D warnings"
            ),
        ),
        (
            "bench test",
            format!(
                "test -p heist-bench -p heist-bench-workloads -p heist-bench-demos \
                 -p heist-bench-http {manifest}"
            ),
        ),
        (
            "bench smoke",
            format!("run --release {manifest} -- --quick --only fib --peers serial,rayon,heist"),
        ),
    ] {
        runner.command(name, &mut cargo(&arguments))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_are_left_out_in_release_are_there_and_the_others_are_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = root.join("crates/core/tests");
        let call = release_tests(&root).expect("the folder is there");
        for name in NOT_IN_RELEASE {
            assert!(folder.join(name).with_extension("rs").is_file(), "{name}");
            assert!(!call.ends_with(name) && !call.contains(&format!("--test {name} ")));
        }
        assert!(
            call.contains("--lib") && call.contains("--test waiting"),
            "{call}"
        );
    }
}
