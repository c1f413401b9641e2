//! Computations that unfold while they run: recursions of forks with two branches.

use heist_core::policy::Rng;

/// A fork-join computation. A fork costs one unit, so does going on to its second branch, and so
/// does its join.
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Policy, Recursion};
///
/// /// A tree that leans to one side.
/// struct Comb(u64);
///
/// impl Recursion for Comb {
///     type Task = u64;
///     fn roots(&self) -> impl Iterator<Item = u64> {
///         std::iter::once(self.0)
///     }
///     fn fork(&self, &task: &u64) -> Option<(u64, u64)> {
///         (task > 0).then(|| (task - 1, 0))
///     }
///     fn units(&self, _: &u64) -> u64 {
///         10
///     }
/// }
/// let outcome = simulate(&Comb(5), 2, &Policy::default(), 1);
/// assert_eq!(outcome.work, 5 * 3 + 6 * 10);
/// ```
pub trait Recursion {
    /// A call.
    type Task: Clone;

    /// The calls with which it begins; the first worker has them all.
    fn roots(&self) -> impl Iterator<Item = Self::Task>;

    /// The two calls that this one forks into; none for a leaf.
    fn fork(&self, task: &Self::Task) -> Option<(Self::Task, Self::Task)>;

    /// The units of work in a leaf, one at least.
    fn units(&self, leaf: &Self::Task) -> u64;
}

/// Fibonacci's numbers by two calls each: fine-grained, with a parallelism that grows without end.
/// A leaf is one unit.
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Fib, Policy};
/// let outcome = simulate(&Fib(24), 1, &Policy::default(), 1);
/// assert_eq!((outcome.work, outcome.span), (300_097, 48));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fib(pub u32);

impl Recursion for Fib {
    type Task = u32;

    fn roots(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.0)
    }

    fn fork(&self, &task: &u32) -> Option<(u32, u32)> {
        (task >= 2).then(|| (task - 1, task - 2))
    }

    fn units(&self, _: &u32) -> u64 {
        1
    }
}

/// Independent tasks of one unit, all with the first worker at the start.
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Bag, Policy};
/// let outcome = simulate(&Bag { tasks: 50 }, 1, &Policy::default(), 1);
/// assert_eq!((outcome.steps, outcome.span), (50, 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bag {
    /// Their number.
    pub tasks: u64,
}

impl Recursion for Bag {
    type Task = ();

    fn roots(&self) -> impl Iterator<Item = ()> {
        (0..self.tasks).map(|_| ())
    }

    fn fork(&self, (): &()) -> Option<((), ())> {
        None
    }

    fn units(&self, (): &()) -> u64 {
        1
    }
}

/// A parallel loop over indices, halved down to single ones.
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Loop, Policy};
///
/// // The last index is as much work as all others.
/// let skewed = Loop { len: 1_000, units: |index| if index == 999 { 999 } else { 1 } };
/// let outcome = simulate(&skewed, 4, &Policy::default(), 1);
/// assert!(outcome.span > 999 && outcome.steps < outcome.work);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Loop<F> {
    /// The number of indices, one at least.
    pub len: u64,
    /// The units of work of an index, one at least.
    pub units: F,
}

impl<F: Fn(u64) -> u64> Recursion for Loop<F> {
    /// The first index, and behind the last.
    type Task = (u64, u64);

    fn roots(&self) -> impl Iterator<Item = (u64, u64)> {
        std::iter::once((0, self.len))
    }

    fn fork(&self, &(start, end): &(u64, u64)) -> Option<((u64, u64), (u64, u64))> {
        let middle = start + (end - start) / 2;
        (end - start > 1).then_some(((start, middle), (middle, end)))
    }

    fn units(&self, &(start, _): &(u64, u64)) -> u64 {
        (self.units)(start)
    }
}

/// An unbalanced tree, each node of which has four children or none: nobody knows beforehand where
/// the work is. In the mean 100 nodes lie below each child of the root, in the worst case any
/// number (the binomial trees of UTS, Olivier and others, LCPC 2006).
///
/// # Examples
///
/// ```
/// use heist_sim::{simulate, Policy, Uts};
/// let outcome = simulate(&Uts { children: 1_000, seed: 1 }, 16, &Policy::default(), 1);
/// assert!(outcome.work > 10 * outcome.span);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Uts {
    /// The number of the root's children, one at least.
    pub children: u32,
    /// The tree.
    pub seed: u64,
}

impl Recursion for Uts {
    /// Some of a node's children: the node, the first, and behind the last.
    type Task = (u64, u32, u32);

    fn roots(&self) -> impl Iterator<Item = Self::Task> {
        std::iter::once((self.seed, 0, self.children))
    }

    fn fork(&self, &(of, start, end): &Self::Task) -> Option<(Self::Task, Self::Task)> {
        if end - start > 1 {
            let middle = start + (end - start) / 2;
            return Some(((of, start, middle), (of, middle, end)));
        }
        let mut rng = Rng::new(of.wrapping_add(u64::from(start)));
        let node = rng.next_u64();
        // 4 x 0.2475 is 0.99: the mean of nodes below each is 1 / (1 - 0.99).
        (rng.below(10_000) < 2_475).then_some(((node, 0, 2), (node, 2, 4)))
    }

    fn units(&self, _: &Self::Task) -> u64 {
        1
    }
}
