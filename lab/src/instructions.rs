//! How many instructions a join and a spawn cost, which no noise of the machine changes.
//!
//! The peers of the benchmark run a workload on one worker in two sizes, under callgrind.
//! The difference of instructions by the difference of joins is the cost of one; starting and
//! ending cancel out. The record lies beside those of the benchmark.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, ensure, Context};
use serde::{Deserialize, Serialize};
use xtask::build::target_folder;
use xtask::process;
use xtask::steps::Outcome;

/// The use of the counts.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Keep the counts as the record that later ones are compared with.
    #[arg(long)]
    record: bool,
}

const RECORD: &str = "bench/record/instructions.toml";
/// How far a figure may be from the record, as a share of it.
const TOLERANCE: f64 = 0.03;

/// Counts, and compares with the record unless it is to be written.
pub(crate) fn run(root: &Path, args: Args, out: &mut impl Write) -> anyhow::Result<Outcome> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(Outcome::Skipped("valgrind is not installed".to_owned()));
    }
    let peers = Peers::build(root)?;
    let counted = Record {
        date: jiff::Timestamp::now()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .date()
            .to_string(),
        compiler: compiler()?,
        join: peers.cost("peer-heist", &FIB)?,
        serial: peers.cost("peer-serial", &FIB)?,
        spawn: peers.cost("peer-heist", &SPAWN)?,
    };
    let path = root.join(RECORD);
    if args.record {
        write!(out, "{counted}")?;
        fs::write(&path, counted.text()?)
            .with_context(|| format!("could not write {}", path.display()))?;
        writeln!(out, "recorded in {RECORD}")?;
        return Ok(Outcome::Passed);
    }
    let text =
        fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let record: Record =
        toml::from_str(&text).with_context(|| format!("could not understand {RECORD}"))?;
    let comparison = Comparison {
        counted: &counted,
        record: &record,
    };
    write!(out, "{comparison}")?;
    Ok(comparison.outcome())
}

/// A workload of the benchmark in two sizes.
struct Workload {
    name: &'static str,
    size: &'static str,
    small: u64,
    large: u64,
    /// How many joins or spawns a size has.
    units: fn(u64) -> u64,
}

const FIB: Workload = Workload {
    name: "fib",
    size: "n",
    small: 18,
    large: 27,
    units: joins,
};

/// All tasks of a wave wait in the deque of the only worker.
const SPAWN: Workload = Workload {
    name: "spawn_inside",
    size: "tasks",
    small: 20_000,
    large: 200_000,
    // A smaller wave before it shows that tasks run.
    units: |tasks| tasks + tasks / 100,
};

/// How often `fib(n)` joins: once for each call with `n >= 2`.
fn joins(n: u64) -> u64 {
    match n {
        0 | 1 => 0,
        _ => 1 + joins(n - 1) + joins(n - 2),
    }
}

/// The programs that are counted.
struct Peers {
    folder: PathBuf,
}

impl Peers {
    /// Builds them like the benchmark does, but in one unit for each crate, so that the
    /// compiler does not divide them by chance, and without the caller's flags.
    fn build(root: &Path) -> anyhow::Result<Self> {
        let folder = target_folder(root, "instructions");
        let status = Command::new("cargo")
            .current_dir(root)
            .env("RUSTFLAGS", "")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .args(["build", "--release", "--manifest-path", "bench/Cargo.toml"])
            // A peer in the same workspace may declare a newer compiler than it needs.
            .args(["--ignore-rust-version", "--target-dir"])
            .arg(&folder)
            .args(["--package", "peer-heist", "--package", "peer-serial"])
            .status()
            .context("could not start cargo to build the peers")?;
        ensure!(status.success(), "the peers could not be built: {status}");
        Ok(Self { folder })
    }

    /// The instructions of one join or spawn.
    fn cost(&self, peer: &str, workload: &Workload) -> anyhow::Result<f64> {
        let Workload { small, large, .. } = *workload;
        // The less of two runs: clocks that tick while the machine is busy only add to the count.
        let total = |size| {
            let first = self.total(peer, workload, size)?;
            anyhow::Ok(first.min(self.total(peer, workload, size)?))
        };
        let more = total(large)? - total(small)?;
        let units = (workload.units)(large) - (workload.units)(small);
        // To a tenth: what threads do while they wait for each other differs by less.
        Ok((more as f64 / units as f64 * 10.0).round() / 10.0)
    }

    /// All instructions of one run.
    fn total(&self, peer: &str, workload: &Workload, size: u64) -> anyhow::Result<u64> {
        let counts = self.folder.join("callgrind.out");
        let mut command = Command::new("valgrind");
        command
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", counts.display()))
            .arg(self.folder.join("release").join(peer))
            // A budget of nothing is used up by the first run.
            .args([workload.name, "workers=1", "samples=1", "budget_ms=0"])
            .arg(format!("{}={size}", workload.size));
        let log = self.folder.join("callgrind.log");
        let ended = process::run(&mut command, &log, None, Duration::from_secs(120))?;
        if let Some(failure) = ended.failure() {
            bail!(
                "could not count {peer} {}: {failure}:\n{}",
                workload.name,
                ended.output
            );
        }
        let text = fs::read_to_string(&counts)
            .with_context(|| format!("could not read {}", counts.display()))?;
        total(&text).with_context(|| format!("{} has no line `totals: N`", counts.display()))
    }
}

/// The sum over all threads and functions in a file of callgrind.
fn total(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("totals:")?.trim().parse().ok())
}

/// The compiler's version and what it compiles for.
fn compiler() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.context("could not ask rustc for its version")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(format!(
        "{} for {}",
        text.lines().next().unwrap_or("unknown"),
        host.unwrap_or("unknown")
    ))
}

/// Instructions, with when and by which compiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    date: String,
    compiler: String,
    /// One join that is not stolen, with the call of `fib` around it.
    join: f64,
    /// The same call without the join.
    serial: f64,
    /// One empty task spawned by a worker, with its run.
    spawn: f64,
}

impl Record {
    fn figures(&self) -> [(&'static str, f64); 4] {
        [
            ("join", self.join),
            ("serial", self.serial),
            ("join less serial", self.join - self.serial),
            ("spawn", self.spawn),
        ]
    }

    fn text(&self) -> anyhow::Result<String> {
        Ok(format!(
            "# Instructions of one join and one spawn; `cargo lab instructions --record` wrote it.\n{}",
            toml::to_string(self)?
        ))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.figures() {
            writeln!(f, "{name:16} {count:>6.1} instructions")?;
        }
        Ok(())
    }
}

/// The counts beside the record.
struct Comparison<'a> {
    counted: &'a Record,
    record: &'a Record,
}

impl Comparison<'_> {
    /// Each figure with what was recorded, and how much of that it is more.
    fn figures(&self) -> impl Iterator<Item = (&'static str, f64, f64, f64)> {
        let pairs = self
            .counted
            .figures()
            .into_iter()
            .zip(self.record.figures());
        pairs.map(|((name, now), (_, then))| (name, now, then, now / then - 1.0))
    }

    /// Failed if a figure is above the record by more than the tolerance.
    fn outcome(&self) -> Outcome {
        let mut failure = String::new();
        for (name, now, then, more) in self.figures() {
            if more > TOLERANCE {
                let comma = if failure.is_empty() { "" } else { ", " };
                let _ = write!(
                    failure,
                    "{comma}{name}: {now:.1} instructions, {:.1} % above the {then:.1} of {}",
                    more * 100.0,
                    self.record.date
                );
            }
        }
        if failure.is_empty() {
            return Outcome::Passed;
        }
        let (now, then) = (&self.counted.compiler, &self.record.compiler);
        if now != then {
            let _ = write!(failure, "; recorded with {then}, counted with {now}");
        }
        Outcome::Failed(failure)
    }
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:16} {:>6} {:>8}", "instructions", "now", "recorded")?;
        for (name, now, then, more) in self.figures() {
            writeln!(
                f,
                "{name:16} {now:>6.1} {then:>8.1} {:>+6.1} %",
                more * 100.0
            )?;
        }
        if self.figures().any(|(.., more)| more < -TOLERANCE) {
            writeln!(
                f,
                "below the record: keep it with `cargo lab instructions --record`"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(join: f64, spawn: f64) -> Record {
        Record {
            date: "2026-01-02".to_owned(),
            compiler: "rustc 1 for here".to_owned(),
            join,
            serial: 20.0,
            spawn,
        }
    }

    fn compared(counted: &Record, record: &Record) -> (Outcome, String) {
        let comparison = Comparison { counted, record };
        (comparison.outcome(), comparison.to_string())
    }

    #[test]
    fn the_total_is_that_of_the_whole_run() {
        let text = "version: 1\nevents: Ir\nsummary: 120\n\nfn=(1) main\n0 7\n\ntotals: 127\n";
        assert_eq!(total(text), Some(127));
        assert_eq!(total("summary: 120\n"), None);
    }

    #[test]
    fn joins_are_calls_above_one() {
        // fib(4): 4, 3, 2, 2 join.
        assert_eq!([0, 1, 2, 3, 4].map(joins), [0, 0, 1, 2, 4]);
    }

    #[test]
    fn a_figure_near_the_record_passes() {
        let (outcome, text) = compared(&record(71.0, 195.0), &record(70.0, 200.0));
        assert_eq!(outcome, Outcome::Passed);
        assert!(
            text.contains("join               71.0     70.0   +1.4 %"),
            "{text}"
        );
        assert!(!text.contains("--record"), "{text}");
    }

    #[test]
    fn a_figure_above_the_record_fails_by_name() {
        let (outcome, _) = compared(&record(70.0, 210.0), &record(70.0, 200.0));
        let expected = "spawn: 210.0 instructions, 5.0 % above the 200.0 of 2026-01-02";
        assert_eq!(outcome, Outcome::Failed(expected.to_owned()));
    }

    #[test]
    fn another_compiler_than_the_recorded_one_is_named_in_the_failure() {
        let newer = Record {
            compiler: "rustc 2 for here".to_owned(),
            ..record(70.0, 210.0)
        };
        let (outcome, _) = compared(&newer, &record(70.0, 200.0));
        let said = "; recorded with rustc 1 for here, counted with rustc 2 for here";
        assert!(outcome.to_string().ends_with(said), "{outcome}");
    }

    #[test]
    fn a_figure_below_the_record_passes_and_asks_to_be_recorded() {
        let (outcome, text) = compared(&record(50.0, 200.0), &record(70.0, 200.0));
        assert_eq!(outcome, Outcome::Passed);
        assert!(text.contains("cargo lab instructions --record"), "{text}");
    }

    #[test]
    fn a_record_can_be_read_back() {
        let record = record(70.1, 200.0);
        let back: Record = toml::from_str(&record.text().unwrap()).unwrap();
        assert_eq!(back, record);
    }
}
