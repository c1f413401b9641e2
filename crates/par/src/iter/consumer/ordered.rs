//! Hands the items to one closure, in their order, while others make the next ones.

use std::ops::ControlFlow;

use heist_core::{join, participate};
use heist_sync::Clock;

use super::collect;
use crate::granularity::UNKNOWN;
use crate::part::Part;

/// A block that takes less than that is followed by one twice as long.
const BLOCK_NS: u64 = 1_000_000;
/// The most steps in a block.
const BLOCK_STEPS: usize = 16_384;

/// Calls `op` with each item, one after the other.
///
/// Two blocks at a time: while `op` takes in one, the workers make the next.
pub(crate) fn in_order<I, F>(iter: I, mut op: F)
where
    I: Part,
    F: FnMut(I::Output) + Send,
{
    participate(move || {
        let mut source = Source::new(iter);
        let mut block = source.next_block();
        while let Some(items) = block {
            let consume = || items.into_iter().for_each(&mut op);
            ((), block) = join(consume, || source.next_block());
        }
    });
}

/// An iterator that is worked off block by block.
struct Source<I> {
    /// The parts that are left; the lowest is the last.
    parts: Vec<I>,
    /// The most steps in a block.
    steps: usize,
    /// Parts of unknown length can be split for ever: a bridge without order, a repetition without
    /// end.
    is_endless: bool,
}

impl<I: Part> Source<I> {
    fn new(iter: I) -> Self {
        Self {
            parts: vec![iter],
            steps: heist_core::current_num_threads(),
            is_endless: false,
        }
    }

    /// The items of the next block, or `None` at the end.
    fn next_block(&mut self) -> Option<Vec<I::Output>> {
        let mut part = self.parts.pop()?;
        let mut levels = part.split_policy().levels();
        while part.steps() > self.steps && !(self.is_endless && part.steps() == UNKNOWN) {
            let Some(upper) = part.split() else {
                break;
            };
            self.parts.push(upper);
            levels = levels.saturating_sub(1);
            self.is_endless |= levels == 0;
        }
        let clock = Clock::start();
        let items = if part.steps() == UNKNOWN {
            self.first_of(part)
        } else {
            collect(part)
        };
        if clock.elapsed_ns() < BLOCK_NS {
            self.steps = (self.steps * 2).min(BLOCK_STEPS);
        }
        Some(items)
    }

    /// The items of the first steps of a part of unknown length.
    fn first_of(&mut self, mut part: I) -> Vec<I::Output> {
        let mut items = Vec::new();
        let _ = part.run(&mut { self.steps }, |item| {
            items.push(item);
            ControlFlow::Continue(())
        });
        // Another thread may make the next block.
        part.pause();
        self.parts.push(part);
        items
    }
}
