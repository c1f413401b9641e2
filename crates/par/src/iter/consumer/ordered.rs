//! Hands the items to one closure, in their order, while others make the next ones.

use crate::iter::ParallelIterator;
use heist_core::{join, take_part};
use heist_sync::Clock;

/// A block that takes less than that is followed by one twice as long.
const BLOCK_NS: u64 = 1_000_000;
/// The most steps in a block.
const BLOCK_STEPS: usize = 16_384;

/// Calls `op` with each item, one after the other.
///
/// Two blocks at a time: while `op` takes in one, the workers make the next.
pub(crate) fn in_order<I, F>(iter: I, mut op: F)
where
    I: ParallelIterator,
    F: FnMut(I::Item) + Send,
{
    take_part(move || {
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
    /// How many steps a block may have.
    steps: usize,
}

impl<I: ParallelIterator> Source<I> {
    fn new(iter: I) -> Self {
        Self {
            parts: vec![iter],
            steps: heist_core::current_num_threads(),
        }
    }

    /// The items of the next block, or `None` at the end.
    fn next_block(&mut self) -> Option<Vec<I::Item>> {
        let mut part = self.parts.pop()?;
        while part.steps() > self.steps {
            let Some(upper) = part.split() else {
                break;
            };
            self.parts.push(upper);
        }
        let clock = Clock::start();
        let items = part.collect();
        if clock.elapsed_ns() < BLOCK_NS {
            self.steps = (self.steps * 2).min(BLOCK_STEPS);
        }
        Some(items)
    }
}
