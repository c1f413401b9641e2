//! Parallel iterators that need no collection.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use heist_par::iter::plumbing::{IndexedPart, Part};
use heist_par::iter::{
    empty, once, repeat, repeat_n, split, walk_tree, walk_tree_postfix, walk_tree_prefix,
};
use heist_par::prelude::*;
use heist_par::Granularity;

use crate::pieces::{assert_gives, in_pieces, pool, Chance};

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

#[test]
fn once_gives_one_item_and_empty_none() {
    assert_gives(&once('a'), &['a']);
    assert_gives(&empty::<char>(), &[]);
    assert_eq!(once(1).into_seq().len(), 1);
    let (mut whole, mut lower) = (once(1), once(1));
    assert_eq!((whole.split_off(1).len(), whole.len()), (0, 1));
    assert_eq!((lower.split_off(0).len(), lower.len()), (1, 0));
}

#[test]
fn an_item_repeats_as_often_as_asked_for() {
    for n in SIZES {
        assert_gives(&repeat_n("x", n), &vec!["x"; n]);
        assert_gives(&repeat("x").take(n), &vec!["x"; n]);
        let zipped: Vec<_> = (0..n).map(|i| ("x", i)).collect();
        assert_gives(&repeat("x").zip(0..n), &zipped);
        assert_gives(
            &repeat_n("x", n).zip(0..n).rev(),
            &zipped.into_iter().rev().collect::<Vec<_>>(),
        );
        let seq = repeat_n("x", n).into_seq();
        assert_eq!((seq.len(), seq.rev().count()), (n, n));
    }
}

#[test]
fn an_item_that_repeats_is_dropped_as_often_as_it_was_there() {
    for n in SIZES {
        let item = Arc::new(());
        let items = in_pieces(repeat_n(Arc::clone(&item), n), &mut Chance::new(3));
        assert_eq!(Arc::strong_count(&item), 1 + n);
        drop(items);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}

#[test]
fn what_repeats_without_an_end_can_be_stopped() {
    let mut endless = repeat(1);
    let mut upper = endless.split().expect("it can be split");
    for part in [&mut endless, &mut upper] {
        let mut budget = 1_000;
        let flow = part.run(&mut budget, |_| ControlFlow::Continue(()));
        assert!(flow.is_continue() && budget == 0 && part.steps() == usize::MAX);
    }
    let given = AtomicUsize::new(0);
    let enough = |&n: &usize| given.fetch_add(n, Ordering::Relaxed) > 100_000;
    assert_eq!(pool().install(|| repeat(1).find_any(enough)), Some(1));
}

/// Halves a range; ranges of `leaf` or less stay whole.
fn halve(leaf: usize) -> impl Fn(Range<usize>) -> (Range<usize>, Option<Range<usize>>) + Clone {
    move |range| {
        if range.len() <= leaf {
            return (range, None);
        }
        let middle = range.start + range.len() / 2;
        (range.start..middle, Some(middle..range.end))
    }
}

#[test]
fn split_data_comes_together_in_order() {
    for n in SIZES {
        for leaf in [1, 10] {
            for seed in 0..10 {
                let pieces = in_pieces(split(0..n, halve(leaf)), &mut Chance::new(seed));
                assert!(pieces.len() <= 1024);
                assert!(pieces.into_iter().flatten().eq(0..n));
            }
            let sum = pool().install(|| {
                split(0..n, halve(leaf))
                    .map(|range| range.len())
                    .sum::<usize>()
            });
            assert_eq!(sum, n);
        }
    }
}

#[test]
fn data_that_can_be_split_for_ever_is_not() {
    let forever = || split((), |()| ((), Some(())));
    for granularity in [
        Granularity::Automatic,
        Granularity::Static(1),
        Granularity::Deterministic,
    ] {
        let asked_for = forever().with_granularity(granularity);
        let pieces = pool().install(|| asked_for.count());
        assert!((1..=1024).contains(&pieces), "{pieces}");
    }
}

/// A node of a tree: the numbers in a range, of which the first is its own.
#[derive(Clone, Debug, PartialEq)]
struct Node(Range<u32>);

impl Node {
    /// Deals the other numbers out among `n` children, the last of which gets most.
    fn children(&self, n: u32) -> Vec<Self> {
        let Range { mut start, end } = self.0;
        start += 1;
        let mut children = Vec::new();
        for i in (0..n).rev() {
            let middle = if i == 0 {
                end
            } else {
                start + (end - start) / (2 * n)
            };
            if start < middle {
                children.push(Self(start..middle));
            }
            start = middle;
        }
        children
    }

    fn walk(self, n: u32, postfix: bool, walked: &mut Vec<Self>) {
        let at = walked.len();
        for child in self.children(n) {
            child.walk(n, postfix, walked);
        }
        walked.insert(if postfix { walked.len() } else { at }, self);
    }
}

#[test]
fn a_tree_is_walked_in_the_order_that_was_asked_for() {
    for size in [1, 2, 3, 7, 100, 1000] {
        // With one child each it is a path.
        for n in [1, 2, 5] {
            let root = Node(0..size);
            let (mut prefix, mut postfix) = (Vec::new(), Vec::new());
            root.clone().walk(n, false, &mut prefix);
            root.clone().walk(n, true, &mut postfix);
            let children = move |node: &Node| node.children(n);
            assert_gives(&walk_tree_prefix(root.clone(), children), &prefix);
            assert_gives(&walk_tree_postfix(root.clone(), children), &postfix);
            let sum = pool().install(|| {
                walk_tree(root, children)
                    .map(|node| node.0.start)
                    .sum::<u32>()
            });
            assert_eq!(sum, (0..size).sum::<u32>());
        }
    }
}

#[test]
fn a_tree_may_lend_its_nodes() {
    struct Tree {
        value: u32,
        children: Vec<Tree>,
    }
    let leaf = |value| Tree {
        value,
        children: Vec::new(),
    };
    let root = Tree {
        value: 1,
        children: vec![leaf(2), leaf(3)],
    };
    let values = walk_tree_prefix(&root, |node| &node.children).map(|node| node.value);
    assert_gives(&values, &[1, 2, 3]);
}

#[test]
fn a_tree_as_deep_as_it_has_nodes_needs_no_stack() {
    let path = |&n: &u32| (n < 1_000_000).then_some(n + 1);
    let sum = |nodes: u64| u64::from(u32::from(nodes > 0)) * 500_000_500_000;
    assert_eq!(
        pool().install(|| walk_tree(0, path).map(u64::from).sum::<u64>()),
        sum(1)
    );
    assert_eq!(
        pool().install(|| walk_tree_postfix(0, path).map(u64::from).sum::<u64>()),
        sum(1)
    );
}

#[test]
fn tuples_are_zipped_to_the_shortest() {
    assert_gives(&(0..3_usize,).into_par_iter(), &[(0,), (1,), (2,)]);
    let (a, mut b) = (vec![1, 2, 3, 4], ["x", "y", "z"]);
    assert_gives(
        &(&a, &b[..], 0..9_usize).into_par_iter(),
        &[(&1, &"x", 0), (&2, &"y", 1), (&3, &"z", 2)],
    );
    let pair = (a.clone(), vec![5, 6]);
    assert_gives(&pair.par_iter(), &[(&1, &5), (&2, &6)]);
    let mut pair = (a, vec![0; 4]);
    pool().install(|| {
        pair.par_iter_mut()
            .for_each(|(from, to)| std::mem::swap(from, to));
    });
    assert_eq!(pair, (vec![0; 4], vec![1, 2, 3, 4]));
    pool().install(|| {
        (&mut b[..], 0..2_u8)
            .into_par_iter()
            .for_each(|(text, _)| *text = "w");
    });
    assert_eq!(b, ["w", "w", "z"]);
}

#[test]
fn tuples_of_twelve_are_zipped_whatever_their_length() {
    for n in SIZES {
        let r = 0..n;
        let twelve = (
            0..n,
            0..n + 1,
            0..n,
            0..n,
            0..n,
            0..n + 2,
            0..n,
            0..n,
            0..n,
            0..n,
            0..n,
            r.clone(),
        );
        let expected: Vec<_> = r
            .clone()
            .map(|i| (i, i, i, i, i, i, i, i, i, i, i, i))
            .collect();
        let zipped = twelve.into_par_iter();
        assert_eq!(zipped.len(), n);
        assert_gives(
            &zipped.clone().map(|t| (t.0, t.5, t.11)),
            &expected
                .iter()
                .map(|t| (t.0, t.5, t.11))
                .collect::<Vec<_>>(),
        );
        assert!(zipped.into_seq().rev().eq(expected.into_iter().rev()));
    }
}
