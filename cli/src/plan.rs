//! `heist plan`: which job of a fleet should move now, or why none, from a snapshot of it.
//!
//! A snapshot is a JSON document or a CSV table; the help text has the format of both. It
//! has no history, while the planner acts only on what lasts: so it is told the snapshot
//! again and again, a second apart, as if nothing had changed. A node whose `utilisation`
//! is a list has a history, and that is told as it stands. With `--watch` the planner is told
//! what a run on a cluster measures, as it comes.

mod decision;
mod document;
mod screen;
mod snapshot;
mod table;
mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use heist_cluster::planner::{Config, Decision, Planner};
use heist_run::limited;
use heist_run::number::real;
use heist_run::usage::Usage;

use self::snapshot::Snapshot;

/// Say which job of a fleet should move now, or why none does
#[derive(clap::Args, Debug)]
#[command(after_long_help = FORMAT)]
pub(crate) struct Args {
    /// The snapshot, a JSON document or a CSV table of 1 GiB at most; - reads it from stdin
    ///
    /// The ending .json or .csv of its name tells which; without one, a brace at its begin means
    /// JSON.
    /// With --watch it is the folder of a run of `heist cluster run` [default: of those in the
    /// usual place, the one that was written to last].
    #[arg(value_name = "SNAPSHOT", required_unless_present = "watch")]
    snapshot: Option<PathBuf>,
    /// Follow a run on a cluster instead, and print each decision that differs from the one
    /// before; with --json one on a line
    #[arg(long)]
    watch: bool,
    /// Utilisation from which on a node is hot, in per cent [default: 80]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    hot: Option<f64>,
    /// Distance by which a target must be below the hot node, in points [default: 30]
    #[arg(long, value_name = "POINTS", value_parser = percent)]
    spread: Option<f64>,
    /// Utilisation that a target must not reach, in per cent [default: 70]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    low_water: Option<f64>,
    /// Utilisation from which on even P0 and P1 may move, in per cent [default: 98]
    #[arg(long, value_name = "PERCENT", value_parser = |given: &str| real(given, 0.0..=1e8, "per cent"))]
    emergency: Option<f64>,
    /// Time for which a benefit is counted at most, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = |given: &str| real(given, 0.0..=1e9, "seconds"))]
    horizon: Option<f64>,
    /// Rate at which state is transferred, in MiB a second [default: 100]
    #[arg(long, value_name = "MIB", value_parser = |given: &str| real(given, 1e-6..=1e11, "MiB a second"))]
    bandwidth: Option<f64>,
    /// Print one JSON document instead of the text
    #[arg(long)]
    json: bool,
}

const FORMAT: &str = r#"The snapshot as JSON; only fields with * must be there:

  {"nodes": [{"id"*: "n1", "cpus"*: 8, "utilisation"*: 0.95,
              "memory_bytes": 68719476736, "used_memory_bytes": 0,
              "speed": 1, "age_s": 0, "resources": {"gpu": 1}}],
   "jobs":  [{"id"*: "etl-7", "node"*: "n1", "cpus"*: 2, "used_cpus": 1.8,
              "memory_bytes": 0, "used_memory_bytes": 0, "state_bytes": 0,
              "priority": "P2", "mobility": "movable", "running_s": 600,
              "remaining_s": 300, "age_s": 0, "resources": {"gpu": 1}}]}

  utilisation   the share of the CPUs in use, up to 1; or, with those that wait
                for a CPU, above it. A list is a history, one value a second,
                the newest last. A single value counts as one that has lasted.
  memory_bytes  of a node: what it has. Without it, or with 0, any job has room
                there.
  speed         the work of one CPU, compared with that of a usual one
  cpus          of a job: its reservation, in usual CPUs; used_cpus: its
                measured use. Without the latter, the job may use twice its
                reservation.
  priority      P0 is the most important; P0 and P1 move in an emergency only
  mobility      movable, pinned, ordered, warm-state or latency-critical
  running_s, remaining_s
                its age, and the time that is left. Without both, its age is an
                hour.
  age_s         the age of the measurement

As CSV, the same names are the heads of the columns, in any order, behind a
column kind that says node or job. A resource has a column of its own, such as
resources.gpu. A history is written 0.5;0.7;0.9. An empty cell is as if it were
not there."#;

/// Asks the planner about a snapshot, or about a run that goes on.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let planner = Planner::new(config(args)).map_err(|error| {
        let flag = error.setting().trim_end_matches("_level").replace('_', "-");
        Usage(format!("{error} (--{flag} sets it; 1 is 100 per cent)"))
    })?;
    let path = match (args.watch, &args.snapshot) {
        (true, folder) => return watch::run(folder.as_deref(), args.json, planner, out),
        (false, Some(path)) => path,
        (false, None) => return Err(Usage("no snapshot was named".to_owned()).into()),
    };
    let snapshot = read(path)?;
    let decision = decide(&snapshot, planner);
    if args.json {
        document::write(&decision, out)?;
    } else {
        screen::write(&snapshot, heist_run::terminal::room(), out)?;
        decision::write(&decision, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The planner's defaults, changed by the flags.
fn config(args: &Args) -> Config {
    let mut config = Config::default();
    for (flag, setting) in [
        (args.hot, &mut config.hot_level),
        (args.spread, &mut config.spread),
        (args.low_water, &mut config.low_water),
        (args.emergency, &mut config.emergency),
    ] {
        if let Some(percent) = flag {
            *setting = percent / 100.0;
        }
    }
    if let Some(seconds) = args.horizon {
        config.horizon = Duration::from_secs_f64(seconds);
    }
    if let Some(mib) = args.bandwidth {
        config.bandwidth_bytes_per_s = mib * 1024.0 * 1024.0;
    }
    config
}

/// Reads a share of all.
fn percent(given: &str) -> Result<f64, String> {
    real(given, 0.0..=100.0, "per cent")
}

const ACCEPTED: &str = "accepted is a JSON document or a CSV table (heist plan --help)";

/// A snapshot of ten thousand nodes with a million jobs is smaller.
const SNAPSHOT_BYTES_MAX: u64 = 1 << 30;

fn read(path: &Path) -> Result<Snapshot, Usage> {
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin {
        "from stdin".to_owned()
    } else {
        path.display().to_string()
    };
    let bytes = if is_stdin {
        limited::read_from(std::io::stdin().lock(), SNAPSHOT_BYTES_MAX)
    } else {
        limited::read(path, SNAPSHOT_BYTES_MAX)
    };
    let text = bytes.and_then(limited::text);
    let text = text.map_err(|error| {
        Usage(format!(
            "cannot read the snapshot {name}: {error}; {ACCEPTED}"
        ))
    })?;
    if text.trim().is_empty() {
        return Err(Usage(format!("the snapshot {name} is empty; {ACCEPTED}")));
    }
    let is_json = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => true,
        Some("csv") => false,
        _ => text.trim_start().starts_with('{'),
    };
    let snapshot = if is_json {
        Snapshot::from_json(&text)
    } else {
        table::read(&text)
    };
    let checked = snapshot.and_then(Snapshot::checked);
    checked.map_err(|error| Usage(format!("the snapshot {name} cannot be used: {error:#}")))
}

/// Tells the planner the snapshot until it has lasted, and hands back the last decision.
fn decide(snapshot: &Snapshot, mut planner: Planner) -> Decision {
    let config = planner.config();
    let enough = config.sustained_samples.max(config.usage_samples) as usize;
    let rounds = snapshot.history_len().max(enough);
    let mut round = |back: usize| {
        // The start is far enough from zero that no measurement lies before it.
        let now = snapshot.age_max() + Duration::from_secs((rounds - back) as u64);
        let nodes = snapshot.node_samples(now, back);
        planner.decide(now, &nodes, &snapshot.job_samples(now))
    };
    for back in (1..rounds).rev() {
        round(back);
    }
    round(0)
}
