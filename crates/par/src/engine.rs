//! How a parallel iterator is run: piece by piece, and split when somebody is hungry.
//!
//! Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, PPoPP 2010): a worker
//! offers the upper half of its part and works at the lower half piece by piece. As
//! long as the offer lies in its deque nobody is hungry, and it goes on. When the
//! offer is gone a thief has come, and it offers half of what is left. So a part is
//! split about as often as somebody takes a half of it, whatever the items cost and
//! wherever the expensive ones lie. How long a piece is, [`Grain`] learns from the
//! clock.
//!
//! Halves of halves are small soon, so that a worker has few offers open at a time. But
//! where nobody knows how many steps are left, the upper part may be all that comes
//! after, and the lower one may outlive many upper ones. Of two such parts, the one
//! that still runs when the other has ended is interrupted, and what is [`Left`] of it
//! goes on one level up: or else the stacks would grow with each theft.

use crate::granularity::SplitPolicy;
use crate::iter::ParallelIterator;
use heist_core::policy::Grain;
use heist_core::{current_num_threads, current_thread_has_pending_tasks, join_context, take_part};
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::Clock;
use std::ops::ControlFlow;

/// What is done with the items of one part, in their order.
pub(crate) trait Consumer<T>: Sized + Send {
    /// Takes one item. `Break`: it wants no more of them.
    fn consume(&mut self, item: T) -> ControlFlow<()>;

    /// True if nobody wants more items: asked before each piece.
    fn is_full(&self) -> bool {
        false
    }

    /// The part has been split: makes the consumer of the upper part. If it is known
    /// how many items are left of the lower one, that is `lower_len`.
    fn split(&mut self, lower_len: Option<usize>) -> Self;

    /// Both are done: takes in what the upper part gave.
    fn merge(&mut self, upper: Self);
}

/// Runs all of the iterator, on the calling worker and whoever helps. From outside
/// of all pools the caller takes part in the global one.
pub(crate) fn drive<P, C>(part: P, consumer: C) -> C
where
    P: ParallelIterator,
    C: Consumer<P::Item>,
{
    let policy = part.split_policy();
    match part.steps() {
        0 => consumer,
        1 => alone(part, consumer),
        _ if current_thread_has_pending_tasks().is_some() => start(part, consumer, policy),
        _ => take_part(|| start(part, consumer, policy)),
    }
}

fn start<P, C>(part: P, consumer: C, policy: SplitPolicy) -> C
where
    P: ParallelIterator,
    C: Consumer<P::Item>,
{
    match (part.steps(), policy.fixed_len(part.steps())) {
        // Halves of what may have no end would have no end.
        (UNKNOWN, _) | (_, None) => {
            let nobody = AtomicBool::new(false);
            let (consumer, _) = Run::new(policy).lazily(part, consumer, &nobody);
            consumer
        }
        (_, Some(len)) => fixed(part, consumer, len),
    }
}

/// Splits in halves until no part has more steps than that, whoever is hungry or not.
/// So which items end up in one part depends on nothing else.
fn fixed<P, C>(mut part: P, mut consumer: C, len: usize) -> C
where
    P: ParallelIterator,
    C: Consumer<P::Item>,
{
    if consumer.is_full() {
        return consumer;
    }
    let upper = if part.steps() > len {
        part.split()
    } else {
        None
    };
    let Some(upper) = upper else {
        return alone(part, consumer);
    };
    let others = consumer.split(part.opt_len());
    let (mut consumer, others) = join_context(
        |_| fixed(part, consumer, len),
        |_| fixed(upper, others, len),
    );
    consumer.merge(others);
    consumer
}

/// All of a part, without splitting it.
fn alone<P, C>(mut part: P, mut consumer: C) -> C
where
    P: ParallelIterator,
    C: Consumer<P::Item>,
{
    while part.steps() > 0 && !consumer.is_full() {
        let all = &mut { usize::MAX };
        if part.run(all, |item| consumer.consume(item)).is_break() {
            break;
        }
    }
    consumer
}

/// So many steps are left if nobody knows how many.
const UNKNOWN: usize = usize::MAX;

/// A consumer, and what is left of its part.
type Outcome<P, C> = (C, Option<Left<P, C>>);

/// What is left of a part that was interrupted.
struct Left<P, C> {
    part: P,
    /// Of parts above it that are done.
    above: Option<C>,
}

/// What a worker knows while it works at a part.
#[derive(Clone, Copy)]
struct Run {
    grain: Grain,
    policy: SplitPolicy,
    /// How many more offers may be open within each other, of parts of which nobody
    /// knows how many steps are left.
    levels: usize,
}

impl Run {
    fn new(policy: SplitPolicy) -> Self {
        Self {
            grain: Grain::new(),
            policy,
            // Enough for each worker to run a part of its own, and to begin another one.
            levels: 2 * current_num_threads() + 8,
        }
    }

    /// A part piece by piece; offers half of the rest when nothing else of this
    /// worker's is on offer. If nobody knows how long that takes, then not for longer
    /// than until its neighbour has ended.
    fn lazily<P, C>(
        &mut self,
        mut part: P,
        mut consumer: C,
        neighbour_ended: &AtomicBool,
    ) -> Outcome<P, C>
    where
        P: ParallelIterator,
        C: Consumer<P::Item>,
    {
        let mut above = None;
        let clock = Clock::start();
        let mut then_ns = 0;
        loop {
            let steps = part.steps();
            if steps == 0 || consumer.is_full() {
                break;
            }
            // Relaxed: a hint. What the neighbour has done comes with its end.
            if steps == UNKNOWN && neighbour_ended.load(Ordering::Relaxed) {
                return (consumer, Some(Left { part, above }));
            }
            let piece = self.policy.piece_len(self.grain.len());
            if self.is_to_offer(steps, piece) {
                if let Some(upper) = part.split() {
                    let (others, lower_left, upper_left);
                    ((consumer, lower_left), (others, upper_left)) =
                        self.offer(part, upper, consumer);
                    let left = if lower_left.is_some() {
                        above = merged(Some(others), above);
                        lower_left
                    } else {
                        consumer.merge(others);
                        upper_left
                    };
                    let Some(left) = left else {
                        break;
                    };
                    part = left.part;
                    above = merged(left.above, above);
                    then_ns = clock.elapsed_ns();
                    continue;
                }
            }
            let mut budget = piece;
            if part
                .run(&mut budget, |item| consumer.consume(item))
                .is_break()
            {
                break;
            }
            let now_ns = clock.elapsed_ns();
            if budget == 0 && piece == self.grain.len() {
                self.grain.ran(now_ns - then_ns);
            }
            then_ns = now_ns;
        }
        if let Some(above) = above {
            consumer.merge(above);
        }
        (consumer, None)
    }

    fn is_to_offer(&self, steps: usize, piece: usize) -> bool {
        if steps > self.policy.max_len {
            return true;
        }
        steps > piece
            && steps / 2 >= self.policy.min_len
            && (steps < UNKNOWN || self.levels > 0)
            && current_thread_has_pending_tasks() == Some(false)
    }

    /// Works at the lower part while the upper one is on offer, of which all is left if
    /// nobody wanted it. Something is left of one of the two at most.
    fn offer<P, C>(&mut self, lower: P, upper: P, mut consumer: C) -> (Outcome<P, C>, Outcome<P, C>)
    where
        P: ParallelIterator,
        C: Consumer<P::Item>,
    {
        let others = consumer.split(lower.opt_len());
        let (mut here, mut there) = (*self, *self);
        let levels = self.levels.saturating_sub(1);
        (here.levels, there.levels) = (levels, levels);
        // Told only by a part of which nothing is left, so that not both are
        // interrupted. Relaxed: see where they are read.
        let (lower_ended, upper_ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let ((consumer, lower_left, grain), (others, upper_left)) = join_context(
            |_| {
                let (consumer, left) = here.lazily(lower, consumer, &upper_ended);
                lower_ended.store(left.is_none(), Ordering::Relaxed);
                (consumer, left, here.grain)
            },
            |context| {
                if !context.migrated() {
                    let (part, above) = (upper, None);
                    return (others, Some(Left { part, above }));
                }
                let (others, left) = there.lazily(upper, others, &lower_ended);
                upper_ended.store(left.is_none(), Ordering::Relaxed);
                (others, left)
            },
        );
        self.grain = grain;
        ((consumer, lower_left), (others, upper_left))
    }
}

/// What neighbouring parts have given, from the lower one up.
fn merged<T, C: Consumer<T>>(lower: Option<C>, upper: Option<C>) -> Option<C> {
    match (lower, upper) {
        (Some(mut lower), Some(upper)) => {
            lower.merge(upper);
            Some(lower)
        }
        (lower, upper) => lower.or(upper),
    }
}
