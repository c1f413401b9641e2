//! Bridges: all items of an ordinary iterator come, once each, and nobody waits for ever.

use std::collections::BTreeSet;
use std::iter::{from_fn, once_with};
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::process::abort;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use heist_core::{join, ThreadPool, ThreadPoolBuilder};
use heist_par::iter::plumbing::Part;
use heist_par::iter::IterBridge;
use heist_par::prelude::*;

use crate::pieces::{assert_gives, in_pieces, pool, Chance};

const SIZES: [usize; 7] = [0, 1, 2, 3, 7, 100, 10_000];

/// The numbers below `n`, from an iterator that says how many there are, or not.
fn numbers(n: usize, says: bool) -> Box<dyn Iterator<Item = usize> + Send> {
    if says {
        Box::new(0..n)
    } else {
        let mut next = 0..n;
        Box::new(from_fn(move || next.next()))
    }
}

/// Workers whose stacks end soon.
fn pool_with_short_stacks() -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(4).stack_size(1 << 20);
    pool.build().expect("a pool")
}

/// Calls the closure; ends the process if that hangs, which takes a moment otherwise.
fn watched<R>(op: impl FnOnce() -> R) -> R {
    let (done, watched) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        if watched.recv_timeout(Duration::from_secs(120)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("a bridge hangs");
            abort();
        }
    });
    let result = op();
    drop(done);
    watchdog.join().expect("it only waits");
    result
}

/// Costs about as much as a steal.
fn work() {
    for i in 0..50 {
        std::hint::black_box(i);
    }
}

#[test]
fn a_bridge_gives_each_item_once() {
    for n in SIZES {
        for says in [true, false] {
            let iter = numbers(n, says).par_bridge();
            let items: BTreeSet<_> = pool().install(|| iter.collect());
            assert!(items.into_iter().eq(0..n));
            for seed in 0..20 {
                let bridge = numbers(n, says).par_bridge();
                let mut items = in_pieces(bridge, &mut Chance::new(seed));
                items.sort_unstable();
                assert!(items.into_iter().eq(0..n));
            }
        }
    }
}

#[test]
fn an_ordered_bridge_gives_the_items_in_order() {
    for n in SIZES {
        let expected: Vec<_> = (0..n).collect();
        assert_gives(&(0..n).par_bridge_ordered(), &expected);
        let mut odd = expected;
        odd.retain(|n| n % 2 == 1);
        assert_gives(&(0..n).filter(|n| n % 2 == 1).par_bridge_ordered(), &odd);
    }
}

#[test]
fn a_million_items_come_in_order_on_short_stacks() {
    let pool = pool_with_short_stacks();
    let iter = numbers(1_000_000, false).par_bridge_ordered();
    let items: Vec<_> = pool.install(|| iter.inspect(|_| work()).collect());
    assert!(items.into_iter().eq(0..1_000_000));
}

#[test]
fn a_million_items_come_on_short_stacks() {
    let pool = pool_with_short_stacks();
    for says in [true, false] {
        let bridge = numbers(1_000_000, says).par_bridge();
        let sum = pool.install(|| bridge.inspect(|_| work()).sum::<usize>());
        assert_eq!(sum, 999_999 * 500_000);
    }
}

#[test]
fn endless_iterators_end_when_the_wanted_item_is_found() {
    let pool = pool_with_short_stacks();
    let wanted = |n: &u64| {
        work();
        *n >= 300_000
    };
    let any = pool.install(|| (0..).par_bridge().find_any(wanted));
    assert!(any >= Some(300_000));
    let first = pool.install(|| (0..).par_bridge_ordered().find_first(wanted));
    assert_eq!(first, Some(300_000));
    let taken = pool.install(|| (0..).par_bridge_ordered().take_any(1_000).count());
    assert_eq!(taken, 1_000);
}

#[test]
fn a_panic_stops_an_endless_iterator_if_all_find_a_reason() {
    for ordered in [false, true] {
        let check = |n: u64| assert!(n < 10_000, "enough");
        let stopped = catch_unwind(|| {
            pool().install(|| match ordered {
                false => (0..).par_bridge().for_each(check),
                true => (0..).par_bridge_ordered().for_each(check),
            });
        });
        assert!(stopped.is_err());
    }
}

/// While one worker's `next` waits for its other half, that worker, and the thief of the half, may
/// steal parts of the same bridge: waiting there for the iterator would be for ever.
#[test]
fn an_iterator_whose_next_forks_does_not_wait_for_itself() {
    for _ in 0..100 {
        let forking = (0..50_u64).inspect(|n| {
            let half = || {
                (0..10_usize)
                    .into_par_iter()
                    .inspect(|_| work())
                    .map(|i| i as u64 + n)
                    .sum::<u64>()
            };
            let (a, b) = join(half, half);
            assert_eq!(a, b);
        });
        for ordered in [false, true] {
            let forking = forking.clone();
            let sum = || match ordered {
                false => forking.par_bridge().inspect(|_| work()).sum::<u64>(),
                true => forking
                    .par_bridge_ordered()
                    .inspect(|_| work())
                    .sum::<u64>(),
            };
            let sum = watched(|| pool().install(sum));
            assert_eq!(sum, 1_225);
        }
    }
}

#[test]
fn bridges_within_bridges_end() {
    let pool = ThreadPoolBuilder::new().num_threads(8).build();
    let pool = pool.expect("a pool");
    let forking = |i: u64| once_with(move || join(|| i, || i + 1));
    for _ in 0..20 {
        pool.broadcast(|_| {
            let outer = (0..300).filter(|i| i % 3 > 0);
            let expected: Vec<_> = outer.clone().map(|i| (i, i + 1)).collect();
            let bridges = outer
                .clone()
                .par_bridge()
                .flat_map(|i| forking(i).par_bridge());
            let pairs: BTreeSet<_> = bridges.collect();
            assert!(pairs.into_iter().eq(expected.iter().copied()));
            let ordered = outer.par_bridge_ordered();
            let pairs = ordered.flat_map(|i| forking(i).par_bridge_ordered());
            assert_eq!(pairs.collect::<Vec<_>>(), expected);
        });
    }
}

#[test]
fn an_item_is_not_held_back_while_the_iterator_waits_for_the_next() {
    // Each number but 0 asks for the one below it, when it is consumed.
    let (ask, asked) = mpsc::channel();
    ask.send(2_000_u32).unwrap();
    let left = AtomicUsize::new(2_001);
    let left = &left;
    let numbers = from_fn(move || {
        (left.load(Ordering::Relaxed) > 0).then(|| {
            left.fetch_sub(1, Ordering::Relaxed);
            asked.recv().expect("nobody asks any more")
        })
    });
    let sum = AtomicUsize::new(0);
    pool().install(|| {
        numbers.par_bridge().for_each(|n| {
            sum.fetch_add(n as usize, Ordering::Relaxed);
            if n > 0 {
                ask.send(n - 1).unwrap();
            }
        });
    });
    assert_eq!(sum.into_inner(), 2_000 * 2_001 / 2);
}

#[test]
fn an_iterator_may_wait_for_what_earlier_items_give_back() {
    for workers in [1, 2, 4] {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build();
        let (give, take) = mpsc::sync_channel(4);
        (0..4).for_each(|_| give.send(vec![0_u8; 16]).unwrap());
        // The size hint promises all of them. The last ones come back after its end.
        let buffers = (0..1_000).map(move |_| take.recv().unwrap());
        let lengths = buffers.par_bridge().map(|buffer| {
            let len = buffer.len();
            give.send(buffer).unwrap();
            len
        });
        let sum: usize = watched(|| pool.expect("a pool").install(|| lengths.sum()));
        assert_eq!(sum, 16_000);
    }
}

#[test]
fn an_item_may_wait_for_the_next_one() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("a pool");
    for cost_of_next in [0, 20_000] {
        for first in [0, 1, 5_000] {
            let (second_was_there, told) = (Mutex::new(false), Condvar::new());
            // With a slow iterator those who wait for it leave.
            let numbers = (0..5_100).inspect(|n| {
                let cost = if n % 100 == first % 100 {
                    cost_of_next
                } else {
                    0
                };
                (0..cost).for_each(|i| _ = std::hint::black_box(i));
            });
            let wait = |n| {
                let mut was_there = second_was_there.lock().unwrap();
                *was_there |= n == first + 1;
                told.notify_all();
                while n == first && !*was_there {
                    was_there = told.wait(was_there).unwrap();
                }
            };
            watched(|| pool.install(|| numbers.par_bridge().for_each(wait)));
            assert!(second_was_there.into_inner().unwrap());
        }
    }
}

#[test]
fn if_a_part_leaves_another_can_be_offered_before_the_item_runs() {
    type Part = IterBridge<Box<dyn Iterator<Item = usize> + Send>>;
    let others = Arc::new(Mutex::new(Vec::<Part>::new()));
    let while_it_is_out = Arc::clone(&others);
    let numbers = (0..2_usize).inspect(move |_| {
        let others: Vec<_> = while_it_is_out.lock().unwrap().drain(..).collect();
        for (left, mut part) in others.into_iter().enumerate() {
            assert!(left == 0 || part.split().is_none(), "it could only leave");
            let flow = part.run(&mut 1, |n| panic!("{n} comes from an iterator that is out"));
            assert!(flow.is_continue());
            assert_eq!(part.steps(), 0);
        }
    });
    let mut part = (Box::new(numbers) as Box<dyn Iterator<Item = usize> + Send>).par_bridge();
    let leaving = [part.split(), part.split()];
    others.lock().unwrap().extend(leaving.into_iter().flatten());
    let mut budget = 1;
    let flow = part.run(&mut budget, |n| {
        panic!("nobody could take what follows {n}")
    });
    assert!(flow.is_continue() && budget == 1);
    let offered = part.split();
    assert!(offered.is_some());
    assert_eq!(in_pieces(part, &mut Chance::new(0)), [0, 1]);
}

#[test]
fn batches_give_each_item_once() {
    for n in SIZES {
        for says in [true, false] {
            for len in [1, 2, 1_000] {
                let bridge = numbers(n, says).par_bridge().in_batches(len);
                let items: BTreeSet<_> = pool().install(|| bridge.collect());
                assert!(items.into_iter().eq(0..n));
                let bridge = numbers(n, says).par_bridge().in_batches(len);
                let mut items = in_pieces(bridge, &mut Chance::new(n as u64));
                items.sort_unstable();
                assert!(items.into_iter().eq(0..n));
            }
        }
    }
}

#[test]
fn a_panic_of_next_reaches_the_caller_and_next_is_not_called_again() {
    for ordered in [false, true] {
        let calls = AtomicUsize::new(0);
        let item = Arc::new(());
        let iter = from_fn(|| match calls.fetch_add(1, Ordering::Relaxed) {
            500.. => panic_any("next"),
            _ => Some(Arc::clone(&item)),
        });
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool().install(|| match ordered {
                false => iter.par_bridge().for_each(drop),
                true => iter.par_bridge_ordered().for_each(drop),
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"next"));
        assert_eq!(calls.into_inner(), 501);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}

#[test]
fn a_panic_of_a_consumer_drops_what_was_taken() {
    for ordered in [false, true] {
        let item = Arc::new(());
        let iter = (0..10_000).map(|_| Arc::clone(&item));
        let consumed = AtomicUsize::new(0);
        let consume = |_| {
            if consumed.fetch_add(1, Ordering::Relaxed) == 3_000 {
                panic_any("consumer");
            }
        };
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool().install(|| match ordered {
                false => iter.par_bridge().for_each(consume),
                true => iter.par_bridge_ordered().for_each(consume),
            });
        }));
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"consumer"));
        assert_eq!(Arc::strong_count(&item), 1);
    }
}

#[test]
fn an_iterator_is_not_asked_again_after_its_end() {
    for ordered in [false, true] {
        let asked = AtomicUsize::new(0);
        let once = from_fn(|| (asked.fetch_add(1, Ordering::Relaxed) < 10).then_some(1));
        let sum = pool().install(|| match ordered {
            false => once.par_bridge().sum::<i32>(),
            true => once.par_bridge_ordered().sum::<i32>(),
        });
        assert_eq!((sum, asked.into_inner()), (10, 11));
    }
}

#[test]
fn a_clone_of_a_bridge_is_independent() {
    let bridge = (0..100_u32).par_bridge();
    let sums = [bridge.clone(), bridge].map(|bridge| pool().install(|| bridge.sum::<u32>()));
    assert_eq!(sums, [4950; 2]);
}

#[test]
fn debug_shows_the_iterator() {
    assert_eq!(
        format!("{:?}", (0..3).par_bridge()),
        "IterBridge { iter: Some(0..3), .. }"
    );
    let ordered = format!("{:?}", (0..3).par_bridge_ordered());
    assert_eq!(ordered, "OrderedBridge { iter: Some(0..3), .. }");
}
