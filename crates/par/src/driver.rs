//! The driver runs a parallel iterator grain by grain, and splits it when a worker is hungry.
//!
//! Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, PPoPP 2010): a worker offers the
//! upper half of its part and works at the lower half grain by grain. As long as the offer lies in
//! its deque no worker is hungry, and it goes on. When the offer is gone a thief has come, and it
//! offers half of what is left. So a part is split about as often as a thief takes a half of it,
//! whatever the items cost and wherever the expensive ones lie. How long a grain is, [`Grain`]
//! learns from the clock.
//!
//! Halves of halves are small soon, so that a worker has few offers open at a time. But where the
//! number of steps is unknown, the upper part may be all that comes after, and the lower one may
//! outlive many upper ones. Of two such parts, one still runs when the other has ended. It is
//! interrupted, and what is [`Left`] of it goes on one level up. Otherwise the stacks would grow
//! with each theft.

use std::ops::ControlFlow;

use heist_core::policy::Grain;
use heist_core::{checkpoint, join_context, participate, poll_for_thieves};
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::Clock;

use crate::granularity::{Granularity, SplitPolicy, UNKNOWN};
use crate::part::{Continuation, Part};

/// Takes the items of one part, in their order.
pub(crate) trait Consumer<T>: Sized + Send {
    /// Takes one item. `Break`: it wants no more of them, and is full from now on.
    fn consume(&mut self, item: T) -> ControlFlow<()>;

    /// Takes what [`run`](Part::run) gives. A consumer that keeps count does so in a variable of
    /// its own here: then a grain is a loop without a store of the count for each item.
    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = T>,
    {
        part.run(budget, |item| self.consume(item))
    }

    /// True if no more items are wanted: asked before each grain.
    fn is_full(&self) -> bool {
        false
    }

    /// The part has been split: makes the consumer of the upper part. If it is known how many items
    /// are left of the lower one, that is `lower_len`.
    fn split(&mut self, lower_len: Option<usize>) -> Self;

    /// Takes in the result of the upper part, when both are done. Items that come after both may
    /// follow.
    fn merge(&mut self, upper: Self);
}

/// Runs all of the iterator, on the calling worker and its helpers. A caller from outside of all
/// pools participates in the global one.
pub(crate) fn drive<P, C>(part: P, consumer: C) -> C
where
    P: Part,
    C: Consumer<P::Output>,
{
    let drive = Drive { consumer };
    if P::IS_LENT {
        return part.open(drive);
    }
    drive.run(part)
}

/// Runs a part whose sources are there.
struct Drive<C> {
    consumer: C,
}

impl<T: Send, C: Consumer<T>> Continuation<T> for Drive<C> {
    type Output = C;

    fn run<P: Part<Output = T>>(self, part: P) -> C {
        let consumer = self.consumer;
        match part.steps() {
            0 => consumer,
            1 => alone(part, consumer),
            _ => participate(|| start(part, consumer)),
        }
    }
}

/// Block after block, of which there is mostly one.
fn start<P, C>(mut part: P, mut consumer: C) -> C
where
    P: Part,
    C: Consumer<P::Output>,
{
    let mut policy = part.split_policy();
    while policy.in_blocks && !consumer.is_full() {
        let Some(rest) = part.split() else { break };
        // The part that was cut off may itself consist of blocks.
        consumer = start(part, consumer);
        part = rest;
        policy = part.split_policy();
    }
    let mut run = Run::new(policy);
    match policy.fixed_len(part.steps()) {
        Some(len) => run.beforehand(part, consumer, len),
        None => run.lazily(part, consumer, &AtomicBool::new(false)).0,
    }
}

/// All of a part, without splitting it.
fn alone<P, C>(mut part: P, mut consumer: C) -> C
where
    P: Part,
    C: Consumer<P::Output>,
{
    while part.steps() > 0 && !consumer.is_full() {
        checkpoint();
        let all = &mut { usize::MAX };
        if consumer.take_grain(&mut part, all).is_break() {
            break;
        }
    }
    consumer
}

/// A consumer, and what is left of its part.
type Outcome<P, C> = (C, Option<Left<P, C>>);

/// The rest of a part that was interrupted, or not begun.
struct Left<P, C> {
    part: P,
    /// Of parts above it that are done.
    above: Option<C>,
}

/// The state of a worker that runs a part.
#[derive(Clone, Copy)]
struct Run {
    grain: Grain,
    policy: SplitPolicy,
    /// The number of times that a part may yet be split while the rest waits below it.
    levels: u32,
}

impl Run {
    fn new(policy: SplitPolicy) -> Self {
        Self {
            grain: Grain::new(),
            policy,
            levels: policy.levels(),
        }
    }

    /// Splits in halves until no part has more steps than that, whether a worker is hungry or not.
    /// So the items of each part depend on nothing else.
    fn beforehand<P, C>(mut self, mut part: P, mut consumer: C, len: usize) -> C
    where
        P: Part,
        C: Consumer<P::Output>,
    {
        if consumer.is_full() {
            return consumer;
        }
        let is_to_split = self.levels > 0 && self.policy.is_too_long(part.steps(), len);
        let upper = if is_to_split { part.split() } else { None };
        let Some(upper) = upper else {
            return alone(part, consumer);
        };
        let others = consumer.split(part.known_len());
        self.levels -= 1;
        let (mut consumer, others) = join_context(
            |_| self.beforehand(part, consumer, len),
            |_| self.beforehand(upper, others, len),
        );
        consumer.merge(others);
        consumer
    }

    /// A part grain by grain; offers half of the rest when nothing else of this worker's is on
    /// offer. If the number of steps is unknown, it stops when its neighbour has ended.
    fn lazily<P, C>(
        &mut self,
        mut part: P,
        mut consumer: C,
        neighbour_ended: &AtomicBool,
    ) -> Outcome<P, C>
    where
        P: Part,
        C: Consumer<P::Output>,
    {
        let mut above = None;
        let clock = Clock::start();
        let mut then_ns = 0;
        let mut hungry = look_around();
        loop {
            let steps = part.steps();
            if steps == 0 || consumer.is_full() {
                break;
            }
            // Relaxed: a hint. The neighbour's results come with its end.
            if steps == UNKNOWN && neighbour_ended.load(Ordering::Relaxed) {
                return (consumer, Some(Left { part, above }));
            }
            let grain = self.policy.grain_len(self.grain.len());
            if self.is_to_offer(steps, grain, hungry) {
                if let Some(upper) = part.split() {
                    let (others, lower_left, upper_left);
                    ((consumer, lower_left), (others, upper_left)) =
                        self.offer(part, upper, consumer);
                    let left = if lower_left.is_some() {
                        above = Some(merged(others, above));
                        lower_left
                    } else {
                        consumer.merge(others);
                        upper_left
                    };
                    let Some(left) = left else {
                        break;
                    };
                    part = left.part;
                    if let Some(next) = left.above {
                        above = Some(merged(next, above));
                    }
                    then_ns = clock.elapsed_ns();
                    hungry = look_around();
                    continue;
                }
            }
            let mut budget = grain;
            if consumer.take_grain(&mut part, &mut budget).is_break() {
                break;
            }
            let now_ns = clock.elapsed_ns();
            hungry = look_around();
            let whole_ns = (budget == 0).then_some(now_ns - then_ns);
            self.learn(grain, whole_ns, hungry);
            then_ns = now_ns;
        }
        (merged(consumer, above), None)
    }

    /// Learns from a grain of so many steps, and its time if it took all of them.
    #[inline]
    fn learn(&mut self, steps: usize, whole_ns: Option<u64>, hungry: bool) {
        if let Some(ns) = whole_ns.filter(|_| steps >= self.grain.len()) {
            self.grain.ran(ns);
        }
        if self.policy.granularity == Granularity::Adaptive {
            if hungry {
                self.grain.shorten();
            } else {
                self.grain.lengthen();
            }
        }
    }

    fn is_to_offer(&self, steps: usize, grain: usize, hungry: bool) -> bool {
        let is_wanted = hungry && steps > grain && self.policy.may_halve(steps);
        self.levels > 0 && (is_wanted || self.policy.is_too_long(steps, self.policy.max_len))
    }

    /// Works at the lower part while the upper one is on offer; all of that is left if no thief
    /// took it. At most one of the two is left in part.
    fn offer<P, C>(&mut self, lower: P, upper: P, mut consumer: C) -> (Outcome<P, C>, Outcome<P, C>)
    where
        P: Part,
        C: Consumer<P::Output>,
    {
        let others = consumer.split(lower.known_len());
        // For the upper part too, although a thief runs it on another stack: the worker that waits
        // for it may steal its parts, and so on by turns.
        let levels = self.levels - 1;
        let mut here = Self { levels, ..*self };
        let mut there = here;
        // Told only by a part of which nothing is left, so that not both are interrupted. Relaxed:
        // see where they are read.
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
                // A worker was hungry.
                there.grain.shorten();
                let (others, mut left) = there.lazily(upper, others, &lower_ended);
                if let Some(left) = &mut left {
                    left.part.pause();
                }
                upper_ended.store(left.is_none(), Ordering::Relaxed);
                (others, left)
            },
        );
        self.grain = grain;
        ((consumer, lower_left), (others, upper_left))
    }
}

/// Between two grains: leaves a call that was cancelled, and says whether a worker is hungry.
#[inline]
fn look_around() -> bool {
    checkpoint();
    poll_for_thieves()
}

/// The result of two neighbouring parts.
fn merged<T, C: Consumer<T>>(mut lower: C, upper: Option<C>) -> C {
    if let Some(upper) = upper {
        lower.merge(upper);
    }
    lower
}

#[cfg(test)]
mod tests;
