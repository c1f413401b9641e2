//! A run on many machines, as plain data.

use crate::Fact;

/// A run on many machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// Its length.
    pub wall_ms: u64,
    /// Figures to print above the charts.
    pub facts: Vec<Fact>,
    /// The machines, in the order in which they are drawn.
    pub machines: Vec<Machine>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Their moves.
    pub moves: Vec<Move>,
    /// The decisions about moves.
    pub decisions: Vec<Decision>,
    /// The times during which no driver ran.
    pub undriven: Vec<Stretch>,
    /// Remarks for the reader, a sentence each.
    pub notes: Vec<String>,
}

/// From one time to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The first moment.
    pub begin_ms: u64,
    /// The moment after the last.
    pub end_ms: u64,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// A remark, such as the number of its processors.
    pub note: String,
    /// The measurements there, in order.
    pub usage: Vec<Usage>,
    /// The times of its absence.
    pub absent: Vec<Stretch>,
}

/// The measured use of a machine for a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// The time that was measured.
    pub stretch: Stretch,
    /// The share of its processors that was in use: 1 for all of them, more if work waited for a
    /// processor, `None` if unknown.
    pub share: Option<f64>,
    /// The reason why the share is unknown.
    pub note: String,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// A remark, such as its type.
    pub note: String,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Its end, in words.
    pub outcome: String,
    /// True if it has no result.
    pub is_failed: bool,
}

/// A stretch that a job ran on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The machine's place in [`Fleet::machines`].
    pub machine: usize,
    /// The number of the attempt, as the run counts them.
    pub epoch: u32,
    /// The time that it took.
    pub stretch: Stretch,
    /// The reason for its end.
    pub end: AttemptEnd,
    /// A remark about its end.
    pub note: String,
    /// Its checkpoints, in order.
    pub checkpoints: Vec<Checkpoint>,
}

/// The reason for the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The job was done.
    Done,
    /// The job gave up.
    Failed,
    /// The job moved.
    Moved,
    /// The attempt was lost.
    Lost,
    /// The run ended first.
    Open,
}

/// A saved state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// The time of the save.
    pub at_ms: u64,
    /// The share of the job that was done, from 0 to 1.
    pub progress: f64,
    /// The size of the state.
    pub bytes: u64,
}

/// A job's way from one machine to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Move {
    /// The job's place in [`Fleet::jobs`].
    pub job: usize,
    /// The machine that it left, if that is known.
    pub from: Option<usize>,
    /// The machine that it was to go to, or went to.
    pub to: usize,
    /// The time of the request to pause.
    pub began_ms: u64,
    /// The forecast, if the rebalancer chose the move.
    pub expected: Option<Expected>,
    /// Its result; `None` if the run ended first.
    pub outcome: Option<Result<Moved, String>>,
}

/// The forecast of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// The benefit in CPU-seconds.
    pub benefit_cpu_s: f64,
    /// The cost in CPU-seconds.
    pub cost_cpu_s: f64,
    /// The time for which the job would do nothing.
    pub standstill_ms: u64,
}

/// A move that took place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The time from the request to the safe point. The job worked on meanwhile.
    pub pausing_ms: u64,
    /// The time from the safe point until the job ran again.
    pub standstill_ms: u64,
    /// The size of the state.
    pub bytes: u64,
}

/// A decision about moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The time of the decision.
    pub at_ms: u64,
    /// The decision in a sentence.
    pub what: String,
    /// The reasons against anything else, a sentence each.
    pub reasons: Vec<String>,
    /// True if a job was to move.
    pub is_move: bool,
}
