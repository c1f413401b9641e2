//! Shared by several tests: a pool, and iterators cut by chance.

use std::sync::OnceLock;

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_par::prelude::*;

pub(crate) fn pool() -> &'static ThreadPool {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        let pool = ThreadPoolBuilder::new().num_threads(4).build();
        pool.expect("a pool")
    })
}

/// Numbers that look like chance, the same each time (xorshift).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed * 2 + 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// The items of all parts, one after the other, where it is left to chance whether a part is split
/// or run, and for how many steps.
pub(crate) fn in_pieces<I: ParallelIterator>(mut part: I, chance: &mut Chance) -> Vec<I::Item> {
    let mut items = Vec::new();
    while part.steps() > 0 {
        if chance.below(3) == 0 {
            if let Some(upper) = part.split() {
                items.extend(in_pieces(part, chance));
                part = upper;
            }
        }
        let steps = chance.below(9);
        let mut budget = steps;
        let flow = part.run(&mut budget, |item| {
            items.push(item);
            std::ops::ControlFlow::Continue(())
        });
        assert!(flow.is_continue() && budget <= steps);
    }
    items
}

/// That a parallel iterator gives these items in their order, however it is cut.
pub(crate) fn assert_gives<I, T>(iter: &I, expected: &[T])
where
    I: ParallelIterator<Item = T> + Clone,
    T: PartialEq + std::fmt::Debug + Send,
{
    for seed in 0..20 {
        assert_eq!(in_pieces(iter.clone(), &mut Chance::new(seed)), expected);
    }
    let iter = iter.clone();
    let items: Vec<_> = pool().install(|| iter.collect());
    assert_eq!(items, expected);
}
