//! The outcome of one run of a fleet.

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// For each job the time from when it could begin at best to its end, over its duration, in the
    /// order in which they ended.
    pub slowdowns: Vec<f64>,
    /// How many jobs missed their objective.
    pub slo_misses: u64,
    /// Jobs that were not done when time was up; their slowdown is the least it can be.
    pub unfinished: u64,
    /// Jobs whose end the trace did not know.
    pub censored: u64,
    /// Jobs that want more memory than any node has, and never ran.
    pub unplaced: u64,
    /// The delay of a CPU-second of work in the mean, in seconds.
    pub delay_s: f64,
    /// Moves that began.
    pub moves: u64,
    /// Moves that ended where the job had been before.
    pub returns: u64,
    /// Moves that failed since a node died.
    pub failed_moves: u64,
    /// Moves whose target truly ended above the level that the job came from.
    pub overshoots: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// For how long jobs stood still since they moved.
    pub pause_ns: u64,
    /// For how long jobs ran.
    pub job_ns: u128,
    /// The difference between the hottest and the coldest node, in the mean over time.
    pub spread: f64,
    /// The share of all CPUs that was in use, in the mean over time.
    pub used: f64,
    /// When the last job ended.
    pub end_ns: u64,
    /// Events that were simulated, each change of a job's demand among them.
    pub events: u64,
    /// Decisions that the rule was asked for.
    pub decisions: u64,
    /// Millionths of a CPU times nanoseconds that the nodes gave.
    pub given: u128,
    /// Those that jobs, background and moves got.
    pub got: u128,
}
