//! The input of a simulated fleet: its nodes, its jobs, and how well it is measured.

use std::ops::Range;

use heist_cluster::planner::{Mobility, Priority};

/// The nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// A CPU of speed 1, in the millionths in which CPUs are counted.
pub const CPU: u64 = 1_000_000;
/// The bytes of a MiB.
pub const MIB: u64 = 1 << 20;
/// The bytes of a GiB.
pub const GIB: u64 = 1 << 30;

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its CPUs, in millionths.
    pub cpus: u64,
    /// Its memory.
    pub memory_bytes: u64,
    /// The work of one of its CPUs beside that of a usual one, in thousandths.
    pub speed: u64,
    /// The rack in which it stands.
    pub rack: u32,
    /// Load that is no job, in millionths of a usual CPU.
    pub background: u64,
    /// From each of these times on it runs at this share of its speed, in thousandths, and does not
    /// tell.
    pub throttles: Vec<(u64, u64)>,
    /// When it is gone.
    pub down: Vec<Range<u64>>,
}

impl Node {
    /// A node of usual CPUs, all of them at hand.
    #[must_use]
    pub fn new(cpus: u64, memory_bytes: u64) -> Self {
        Self {
            cpus: cpus.max(1),
            memory_bytes,
            speed: 1000,
            rack: 0,
            background: 0,
            throttles: Vec::new(),
            down: Vec::new(),
        }
    }

    /// Its CPUs, in millionths of a usual one, as it says.
    #[must_use]
    pub fn strength(&self) -> u64 {
        scaled(self.cpus, self.speed).max(1)
    }

    /// Those that it has at this time in truth.
    pub(super) fn strength_at(&self, now_ns: u64) -> u64 {
        let begun = self.throttles.iter().filter(|(from, _)| *from <= now_ns);
        let share = begun.max_by_key(|(from, _)| *from).map(|(_, share)| *share);
        scaled(self.strength(), share.unwrap_or(1000)).max(1)
    }

    pub(super) fn is_up(&self, now_ns: u64) -> bool {
        !self.down.iter().any(|range| range.contains(&now_ns))
    }

    /// The times at which its strength changes, or whether it is up.
    pub(super) fn changes(&self) -> impl Iterator<Item = u64> + '_ {
        let throttles = self.throttles.iter().map(|(from, _)| *from);
        throttles.chain(self.down.iter().flat_map(|range| [range.start, range.end]))
    }
}

/// So many thousandths of an amount.
pub(super) fn scaled(amount: u64, thousandths: u64) -> u64 {
    let scaled = u128::from(amount) * u128::from(thousandths) / 1000;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// One job, which runs for its duration where it gets all that it wants.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where it begins; without it where the least is reserved.
    pub node: Option<u32>,
    /// When it is submitted.
    pub arrives_ns: u64,
    /// How long it runs undisturbed.
    pub duration_ns: u64,
    /// Its demand in truth, in millionths of a usual CPU.
    pub cpus: u64,
    /// The demand that was estimated, in the same unit.
    pub estimate: u64,
    /// In every second half of this time it wants a tenth only.
    pub swing_ns: Option<u64>,
    /// How important it is.
    pub priority: Priority,
    /// Whether it may move.
    pub mobility: Mobility,
    /// How much is transferred when it moves.
    pub state_bytes: u64,
    /// The memory that it takes.
    pub memory_bytes: u64,
    /// The rack that has its data: it begins there if it can, and elsewhere takes longer.
    pub home: Option<u32>,
    /// The task that it is an instance of, by its place among [`Setup::tasks`].
    pub task: Option<u32>,
    /// Whether its end is not known: it lasted for its duration at least.
    pub is_censored: bool,
}

impl Job {
    /// A movable job of priority P3 without state and memory, whose estimate is right.
    #[must_use]
    pub fn new(arrives_ns: u64, duration_ns: u64, cpus: u64) -> Self {
        Self {
            node: None,
            arrives_ns,
            duration_ns: duration_ns.max(1),
            cpus,
            estimate: cpus,
            swing_ns: None,
            priority: Priority(3),
            mobility: Mobility::Movable,
            state_bytes: 0,
            memory_bytes: 0,
            home: None,
            task: None,
            is_censored: false,
        }
    }

    /// Its demand at a time.
    pub(super) fn wish(&self, now_ns: u64) -> u64 {
        match self.swing_ns {
            Some(period) if now_ns % period >= period / 2 => self.cpus / 10,
            _ => self.cpus,
        }
    }
}

/// A task, whose jobs begin when those of others have ended.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// The tasks that it waits for, by their places. No circle may be among them.
    pub after: Vec<u32>,
}

/// How well the fleet is measured.
#[derive(Clone, Debug)]
pub struct Measuring {
    /// The time between two samples of a node.
    pub period_ns: u64,
    /// How old a sample is when it arrives.
    pub delay_ns: u64,
    /// The share of samples that never arrive.
    pub loss: f64,
    /// The weight of a new sample in the mean that arrives; 1 for the sample itself.
    pub weight: f64,
    /// Whether a full node is measured as full, however much waits there.
    pub is_capped: bool,
}

/// The price of moves.
#[derive(Clone, Debug)]
pub struct Moving {
    /// How long it takes to stop and start a job.
    pub pause_ns: u64,
    /// The time that a job loses since caches are cold.
    pub cold_start_ns: u64,
    /// Bytes a second that all transfers share.
    pub bandwidth: u64,
    /// CPUs at each end that are busy with a move, in millionths of a usual one.
    pub cpus: u64,
}

/// A fleet, its jobs, and how well it is measured.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The jobs, in any order.
    pub jobs: Vec<Job>,
    /// The tasks of the jobs that wait for others.
    pub tasks: Vec<Task>,
    /// How well they are measured.
    pub measuring: Measuring,
    /// The price of moves.
    pub moving: Moving,
    /// By which share the demand of a job differs from its mean at most, up and down.
    pub wobble: f64,
    /// How long a demand lasts before it changes.
    pub wobble_ns: u64,
    /// The time between two decisions.
    pub decision_ns: u64,
    /// How long a job waits for its restart when its node has died.
    pub restart_ns: u64,
    /// The time between two checkpoints; a job that lost its node goes on from the last.
    pub checkpoint_ns: u64,
    /// How much longer a job takes away from the rack of its data, in thousandths.
    pub away: u64,
    /// The slowdown from which on a job has missed its objective.
    pub slo: f64,
    /// When the simulation ends at the latest.
    pub until_ns: u64,
}

impl Setup {
    /// The least that a job ever wants.
    pub(super) fn least(&self, job: &Job) -> u64 {
        let least = job.swing_ns.map_or(job.cpus, |_| job.cpus / 10);
        let wobble = (self.wobble * 1000.0).ceil().clamp(0.0, 1000.0) as u64;
        // Demands are cut to whole millionths.
        scaled(least, 1000 - wobble).saturating_sub(1)
    }

    /// Whether some node has the memory for the job.
    pub(super) fn can_place(&self, job: &Job) -> bool {
        let mut nodes = self.nodes.iter();
        job.memory_bytes == 0 || nodes.any(|node| job.memory_bytes <= node.memory_bytes)
    }

    /// These nodes without a job: their demands wobble by 30 %, and are measured
    /// each second, a second late, one sample in twenty lost; moves pause for half a second, share
    /// 100 MiB a second, and start cold for one.
    #[must_use]
    pub fn new(nodes: Vec<Node>) -> Self {
        Self {
            nodes,
            jobs: Vec::new(),
            tasks: Vec::new(),
            measuring: Measuring {
                period_ns: SECOND,
                delay_ns: SECOND,
                loss: 0.05,
                weight: 1.0,
                is_capped: false,
            },
            moving: Moving {
                pause_ns: SECOND / 2,
                cold_start_ns: SECOND,
                bandwidth: 100 * MIB,
                cpus: CPU,
            },
            wobble: 0.3,
            wobble_ns: SECOND,
            decision_ns: SECOND,
            restart_ns: 10 * SECOND,
            checkpoint_ns: 10 * SECOND,
            away: 1250,
            slo: 1.5,
            until_ns: u64::MAX,
        }
    }
}
