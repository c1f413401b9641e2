//! Independent tasks on processors whose balancing takes time: work stealing beside what kernels do
//! with their run queues.
//!
//! A kernel balances threads that last for milliseconds: a processor that runs dry looks at all
//! queues for the busiest and pulls half of the difference, and a tick every few milliseconds sees
//! to the rest. A thief asks one random victim and takes what it finds. Which is better depends on
//! how long a task lasts beside a look at a queue. All schemes pay the same [`Costs`], so that
//! their decisions are compared.
//!
//! # Examples
//!
//! ```
//! use heist_sim::balance::{balance, Bag, Costs, Scheme};
//!
//! // Tasks of a microsecond, all of which begin with the first of sixteen processors.
//! let bag = Bag::OnOne { tasks: 16_000, grain_ns: 1_000 };
//! let time = |scheme| balance(&bag, 16, scheme, &Costs::default(), 1).makespan_ns;
//! assert!(time(Scheme::StealHalf) < time(Scheme::IdlePull));
//! assert!(time(Scheme::IdlePull) < time(Scheme::PeriodicPull));
//! ```

mod machine;

pub use machine::{balance, Balanced};

use heist_core::policy::Rng;

/// The way in which a processor without tasks comes to some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// It asks random others and takes the oldest task of the first that has one, as this
    /// runtime does.
    Steal,
    /// As `Steal`, but it takes half of what is there.
    StealHalf,
    /// It looks at all queues and pulls half of the longest; if all are empty, it waits for the
    /// next tick. So the idle balancing of Linux's fair scheduler goes, in one domain.
    IdlePull,
    /// With each tick a processor without tasks looks at all queues, and pulls half of the
    /// difference.
    PeriodicPull,
    /// With each tick a processor that has more tasks than the mean looks at all queues, and pushes
    /// half of the difference to the shortest.
    PeriodicPush,
    /// All tasks are in one queue, which has one lock.
    Central,
    /// The tasks are dealt to all processors before the start, and stay there.
    Static,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Steal,
        Self::StealHalf,
        Self::IdlePull,
        Self::PeriodicPull,
        Self::PeriodicPush,
        Self::Central,
        Self::Static,
    ];
}

/// The tasks of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bag {
    /// All begin with the first processor, and last equally long.
    OnOne {
        /// Their number.
        tasks: u64,
        /// How long each lasts.
        grain_ns: u64,
    },
    /// All processors begin with as many, but some last very long: Pareto's distribution with
    /// exponent 1.5, cut off at a hundred times the mean.
    Uneven {
        /// Their number.
        tasks: u64,
        /// How long they last in the mean.
        grain_ns: u64,
    },
    /// One, at whose end there are two others, and so on, down to a number of tasks that is divided
    /// at random each time, as the parts of a quicksort are.
    Growing {
        /// Their number.
        tasks: u64,
        /// How long each lasts.
        grain_ns: u64,
    },
}

/// How long it takes to find out about queues, and to move tasks.
///
/// The defaults are of a virtual machine with two processors; with more of them only the model has
/// ever run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A look at another processor's queue: a cache miss.
    pub look_ns: u64,
    /// To take tasks from another queue, during which nobody else can; from a central one, too.
    pub take_ns: u64,
    /// To take one more along.
    pub more_ns: u64,
    /// A rest of a thief that has found nothing anywhere, at most: a wake-up. The first is a look,
    /// and each is twice as long as the one before.
    pub rest_max_ns: u64,
    /// The period of the tick.
    pub tick_ns: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            look_ns: 60,
            take_ns: 100,
            more_ns: 10,
            rest_max_ns: 18_000,
            tick_ns: 4_000_000,
        }
    }
}

/// A task that has not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    ns: u64,
    /// How many others come of it.
    below: u64,
}

impl Bag {
    /// Each task of the start, with the processor where it begins.
    fn start(self, processors: usize, rng: &mut Rng) -> Vec<(usize, Task)> {
        let (tasks, alone) = (self.tasks(), |ns| Task { ns, below: 0 });
        let dealt = |task: u64| (task % processors as u64) as usize;
        match self {
            Self::OnOne { grain_ns, .. } => (0..tasks).map(|_| (0, alone(grain_ns))).collect(),
            Self::Uneven { grain_ns, .. } => (0..tasks)
                .map(|task| (dealt(task), alone(pareto(grain_ns, rng))))
                .collect(),
            Self::Growing { grain_ns, .. } => {
                let below = tasks.saturating_sub(1);
                vec![(
                    0,
                    Task {
                        ns: grain_ns,
                        below,
                    },
                )]
            }
        }
    }

    fn tasks(self) -> u64 {
        match self {
            Self::OnOne { tasks, .. }
            | Self::Uneven { tasks, .. }
            | Self::Growing { tasks, .. } => tasks,
        }
    }
}

impl Task {
    /// The tasks that come of this one.
    fn children(self, rng: &mut Rng) -> impl Iterator<Item = Self> {
        let first = match usize::try_from(self.below) {
            Ok(below) if below > 0 => rng.below(below + 1) as u64,
            _ => 0,
        };
        let sizes = [first, self.below - first].into_iter();
        sizes.filter(|&size| size > 0).map(move |size| Self {
            ns: self.ns,
            below: size - 1,
        })
    }
}

/// A duration whose mean is near this one.
fn pareto(mean_ns: u64, rng: &mut Rng) -> u64 {
    const EXPONENT: f64 = 1.5;
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    // The mean of the distribution is the least times EXPONENT / (EXPONENT - 1), which is 3.
    let ns = mean_ns as f64 / 3.0 * uniform.powf(-1.0 / EXPONENT);
    (ns as u64).clamp(1, 100 * mean_ns)
}
