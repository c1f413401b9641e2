//! The use of resources by a worker and its machine.

use serde::{Deserialize, Serialize};

/// Counters of a process and its machine, read at one moment. A rate needs two readings.
///
/// # Examples
///
/// ```
/// use heist_cluster::Reading;
///
/// /// How many processors the process kept busy between two readings.
/// fn busy(before: &Reading, after: &Reading) -> f64 {
///     let used_ms = after.process_cpu_ms - before.process_cpu_ms;
///     used_ms as f64 / (after.at_ms - before.at_ms) as f64
/// }
/// let before = Reading::default();
/// let after = Reading { at_ms: 1000, process_cpu_ms: 1500, ..Reading::default() };
/// assert_eq!(busy(&before, &after), 1.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The time of the reading, in milliseconds since 1970.
    pub at_ms: u64,
    /// The worker's process.
    pub pid: u32,
    /// Processor time of the worker's process.
    pub process_cpu_ms: u64,
    /// Resident memory of the worker's process.
    pub process_memory_bytes: u64,
    /// Processor time of the worker's parent and of all of that one's children, with their
    /// process numbers, if asked for: under some backends those are the node.
    pub family_cpu_ms: Vec<(u32, u64)>,
    /// Which machine this is, if the system says: two nodes may be on one.
    pub machine: String,
    /// Processors of the machine.
    pub machine_cpus: u32,
    /// Processor time of the whole machine in use, over all processors.
    pub machine_busy_ms: u64,
    /// Memory of the machine that is still to be had.
    pub machine_memory_available_bytes: u64,
    /// Of each running job.
    pub jobs: Vec<JobReading>,
}

/// Counters of a running job, one of a [`Reading`], which has an example.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReading {
    /// The driver's number of the job.
    pub job: u64,
    /// The attempt's number.
    pub epoch: u32,
    /// Processor time of the threads of its pool.
    pub cpu_ms: u64,
    /// How long they could have run and had no processor.
    pub waited_ms: u64,
    /// How much of it is done, from 0 to 1.
    pub progress: f64,
}
