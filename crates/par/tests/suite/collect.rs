//! Collections from parallel iterators: what std collects, nothing lost, nothing twice.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::{hint, thread};

use heist_core::{with_cancellation, CancellationToken, ThreadPoolBuilder};
use heist_par::iter::plumbing::Part;
use heist_par::iter::Either;
use heist_par::prelude::*;

use crate::pieces::pool;

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

/// That the collection is the same as std's, if the number of items is known and if not.
fn same_as_std<C, T>(item: impl Fn(usize) -> T + Sync + Send)
where
    C: FromParallelIterator<T> + FromIterator<T> + PartialEq + Debug,
    T: Send,
{
    pool().install(|| {
        for size in SIZES {
            let serial: C = (0..size).map(&item).collect();
            let known = (0..size).into_par_iter().map(&item);
            assert_eq!(known.collect::<C>(), serial);
            let unknown = (0..size).into_par_iter().filter(|_| true).map(&item);
            assert_eq!(unknown.collect::<C>(), serial);
        }
    });
}

/// As above, for a collection that has something in it.
fn extends_as_std<C, T>(before: C, item: impl Fn(usize) -> T + Sync + Send)
where
    C: ParallelExtend<T> + Extend<T> + Clone + PartialEq + Debug + Send + Sync,
    T: Send,
{
    pool().install(|| {
        for size in SIZES {
            let mut serial = before.clone();
            serial.extend((0..size).map(&item));
            let (mut known, mut unknown) = (before.clone(), before.clone());
            known.par_extend((0..size).into_par_iter().map(&item));
            unknown.par_extend((0..size).into_par_iter().filter(|_| true).map(&item));
            assert_eq!(known, serial);
            assert_eq!(unknown, serial);
        }
    });
}

/// That closures leave the same of some items as std's adaptors do, few or many or as no rule
/// foretells.
fn leaves_as_std<T: Clone + Send + Sync + PartialEq + Debug>(item: impl Fn(usize) -> T + Sync) {
    let stirred = |n: usize| n.wrapping_mul(0x9E37_79B9) >> 5;
    pool().install(|| {
        for (size, share) in SIZES
            .iter()
            .flat_map(|size| (0..5).map(move |share| (*size, share)))
        {
            let chosen = |n: usize| stirred(n) % 4 < share;
            let all = || (0..size).into_par_iter();
            let serial = || (0..size).filter(|n| chosen(*n));
            let numbered: Vec<(usize, T)> = (0..size).map(|n| (n, item(n))).collect();

            let some: Vec<T> = all().filter_map(|n| chosen(n).then(|| item(n))).collect();
            assert!(some.into_iter().eq(serial().map(&item)));
            let some: Vec<(usize, T)> = (all().map(|n| (n, item(n))))
                .filter(|(n, _)| chosen(*n))
                .collect();
            assert!(some.into_iter().eq(serial().map(|n| (n, item(n)))));
            let some: Vec<&(usize, T)> =
                (numbered.par_iter().filter(|(n, _)| chosen(*n))).collect();
            assert!(some.into_iter().eq(serial().map(|n| &numbered[n])));
            let (some, rest): (Vec<_>, Vec<_>) =
                (all().map(|n| (n, item(n)))).partition(|(n, _)| chosen(*n));
            assert!(some.into_iter().eq(serial().map(|n| (n, item(n)))));
            let others = (0..size).filter(|n| !chosen(*n));
            assert!(rest.into_iter().eq(others.map(|n| (n, item(n)))));
            let some: Vec<usize> = all().positions(chosen).collect();
            assert!(some.into_iter().eq(serial()));
            let seen: Vec<usize> = (0..size).collect();
            let some: Vec<usize> = (seen.par_iter().filter(|n| chosen(**n)).copied())
                .filter(|n| n % 2 == 0)
                .collect();
            assert!(some.into_iter().eq(serial().filter(|n| n % 2 == 0)));
        }
    });
}

#[test]
fn items_that_are_left_out_leave_no_gap() {
    leaves_as_std(|_| ());
    leaves_as_std(|n| n as u8);
    leaves_as_std(|n| n as u64);
    leaves_as_std(|n| [n; 3]);
    leaves_as_std(|n| n.to_string());
}

#[test]
fn an_item_that_is_left_out_is_dropped_once() {
    /// Counts in its place how often it was dropped.
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let drops: Vec<AtomicUsize> = (0..10_000).map(|_| AtomicUsize::new(0)).collect();
    let kept: Vec<(usize, Counted<'_>)> = pool().install(|| {
        (drops.par_iter().map(Counted).enumerate())
            .filter(|(n, _)| n % 3 == 0)
            .collect()
    });
    let times = |n: usize| drops[n].load(Ordering::Relaxed);
    assert!((0..drops.len()).all(|n| times(n) == usize::from(n % 3 != 0)));
    drop(kept);
    assert!((0..drops.len()).all(|n| times(n) == 1));

    let (even, odd): (Vec<_>, Vec<_>) = pool()
        .install(|| (drops.par_iter().map(Counted).enumerate()).partition(|(n, _)| n % 2 == 0));
    assert!((0..drops.len()).all(|n| times(n) == 1));
    drop(even);
    assert!((0..drops.len()).all(|n| times(n) == 1 + usize::from(n % 2 == 0)));
    drop(odd);
}

#[test]
fn sequences_are_collected_in_order() {
    same_as_std::<Vec<_>, _>(|n| n.to_string());
    same_as_std::<VecDeque<_>, _>(|n| n);
    same_as_std::<LinkedList<_>, _>(|n| n);
    same_as_std::<Box<[_]>, _>(|n| n);
    same_as_std::<Rc<[_]>, _>(|n| n);
    same_as_std::<Arc<[_]>, _>(|n| n);
    same_as_std::<Cow<'_, [_]>, _>(|n| n);
    same_as_std::<(), _>(|_| ());
}

#[test]
fn sets_and_maps_are_collected_and_the_last_of_equal_keys_wins() {
    same_as_std::<BTreeSet<_>, _>(|n| n % 50);
    same_as_std::<HashSet<_>, _>(|n| n % 50);
    same_as_std::<BTreeMap<_, _>, _>(|n| (n % 50, n));
    same_as_std::<HashMap<_, _>, _>(|n| (n % 50, n));
    let heap: BinaryHeap<_> = (0..1000).into_par_iter().map(|n| n * 7 % 100).collect();
    let serial: BinaryHeap<_> = (0..1000).map(|n| n * 7 % 100).collect();
    assert_eq!(heap.into_sorted_vec(), serial.into_sorted_vec());
}

#[test]
fn text_is_collected_from_characters_and_from_pieces() {
    const WORDS: [&str; 4] = ["job", "", "größer", "盗"];
    let word = |n: usize| WORDS[n % 4];
    let character = |n: usize| ['a', 'ß', '盗', '🦀'][n % 4];
    same_as_std::<String, char>(character);
    same_as_std::<String, &char>(|n| &['a', 'ß', '盗', '🦀'][n % 4]);
    same_as_std::<String, &str>(word);
    same_as_std::<String, String>(|n| n.to_string());
    same_as_std::<String, Box<str>>(|n| word(n).into());
    same_as_std::<String, Cow<'_, str>>(|n| Cow::Borrowed(word(n)));
    same_as_std::<Box<str>, char>(character);
    same_as_std::<Cow<'_, str>, char>(character);
    same_as_std::<OsString, &OsStr>(|n| OsStr::new(word(n)));
    same_as_std::<OsString, OsString>(|n| word(n).into());
    same_as_std::<OsString, Cow<'_, OsStr>>(|n| Cow::Borrowed(OsStr::new(word(n))));
    let shared: (Rc<str>, Arc<str>) = (
        (0..100_usize).into_par_iter().map(word).collect(),
        (0..100_usize).into_par_iter().map(word).collect(),
    );
    assert_eq!(*shared.0, *shared.1);
    assert_eq!(*shared.0, (0..100).map(word).collect::<String>());
}

#[test]
fn collections_that_hold_something_are_extended() {
    static NUMBERS: [usize; 64] = [9; 64];
    let reference = |n| &NUMBERS[n % 64];
    extends_as_std(vec![1, 2, 3], |n| n);
    extends_as_std(vec![1, 2, 3], reference);
    extends_as_std(VecDeque::from([1, 2, 3]), |n| n);
    extends_as_std(VecDeque::from([1, 2, 3]), reference);
    extends_as_std(LinkedList::from([1, 2, 3]), |n| n);
    extends_as_std(LinkedList::from([1, 2, 3]), reference);
    extends_as_std(BTreeSet::from([1, 2, 30]), |n| n);
    extends_as_std(BTreeSet::from([1, 2, 30]), reference);
    extends_as_std(HashSet::from([1, 2, 30]), |n| n);
    extends_as_std(HashSet::from([1, 2, 30]), reference);
    extends_as_std(BTreeMap::from([(1, 2)]), |n| (n, n));
    extends_as_std(BTreeMap::from([(1, 2)]), |n| (reference(n), reference(n)));
    extends_as_std(HashMap::from([(1, 2)]), |n| (n, n));
    extends_as_std(HashMap::from([(1, 2)]), |n| (reference(n), reference(n)));
    extends_as_std(String::from("so far "), |n| ['a', 'ß'][n % 2]);
    extends_as_std(OsString::from("so far "), |n| OsString::from(n.to_string()));
    let mut heap = BinaryHeap::from([5]);
    heap.par_extend(&[7, 3][..]);
    heap.par_extend(vec![4]);
    assert_eq!(heap.into_sorted_vec(), [3, 4, 5, 7]);
    let mut either: Either<Vec<usize>, LinkedList<usize>> = Either::Right(LinkedList::new());
    either.par_extend(0..3_usize);
    assert_eq!(either.right(), Some(LinkedList::from([0, 1, 2])));
}

#[test]
fn many_items_of_unknown_number_come_in_order_whoever_made_them() {
    pool().install(|| {
        for len in [511, 512, 513, 300_000] {
            let is_kept = |n: &usize| n % 7 != 0;
            let kept: Vec<_> = (0..len).into_par_iter().filter(is_kept).collect();
            assert!(kept.into_iter().eq((0..len).filter(is_kept)));
        }
    });
}

#[test]
fn a_few_items_of_unknown_number_do_not_keep_memory_for_many() {
    let few: Vec<u8> = (0..100_u8).into_par_iter().filter(|n| *n < 3).collect();
    assert_eq!(few, [0, 1, 2]);
    assert!(few.capacity() < 100, "{}", few.capacity());
}

#[test]
fn a_list_of_vectors_has_no_empty_one() {
    pool().install(|| {
        for size in SIZES {
            let known = (0..size).into_par_iter();
            for list in [
                known.clone().collect_vec_list(),
                known.filter(|_| true).collect_vec_list(),
            ] {
                assert!(list.iter().all(|chunk| !chunk.is_empty()));
                assert!(list.into_iter().flatten().eq(0..size));
            }
        }
    });
}

/// Counts itself: how many of them there are.
struct Counted<'a, P>(&'a AtomicUsize, P);

impl<'a, P> Counted<'a, P> {
    fn new(count: &'a AtomicUsize, payload: P) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count, payload)
    }
}

impl<P> Drop for Counted<'_, P> {
    fn drop(&mut self) {
        // Below zero would wrap, and be seen.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_panic_in_the_middle_drops_each_item_once() {
    for (size, at) in [
        (1, 0),
        (2, 1),
        (100, 50),
        (10_000, 0),
        (10_000, 7_000),
        (10_000, 9_999),
    ] {
        let count = AtomicUsize::new(0);
        let make = |n| {
            assert!(n != at, "asked for");
            Counted::new(&count, n)
        };
        let items = || (0..size).into_par_iter().map(make);
        let panics = |op: &(dyn Fn() + Sync)| {
            let result = catch_unwind(AssertUnwindSafe(|| pool().install(op)));
            assert!(result.is_err());
            assert_eq!(count.load(Ordering::Relaxed), 0);
        };
        panics(&|| drop(items().collect::<Vec<_>>()));
        panics(&|| drop(items().filter(|_| true).collect::<Vec<_>>()));
        panics(&|| drop(items().collect::<LinkedList<_>>()));
        panics(&|| {
            let pairs = items().map(|a| (a, make(size)));
            let _: (Vec<_>, Vec<_>) = pairs.unzip();
        });
        panics(&|| drop(items().partition::<Vec<_>, Vec<_>, _>(|_| true)));
        panics(&|| drop(items().max_by_key(|_| 0)));
        panics(&|| drop(items().map(Ok::<_, ()>).collect::<Result<Vec<_>, _>>()));
    }
}

#[test]
fn items_without_a_size_are_counted_and_dropped_once() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Nothing {
        fn new() -> Self {
            COUNT.fetch_add(1, Ordering::Relaxed);
            Self
        }
    }
    impl Drop for Nothing {
        fn drop(&mut self) {
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
    }
    pool().install(|| {
        for size in SIZES {
            let items = || (0..size).into_par_iter().map(|_| Nothing::new());
            let mut vec: Vec<_> = items().collect();
            assert_eq!((vec.len(), COUNT.load(Ordering::Relaxed)), (size, size));
            vec.par_extend(items().filter(|_| true));
            assert_eq!(vec.len(), 2 * size);
            let (left, right): (Vec<_>, Vec<_>) = items().map(|a| (a, Nothing::new())).unzip();
            assert_eq!((left.len(), right.len()), (size, size));
            assert_eq!(COUNT.load(Ordering::Relaxed), 4 * size);
            drop((vec, left, right));
            assert_eq!(COUNT.load(Ordering::Relaxed), 0);
        }
    });
}

/// An iterator that is safe code, gives several items for each step, and says how many: perhaps too
/// many or too few.
struct Steps {
    steps: usize,
    items_of_a_step: usize,
    said: usize,
}

impl Part for Steps {
    type Output = String;

    fn steps(&self) -> usize {
        self.steps
    }

    fn split(&mut self) -> Option<Self> {
        let steps = self.steps / 2;
        if steps == 0 {
            return None;
        }
        let said = self.said * steps / self.steps;
        (self.steps, self.said) = (self.steps - steps, self.said - said);
        Some(Self {
            steps,
            said,
            ..*self
        })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(String) -> ControlFlow<()>,
    {
        while *budget > 0 && self.steps > 0 {
            *budget -= 1;
            self.steps -= 1;
            // Of what it says, too, some is done: it may be split from here.
            self.said = self.said.saturating_sub(self.items_of_a_step);
            (0..self.items_of_a_step).try_for_each(|n| consume(n.to_string()))?;
        }
        ControlFlow::Continue(())
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.said)
    }

    fn split_policy(&self) -> heist_par::SplitPolicy {
        let mut policy = heist_par::SplitPolicy::default();
        policy.max_len = 10;
        policy
    }
}

/// Collects from [`Steps`].
fn collect_steps(steps: usize, items_of_a_step: usize, said: usize) -> Vec<String> {
    let iter = Steps {
        steps,
        items_of_a_step,
        said,
    };
    pool().install(|| iter.collect())
}

#[test]
fn a_step_may_give_several_items() {
    for (steps, items_of_a_step) in [(0, 3), (1, 3), (100, 3), (1000, 2), (100, 1), (100, 0)] {
        let items = collect_steps(steps, items_of_a_step, steps * items_of_a_step);
        let serial = (0..steps).flat_map(|_| (0..items_of_a_step).map(|n| n.to_string()));
        assert!(items.into_iter().eq(serial));
    }
}

#[test]
fn an_iterator_that_miscounts_is_told_so() {
    let miscounts = [
        (100, 1, 99),
        (100, 1, 101),
        (100, 2, 100),
        (100, 0, 100),
        (100, 3, 299),
        (100, 1, 0),
        (0, 1, 100),
        (1, 1, 0),
        (0, 1, 1),
        (1, 2, 1),
        (1, 1, 2),
    ];
    for (steps, items_of_a_step, said) in miscounts {
        let collect = || drop(collect_steps(steps, items_of_a_step, said));
        let payload = catch_unwind(AssertUnwindSafe(collect)).unwrap_err();
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let message = text.or(payload.downcast_ref().cloned()).unwrap();
        assert!(message.contains("a parallel iterator"), "{message}");
    }
}

#[test]
fn options_and_results_are_collected_until_a_failure() {
    pool().install(|| {
        for size in SIZES {
            for fails_at in [size, size / 2, 0] {
                let number = |n: usize| if n == fails_at { Err(n) } else { Ok(n) };
                let items = || (0..size).into_par_iter().map(number);
                let serial: Result<Vec<_>, _> = (0..size).map(number).collect();
                assert_eq!(items().collect::<Result<Vec<_>, _>>(), serial);
                assert_eq!(
                    items().map(Result::ok).collect::<Option<Vec<_>>>(),
                    serial.ok()
                );
            }
        }
    });
}

#[test]
fn a_failure_keeps_others_from_beginning() {
    let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let made = AtomicUsize::new(0);
    let result: Result<Vec<_>, _> = one.install(|| {
        let numbers = (0..100_000).into_par_iter();
        let results = numbers.map(|n| {
            made.fetch_add(1, Ordering::Relaxed);
            if n == 10 {
                Err("enough")
            } else {
                Ok(n)
            }
        });
        results.collect()
    });
    assert_eq!(result, Err("enough"));
    assert_eq!(made.into_inner(), 11);
}

/// So large that others are moved while the call is cancelled.
struct Large<'a> {
    alive: &'a AtomicUsize,
    _bytes: [u8; 1 << 14],
}

impl Drop for Large<'_> {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Their number is not known, so they lie in chunks before they come to their places.
#[test]
fn items_are_dropped_if_their_call_is_cancelled_on_the_way_to_their_places() {
    const COUNT: usize = 600;
    for round in 0..50 {
        let (token, made, alive) = (
            CancellationToken::new(),
            &AtomicUsize::new(0),
            &AtomicUsize::new(0),
        );
        thread::scope(|scope| {
            scope.spawn(|| {
                while made.load(Ordering::Relaxed) < COUNT {
                    hint::spin_loop();
                }
                (0..round * 50).for_each(|_| hint::spin_loop());
                token.cancel();
            });
            let items = (0..COUNT).into_par_iter().filter(|_| true).map(|_| {
                alive.fetch_add(1, Ordering::Relaxed);
                made.fetch_add(1, Ordering::Relaxed);
                let _bytes = [0; 1 << 14];
                Large { alive, _bytes }
            });
            let collect = || items.collect::<Vec<_>>();
            let collected = pool().install(|| with_cancellation(&token, collect));
            assert!(collected.map_or(true, |items| items.len() == COUNT));
        });
        assert_eq!(alive.load(Ordering::Relaxed), 0, "in round {round}");
    }
}
