//! A run on many machines, as plain data.

use crate::Fact;

/// A run on many machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// How long it took.
    pub wall_ms: u64,
    /// Figures to print above all.
    pub facts: Vec<Fact>,
    /// The machines, in the order in which they are drawn.
    pub machines: Vec<Machine>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Their moves.
    pub moves: Vec<Move>,
    /// What was decided about moves.
    pub decisions: Vec<Decision>,
    /// When nobody drove the run.
    pub undriven: Vec<Stretch>,
    /// What a reader should know besides, a sentence each.
    pub notes: Vec<String>,
}

/// From one time to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins.
    pub begin_ms: u64,
    /// When it ends.
    pub end_ms: u64,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// What else there is to say, such as the number of its processors.
    pub note: String,
    /// What was measured there, in order.
    pub usage: Vec<Usage>,
    /// When it was not there.
    pub absent: Vec<Stretch>,
}

/// What a machine used for a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// When.
    pub stretch: Stretch,
    /// The part of its processors that was in use, 1 for all of them and more if work waited
    /// for some; none if not known.
    pub share: Option<f64>,
    /// Why it is not known.
    pub note: String,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// What else there is to say, such as its type.
    pub note: String,
    /// Where it ran, in order.
    pub attempts: Vec<Attempt>,
    /// How it ended.
    pub outcome: String,
    /// True if it has no result.
    pub is_failed: bool,
}

/// A stretch that a job ran on one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The machine's place in [`Fleet::machines`].
    pub machine: usize,
    /// Which attempt, as the run counts them.
    pub epoch: u32,
    /// When.
    pub stretch: Stretch,
    /// Why it ended.
    pub end: AttemptEnd,
    /// What else there is to say of its end.
    pub note: String,
    /// When its state was brought to safety.
    pub checkpoints: Vec<Checkpoint>,
}

/// Why an attempt ended.
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

/// A state that was brought to safety.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// When.
    pub at_ms: u64,
    /// How much of the job was done, from 0 to 1.
    pub progress: f64,
    /// How large it was.
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
    /// When it was asked to pause.
    pub began_ms: u64,
    /// What was expected, if the move was the run's own idea.
    pub expected: Option<Expected>,
    /// How it went; none if the run ended first.
    pub outcome: Option<Result<Moved, String>>,
}

/// What a move was expected to bring.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// In CPU-seconds.
    pub benefit_cpu_s: f64,
    /// In CPU-seconds.
    pub cost_cpu_s: f64,
    /// How long the job would do nothing.
    pub standstill_ms: u64,
}

/// How a move went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// From the request to the safe point. The job worked on meanwhile.
    pub pausing_ms: u64,
    /// From the safe point to running again.
    pub standstill_ms: u64,
    /// Of the state.
    pub bytes: u64,
}

/// What was decided about moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at_ms: u64,
    /// In a sentence.
    pub what: String,
    /// Why nothing else, a sentence each.
    pub reasons: Vec<String>,
    /// True if a job was to move.
    pub is_move: bool,
}
