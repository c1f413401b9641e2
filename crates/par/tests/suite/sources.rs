//! Sources give what the iterators of the standard library give, wherever they are split.

use std::fmt::Debug;
use std::ops::ControlFlow;

use heist_par::prelude::*;

use crate::pieces::pool;

/// The iterator, made anew each time, gives the items that are expected, whole and in pieces.
macro_rules! check {
    ($iter:expr, $expected:expr) => {{
        let expected = Vec::from_iter($expected);
        assert_eq!(together($iter), expected);
        for seed in 1..6 {
            let mut items = Vec::new();
            in_pieces($iter, &mut Dice(seed), &mut items);
            assert_eq!(items, expected);
        }
    }};
}

/// As well, cut at an index and one by one.
macro_rules! check_indexed {
    ($iter:expr, $expected:expr) => {{
        use heist_par::iter::plumbing::IndexedPart as _;
        let expected = Vec::from_iter($expected);
        check!($iter, expected.clone());
        let len = expected.len();
        for index in (0..=len).filter(|index| len < 200 || index % 1000 < 2) {
            let mut lower = $iter;
            assert_eq!(IndexedParallelIterator::len(&lower), len);
            let upper = lower.split_off(index);
            assert_eq!(lower.len(), index);
            assert_eq!(upper.len(), len - index);
            assert_eq!(Vec::from_iter(lower.into_seq()), expected[..index]);
            let backwards = upper.into_seq().rev();
            assert_eq!(backwards.len(), len - index);
            assert!(backwards.eq(expected[index..].iter().rev().cloned()));
        }
    }};
}

mod collections;
mod ranges;
mod slices;
mod values;

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

/// Everything in its order, by all workers.
fn together<I: ParallelIterator>(iter: I) -> Vec<I::Item> {
    let one_by_one = iter.map(|item| vec![item]);
    pool().install(|| {
        one_by_one.reduce(Vec::new, |mut lower, upper| {
            lower.extend(upper);
            lower
        })
    })
}

/// Numbers without rhyme or reason.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Everything in its order, split and run as the dice say.
fn in_pieces<I: ParallelIterator>(mut iter: I, dice: &mut Dice, items: &mut Vec<I::Item>) {
    while iter.steps() > 0 {
        if dice.below(3) > 0 {
            let known = iter.opt_len();
            if let Some(upper) = iter.split() {
                if let Some(known) = known {
                    let parts = (iter.opt_len(), upper.opt_len());
                    let (Some(lower_len), Some(upper_len)) = parts else {
                        panic!("a part has forgotten its length: {parts:?}");
                    };
                    assert_eq!(lower_len + upper_len, known);
                }
                in_pieces(iter, dice, items);
                iter = upper;
                continue;
            }
        }
        let asked = 1 + dice.below(20);
        let mut budget = asked;
        let before = items.len();
        let flow = iter.run(&mut budget, |item| {
            items.push(item);
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        assert!(budget < asked);
        assert!(items.len() - before <= asked - budget);
    }
}

fn numbers(len: usize) -> Vec<u32> {
    let mut dice = Dice(len as u64 + 1);
    Vec::from_iter((0..len).map(|_| dice.below(50) as u32))
}

/// Takes one step.
fn first<I: ParallelIterator<Item: Debug>>(iter: &mut I) -> I::Item {
    let (mut budget, mut first) = (1, None);
    let flow = iter.run(&mut budget, |item| {
        assert!(first.is_none(), "{item:?} is one too many");
        first = Some(item);
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    assert_eq!(budget, 0);
    first.expect("an item")
}
