//! All that is told about the runs of a program: text, page and document show these figures.
//!
//! Serialised, it is the document of `heist profile --json`; `schema.md` beside this file describes
//! each field.

use serde::Serialize;

use super::as_if::Prediction;
use super::bounds::{Speedup, Strands};
use super::grain::GrainSummary;
use super::growth::Growth;
use super::merge::Merging;
use super::trust::{Disturbance, Trust};
use crate::replay::Replay;

/// Grows when a field changes its meaning or goes away; new fields may appear.
pub(super) const VERSION: u32 = 1;

/// All that the profiles of a program say. Times are nanoseconds, shares go from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The version of this document.
    pub heist_profile_report: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The version of heist in the program.
    pub heist: String,
    /// The answer in a sentence or two.
    pub verdict: String,
    /// Whether conclusions may be drawn.
    pub trust: Trust,
    /// The time for which its threads waited for a processor, or the host took it.
    pub disturbance: Disturbance,
    /// The runs, by their number of workers. All that follows is from the last of these, where it
    /// does not say otherwise.
    pub runs: Vec<Runs>,
    /// The largest number of workers of a run.
    pub workers: u64,
    /// The processors that the program could use, 0 if unknown.
    pub processors: u64,
    /// The pools that did something.
    pub pools: u64,
    /// The wall time in which several pools ran jobs at once.
    pub pools_at_once_ns: u64,
    /// The workers of these pools together, on average, if that was worth a word; else those of the
    /// largest pool.
    pub workers_at_once: u64,
    /// From the start of the process to its end.
    pub wall_ns: u64,
    /// The wall time in which no pool had a job under way.
    pub outside_ns: u64,
    /// Its share of the wall time.
    pub outside_share: f64,
    /// The sum of all strands: T1.
    pub work_ns: u64,
    /// The longest path: Tinf.
    pub span_ns: u64,
    /// The longest path if each fork on it cost a steal.
    pub burdened_span_ns: u64,
    /// The time of a steal.
    pub steal_ns: u64,
    /// Whether the runs measured it.
    pub steal_ns_measured: bool,
    /// T1 / Tinf.
    pub parallelism: f64,
    /// T1 by the burdened span.
    pub burdened_parallelism: f64,
    /// The work of jobs that nobody joins, and of strands that were under way at the end: if
    /// there is any, the span is a lower bound.
    pub unjoined_work_ns: u64,
    /// The whole program, beside its run with one worker; null without such a run, or if too much
    /// was disturbed.
    pub measured_speedup: Option<f64>,
    /// The speed-ups of 1 to 1,024 workers; empty if too much was disturbed.
    pub speedups: Vec<Speedup>,
    /// Predictions for the numbers of workers that were asked for ([`Report::as_if`]).
    pub as_if: Vec<Prediction>,
    /// A recorded run of the program in the model ([`Report::with_model`]).
    pub model: Option<Replay>,
    /// The reason why there is no such run.
    pub model_missing: Option<String>,
    /// The wall time of all workers, divided by what they did, in the run with the median wall
    /// time.
    pub worker_time: Vec<Part>,
    /// The sum of these parts.
    pub worker_time_ns: i128,
    /// Stretches in which one worker ran alone, the longest first.
    pub sequential: Vec<Stretch>,
    /// The places that fork, those that hold most of the span first.
    pub sites: Vec<SiteReport>,
    /// How many more places there were than can be told apart.
    pub other_sites: u64,
    /// Joins, spawns and splits of loops.
    pub forks: u64,
    /// The jobs that ran on another worker than the one that forked them.
    pub stolen: u64,
    /// The work by the forks.
    pub work_per_fork_ns: f64,
    /// How long strands are.
    pub grain: GrainSummary,
    /// How the work grows with the workers; null without runs that differ.
    pub growth: Option<Growth>,
    /// Things to do about it, that which saves most first.
    pub advice: Vec<Advice>,
}

/// The runs with one number of workers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Runs {
    /// The workers of all pools, together.
    pub workers: u64,
    /// How many runs there were.
    pub runs: usize,
    /// How figures come from them.
    pub merging: Merging,
    /// The median wall time.
    pub wall_ns: u64,
    /// The wall time outside pools, of that run.
    pub outside_ns: u64,
    /// T1 of these runs.
    pub work_ns: u64,
    /// Tinf of these runs.
    pub span_ns: u64,
    /// As above, of these runs.
    pub disturbance: Disturbance,
}

/// A part of the workers' time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Part {
    /// How it was spent.
    pub cause: Cause,
    /// The time, added up over all workers; below 0 if more was measured than there was.
    pub ns: i128,
    /// Of the time of all workers.
    pub share: f64,
}

/// Where the time of workers goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Strands, as long as they are with the fewest workers that were tried.
    Work,
    /// The time by which strands are longer with more workers.
    Growth,
    /// The price of forks that nobody stole, which strands pay: their number times 5 ns.
    Forks,
    /// No pool had a job.
    Outside,
    /// One worker had a job and had forked nothing.
    Sequential,
    /// There were fewer jobs than workers.
    Narrow,
    /// Waiting for a job that another worker ran.
    Joins,
    /// Looking for jobs that were there.
    Stealing,
    /// Being woken while there were jobs.
    Waking,
    /// Taking the time of each strand for the profile.
    Watching,
    /// The rest: other programs, and what is not measured exactly.
    NotExplained,
}

/// A stretch in which one worker ran alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stretch {
    /// The site whose fork ended it, by its short name.
    pub before: String,
    /// Its wall time.
    pub wall_ns: f64,
    /// How long the other workers had nothing to do, added up over them.
    pub idle_ns: u64,
    /// That, of the time of all workers.
    pub share: f64,
}

/// A place that forks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SiteReport {
    /// Its short name.
    pub name: String,
    /// Its operation.
    pub kind: String,
    /// How often it forked.
    pub forks: u64,
    /// How many of its jobs were stolen.
    pub stolen: u64,
    /// The sum of its strands.
    pub work_ns: u64,
    /// Its share of the work.
    pub work_share: f64,
    /// The part of the longest path in its strands.
    pub span_ns: u64,
    /// Its share of the span.
    pub span_share: f64,
    /// Its longest strand.
    pub longest_ns: u64,
    /// How long its strands are.
    pub grain: GrainSummary,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The subject.
    pub about: Subject,
    /// In sentences.
    pub text: String,
    /// The wall time that it would save at most, where that can be told; of what the model says,
    /// if the site were four times as fast.
    pub saves_ns: Option<f64>,
    /// The wall time that would be left.
    pub predicted_wall_ns: Option<f64>,
    /// Whether these times are the model's; else they are arithmetic with what was measured.
    pub simulated: bool,
}

/// The subjects of advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The machine was disturbed.
    Interference,
    /// There are more workers than processors.
    Oversubscription,
    /// Time outside pools.
    Outside,
    /// One worker runs alone.
    Sequential,
    /// A site holds much of the span, or would bring much if it were faster.
    Span,
    /// Too few jobs at a time.
    Narrow,
    /// Workers wait at joins.
    Joins,
    /// Workers look for jobs.
    Stealing,
    /// Workers are woken too often.
    Waking,
    /// The work grows.
    Growth,
    /// The profile slows the program down.
    Watching,
    /// The grain is too fine.
    Grain,
    /// A part of the work is not covered.
    Coverage,
    /// Nothing is left to gain.
    Ample,
}

impl Report {
    /// The times from which bounds follow.
    #[must_use]
    pub fn strands(&self) -> Strands {
        Strands {
            work_ns: self.work_ns as f64,
            span_ns: self.span_ns as f64,
            burdened_span_ns: self.burdened_span_ns as f64,
            outside_ns: self.outside_ns as f64,
        }
    }

    /// The same report, with predictions for these numbers of workers. There are none where there
    /// are no bounds.
    #[must_use]
    pub fn as_if(mut self, workers: &[u64]) -> Self {
        if self.wants_model() {
            let strands = self.strands();
            self.as_if = workers.iter().map(|&n| strands.prediction(n)).collect();
        }
        self
    }

    /// Whether a model could add anything.
    #[must_use]
    pub fn wants_model(&self) -> bool {
        self.trust != Trust::NoBounds && self.work_ns > 0
    }

    /// Whether several pools ran jobs at once, with more workers than the largest pool has.
    #[must_use]
    pub fn has_pools_at_once(&self) -> bool {
        self.workers_at_once > self.workers
    }

    /// The part of the workers' time that went there.
    #[must_use]
    pub fn part(&self, cause: Cause) -> Part {
        let none = Part {
            cause,
            ns: 0,
            share: 0.0,
        };
        let part = self.worker_time.iter().find(|part| part.cause == cause);
        part.copied().unwrap_or(none)
    }

    /// The share of the workers' time in which they ran strands.
    #[must_use]
    pub fn busy_share(&self) -> f64 {
        let causes = [Cause::Work, Cause::Growth, Cause::Forks];
        causes.map(|cause| self.part(cause).share).iter().sum()
    }

    /// The document for programs, as JSON.
    ///
    /// # Panics
    ///
    /// Never does: a report has no keys but names, at which alone JSON could fail.
    #[must_use]
    pub fn json(&self) -> String {
        let document = serde_json::to_string_pretty(self);
        document.expect("a report has nothing that JSON cannot say")
    }
}

impl Cause {
    /// The words for it in texts.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Growth => "growth of the work with the workers",
            Self::Forks => "forks, at some 5 ns each",
            Self::Outside => "outside any pool",
            Self::Sequential => "sequential sections before a fork",
            Self::Narrow => "too few jobs at a time",
            Self::Joins => "waiting at joins",
            Self::Stealing => "stealing",
            Self::Waking => "waking up",
            Self::Watching => "the profile itself",
            Self::NotExplained => "not explained",
        }
    }
}
