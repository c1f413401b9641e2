//! The driver runs a parallel iterator grain by grain, and splits it when a worker is hungry.
//!
//! Lazy binary splitting (Tzannes, Caragea, Barua and Vishkin, PPoPP 2010): a worker offers the
//! upper half of its part and runs the lower half grain by grain. As long as the offer is in its
//! deque, no worker is hungry, and it goes on. When the offer is gone, a thief has come, and the
//! worker offers half of what is left. So a part is split about as often as a thief takes half of
//! it, whatever the items cost and wherever the expensive ones are. The [`Pace`] decides how long a
//! grain is, and when half is offered. A loop of few steps is split into single ones beforehand.
//!
//! Halves of halves are soon small, so a worker has few offers open at a time. But where the number
//! of steps is unknown, the upper part may be all that follows, and the lower one may outlive many
//! upper ones. When one of two such parts has ended, the other is interrupted, and what is [`Left`]
//! of it goes on one level up. Otherwise the stacks would grow with each theft.

use std::ops::ControlFlow;

use heist_core::insight::Loop;
use heist_core::{checkpoint, current_thread_index, join_parts, participate};
use heist_sync::atomic::{AtomicBool, Ordering};

use crate::costs::Code;
use crate::granularity::UNKNOWN;
use crate::pace::Pace;
use crate::part::{Continuation, Part};

/// Takes the items of one part, in their order.
pub(crate) trait Consumer<T>: Sized + Send {
    /// Takes one item. Returns `Break` if it wants no more: it is full from now on.
    fn consume(&mut self, item: T) -> ControlFlow<()>;

    /// Takes the items that [`run`](Part::run) yields. A consumer that counts does so in a local
    /// variable here: then a grain is a loop without a store of the count for each item.
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

    /// Makes the consumer of the upper part, after a split. `lower_len` is the number of items left
    /// in the lower part, if it is known.
    fn split(&mut self, lower_len: Option<usize>) -> Self;

    /// Merges the result of the upper part, when both are done. Items that come after both may
    /// follow.
    fn merge(&mut self, upper: Self);
}

/// Runs all of the iterator, on the calling worker and on those that steal from it. A caller
/// outside any pool participates in the global one.
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

/// Runs a part whose sources are all values.
struct Drive<C> {
    consumer: C,
}

impl<T: Send, C: Consumer<T>> Continuation<T> for Drive<C> {
    type Output = C;

    #[inline]
    fn run<P: Part<Output = T>>(self, part: P) -> C {
        start(part, self.consumer)
    }
}

const ONCE: &str = "a closure is called once";

/// As [`participate`], in one copy for all loops.
fn on_worker(op: &mut (dyn FnMut() + Send)) {
    participate(op);
}

/// As [`join_context`], in one copy for all loops. The second closure is told whether it is stolen.
fn join_in_one_copy(lower: &mut (dyn FnMut() + Send), upper: &mut (dyn FnMut(bool) + Send)) {
    join_parts(|_| lower(), |context| upper(context.migrated()));
}

/// Runs one block after the other, on a worker; mostly there is only one.
#[inline(never)] // from several places
fn start<P, C>(mut part: P, mut consumer: C) -> C
where
    P: Part,
    C: Consumer<P::Output>,
{
    let steps = part.steps();
    if steps == 0 {
        return consumer;
    }
    if steps > 1 && current_thread_index().is_none() {
        let (mut input, mut output) = (Some((part, consumer)), None);
        on_worker(&mut || {
            let (part, consumer) = input.take().expect(ONCE);
            output = Some(start(part, consumer));
        });
        return output.expect(ONCE);
    }
    let mut policy = part.split_policy();
    while policy.in_blocks && part.steps() > 1 && !consumer.is_full() {
        let Some(rest) = part.split() else { break };
        // The part that was cut off may itself consist of blocks.
        consumer = start(part, consumer);
        part = rest;
        policy = part.split_policy();
    }
    let code: Run<P, C> = run;
    let measured = Loop::begin::<(P, C)>();
    let mut pace = Pace::new(
        &policy,
        Code(code as usize),
        (part.steps(), items(&part)),
        measured.as_ref(),
    );
    if let Some(few) = pace.few() {
        return run_few(&pace, few, part, consumer);
    }
    run(&mut pace, part, consumer, &AtomicBool::new(false)).0
}

/// How many items the part has, or else steps, if that is not known.
#[inline]
fn items<P: Part>(part: &P) -> usize {
    part.known_len().unwrap_or_else(|| part.steps())
}

/// Runs a part of a few items. Each is on offer, whether a worker is hungry or not: items that are
/// so few may take long, or wait for each other. So the pace is one for all. A part may be split so
/// many `levels` deep.
#[inline(never)] // it calls itself
fn run_few<P, C>(pace: &Pace<'_>, levels: u16, mut part: P, mut consumer: C) -> C
where
    P: Part,
    C: Consumer<P::Output>,
{
    let (steps, items) = (part.steps(), items(&part));
    if levels > 0 && pace.splits_few(items) && !consumer.is_full() {
        if let Some(upper) = part.split() {
            let others = consumer.split(part.known_len());
            let (mut lower, mut below) = (Some((part, consumer)), None);
            let (mut upper, mut above) = (Some((upper, others)), None);
            let run = |input: &mut Option<(P, C)>| {
                let (part, consumer) = input.take().expect(ONCE);
                run_few(pace, levels - 1, part, consumer)
            };
            join_in_one_copy(&mut || below = Some(run(&mut lower)), &mut |_| {
                above = Some(run(&mut upper));
            });
            let mut consumer = below.expect(ONCE);
            consumer.merge(above.expect(ONCE));
            return consumer;
        }
    }
    checkpoint();
    let code: Run<P, C> = run;
    let mut pace = pace.of_part_of_few(Code(code as usize), (steps, items));
    run(&mut pace, part, consumer, &AtomicBool::new(false)).0
}

/// A consumer, and what is left of its part.
type Outcome<P, C> = (C, Option<Left<P, C>>);

/// The type of [`run`].
type Run<P, C> = fn(&mut Pace<'_>, P, C, &AtomicBool) -> Outcome<P, C>;

/// The rest of a part that was interrupted, or never begun.
struct Left<P, C> {
    part: P,
    /// The consumer of the parts above it that are done.
    above: Option<C>,
}

/// Runs a part grain by grain; offers half of the rest when its pace says so. If the number of
/// steps is unknown, it stops when its neighbour has ended.
#[inline(never)] // one copy of what the items are given to
fn run<P, C>(
    pace: &mut Pace<'_>,
    mut part: P,
    mut consumer: C,
    neighbour_ended: &AtomicBool,
) -> Outcome<P, C>
where
    P: Part,
    C: Consumer<P::Output>,
{
    let mut above = None;
    loop {
        let steps = part.steps();
        if steps == 0 {
            pace.ended(UNKNOWN); // none of those that were left
            break;
        }
        if consumer.is_full() {
            pace.ended_early();
            break;
        }
        // Relaxed: a hint. The neighbour's results come with its end.
        if steps == UNKNOWN && neighbour_ended.load(Ordering::Relaxed) {
            return (consumer, Some(Left { part, above }));
        }
        let (grain, is_to_offer) = pace.next_grain(steps);
        if is_to_offer {
            if let Some(upper) = part.split() {
                let (lower, upper) = offer(pace, part, upper, consumer);
                let (others, left);
                (consumer, others, left) = after_both(lower, upper);
                above = merged(others, above);
                let Some(left) = left else {
                    break;
                };
                part = left.part;
                above = merged(left.above, above);
                pace.look_after_offer();
                continue;
            }
        }
        let mut budget = grain;
        pace.begin_piece();
        if consumer.take_grain(&mut part, &mut budget).is_break() {
            pace.ended_early();
            break;
        }
        let is_empty = part.steps() == 0;
        pace.ran(grain, budget == 0, budget > 0 || is_empty);
        if is_empty {
            pace.ended(steps.saturating_sub(grain - budget));
            break;
        }
    }
    if let Some(above) = above {
        consumer.merge(above);
    }
    (consumer, None)
}

/// Runs the lower part while the upper one is on offer. If no thief took the upper part, all of it
/// is left. At most one of the two is left in part.
fn offer<P, C>(
    pace: &mut Pace<'_>,
    lower: P,
    upper: P,
    mut consumer: C,
) -> (Outcome<P, C>, Outcome<P, C>)
where
    P: Part,
    C: Consumer<P::Output>,
{
    // Not copied: a pace is as large as all that a short loop has besides.
    let (offered, skipped) = (&*pace, lower.steps());
    let mut below = None;
    // Set only by a part of which nothing is left, so that not both are interrupted. Relaxed: see
    // where they are read.
    let (lower_ended, upper_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let others = consumer.split(lower.known_len());
    let (mut lower, mut lower_outcome) = (Some((lower, consumer)), None);
    let (mut upper, mut upper_outcome) = (Some((upper, others)), None);
    let mut thiefs = None;
    join_in_one_copy(
        &mut || {
            let (part, consumer) = lower.take().expect(ONCE);
            let below = below.insert(offered.below_offer());
            let outcome = run(below, part, consumer, &upper_ended);
            lower_ended.store(outcome.1.is_none(), Ordering::Relaxed);
            lower_outcome = Some(outcome);
        },
        &mut |is_stolen| {
            if !is_stolen && !offered.is_beforehand() {
                return;
            }
            let (part, others) = upper.take().expect(ONCE);
            let mut above = offered.of_offer(skipped);
            let mut outcome = run(&mut above, part, others, &lower_ended);
            thiefs = above.clock();
            if let Some(left) = &mut outcome.1 {
                left.part.pause();
            }
            upper_ended.store(outcome.1.is_none(), Ordering::Relaxed);
            upper_outcome = Some(outcome);
        },
    );
    let lower = lower_outcome.expect(ONCE);
    pace.skip(skipped);
    pace.after_offer(below.as_ref().expect(ONCE), upper.is_none(), thiefs);
    let upper = upper_outcome.unwrap_or_else(|| {
        let (part, others) = upper.expect("nobody has begun it");
        let above = None;
        (others, Some(Left { part, above }))
    });
    (lower, upper)
}

/// The result of the lower of two parts, that of the upper one if the two have no common one yet,
/// and what is left of either.
fn after_both<P, C>(
    lower: Outcome<P, C>,
    upper: Outcome<P, C>,
) -> (C, Option<C>, Option<Left<P, C>>)
where
    P: Part,
    C: Consumer<P::Output>,
{
    match (lower, upper) {
        ((consumer, Some(left)), (others, _)) => (consumer, Some(others), Some(left)),
        ((mut consumer, None), (others, left)) => {
            consumer.merge(others);
            (consumer, None, left)
        }
    }
}

/// The merged result of two neighbouring parts, of which one may have none.
fn merged<T, C: Consumer<T>>(lower: Option<C>, upper: Option<C>) -> Option<C> {
    match (lower, upper) {
        (Some(mut lower), Some(upper)) => {
            lower.merge(upper);
            Some(lower)
        }
        (lower, upper) => lower.or(upper),
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests;
