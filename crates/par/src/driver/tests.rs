//! The driver with iterators that behave badly, within what they may.

use std::hint::black_box;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::thread;

use super::*;
use crate::costs::Length;
use crate::granularity::{Granularity, SplitPolicy};
use crate::iter::consumer::{ForEach, Reduce};
use crate::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

fn pool(workers: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    pool.expect("a pool")
}

fn policies() -> Vec<SplitPolicy> {
    let granularities = [
        Granularity::Automatic,
        Granularity::Adaptive,
        Granularity::Static(5),
        Granularity::Deterministic,
    ];
    let lengths = [(1, usize::MAX), (1, 7), (20, usize::MAX), (0, 0)];
    let both = granularities.map(|granularity| {
        lengths.map(|(min_len, max_len)| SplitPolicy {
            min_len,
            max_len,
            granularity,
            ..SplitPolicy::default()
        })
    });
    both.concat()
}

/// Numbers in a row; a third of the rest is split off, and there seem to be more of them than there
/// are.
struct Guessing {
    next: usize,
    end: usize,
    policy: SplitPolicy,
}

impl Part for Guessing {
    type Output = usize;

    fn steps(&self) -> usize {
        match self.end - self.next {
            0 => 0,
            left => 3 * left + 1,
        }
    }

    fn split(&mut self) -> Option<Self> {
        let middle = self.end - (self.end - self.next) / 3;
        let upper = Self {
            next: middle,
            ..*self
        };
        let end = std::mem::replace(&mut self.end, middle);
        (middle < end).then_some(Self { end, ..upper })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(usize) -> ControlFlow<()>,
    {
        while *budget > 0 && self.next < self.end {
            *budget -= 1;
            self.next += 1;
            consume(self.next - 1)?;
        }
        ControlFlow::Continue(())
    }

    fn split_policy(&self) -> SplitPolicy {
        self.policy
    }
}

#[test]
fn items_come_once_and_in_order_whatever_is_asked_for() {
    let pool = pool(4);
    let take = |items: &mut Vec<usize>, item| {
        items.push(item);
        ControlFlow::Continue(())
    };
    let merge = |items: &mut Vec<usize>, upper: Vec<usize>| items.extend(upper);
    for policy in policies() {
        for end in [0, 1, 2, 3, 10, 1000] {
            let next = 0;
            let iter = Guessing { next, end, policy };
            let consumer = Reduce::new(&Vec::new, &take, &merge);
            let items = pool.install(|| drive(iter, consumer).into_result());
            assert!(items.iter().copied().eq(0..end), "{policy:?} {items:?}");
        }
    }
}

/// Wants so many items, of any parts.
struct Few<'c> {
    wanted: usize,
    consumed: &'c AtomicUsize,
}

impl<T> Consumer<T> for Few<'_> {
    fn consume(&mut self, _item: T) -> ControlFlow<()> {
        if self.consumed.fetch_add(1, Ordering::Relaxed) + 1 < self.wanted {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn is_full(&self) -> bool {
        self.consumed.load(Ordering::Relaxed) >= self.wanted
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self { ..*self }
    }

    fn merge(&mut self, _upper: Self) {}
}

#[test]
fn a_worker_alone_takes_no_item_more_than_are_wanted() {
    let pool = pool(1);
    for policy in policies() {
        let consumed = &AtomicUsize::new(0);
        let iter = Guessing {
            next: 0,
            end: 1000,
            policy,
        };
        let wanted = 11;
        pool.install(|| drive(iter, Few { wanted, consumed }));
        assert_eq!(consumed.load(Ordering::Relaxed), wanted, "{policy:?}");
    }
}

/// Has no end, and as many parts as one likes.
struct Endless {
    policy: SplitPolicy,
}

impl Part for Endless {
    type Output = ();

    fn steps(&self) -> usize {
        usize::MAX
    }

    fn split(&mut self) -> Option<Self> {
        Some(Self { ..*self })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(()) -> ControlFlow<()>,
    {
        while *budget > 0 {
            *budget -= 1;
            consume(())?;
        }
        ControlFlow::Continue(())
    }

    fn split_policy(&self) -> SplitPolicy {
        self.policy
    }
}

#[test]
fn what_has_no_end_ends_with_its_consumer() {
    let pool = pool(4);
    for policy in policies() {
        let consumed = &AtomicUsize::new(0);
        let wanted = 100_000;
        pool.install(|| drive(Endless { policy }, Few { wanted, consumed }));
        assert!(consumed.load(Ordering::Relaxed) >= wanted, "{policy:?}");
    }
}

/// Parts with one step at a time, and goes on when a thief has taken that.
struct Comb {
    left: usize,
    is_known: bool,
    is_tooth: bool,
    given: Arc<AtomicUsize>,
    taken: Arc<AtomicUsize>,
}

impl Part for Comb {
    type Output = ();

    fn steps(&self) -> usize {
        match self.left {
            0 => 0,
            left if self.is_known => left,
            _ => usize::MAX,
        }
    }

    fn split(&mut self) -> Option<Self> {
        if self.left < 2 {
            return None;
        }
        self.left -= 1;
        self.given.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            left: 1,
            is_known: self.is_known,
            is_tooth: true,
            given: Arc::clone(&self.given),
            taken: Arc::clone(&self.taken),
        })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(()) -> ControlFlow<()>,
    {
        while *budget > 0 && self.left > 0 {
            *budget -= 1;
            self.left -= 1;
            if self.is_tooth {
                self.taken.fetch_add(1, Ordering::Relaxed);
                return consume(());
            }
            while self.taken.load(Ordering::Relaxed) < self.given.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            consume(())?;
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn parts_that_are_stolen_one_by_one_do_not_pile_up_on_the_stack() {
    for is_known in [true, false] {
        let given = Arc::new(AtomicUsize::new(0));
        let comb = Comb {
            left: 20_000,
            is_known,
            is_tooth: false,
            given: Arc::clone(&given),
            taken: Arc::default(),
        };
        let consumed = &AtomicUsize::new(0);
        let wanted = usize::MAX;
        pool(2).install(|| drive(comb, Few { wanted, consumed }));
        assert_eq!(consumed.load(Ordering::Relaxed), 20_000);
        if is_known {
            // With optimisations the rest may go by in one grain.
            let least = if cfg!(debug_assertions) { 100 } else { 1 };
            let given = given.load(Ordering::Relaxed);
            assert!((least..=100).contains(&given), "{given}");
        }
    }
}

/// One code, so that each loop knows how long the last ones lasted.
fn run_all(len: usize, item: &(dyn Fn(usize) + Sync)) {
    drive((0..len).into_par_iter(), ForEach::new(&item));
}

#[test]
fn a_worker_gets_its_half_of_a_loop_whose_items_were_short_before() {
    let first_waits_for_last = |len: usize| {
        for _ in 0..200 {
            run_all(len, &|_| {});
        }
        for _ in 0..200 {
            let last_has_run = AtomicBool::new(false);
            run_all(len, &|item| {
                while item == 0 && !last_has_run.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                last_has_run.fetch_or(item == len - 1, Ordering::Relaxed);
            });
        }
    };
    for len in [2, 3, 100] {
        // A pool each: nothing is known of the code at first.
        pool(2).install(|| first_waits_for_last(len));
    }
}

/// IT-1, as with rayon, which makes single items of them.
#[test]
fn so_few_items_may_wait_for_each_other() {
    let waits = |is_over: &dyn Fn() -> bool| {
        while !is_over() {
            thread::yield_now();
        }
    };
    for workers in [2, 3, 4, 5, 8] {
        let all_meet_behind = |skipped: usize| {
            let there = AtomicUsize::new(0);
            let item = |_| {
                there.fetch_add(1, Ordering::Relaxed);
                waits(&|| there.load(Ordering::Relaxed) == workers);
            };
            match skipped {
                0 => run_all(workers, &item),
                _ => {
                    let items = (0..skipped + workers).into_par_iter().skip(skipped);
                    drive(items, ForEach::new(&item));
                }
            }
        };
        let all_meet = || all_meet_behind(0);
        let one_waits = |len: usize, (waiting, other): (usize, usize)| {
            let has_run = AtomicBool::new(false);
            run_all(len, &|item| {
                if item == waiting {
                    waits(&|| has_run.load(Ordering::Relaxed));
                }
                has_run.fetch_or(item == other, Ordering::Relaxed);
            });
        };
        pool(workers).install(|| {
            (0..20).for_each(|_| all_meet());
            for len in 2..=2 * workers {
                for waiting in 0..len - 1 {
                    (waiting + 1..len).for_each(|other| one_waits(len, (waiting, other)));
                }
            }
            // The first of those that are left has many steps before it.
            (0..20).for_each(|_| all_meet_behind(1000));
            // Even if they have been brief up to now.
            (0..200).for_each(|_| run_all(workers, &|_| {}));
            (0..20).for_each(|_| all_meet());
        });
    }
}

/// As [`run_all`], as if the last loop of so many items had been short.
fn run_all_that_were_short(len: usize, item: &(dyn Fn(usize) + Sync)) {
    fn code_of<P: Part, C: Consumer<P::Output>>(_: &P, _: &C) -> Code {
        let code: Run<P, C> = run;
        Code(code as usize)
    }
    let (items, consumer) = ((0..len).into_par_iter(), ForEach::new(&item));
    let code = code_of(&items, &consumer);
    code.lasted(len, 1_000);
    assert_eq!(code.length(len), Length::Short);
    drive(items, consumer);
}

/// A thief has the upper half, and the items are longer than they were: the lower half is cut
/// further after some of it. That is no promise, and holds for most loops.
#[test]
fn a_loop_that_turns_out_to_be_long_is_shared_like_any_other() {
    const LEN: usize = 24;
    const LOOPS: usize = 20;
    /// The thief may rest, and the system may let it wait, while the owner looks for it.
    const ITEM: Duration = Duration::from_millis(20);
    let waits = |time: Duration, is_over: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_over() && start.elapsed() < time {
            thread::yield_now();
        }
    };
    let shared = pool(2).install(|| {
        let is_shared = |_: &usize| {
            let (owner, has_upper) = (thread::current().id(), AtomicBool::new(false));
            let has_more = AtomicBool::new(false);
            run_all_that_were_short(LEN, &|item| {
                let is_thief = thread::current().id() != owner;
                match item {
                    0 => waits(12 * ITEM, &|| has_upper.load(Ordering::Relaxed)),
                    _ if item == LEN - 1 => has_upper.store(is_thief, Ordering::Relaxed),
                    _ if item >= LEN / 2 => {}
                    _ if is_thief => has_more.store(true, Ordering::Relaxed),
                    _ => waits(ITEM, &|| has_more.load(Ordering::Relaxed)),
                }
            });
            has_more.into_inner()
        };
        (0..LOOPS).filter(is_shared).count()
    });
    assert!(shared > LOOPS / 2, "{shared} of {LOOPS}");
}

#[test]
fn one_worker_runs_each_item_of_short_and_long_loops_once() {
    pool(1).install(|| {
        for len in (0..200).chain((0..200).rev()) {
            let sum = AtomicUsize::new(0);
            run_all(len, &|item| _ = sum.fetch_add(item + 1, Ordering::Relaxed));
            assert_eq!(sum.into_inner(), len * (len + 1) / 2);
        }
    });
}

/// Numbers in a row that note which of them were run at once, if there is more of the part.
struct Noting<'n> {
    next: usize,
    end: usize,
    grains: &'n Mutex<Vec<Range<usize>>>,
}

impl Part for Noting<'_> {
    type Output = usize;

    fn steps(&self) -> usize {
        self.end - self.next
    }

    fn split(&mut self) -> Option<Self> {
        let middle = self.next + self.steps() / 2;
        let end = std::mem::replace(&mut self.end, middle);
        let next = middle;
        Some(Self { next, end, ..*self })
    }

    fn run<F>(&mut self, budget: &mut usize, mut consume: F) -> ControlFlow<()>
    where
        F: FnMut(usize) -> ControlFlow<()>,
    {
        let len = self.steps().min(*budget);
        *budget -= len;
        let grain = self.next..self.next + len;
        self.next = grain.end;
        if self.next < self.end {
            self.grains.lock().expect("no panic").push(grain.clone());
        }
        grain.into_iter().try_for_each(&mut consume)
    }
}

#[test]
#[cfg_attr(heist_tsan, ignore = "items take so long that no grain is a long one")]
fn long_grains_end_where_the_items_are_aligned_as_at_the_beginning() {
    let mut long = 0;
    for workers in [1, 3] {
        let grains = Mutex::new(Vec::new());
        let (next, end) = (0, 1_000_003);
        let grains = &grains;
        let iter = Noting { next, end, grains };
        pool(workers).install(|| drive(iter, ForEach::new(&|item| _ = black_box(item))));
        let grains = grains.lock().expect("no panic");
        for grain in grains.iter().filter(|grain| grain.len() >= 128) {
            assert_eq!(grain.end % 64, 0, "{grain:?} of {grains:?}");
            long += 1;
        }
    }
    assert!(long > 0, "a million items are run in more than one grain");
}

#[test]
fn a_loop_of_code_that_has_run_before_begins_with_a_sixteenth_of_itself_at_most() {
    let first_grain = |end: usize| {
        let grains = Mutex::new(Vec::new());
        let (next, grains) = (0, &grains);
        let iter = Noting { next, end, grains };
        drive(iter, ForEach::new(&|item| _ = black_box(item)));
        let grains = grains.lock().expect("no panic");
        grains.first().map_or(end, Range::len)
    };
    pool(1).install(|| {
        let nothing_known = first_grain(1_000_003);
        assert_eq!(nothing_known, 1);
        for len in [1_000_003, 1_000_000, 200_000] {
            assert!((1..=len / 16).contains(&first_grain(len)), "{len}");
        }
    });
}

/// The items of an iterator that has ended took no time, and say nothing about those of the next
/// one, whose first ones are therefore no more than a sixteenth.
#[test]
fn a_loop_that_an_adaptor_has_ended_does_not_count_as_a_short_one_of_all_its_steps() {
    const LEN: usize = 1600;
    let first_grain = |ends_at: usize| {
        let grains = Mutex::new(Vec::new());
        let (next, end, grains) = (0, LEN, &grains);
        let iter = Noting { next, end, grains }
            .map(|item| (item != ends_at).then_some(item))
            .while_some();
        drive(iter, ForEach::new(&|item| _ = black_box(item)));
        let grains = grains.lock().expect("no panic");
        let first = grains.iter().find(|grain| grain.start == 0);
        first.map_or(LEN, Range::len)
    };
    // Threads know nothing of a code yet in a new pool.
    for workers in [1, 2].repeat(10) {
        pool(workers).install(|| {
            first_grain(0);
            let first = first_grain(LEN);
            assert!((1..=LEN / 16).contains(&first), "{first} on {workers}");
        });
    }
}
