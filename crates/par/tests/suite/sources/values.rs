//! Items by value are dropped once, whatever happens, and drains leave the others.

use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::ops::Bound;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use heist_par::iter::plumbing::IndexedPart;
use heist_par::prelude::*;

use super::{first, in_pieces, numbers, together, Dice, SIZES};
use crate::pieces::pool;

/// Counts how often each item is dropped.
#[derive(Default)]
struct Drops(Vec<AtomicUsize>);

impl Drops {
    fn new(len: usize) -> Self {
        Self(Vec::from_iter((0..len).map(|_| AtomicUsize::new(0))))
    }

    fn items(&self) -> Vec<Item<'_>> {
        Vec::from_iter((0..self.0.len()).map(|index| Item { index, drops: self }))
    }

    fn each_once(&self) -> bool {
        self.0
            .iter()
            .all(|drops| drops.load(Ordering::Relaxed) == 1)
    }
}

#[derive(Debug)]
struct Item<'d> {
    index: usize,
    drops: &'d Drops,
}

impl Debug for Drops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Drops")
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.drops.0[self.index].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn items_that_nobody_takes_are_dropped_once() {
    let drops = Drops::new(100);
    let mut lower = drops.items().into_par_iter();
    let upper = lower.split_off(60);
    let mut middle = lower.split_off(30);
    drop(first(&mut middle));
    drop(lower);
    let mut seq = upper.into_seq();
    drop((seq.next(), seq.next_back(), seq.len()));
    drop((middle, seq));
    assert!(drops.each_once());
}

#[test]
fn a_panic_drops_each_item_once() {
    for at in [0, 1, 500, 999] {
        let drops = Drops::new(1000);
        let mut vec = drops.items();
        let op = |item: Item<'_>| {
            if item.index == at {
                panic_any(at);
            }
        };
        let all = AssertUnwindSafe(|| pool().install(|| vec.par_drain(..).for_each(op)));
        assert_eq!(
            *catch_unwind(all).unwrap_err().downcast::<usize>().unwrap(),
            at
        );
        assert!(vec.is_empty());
        assert!(drops.each_once());

        let drops = Drops::new(1000);
        let all = AssertUnwindSafe(|| {
            pool().install(|| drops.items().into_par_iter().for_each(op));
        });
        assert!(catch_unwind(all).is_err());
        assert!(drops.each_once());
    }
}

#[test]
fn an_item_that_panics_when_it_is_dropped_takes_nobody_with_it() {
    struct Grudge<'d>(Item<'d>);
    impl Drop for Grudge<'_> {
        fn drop(&mut self) {
            if self.0.index == 3 {
                panic_any("a grudge");
            }
        }
    }
    let drops = Drops::new(10);
    let mut items = Vec::from_iter(drops.items().into_iter().map(Grudge));
    let unused = AssertUnwindSafe(|| drop(items.par_drain(1..8)));
    assert!(catch_unwind(unused).is_err());
    assert!(items.iter().map(|grudge| grudge.0.index).eq([0, 8, 9]));
    drop(items);
    assert!(drops.each_once());
}

#[test]
fn a_drain_leaves_the_others_in_their_order() {
    for len in SIZES {
        for (start, end) in [
            (0, 0),
            (0, len),
            (len, len),
            (len / 3, len / 2),
            (0, len / 2),
        ] {
            let items = numbers(len);
            let mut kept = items.clone();
            let expected = Vec::from_iter(kept.drain(start..end));

            let mut vec = items.clone();
            let capacity = vec.capacity();
            assert_eq!(together(vec.par_drain(start..end)), expected);
            assert_eq!((&vec, vec.capacity()), (&kept, capacity));

            let mut vec = items.clone();
            let mut drain = vec.par_drain(start..end);
            let upper = drain.split_off((end - start) / 2);
            drop(drain);
            drop(upper);
            assert_eq!(vec, kept);

            for seed in 1..6 {
                let (mut vec, mut drained) = (items.clone(), Vec::new());
                in_pieces(vec.par_drain(start..end), &mut Dice(seed), &mut drained);
                assert_eq!((&vec, &drained), (&kept, &expected));
            }

            let mut queue = VecDeque::from(items.clone());
            queue.rotate_left(len / 2);
            queue.make_contiguous();
            queue.rotate_right(len / 2);
            let capacity = queue.capacity();
            assert_eq!(together(queue.par_drain(start..end)), expected);
            assert_eq!(queue, kept);
            assert_eq!(queue.capacity(), capacity);
        }
    }
}

#[test]
fn a_drain_takes_any_kind_of_range() {
    let drained = |range: (Bound<usize>, Bound<usize>)| {
        let mut items = vec![0, 1, 2, 3];
        together(items.par_drain(range))
    };
    use Bound::{Excluded, Included, Unbounded};
    assert_eq!(drained((Unbounded, Unbounded)), [0, 1, 2, 3]);
    assert_eq!(drained((Included(1), Included(2))), [1, 2]);
    assert_eq!(drained((Excluded(1), Excluded(3))), [2]);
    assert_eq!(drained((Excluded(3), Unbounded)), [0; 0]);
    for wrong in [
        (Included(5), Unbounded),
        (Included(3), Excluded(2)),
        (Unbounded, Included(4)),
        (Unbounded, Included(usize::MAX)),
        (Excluded(usize::MAX), Unbounded),
    ] {
        assert!(catch_unwind(|| drained(wrong)).is_err());
    }
}

#[test]
#[cfg_attr(
    any(heist_asan, heist_lsan),
    ignore = "the sanitizer takes exception to leaks"
)]
fn a_leaked_drain_leaves_what_came_before_it() {
    let drops = Drops::new(10);
    let mut items = drops.items();
    let mut drain = items.par_drain(4..6);
    drop(first(&mut drain));
    #[expect(clippy::mem_forget, reason = "it is what is tested")]
    std::mem::forget(drain);
    assert_eq!(items.len(), 4);
    drop(items);
    let dropped = drops.0.iter().map(|drops| drops.load(Ordering::Relaxed));
    assert!(dropped.eq([1, 1, 1, 1, 1, 0, 0, 0, 0, 0]));
}

#[test]
fn items_without_size_are_dropped_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    let items = || Vec::from_iter((0..1000).map(|_| Nothing));
    pool().install(|| items().into_par_iter().for_each(drop));
    assert_eq!(DROPS.swap(0, Ordering::Relaxed), 1000);
    let mut vec = items();
    pool().install(|| vec.par_drain(100..900).for_each(drop));
    assert_eq!(DROPS.swap(0, Ordering::Relaxed), 800);
    assert_eq!(vec.len(), 200);
    let mut parts = vec.into_par_iter();
    drop(parts.split_off(50));
    assert_eq!(DROPS.swap(0, Ordering::Relaxed), 150);
    drop(parts);
    assert_eq!(DROPS.swap(0, Ordering::Relaxed), 50);
}

#[test]
fn drained_collections_are_empty_and_keep_their_memory() {
    let items = Vec::from_iter(0..1000_u32);
    let sum = 999 * 1000 / 2;

    let mut heap = BinaryHeap::from(items.clone());
    assert_eq!(pool().install(|| heap.par_drain().sum::<u32>()), sum);
    assert!(heap.is_empty() && heap.capacity() >= 1000);
    heap.extend(items.clone());
    drop(heap.par_drain());
    assert!(heap.is_empty() && heap.capacity() >= 1000);

    let mut set = HashSet::<u32>::from_iter(items.clone());
    let capacity = set.capacity();
    assert_eq!(pool().install(|| set.par_drain().sum::<u32>()), sum);
    assert!(set.is_empty() && set.capacity() == capacity);

    let mut map = HashMap::<u32, u32>::from_iter(items.iter().map(|item| (*item, *item)));
    let capacity = map.capacity();
    let values = map.par_drain().map(|(_, value)| value);
    assert_eq!(pool().install(|| values.sum::<u32>()), sum);
    assert!(map.is_empty() && map.capacity() == capacity);
}

#[test]
fn a_clone_has_items_of_its_own() {
    let mut items = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()].into_par_iter();
    assert_eq!(first(&mut items), "a");
    let clone = items.clone();
    assert_eq!(format!("{clone:?}"), r#"IntoIter { items: ["b", "c"] }"#);
    assert_eq!(together(items), ["b", "c"]);
    assert_eq!(together(clone), ["b", "c"]);
}

#[test]
fn sources_are_covariant_and_go_to_other_threads() {
    fn shorter<'s>(
        iter: heist_par::vec::IntoIter<&'static str>,
    ) -> heist_par::vec::IntoIter<&'s str> {
        iter
    }
    fn shared<T: Send + Sync>(_: &T) {}
    let items = shorter(vec!["a"].into_par_iter());
    shared(&items);
    shared(&vec![1].par_drain(..));
    shared(&VecDeque::from([1]).par_drain(..));
}
