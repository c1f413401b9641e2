//! Runs the peers: round by round, within a round workload by workload, and
//! within a workload in an order that the seed shuffles.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heist_bench_workloads::Sample;
use wait_timeout::ChildExt;

use crate::args::Args;
use crate::build::BuiltPeer;
use crate::definition::{Definition, Size};
use crate::group::{Group, RatioBar};
use crate::machine::Ticks;
use crate::sample::{check, samples};

/// The runs to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) groups: Vec<Group>,
    pub(crate) peers: Vec<BuiltPeer>,
    pub(crate) workers: Vec<u32>,
    pub(crate) rounds: u32,
    pub(crate) quick: bool,
    pub(crate) seed: u64,
}

/// One start of one peer.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) workload: String,
    pub(crate) peer: String,
    pub(crate) workers: u32,
    pub(crate) round: u32,
    pub(crate) samples: Vec<Sample>,
    /// CPU seconds that others used meanwhile.
    pub(crate) foreign_s: f64,
    pub(crate) wall_s: f64,
    /// Why there is nothing to show, or what is wrong with it.
    pub(crate) failure: Option<String>,
}

impl Run {
    /// Whether others used the machine so much that the figures suffer. The
    /// kernel counts in steps of 10 ms per core, hence the constant part.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.foreign_s > 0.03 + 0.05 * self.wall_s
    }
}

impl Plan {
    pub(crate) fn new(
        args: &Args,
        definitions: Vec<Definition>,
        groups: Vec<Group>,
        peers: Vec<BuiltPeer>,
    ) -> Self {
        Self {
            definitions,
            groups,
            peers,
            workers: args.workers.clone(),
            rounds: args.rounds(),
            quick: args.quick,
            seed: args.seed,
        }
    }

    /// The parallel peers that are not on heist themselves.
    pub(crate) fn rivals(&self) -> impl Iterator<Item = &str> {
        let parallel = self.peers.iter();
        parallel
            .filter(|peer| peer.baseline.is_some() && !peer.name.contains("heist"))
            .map(|peer| peer.name.as_str())
    }

    /// The workloads of a group, in the order of the report.
    pub(crate) fn members<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Definition> {
        self.definitions
            .iter()
            .filter(|definition| definition.group.as_ref() == Some(&group.name))
    }

    /// The groups of which something is demanded with these numbers of workers.
    pub(crate) fn groups_to_judge(&self) -> impl Iterator<Item = &Group> {
        let is_run = |bar: &RatioBar| self.workers.contains(&bar.workers);
        let groups = self.groups.iter();
        groups.filter(move |group| group.bar.iter().any(is_run))
    }

    /// Runs everything; a failure of a peer is part of the result.
    pub(crate) fn run(&self) -> Result<Vec<Run>> {
        let mut rng = fastrand::Rng::with_seed(self.seed);
        let mut runs = Vec::new();
        for round in 1..=self.rounds {
            let started = Instant::now();
            for definition in &self.definitions {
                if definition
                    .size(self.quick)
                    .rounds_max
                    .is_some_and(|most| round > most)
                {
                    continue;
                }
                let mut jobs = self.jobs(definition);
                rng.shuffle(&mut jobs);
                for (peer, workers) in jobs {
                    let run = self.start(definition, peer, workers, round)?;
                    if let Some(failure) = &run.failure {
                        eprintln!("failed: {} on {}: {failure}", run.workload, run.peer);
                    }
                    runs.push(run);
                }
            }
            let seconds = started.elapsed().as_secs();
            eprintln!("round {round} of {} took {seconds} s", self.rounds);
        }
        Ok(runs)
    }

    /// Which peers run a workload with how many workers; baselines with one.
    fn jobs(&self, definition: &Definition) -> Vec<(&BuiltPeer, u32)> {
        let peers = self
            .peers
            .iter()
            .filter(|each| definition.peers.contains(&each.name));
        peers
            .flat_map(|peer| {
                let workers = if peer.baseline.is_some() {
                    let enough = |workers: &u32| *workers >= definition.workers_min;
                    self.workers.iter().copied().filter(enough).collect()
                } else {
                    vec![1]
                };
                workers.into_iter().map(move |workers| (peer, workers))
            })
            .collect()
    }

    /// Starts one peer and collects its samples.
    fn start(
        &self,
        definition: &Definition,
        peer: &BuiltPeer,
        workers: u32,
        round: u32,
    ) -> Result<Run> {
        let size = definition.size(self.quick);
        let ticks = Ticks::now();
        let started = Instant::now();
        let outcome = Self::output(definition, peer, workers, size)?;
        let (wall_s, foreign_s) = (
            started.elapsed().as_secs_f64(),
            Ticks::now().foreign_s_since(ticks),
        );
        let (samples, failure) = match outcome.and_then(|text| samples(&text)) {
            Ok(samples) => {
                let failure = check(definition, &samples, &size.checksum);
                (samples, failure)
            }
            Err(failure) => (Vec::new(), Some(failure)),
        };
        let (workload, peer) = (definition.name.clone(), peer.name.clone());
        Ok(Run {
            workload,
            peer,
            workers,
            round,
            samples,
            foreign_s,
            wall_s,
            failure,
        })
    }

    /// Runs the program; the inner error is the peer's, the outer ours.
    fn output(
        definition: &Definition,
        peer: &BuiltPeer,
        workers: u32,
        size: &Size,
    ) -> Result<Result<String, String>> {
        let mut command = Command::new(&peer.command[0]);
        command
            .args(&peer.command[1..])
            .arg(&definition.program)
            .arg(format!("workers={workers}"))
            .arg(format!("samples={}", size.samples))
            .arg(format!("budget_ms={}", size.budget_ms))
            .args(
                size.sizes
                    .iter()
                    .map(|(key, number)| format!("{key}={number}")),
            )
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start the peer of {}: {command:?}", peer.name))?;
        // Generous: one sample of a slow peer may exceed the budget many times.
        let limit = Duration::from_millis(size.budget_ms * 20) + Duration::from_secs(20);
        // Peers print a few lines only, which the pipes hold until the end.
        let Some(status) = child
            .wait_timeout(limit)
            .context("cannot wait for a peer")?
        else {
            child
                .kill()
                .context("cannot end a peer that ran too long")?;
            child
                .wait()
                .context("cannot wait for a peer that was ended")?;
            return Ok(Err(format!("ended after {} s", limit.as_secs())));
        };
        let (mut text, mut errors) = (String::new(), String::new());
        if let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) {
            out.read_to_string(&mut text)
                .context("cannot read a peer's samples")?;
            err.read_to_string(&mut errors)
                .context("cannot read a peer's messages")?;
        }
        if status.success() {
            Ok(Ok(text))
        } else {
            let message = errors
                .trim()
                .lines()
                .next()
                .unwrap_or("no message")
                .to_owned();
            Ok(Err(format!("{status}: {message}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::fib;
    use crate::group::tests::pair;

    fn peer(name: &str, baseline: Option<&str>) -> BuiltPeer {
        let (name, version) = (name.to_owned(), String::new());
        BuiltPeer {
            name,
            baseline: baseline.map(str::to_owned),
            command: Vec::new(),
            version,
        }
    }

    fn plan(definition: Definition, groups: Vec<Group>) -> Plan {
        Plan {
            definitions: vec![definition],
            groups,
            peers: vec![
                peer("serial", None),
                peer("rayon", Some("serial")),
                peer("paralight", Some("serial")),
            ],
            workers: vec![1, 2],
            rounds: 1,
            quick: true,
            seed: 1,
        }
    }

    fn jobs_of(plan: &Plan) -> Vec<(&str, u32)> {
        let jobs = plan.jobs(&plan.definitions[0]).into_iter();
        jobs.map(|(peer, workers)| (&*peer.name, workers)).collect()
    }

    #[test]
    fn baselines_run_once_and_peers_with_every_number_of_workers() {
        let plan = plan(fib(), Vec::new());
        let jobs = [("serial", 1), ("rayon", 1), ("rayon", 2)];
        assert_eq!(jobs_of(&plan), jobs);
    }

    #[test]
    fn no_peer_runs_with_too_few_workers() {
        let definition = Definition {
            workers_min: 2,
            ..fib()
        };
        let plan = plan(definition, Vec::new());
        assert_eq!(jobs_of(&plan), [("serial", 1), ("rayon", 2)]);
    }

    #[test]
    fn a_group_is_judged_if_a_number_of_workers_runs_on_which_it_has_a_bar() {
        let mut crowd = pair();
        crowd.bar[0].workers = 64;
        let mut plan = plan(fib(), vec![pair(), crowd]);
        assert_eq!(plan.groups_to_judge().count(), 1);
        plan.workers.push(64);
        assert_eq!(plan.groups_to_judge().count(), 2);
    }
}
