//! The choices that make one scheduler differ from another.

/// A scheduler. The default is that of theory: continuations are stolen, one at a time, the oldest
/// first, from a victim that is uniform among the others.
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Bag, Policy, Take};
///
/// let half = Policy { take: Take::Half, ..Policy::default() };
/// let steps = |policy: &Policy| simulate(&Bag { tasks: 100_000 }, 64, policy, 1).steps;
/// assert!(steps(&half) < steps(&Policy::default()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The branch of a fork that others can take.
    pub order: Order,
    /// Where a worker without work finds some.
    pub source: Source,
    /// The choice of a victim.
    pub victim: Victim,
    /// The end of the deque at which a thief takes.
    pub end: End,
    /// How much a thief takes at once.
    pub take: Take,
    /// Whether one thief at most succeeds with each victim in a step; any number otherwise.
    pub one_thief: bool,
    /// Steps that an attempt lasts beyond its own.
    pub latency: u32,
}

/// The branch of a fork that goes into the deque.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The continuation; the worker goes on with the child, as a serial program does.
    #[default]
    Continuation,
    /// The child; the worker goes on with what follows the fork, as most libraries do.
    Child,
}

/// Where a worker without work finds some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// In the deque of another worker, by an attempt that costs a step.
    #[default]
    Stealing,
    /// In one queue for all, at no cost: the greedy scheduler of Graham (1969), which no machine
    /// has.
    Central,
}

/// The choice of a victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victim {
    /// As the runtime's first probe of a round: uniform among all others.
    #[default]
    Uniform,
    /// The next one after the last.
    RoundRobin,
    /// Always the first that is not the thief. Theory promises nothing for it.
    First,
}

/// The end of a deque at which thieves take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// That of the oldest, which in a recursion has the most work below it.
    #[default]
    Oldest,
    /// That of the owner. Theory promises nothing for it.
    Newest,
}

/// How much a thief takes at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Take {
    /// A single node.
    #[default]
    One,
    /// Half of what is there, rounded up.
    Half,
}
