//! Whole pools under shuttle: random schedules, and schedules that look for rare preemptions. A
//! failure prints what replays it.
//!
//! Run with `cargo xtask model`.
#![cfg(heist_shuttle)]

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use heist_core::hosting::{Host, Hosted, Order};
use heist_core::{
    JoinContext, Once, Pin, Priority, Strand, TaskGroup, ThreadPool, ThreadPoolBuilder, Topology,
};
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Runs a test under both schedulers.
fn check(test: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(test.clone(), 300);
    shuttle::check_pct(test, 300, 3);
}

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

#[test]
fn nested_joins_run_each_leaf_once_and_the_pool_ends() {
    fn leaves(depth: u32, ran: &AtomicUsize) {
        if depth == 0 {
            ran.fetch_add(1, Ordering::SeqCst);
            return;
        }
        heist_core::join(|| leaves(depth - 1, ran), || leaves(depth - 1, ran));
    }
    check(|| {
        let pool = pool(2);
        let ran = AtomicUsize::new(0);
        pool.install(|| leaves(3, &ran));
        assert_eq!(ran.load(Ordering::SeqCst), 8);
        pool.shutdown();
    });
}

/// Worker 2 is farther from the others than they are from each other, and they from it.
#[test]
fn jobs_are_found_near_and_far_and_the_pool_ends() {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sync/tests/machines");
    let machine = Topology::read(&machines.join("far-apart.txt")).expect("it is recorded");
    check(move || {
        let builder = ThreadPoolBuilder::new().pin(Pin::Cpus(vec![0, 0, 7]));
        let pool = builder.topology(machine.clone()).build().expect("a pool");
        let ran = Arc::new(AtomicUsize::new(0));
        for worker in 0..3 {
            let ran = Arc::clone(&ran);
            pool.job().only_on(worker).spawn(move || {
                for _ in 0..3 {
                    let ran = Arc::clone(&ran);
                    heist_core::spawn(move || _ = ran.fetch_add(1, Ordering::SeqCst));
                }
                heist_core::join(|| (), || _ = ran.fetch_add(1, Ordering::SeqCst));
            });
        }
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 12);
    });
}

#[test]
fn joins_with_a_context_run_each_leaf_once_among_jobs_that_are_left_behind() {
    fn leaves(mut cx: JoinContext<'_>, depth: u32, ran: &Arc<AtomicUsize>) {
        if depth == 0 {
            let ran = Arc::clone(ran);
            heist_core::spawn(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
            return;
        }
        cx.join(
            |cx| leaves(cx, depth - 1, ran),
            |cx| leaves(cx, depth - 1, ran),
        );
    }
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        pool.install(|| heist_core::with_context(|cx| leaves(cx, 3, &ran)));
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 8);
    });
}

#[test]
fn jobs_of_a_worker_that_blocks_are_run_by_another_in_its_place() {
    check(|| {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.compensation_workers(1).build().expect("a pool");
        let (say, heard) = shuttle::sync::mpsc::channel();
        pool.install(|| {
            heist_core::spawn(move || say.send(heist_core::join(|| 1, || 2)).unwrap());
            assert_eq!(heist_core::blocking(|| heard.recv()), Ok((1, 2)));
            assert_eq!(heist_core::join(|| 3, || 4), (3, 4));
        });
        pool.shutdown();
    });
}

#[test]
fn callers_of_a_serial_pool_take_turns_and_leave_no_job_behind() {
    check(|| {
        let pool = Arc::new(ThreadPoolBuilder::new().serial().build().expect("a pool"));
        let ran = Arc::new(AtomicUsize::new(0));
        let count = |by: usize| {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(by, Ordering::SeqCst);
            }
        };
        let threads = [0, 1].map(|thread| {
            let (pool, job, leaf) = (Arc::clone(&pool), count(1), count(10));
            shuttle::thread::spawn(move || {
                pool.spawn(job);
                match thread {
                    0 => _ = pool.install(|| heist_core::join(&leaf, &leaf)),
                    _ => pool.scope(|scope| (0..2).for_each(|_| scope.spawn(|_| leaf()))),
                }
            })
        });
        assert_eq!(pool.broadcast(|_| 1), [1]);
        for thread in threads {
            thread.join().unwrap();
        }
        Arc::into_inner(pool).expect("the last").shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 42);
    });
}

#[test]
fn a_worker_and_a_caller_of_a_serial_pool_wait_for_each_other() {
    check(|| {
        let (many, one) = (
            pool(1),
            ThreadPoolBuilder::new().serial().build().expect("a pool"),
        );
        let (many, one) = (Arc::new(many), Arc::new(one));
        let (other_many, other_one) = (Arc::clone(&many), Arc::clone(&one));
        let other = shuttle::thread::spawn(move || {
            other_many.install(|| other_one.install(|| other_many.install(|| 1)))
        });
        assert_eq!(one.install(|| many.install(|| one.install(|| 2))), 2);
        assert_eq!(other.join().unwrap(), 1);
    });
}

#[test]
fn joins_that_are_all_guarded_end_among_jobs_that_others_have_left() {
    fn leaves(depth: u32, ran: &Arc<AtomicUsize>) {
        if depth == 0 {
            let ran = Arc::clone(ran);
            heist_core::spawn(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
            return;
        }
        heist_core::join(|| leaves(depth - 1, ran), || leaves(depth - 1, ran));
    }
    check(|| {
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let pool = builder.stack_guard(usize::MAX).build().expect("a pool");
        let ran = Arc::new(AtomicUsize::new(0));
        pool.scope(|scope| {
            (0..2).for_each(|_| scope.spawn(|_| leaves(2, &ran)));
        });
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 8);
    });
}

#[test]
fn a_scope_on_three_workers_waits_for_nested_jobs() {
    check(|| {
        let pool = pool(3);
        let ran = AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|scope| {
                    scope.spawn(|_| {
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                });
            }
        });
        assert_eq!(ran.load(Ordering::SeqCst), 2);
        pool.shutdown();
    });
}

#[test]
fn a_panic_reaches_the_join_under_every_schedule() {
    check(|| {
        let pool = pool(2);
        let ran = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.join(
                || std::panic::panic_any("first"),
                || {
                    ran.fetch_add(1, Ordering::SeqCst);
                },
            )
        }));
        assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "first");
        assert_eq!(
            ran.load(Ordering::SeqCst),
            1,
            "the second half ran to its end"
        );
        pool.shutdown();
    });
}

#[test]
fn jobs_from_outside_reach_sleeping_workers_and_the_end_comes_after_them() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let ran = Arc::clone(&ran);
            pool.spawn(move || {
                heist_core::spawn(move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                });
            });
        }
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_group_is_waited_for_from_inside_and_outside() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let group = Arc::new(TaskGroup::new_in(&pool));
        for _ in 0..2 {
            let ran = Arc::clone(&ran);
            group.run(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
        }
        let inside = Arc::clone(&group);
        pool.install(move || inside.wait());
        group.wait();
        assert_eq!(ran.load(Ordering::SeqCst), 2);
        drop(group);
        pool.shutdown();
    });
}

#[test]
fn a_strand_runs_the_jobs_of_several_submitters_one_at_a_time_and_in_order() {
    check(|| {
        let pool = pool(2);
        let strand = Strand::new_in(&pool);
        let is_busy = Arc::new(AtomicBool::new(false));
        let submit = |strand: &Strand| {
            let begun = Arc::new(AtomicUsize::new(0));
            for n in 0..2 {
                let (is_busy, begun) = (Arc::clone(&is_busy), Arc::clone(&begun));
                strand.spawn(move || {
                    assert!(!is_busy.swap(true, Ordering::Relaxed), "one at a time");
                    assert_eq!(begun.fetch_add(1, Ordering::Relaxed), n, "in order");
                    // On top of it its worker may run anything but the strand.
                    heist_core::join(shuttle::thread::yield_now, || ());
                    is_busy.store(false, Ordering::Relaxed);
                });
            }
            begun
        };
        let inside = || heist_core::join(|| submit(&strand), || submit(&strand));
        let (first, second) = pool.install(inside);
        let third = submit(&strand);
        strand.wait();
        for begun in [first, second, third] {
            assert_eq!(begun.load(Ordering::Relaxed), 2);
        }
        drop(strand);
        pool.shutdown();
    });
}

#[test]
fn a_strand_whose_handle_is_gone_is_served_to_its_end_before_the_pool_ends() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let strand = Strand::new_in(&pool);
        for _ in 0..2 {
            let (ran, strand) = (Arc::clone(&ran), strand.clone());
            pool.spawn(move || {
                strand.spawn(move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                });
            });
        }
        drop(strand);
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn a_broadcast_reaches_every_worker() {
    check(|| {
        let pool = pool(2);
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
        pool.shutdown();
    });
}

#[test]
fn two_pools_wait_for_each_other() {
    check(|| {
        let (a, b) = (pool(1), pool(1));
        assert_eq!(a.install(|| b.install(|| a.install(|| 7))), 7);
        a.shutdown();
        b.shutdown();
    });
}

/// The first initialiser panics, perhaps in a half that was stolen; those who wait try again.
#[test]
fn a_value_is_made_once_by_workers_that_steal_from_each_other() {
    check(|| {
        let pool = pool(2);
        let (once, runs) = (Once::new(), AtomicUsize::new(0));
        let value = || {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            let (a, b) = heist_core::join(
                || heist_core::join(|| 1, || 2),
                || {
                    if run == 0 {
                        std::panic::panic_any("the first");
                    }
                    4
                },
            );
            a.0 + a.1 + b
        };
        let want = || catch_unwind(AssertUnwindSafe(|| *once.get_or_init(value))).ok();
        let (a, (b, c)) = pool.install(|| heist_core::join(want, || heist_core::join(want, want)));
        let values = [a, b, c];
        assert_eq!(values.iter().filter(|value| value.is_none()).count(), 1);
        assert_eq!(values.into_iter().flatten().sum::<i32>(), 14);
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        pool.shutdown();
    });
}

/// A worker waits for jobs that a part of an initialiser begins on the other one, which waits for
/// the value next.
#[test]
fn jobs_that_a_part_of_an_initialiser_begins_are_run_by_whoever_waits_for_them() {
    check(|| {
        let pool = pool(2);
        let once = Once::new();
        let value = || {
            let sum = Arc::new(AtomicUsize::new(0));
            let group = TaskGroup::new();
            let adds = |n: usize| {
                let sum = Arc::clone(&sum);
                move || {
                    sum.fetch_add(n, Ordering::SeqCst);
                }
            };
            heist_core::scope(|scope| {
                let spawns = |n: usize| {
                    let adds = adds(n);
                    scope.spawn(move |_| adds());
                };
                heist_core::join(|| spawns(1), || spawns(2));
            });
            heist_core::join(|| group.run(adds(4)), || group.run(adds(8)));
            group.wait();
            sum.load(Ordering::SeqCst)
        };
        let want = || *once.get_or_init(value);
        assert_eq!(pool.join(want, want), (15, 15));
        pool.shutdown();
    });
}

/// A worker waits for a value of which the other worker lends pieces, after it has fallen asleep.
#[test]
fn two_values_of_which_one_needs_the_other_are_made_by_workers_and_a_thread_outside() {
    check(|| {
        let pool = Arc::new(pool(2));
        let values = Arc::new([Once::new(), Once::new()]);
        let first = |values: &[Once<i32>; 2]| {
            let (a, b) = heist_core::join(|| 1, || heist_core::join(|| 2, || 3));
            *values[0].get_or_init(|| a + b.0 + b.1)
        };
        let second = move |values: &[Once<i32>; 2]| {
            *values[1].get_or_init(|| heist_core::join(|| 10, || first(values)).1 + 10)
        };
        let outside = shuttle::thread::spawn({
            let (pool, values) = (Arc::clone(&pool), Arc::clone(&values));
            move || pool.install(|| second(&values))
        });
        let sums = pool.join(|| first(&values), || second(&values));
        assert_eq!((sums, outside.join().unwrap()), ((6, 16), 16));
        Arc::into_inner(pool).expect("the last").shutdown();
    });
}

#[test]
fn jobs_of_all_priorities_and_with_hints_run_once_and_the_end_comes_after_them() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let job = || {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(1, Ordering::SeqCst);
            }
        };
        pool.job().priority(Priority::Low).spawn(job());
        pool.job().priority(Priority::High).spawn(job());
        pool.job().near(0).spawn(job());
        pool.job().only_on(1).spawn(job());
        let inner = job();
        pool.spawn(move || heist_core::job().priority(Priority::High).spawn(inner));
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 5);
    });
}

#[test]
fn a_job_near_a_worker_that_waits_for_it_is_run_by_the_other() {
    check(|| {
        let pool = pool(2);
        let (say, heard) = shuttle::sync::mpsc::channel();
        pool.install(|| {
            let here = heist_core::current_thread_index().unwrap();
            heist_core::spawn_on(here, move || say.send(7).unwrap());
            assert_eq!(heard.recv(), Ok(7));
        });
        pool.shutdown();
    });
}

#[test]
fn a_job_that_may_be_stolen_is_aborted_or_joined_and_that_once() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        let handle = pool.install(|| {
            heist_core::submit(move || {
                count.fetch_add(1, Ordering::SeqCst);
            })
        });
        let is_aborted = handle.abort();
        let outcome = pool.install(|| handle.try_join());
        assert_eq!(outcome.is_err(), is_aborted);
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), usize::from(!is_aborted));
    });
}

#[test]
fn a_job_that_is_joined_by_one_worker_and_stolen_by_another_runs_once() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        let (first, second) = pool.install(|| {
            let first = heist_core::submit(move || count.fetch_add(1, Ordering::SeqCst));
            let second = heist_core::submit(|| 5);
            heist_core::join(move || first.join(), move || second.join())
        });
        assert_eq!((first, second), (0, 5));
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    });
}

/// A task that goes behind all others some times.
struct Again {
    host: Host,
    left: usize,
    ran: Arc<AtomicUsize>,
}

impl Hosted for Again {
    type Origin = Self;

    fn host(&self) -> &Host {
        &self.host
    }

    fn run(self) -> bool {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        Host::schedule(Order::Again, Self { left, ..self });
        true
    }
}

/// On a worker that is not the only one, from one that waits, and from outside; the pool ends with
/// the last of them, and not before.
#[test]
fn tasks_that_let_others_go_first_run_as_often_as_they_are_scheduled_and_the_pool_ends_then() {
    check(|| {
        let pool = pool(2);
        let ran = Arc::new(AtomicUsize::new(0));
        let task = |left| Again {
            host: Host::of(&pool),
            left,
            ran: Arc::clone(&ran),
        };
        Host::schedule(Order::Next, task(1));
        pool.install(|| {
            Host::schedule(Order::InTurn, task(2));
            Host::schedule(Order::InTurn, task(0));
            heist_core::join(|| Host::schedule(Order::Next, task(1)), || ());
        });
        pool.shutdown();
        assert_eq!(ran.load(Ordering::SeqCst), 8);
    });
}
