//! Sources give what the iterators of the standard library give, wherever they are split.

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_par::prelude::*;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

fn pool() -> &'static ThreadPool {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        ThreadPoolBuilder::new()
            .num_threads(4)
            .build()
            .expect("a pool")
    })
}

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

/// The iterator, made anew each time, gives the items that are expected, whole and in
/// pieces.
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

fn numbers(len: usize) -> Vec<u32> {
    let mut dice = Dice(len as u64 + 1);
    Vec::from_iter((0..len).map(|_| dice.below(50) as u32))
}

fn own(items: &mut [u32]) -> Vec<u32> {
    items.to_vec()
}

#[test]
fn chunks_are_those_of_the_standard_library() {
    for len in SIZES {
        let mut items = numbers(len);
        for size in [1, 2, 3, 99, 10_001, usize::MAX] {
            let copy = items.clone();
            check_indexed!(items.par_chunks(size), items.chunks(size));
            check_indexed!(items.par_rchunks(size), items.rchunks(size));
            check_indexed!(items.par_chunks_exact(size), items.chunks_exact(size));
            check_indexed!(items.par_rchunks_exact(size), items.rchunks_exact(size));
            check_indexed!(
                items.par_chunks_mut(size).map(own),
                copy.chunks(size).map(<[_]>::to_vec)
            );
            check_indexed!(
                items.par_rchunks_mut(size).map(own),
                copy.rchunks(size).map(<[_]>::to_vec)
            );
            check_indexed!(
                items.par_chunks_exact_mut(size).map(own),
                copy.chunks_exact(size).map(<[_]>::to_vec)
            );
            check_indexed!(
                items.par_rchunks_exact_mut(size).map(own),
                copy.rchunks_exact(size).map(<[_]>::to_vec)
            );
        }
    }
}

#[test]
fn exact_chunks_leave_a_remainder() {
    let mut items = [1, 2, 3, 4, 5];
    assert_eq!(items.par_chunks_exact(3).remainder(), [4, 5]);
    assert_eq!(items.par_rchunks_exact(3).remainder(), [1, 2]);
    assert_eq!(items.par_chunks_exact_mut(3).remainder(), [4, 5]);
    assert_eq!(items.par_rchunks_exact_mut(3).into_remainder(), [1, 2]);
    let mut chunks = items.par_chunks_exact_mut(2);
    assert_eq!(chunks.take_remainder(), [5]);
    assert_eq!(chunks.take_remainder(), [0; 0]);
}

#[test]
fn windows_are_those_of_the_standard_library() {
    for len in SIZES {
        let items = numbers(len);
        for size in [1, 2, 3, 100, usize::MAX] {
            check_indexed!(items.par_windows(size), items.windows(size));
        }
        check_indexed!(
            items.par_array_windows::<3>(),
            items
                .windows(3)
                .map(|window| <&[u32; 3]>::try_from(window).unwrap())
        );
    }
}

#[test]
fn a_slice_of_items_without_size_may_be_as_long_as_can_be() {
    let items = [(); usize::MAX];
    let half = usize::MAX / 2 + 2;
    for mut chunks in [items.par_chunks(half), items.par_chunks(usize::MAX)] {
        let len = chunks.len();
        assert_eq!(chunks.split_off(len).len(), 0);
        assert_eq!(chunks.len(), len);
    }
    let mut back = items.par_rchunks(half);
    let upper = back.split_off(1).into_seq();
    assert!(upper.map(<[()]>::len).eq([half - 3]));
    assert_eq!(items.par_windows(usize::MAX).len(), 1);
}

#[test]
fn chunks_and_windows_of_no_items_are_refused() {
    let mut items = [1, 2];
    let refused = |op: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(op)).is_err();
    assert!(refused(&mut || drop(items.par_chunks(0))));
    assert!(refused(&mut || drop(items.par_rchunks(0))));
    assert!(refused(&mut || drop(items.par_chunks_exact(0))));
    assert!(refused(&mut || drop(items.par_rchunks_exact(0))));
    assert!(refused(&mut || drop(items.par_chunks_mut(0))));
    assert!(refused(&mut || drop(items.par_rchunks_mut(0))));
    assert!(refused(&mut || drop(items.par_chunks_exact_mut(0))));
    assert!(refused(&mut || drop(items.par_rchunks_exact_mut(0))));
    assert!(refused(&mut || drop(items.par_windows(0))));
    assert!(refused(&mut || drop(items.par_array_windows::<0>())));
}

#[test]
fn pieces_are_those_of_the_standard_library() {
    for len in SIZES {
        let mut items = numbers(len);
        let copy = items.clone();
        for rare in [0, 1, 5, 50] {
            let is_mark = |item: &u32| *item < rare;
            let is_same = |a: &u32, b: &u32| *a + rare > *b;
            check!(items.par_split(is_mark), copy.split(is_mark));
            check!(
                items.par_split_inclusive(is_mark),
                copy.split_inclusive(is_mark)
            );
            check!(items.par_chunk_by(is_same), copy.chunk_by(is_same));
            check!(
                items.par_split_mut(is_mark).map(own),
                copy.split(is_mark).map(<[_]>::to_vec)
            );
            check!(
                items.par_split_inclusive_mut(is_mark).map(own),
                copy.split_inclusive(is_mark).map(<[_]>::to_vec)
            );
            check!(
                items.par_chunk_by_mut(is_same).map(own),
                copy.chunk_by(is_same).map(<[_]>::to_vec)
            );
        }
    }
}

#[test]
fn no_item_is_looked_at_twice_for_a_separator() {
    for only in [0, 1, 50, 51, 98, 99, 100] {
        for seed in 1..30 {
            let looks = Vec::from_iter((0..100).map(|_| AtomicUsize::new(0)));
            let items = Vec::from_iter(0..100);
            let pieces = items.par_split(|item: &usize| {
                looks[*item].fetch_add(1, Ordering::Relaxed);
                *item == only
            });
            in_pieces(pieces, &mut Dice(seed), &mut Vec::new());
            assert!(looks.iter().all(|looks| looks.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn a_search_for_the_end_of_a_piece_stops_when_the_budget_is_used_up() {
    let looks = AtomicUsize::new(0);
    let items = [1; 100];
    let mut pieces = items.par_split(|item| {
        looks.fetch_add(1, Ordering::Relaxed);
        *item == 0
    });
    for round in 1..=10 {
        let flow = pieces.run(&mut 10, |_| panic!("the piece is longer than that"));
        assert!(flow.is_continue());
        assert_eq!(looks.load(Ordering::Relaxed), round * 10);
        assert_eq!(pieces.steps(), 101 - round * 10);
    }
    assert_eq!(first(&mut pieces), items);
    assert_eq!(pieces.steps(), 0);
}

#[test]
fn slices_arrays_boxes_and_vectors_give_their_items() {
    for len in SIZES {
        let mut items = numbers(len);
        let mut boxed = items.clone().into_boxed_slice();
        let copy = items.clone();
        check_indexed!(items.par_iter(), &copy);
        check_indexed!(items.par_iter_mut().map(|item| *item), copy.clone());
        check_indexed!(items.clone().into_par_iter(), copy.clone());
        check_indexed!(boxed.par_iter(), &copy);
        check_indexed!((&boxed).into_par_iter(), &copy);
        check_indexed!((&mut boxed).into_par_iter().map(|item| *item), copy.clone());
        check_indexed!(boxed.clone().into_par_iter(), copy.clone());
    }
    let mut array = [3, 1, 4, 1, 5];
    check_indexed!(array.par_iter(), &[3, 1, 4, 1, 5]);
    check_indexed!(array.par_iter_mut().map(|item| *item), [3, 1, 4, 1, 5]);
    check_indexed!(array.into_par_iter(), [3, 1, 4, 1, 5]);
    check_indexed!([(); 7].into_par_iter(), [(); 7]);
    check_indexed!(<[String; 0]>::default().into_par_iter(), [""; 0]);
}

#[test]
fn options_and_results_give_one_item_or_none() {
    let (mut some, mut none) = (Some("loot".to_owned()), None::<String>);
    check_indexed!(some.clone().into_par_iter(), ["loot"]);
    check_indexed!(none.clone().into_par_iter(), [""; 0]);
    check_indexed!(some.par_iter(), ["loot"]);
    check_indexed!(none.par_iter(), [""; 0]);
    check_indexed!(some.par_iter_mut().map(|item| item.clone()), ["loot"]);
    check_indexed!(none.par_iter_mut().map(|item| item.clone()), [""; 0]);
    let (mut good, mut bad) = (Ok::<_, ()>(7), Err::<u32, _>("bad"));
    check_indexed!(good.into_par_iter(), [7]);
    check_indexed!(bad.into_par_iter(), [0; 0]);
    check_indexed!(good.par_iter(), [&7]);
    check_indexed!(bad.par_iter(), [&0; 0]);
    check_indexed!(good.par_iter_mut().map(|item| *item), [7]);
    check_indexed!(bad.par_iter_mut().map(|item| *item), [0; 0]);
}

#[test]
fn collections_give_their_items_in_their_order() {
    for len in SIZES {
        let items = numbers(len);
        let mut set = BTreeSet::from_iter(items.clone());
        check!(set.par_iter(), &set);
        check!(set.clone().into_par_iter(), set.clone());
        let hashed = HashSet::<u32>::from_iter(items.clone());
        check!(hashed.par_iter(), &hashed);
        check!(
            hashed.clone().into_par_iter().map(|_| ()),
            hashed.iter().map(|_| ())
        );
        set.clear();

        let mut map = BTreeMap::from_iter(items.iter().copied().zip(items.clone()));
        let copy = map.clone();
        check!(map.par_iter(), &map);
        check!(map.clone().into_par_iter(), map.clone());
        check!(
            map.par_iter_mut().map(|(key, value)| (*key, *value)),
            copy.clone()
        );
        let mut hashed = HashMap::<u32, u32>::from_iter(copy.clone());
        check!(hashed.par_iter(), &hashed);
        let mut owned = together(hashed.clone().into_par_iter());
        owned.sort_unstable();
        assert_eq!(owned, Vec::from_iter(copy));
        hashed.par_iter_mut().for_each(|(key, value)| *value += key);
        assert!(hashed.iter().all(|(key, value)| *value == 2 * key));

        let mut list = LinkedList::from_iter(items.clone());
        check!(list.par_iter(), &items);
        check!(list.par_iter_mut().map(|item| *item), items.clone());
        check!(list.clone().into_par_iter(), items.clone());

        let heap = BinaryHeap::from(items.clone());
        check_indexed!(heap.par_iter(), &heap);
        check_indexed!(heap.clone().into_par_iter(), heap.clone());
    }
}

#[test]
fn a_queue_gives_its_items_in_their_order_wherever_it_begins() {
    for len in SIZES {
        for turned in [0, 1, len / 2, len] {
            let mut queue = VecDeque::from(numbers(len));
            for _ in 0..turned.min(len) {
                let front = queue.pop_front().unwrap();
                queue.push_back(front);
            }
            let items = Vec::from_iter(queue.iter().copied());
            check_indexed!(queue.par_iter(), &items);
            check_indexed!(queue.par_iter_mut().map(|item| *item), items.clone());
            check_indexed!(queue.clone().into_par_iter(), items.clone());
        }
    }
}

/// All ranges with these bounds are those of the standard library.
macro_rules! check_ranges {
    ($check:ident, $bounds:expr) => {
        for start in $bounds {
            for end in $bounds {
                $check!((start..end).into_par_iter(), start..end);
            }
        }
    };
    ($check:ident, $bounds:expr, inclusive) => {
        for start in $bounds {
            for end in $bounds {
                $check!((start..=end).into_par_iter(), start..=end);
            }
        }
    };
}

#[test]
fn ranges_are_those_of_the_standard_library() {
    check_ranges!(check_indexed, [0_u8, 1, 100, 254, 255]);
    check_ranges!(check_indexed, [-128_i8, -127, 0, 99, 126, 127]);
    check_ranges!(check_indexed, [0_u16, 1, 9999, 65535]);
    check_ranges!(check_indexed, [-32768_i16, 0, 1, 32767]);
    check_ranges!(check, [0_u8, 1, 100, 254, 255], inclusive);
    check_ranges!(check_indexed, [0_u8, 1, 100, 254, 255], inclusive);
    check_ranges!(check_indexed, [-128_i8, -127, 0, 99, 126, 127], inclusive);
    check_ranges!(check_indexed, [0_u16, 1, 9999, 65535], inclusive);
    check_ranges!(check_indexed, [-32768_i16, 0, 1, 32767], inclusive);
}

/// Ranges at both ends of a type, and around 0.
macro_rules! check_ends {
    ($check:ident: $($int:ty),*) => { $({
        let near = |middle: $int| [middle, middle + 1, middle + 2, middle + 300];
        check_ranges!($check, near(<$int>::MIN));
        check_ranges!($check, near(<$int>::MAX - 300));
        check_ranges!($check, near(7));
        check_ranges!(check, near(<$int>::MIN), inclusive);
        check_ranges!(check, near(<$int>::MAX - 300), inclusive);
        check_ranges!(check, near(7), inclusive);
    })* };
}

#[test]
fn ranges_are_right_at_the_ends_of_their_types() {
    check_ends!(check_indexed: u32, i32, usize, isize);
    check_ends!(check: u64, i64, u128, i128);
}

#[test]
fn ranges_of_characters_leave_out_what_is_none() {
    let bounds = ['\0', 'a', '\u{D7F0}', '\u{D7FF}', '\u{E000}', '\u{E00F}'];
    let bounds = &bounds[1..];
    for &start in bounds {
        for &end in &bounds[1..] {
            check_indexed!((start..end).into_par_iter(), start..end);
            check_indexed!((start..=end).into_par_iter(), start..=end);
        }
    }
    check_indexed!(
        ('\u{10FFF0}'..char::MAX).into_par_iter(),
        '\u{10FFF0}'..char::MAX
    );
    check_indexed!((char::MAX..=char::MAX).into_par_iter(), [char::MAX]);
    check_indexed!(('z'..='a').into_par_iter(), ['a'; 0]);
    assert_eq!(('\0'..=char::MAX).into_par_iter().len(), 0x11_0000 - 0x800);
}

#[test]
fn ranges_with_more_items_than_can_be_counted_are_cut_in_the_middle() {
    let mut lower = (i128::MIN..i128::MAX).into_par_iter();
    assert_eq!((lower.steps(), lower.opt_len()), (usize::MAX, None));
    let mut upper = lower.split().expect("an upper half");
    assert_eq!(first(&mut lower), i128::MIN);
    assert_eq!(first(&mut upper), -1);

    let mut lower = (0..=u128::MAX).into_par_iter();
    assert_eq!((lower.steps(), lower.opt_len()), (usize::MAX, None));
    let mut upper = lower.split().expect("an upper half");
    assert_eq!(first(&mut lower), 0);
    assert_eq!(first(&mut upper), 1 << 127);

    let all = (u64::MIN..=u64::MAX).into_par_iter();
    assert_eq!((all.steps(), all.opt_len()), (usize::MAX, None));
    let most = (i64::MIN..i64::MAX).into_par_iter();
    assert_eq!(most.opt_len(), Some(u64::MAX as usize));
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

#[test]
fn a_range_that_was_iterated_over_is_empty() {
    let mut range = 0..=3_u8;
    assert_eq!(range.by_ref().count(), 4);
    check_indexed!(range.clone().into_par_iter(), range.clone());
}

#[test]
fn the_type_of_a_range_is_told_by_what_is_done_with_its_items() {
    fn is_even(n: i64) -> bool {
        n % 2 == 0
    }
    let even = (0..100).into_par_iter().filter(|n| is_even(*n));
    assert_eq!(even.map(|_| 1).sum::<u32>(), 50);
    let even = (0..=100).into_par_iter().filter(|n| is_even(*n));
    assert_eq!(even.map(|_| 1).sum::<u32>(), 51);
}

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
