//! Batch jobs: what is asked of sbatch, squeue, scontrol and scancel.

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::command::{command, output};
use super::site::Site;
use crate::backend::StartSpec;
use crate::private;
use crate::protocol::cpus::Cpus;
use crate::protocol::environment::{batch_variable, WORKER_VARIABLE};
use crate::protocol::job_folder::{Attempt, JobFolder};

/// How much of the name of a job Slurm shows.
const NAME_SIGNS_MAX: usize = 128;

/// The file for an attempt's output.
pub(super) const LOG: &str = "log";

/// The script that runs on the node. The signal that wakes an attempt must not end it before it
/// listens.
const SCRIPT: &str = r#"#!/bin/sh
trap '' USR1
HEIST_CLUSTER_NODE=$SLURMD_NODENAME exec "$@"
"#;

/// Slurm's account of a batch job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) state: String,
    /// How often it was requeued.
    pub(super) restarts: u32,
    reason: String,
}

impl Row {
    /// False if it has ended and will not begin again.
    pub(super) fn is_live(&self) -> bool {
        self.is_pending()
            || matches!(
                self.state.as_str(),
                "RUNNING"
                    | "COMPLETING"
                    | "CONFIGURING"
                    | "SUSPENDED"
                    | "STOPPED"
                    | "RESIZING"
                    | "SIGNALING"
                    | "STAGE_OUT"
            )
    }

    /// True if its process should be at work.
    pub(super) fn is_running(&self) -> bool {
        self.state == "RUNNING"
    }

    /// True if its process has ended or is ending.
    pub(super) fn is_ending(&self) -> bool {
        self.state == "COMPLETING"
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(
            self.state.as_str(),
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT"
        )
    }

    /// True if it waits to be released.
    pub(super) fn is_held(&self) -> bool {
        self.is_pending() && self.reason.starts_with("JobHeld")
    }
}

/// Slurm's account of these jobs. Those that it has forgotten are missing.
pub(super) fn rows(slurm_jobs: &[u64]) -> Result<HashMap<u64, Row>, String> {
    if slurm_jobs.is_empty() {
        return Ok(HashMap::new());
    }
    let mut squeue = command("squeue");
    squeue
        .args(["--noheader", "--states=all"])
        .arg(format!("--jobs={}", join(slurm_jobs)))
        .arg("--Format=JobID:|,State:|,RestartCnt:|,Reason:|");
    match output(&mut squeue) {
        Ok(text) => text.lines().map(parse).collect(),
        // It says so if there is one job only.
        Err(error) if error.contains("Invalid job id") => Ok(HashMap::new()),
        Err(error) => Err(error),
    }
}

/// Slurm's account of a worker for calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) slurm_job: u64,
    state: String,
    nodes: String,
}

impl Placed {
    /// True if it is Slurm's turn.
    pub(super) fn waits(&self) -> bool {
        let waits = ["PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED", "STOPPED"];
        waits.contains(&self.state.as_str())
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            slurm_job,
            state,
            nodes,
        } = self;
        let at = if nodes.is_empty() { "no node" } else { nodes };
        write!(f, "Slurm's job {slurm_job} is {state} on {at}")
    }
}

/// The comment by which a worker is known before it has said anything.
pub(super) fn comment(worker: u64) -> String {
    format!("heist-worker-{worker}")
}

/// The workers of that name, by their numbers.
pub(super) fn placed(name: &str) -> Result<HashMap<u64, Placed>, String> {
    let mut squeue = command("squeue");
    squeue
        .args(["--noheader", "--me", &format!("--name={name}")])
        .arg("--format=%k|%A|%T|%N");
    Ok(understand_placed(&output(&mut squeue)?))
}

fn understand_placed(text: &str) -> HashMap<u64, Placed> {
    let worker = |line: &str| {
        let mut fields = line.trim().splitn(4, '|');
        let worker = fields.next()?.strip_prefix("heist-worker-")?.parse().ok()?;
        let placed = Placed {
            slurm_job: fields.next()?.parse().ok()?,
            state: fields.next()?.to_owned(),
            nodes: fields.next()?.to_owned(),
        };
        Some((worker, placed))
    };
    text.lines().filter_map(worker).collect()
}

fn parse(line: &str) -> Result<(u64, Row), String> {
    let mut fields = line.split('|').map(str::trim);
    let mut read = || {
        let id = fields.next()?.parse().ok()?;
        let state = fields.next()?.to_owned();
        let restarts = fields.next()?.parse().ok()?;
        let reason = fields.next()?.to_owned();
        let row = Row {
            state,
            restarts,
            reason,
        };
        Some((id, row))
    };
    read().ok_or_else(|| {
        format!("squeue said {line:?}; a number, a state, restarts and a reason were expected")
    })
}

/// Submits a job, and returns Slurm's number for it.
pub(super) fn submit(
    site: &Site,
    folder: &JobFolder,
    attempt: Attempt,
    spec: &StartSpec,
    others: &[String],
) -> Result<u64, String> {
    let path = |name: &str| folder.path().join(name);
    let script = path("script");
    let written = private::create(&script).and_then(|mut file| file.write_all(SCRIPT.as_bytes()));
    written.map_err(|error| format!("could not write {}: {error}", script.display()))?;
    // A percent sign has a meaning in the names of logs.
    let log = path(LOG).to_string_lossy().replace('%', "%%");
    let mut sbatch = site.placing("sbatch", spec.cpus.whole().max(1), &spec.placement.needs);
    sbatch
        .args(["--parsable", "--requeue", "--open-mode=append"])
        .arg(format!("--job-name={}", name_for_slurm(&spec.name)))
        .arg(format!("--output={log}"))
        .env(
            WORKER_VARIABLE,
            batch_variable(attempt.submission, folder.path()),
        );
    if spec.cpus < Cpus::from(1) {
        // It shares a processor with others, where the partition lets it.
        sbatch.arg("--oversubscribe");
    }
    if !others.is_empty() {
        sbatch.arg(format!("--exclude={}", others.join(",")));
    }
    sbatch.arg(script).arg(&site.program).args(&site.arguments);
    let text = output(&mut sbatch)?;
    // Behind a semicolon there may be the name of the cluster.
    let number = text.trim().split(';').next().unwrap_or_default();
    number
        .parse()
        .map_err(|_| format!("sbatch said {text:?}; the number of a job was expected"))
}

/// The beginning of a name, which only people read: no command line can hold all of a long one.
fn name_for_slurm(name: &str) -> String {
    let signs = name.chars().take(NAME_SIGNS_MAX);
    // No argument can hold a zero.
    signs
        .map(|sign| if sign == '\0' { '\u{fffd}' } else { sign })
        .collect()
}

/// When a job that was requeued may begin. Left alone, Slurm waits until no credential of the
/// run before is valid any more, two minutes unless told otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    Now,
    /// On the same node, the second in which the run before has ended must be over: its credentials
    /// are told from later ones by their second, and a job with a revoked one is killed.
    Soon,
}

/// Leaves out these nodes from now on, and no others. Works while a job waits.
pub(super) fn exclude(slurm_job: u64, others: &[String], begin: Begin) -> Result<(), String> {
    let begin = match begin {
        Begin::Now => "now",
        Begin::Soon => "now+2",
    };
    let mut scontrol = command("scontrol");
    scontrol
        .args(["update", &format!("JobId={slurm_job}")])
        .arg(format!("ExcNodeList={}", others.join(",")))
        .arg(format!("StartTime={begin}"));
    output(&mut scontrol).map(drop)
}

/// Lets a held job begin.
pub(super) fn release(slurm_job: u64) -> Result<(), String> {
    output(command("scontrol").args(["release", &slurm_job.to_string()])).map(drop)
}

/// Has an attempt look for what is wanted of it.
pub(super) fn wake(slurm_job: u64) -> Result<(), String> {
    let mut scancel: Command = command("scancel");
    output(scancel.args(["--signal=USR1", "--batch", &slurm_job.to_string()])).map(drop)
}

/// The batch jobs that Slurm has of those whose files are in this folder.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<u64>, String> {
    let mut squeue = command("squeue");
    squeue.args(["--noheader", "--me", "--format=%A|%o"]);
    Ok(below(&output(&mut squeue)?, folder))
}

/// The numbers in front of those programs that are in this folder.
fn below(text: &str, folder: &Path) -> Vec<u64> {
    let lines = text.lines().filter_map(|line| line.trim().split_once('|'));
    let ours = lines.filter(|(_, script)| Path::new(script).starts_with(folder));
    ours.filter_map(|(number, _)| number.parse().ok()).collect()
}

pub(super) fn cancel(slurm_jobs: &[u64]) -> Result<(), String> {
    output(command("scancel").args(slurm_jobs.iter().map(u64::to_string))).map(drop)
}

fn join(slurm_jobs: &[u64]) -> String {
    let numbers: Vec<_> = slurm_jobs.iter().map(u64::to_string).collect();
    numbers.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Row {
        /// One in this state.
        pub(in super::super) fn in_state(state: &str) -> Self {
            parse(&format!("7|{state}|0|None|")).expect("a row").1
        }
    }

    #[test]
    fn what_squeue_says_is_understood() {
        let held = parse("6|SPECIAL_EXIT|1|JobHeldUser|").expect("a row");
        assert_eq!(held.0, 6);
        assert!(held.1.is_live() && held.1.is_held() && held.1.restarts == 1);
        let (_, runs) = parse("7|RUNNING|0|None|").expect("a row");
        assert!(runs.is_live() && !runs.is_pending());
        let (_, ended) = parse("7|NODE_FAIL|0|None|").expect("a row");
        assert!(!ended.is_live());
        assert!(parse("squeue: error").is_err());
    }

    #[test]
    fn workers_are_known_by_their_comment() {
        let text =
            "heist-worker-3|17|RUNNING|n2\nheist-worker-4|18|PENDING|\n(null)|19|RUNNING|n1\n";
        let placed = understand_placed(text);
        assert_eq!(placed.len(), 2);
        assert!(!placed[&3].waits() && placed[&4].waits());
        assert_eq!(placed[&3].to_string(), "Slurm's job 17 is RUNNING on n2");
    }

    #[test]
    fn jobs_are_known_by_their_folder() {
        let text = "6|/shared/slurm-a/jobs/1/script\n7|/shared/slurm-b/jobs/2/script\n8|bash\n";
        assert_eq!(below(text, Path::new("/shared/slurm-a")), [6]);
        assert!(below(text, Path::new("/shared/slurm")).is_empty());
    }
}
