//! Waiting for descendants only: no unrelated work on a waiting stack.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use heist_core::{join, scope, spawn, submit, with_propagation, with_waiting, yield_now};
use heist_core::{Around, Once, Priority, TaskGroup, ThreadPool, ThreadPoolBuilder, Waiting};

fn strict_pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .waiting(Waiting::Descendants)
        .build()
        .expect("a pool")
}

/// Keeps a worker busy for long enough to lose work to thieves.
fn work(turns: u64) -> u64 {
    (0..turns).fold(1_u64, |sum, turn| black_box(sum.wrapping_mul(31) ^ turn))
}

thread_local! {
    /// How many tasks are on this thread's stack.
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// A task that joins, and says how many tasks are on its stack.
fn task() -> usize {
    let nested = NESTED.get() + 1;
    NESTED.set(nested);
    join(|| work(2_000), || work(20_000));
    NESTED.set(nested - 1);
    nested
}

/// The deepest stack of tasks when many run in the pool, and whether any half was stolen.
fn deepest(pool: &ThreadPool) -> (usize, u64) {
    let before = pool.counters();
    let deepest = AtomicUsize::new(0);
    pool.scope(|scope| {
        for _ in 0..500 {
            scope.spawn(|_| {
                deepest.fetch_max(task(), Ordering::Relaxed);
            });
        }
    });
    let stolen = pool.counters().since(&before).total().steals;
    (deepest.into_inner(), stolen)
}

#[test]
fn no_task_runs_on_the_stack_of_another_that_waits() {
    for workers in [1, 2, 4, 16] {
        let pool = strict_pool(workers);
        // The scope itself waits on a worker, and runs its tasks.
        let (deepest, stolen) = (0..20).fold((0, 0), |(depth, thefts), _| {
            let (deepest, stolen) = deepest(&pool);
            (depth.max(deepest), thefts + stolen)
        });
        assert_eq!(deepest, 1, "{workers} workers, {stolen} thefts");
    }
}

/// A23 (b) and (c): with `Any` a waiting worker takes another task, which wants the lock that the
/// frame below holds.
#[test]
fn a23_a_lock_that_is_held_over_a_join_does_not_wait_for_itself() {
    let pool = strict_pool(4);
    let account = Mutex::new(0);
    pool.scope(|scope| {
        for _ in 0..2_000 {
            scope.spawn(|_| {
                let mut account = account.lock().expect("no task panics");
                let (a, b) = join(|| work(100).min(1), || work(1_000).min(1));
                *account += a + b;
            });
        }
    });
    assert_eq!(account.into_inner().expect("no task panics"), 4_000);
}

#[test]
fn a_single_call_can_be_strict_in_a_pool_that_is_not() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .expect("a pool");
    let account = Mutex::new(0);
    pool.scope(|scope| {
        for _ in 0..2_000 {
            scope.spawn(|_| {
                let mut account = account.lock().expect("no task panics");
                let halves = || join(|| work(100).min(1), || work(1_000).min(1));
                let (a, b) = with_waiting(Waiting::Descendants, halves);
                *account += a + b;
            });
        }
    });
    assert_eq!(account.into_inner().expect("no task panics"), 4_000);
}

/// How many bytes of a stack a computation needs at most: the distance between the shallowest and
/// the deepest leaf of it on any one thread.
struct Depths(Mutex<Vec<(thread::ThreadId, usize, usize)>>);

impl Depths {
    fn note(&self) {
        let marker = 0_u8;
        let address = std::ptr::from_ref(black_box(&marker)) as usize;
        let mut threads = self.0.lock().expect("no test panics here");
        let me = thread::current().id();
        match threads.iter_mut().find(|(thread, ..)| *thread == me) {
            Some((_, low, high)) => {
                *low = address.min(*low);
                *high = address.max(*high);
            }
            None => threads.push((me, address, address)),
        }
    }

    fn most(self) -> usize {
        let threads = self.0.into_inner().expect("no test panics here");
        let spans = threads.iter().map(|(_, low, high)| high - low);
        spans.max().unwrap_or(0)
    }
}

fn tree(levels: u32, depths: &Depths) {
    if levels == 0 {
        return depths.note();
    }
    scope(|scope| {
        scope.spawn(|_| tree(levels - 1, depths));
        join(|| tree(levels - 1, depths), || tree(levels - 1, depths));
    });
}

/// Many trees at the same time: a worker that waits in one could begin another. With `Any` it does,
/// and needs several times the stack.
#[test]
#[cfg_attr(heist_asan, ignore = "the sanitizer keeps locals away from the stack")]
fn a_waiting_stack_is_not_deeper_than_the_serial_one() {
    let bytes = |workers| {
        let (pool, depths) = (strict_pool(workers), Depths(Mutex::default()));
        pool.scope(|scope| {
            depths.note();
            for _ in 0..300 {
                scope.spawn(|_| tree(5, &depths));
            }
        });
        depths.most()
    };
    let serial = bytes(1);
    for workers in [2, 8] {
        // Where a part is stolen there is another frame or two.
        let parallel = bytes(workers);
        assert!(
            parallel <= serial + serial / 4,
            "{parallel} bytes with {workers} workers, {serial} with one"
        );
    }
}

/// The only worker waits for a job that another thread has put into the injector.
#[test]
fn a_spare_takes_the_place_of_a_worker_that_waits_for_something_unrelated() {
    let pool = strict_pool(1);
    for round in 0..100 {
        let value = pool.install(|| from_outside(&pool, move || round));
        assert_eq!(value, round);
    }
    pool.shutdown();
}

/// Waits on a worker for a job that comes from outside.
fn from_outside<T: Send + 'static>(
    pool: &ThreadPool,
    job: impl FnOnce() -> T + Send + 'static,
) -> T {
    let group = TaskGroup::new_in(pool);
    let (say, heard) = channel();
    let run = move || say.send(job()).expect("the test listens");
    thread::scope(|threads| threads.spawn(|| group.run(run)).join()).expect("it is queued");
    group.wait();
    heard.recv().expect("a value")
}

/// As above; the compensation worker opens a scope that has a queue for each worker.
#[test]
fn a_spare_can_do_what_workers_do() {
    let pool = strict_pool(1);
    let index = pool.install(|| {
        from_outside(&pool, || {
            heist_core::scope_fifo(|scope| scope.spawn_fifo(|_| ()));
            heist_core::spawn_fifo(|| ());
            heist_core::current_thread_index()
        })
    });
    assert_eq!(index, Some(1), "above those of the workers");
    pool.shutdown();
}

/// All workers wait at the same time, each for a job that another has pushed.
#[test]
fn compensation_workers_work_while_all_workers_wait() {
    let pool = strict_pool(2);
    for _ in 0..50 {
        let both = Barrier::new(2);
        let exchange = |give: &TaskGroup, take: &TaskGroup| {
            give.run(|| _ = work(100));
            both.wait();
            take.wait();
        };
        let [left, right] = [(); 2].map(|()| TaskGroup::new_in(&pool));
        pool.join(|| exchange(&left, &right), || exchange(&right, &left));
    }
}

#[test]
fn every_operation_ends_with_one_strict_worker() {
    let pool = strict_pool(1);
    let ran = AtomicUsize::new(0);
    let count = || {
        ran.fetch_add(1, Ordering::Relaxed);
    };
    pool.install(|| {
        join(count, || join(count, count));
        scope(|scope| {
            scope.spawn(|scope| scope.spawn(|_| count()));
            scope.spawn(|_| count());
        });
        heist_core::scope_fifo(|scope| scope.spawn_fifo(|_| count()));
        heist_core::in_place_scope(|scope| scope.spawn(|_| count()));
        assert_eq!(heist_core::broadcast(|context| context.index()), [0]);
        assert_eq!(submit(|| 1).join(), 1);
        let group = TaskGroup::new();
        group.run(|| ());
        group.wait();
    });
    assert_eq!(ran.into_inner(), 7);
    let panicked = catch_unwind(AssertUnwindSafe(|| pool.join(|| (), || panic!("b"))));
    assert!(panicked.is_err());
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// Strict frames that wait for a job below where they began, because older jobs are gone.
const PUSHED_LOWER: [fn() -> i32; 6] = [
    || {
        spawn(|| ());
        yield_now();
        submit(|| 1).join()
    },
    || {
        let older = submit(|| 1);
        scope(|scope| {
            let sum = older.join();
            scope.spawn(|_| ());
            sum
        })
    },
    || {
        spawn(|| ());
        scope(|outer| {
            yield_now();
            scope(|_| outer.spawn(|_| ()));
            1
        })
    },
    || {
        spawn(|| ());
        scope(|outer| {
            yield_now();
            with_waiting(Waiting::Any, || outer.spawn(|_| ()));
            1
        })
    },
    || {
        let older = submit(|| 1);
        scope(|_| with_waiting(Waiting::Descendants, || older.join()))
    },
    || {
        spawn(|| ());
        join(
            || {
                yield_now();
                scope(|scope| scope.spawn(|_| ()));
                1
            },
            || (),
        )
        .0
    },
];

#[test]
fn jobs_that_a_strict_frame_has_pushed_are_found_wherever_they_lie() {
    for pool in [
        strict_pool(1),
        ThreadPoolBuilder::new().num_threads(1).build().unwrap(),
    ] {
        for program in PUSHED_LOWER {
            let strictly = || with_waiting(Waiting::Descendants, program);
            assert_eq!(pool.install(strictly), 1);
            let in_a_job = || {
                let result = AtomicUsize::new(0);
                scope(|scope| {
                    scope.spawn(|_| ());
                    scope.spawn(|_| {
                        yield_now();
                        result.store(program() as usize, Ordering::Relaxed);
                    });
                });
                result.into_inner()
            };
            let strictly = || with_waiting(Waiting::Descendants, in_a_job);
            assert_eq!(pool.install(strictly), 1);
        }
    }
}

#[test]
fn a_broadcast_reaches_workers_that_wait() {
    let pool = strict_pool(2);
    for _ in 0..50 {
        let both = Barrier::new(2);
        let (_, indices) = pool.join(
            || both.wait(),
            || {
                both.wait();
                heist_core::broadcast(|context| context.index())
            },
        );
        assert_eq!(indices, [0, 1]);
    }
}

/// Jobs that were pushed before a call that waits for descendants are not of that call, although it
/// is stolen meanwhile: it comes back to its own pool, which a strict frame would not run.
#[test]
fn a_job_of_before_a_strict_call_that_is_stolen_during_it_is_not_strict() {
    let pool = |workers| ThreadPoolBuilder::new().num_threads(workers).build();
    let (two, one) = (pool(2).expect("a pool"), pool(1).expect("a pool"));
    for _ in 0..20 {
        let done = AtomicBool::new(false);
        two.install(|| {
            join(
                || {
                    with_waiting(Waiting::Descendants, || {
                        while !done.load(Ordering::Relaxed) {
                            if !heist_core::give_way() {
                                thread::yield_now();
                            }
                        }
                    });
                },
                || {
                    one.install(|| two.install(|| ()));
                    done.store(true, Ordering::Relaxed);
                },
            )
        });
    }
}

/// Ways to wait, on a pool of one worker, for something that is elsewhere.
type Wait = fn(&ThreadPool);

const WAITS: [Wait; 4] = [
    |elsewhere| elsewhere.submit(slow).join(),
    |elsewhere| {
        let group = TaskGroup::new_in(elsewhere);
        group.run(slow);
        group.wait();
    },
    |elsewhere| {
        let group = TaskGroup::new_in(elsewhere);
        group.run(slow);
        assert!(group.wait_until(Instant::now() + Duration::from_secs(60)));
    },
    |elsewhere| elsewhere.install(slow),
];

fn slow() {
    thread::sleep(Duration::from_millis(10));
}

/// Calls in which jobs of before would do harm.
const CALLS: [fn(&(dyn Fn() + Sync)); 3] = [
    |op| with_waiting(Waiting::Descendants, op),
    |op| *Once::new().get_or_init(op),
    |op| {
        let around: Arc<dyn Around> = Arc::new(|run: &mut dyn FnMut()| run());
        with_propagation(around, op);
    },
];

/// Also those that lie in the worker's own deque, above whatever its present job has pushed.
#[test]
fn a_strict_call_that_waits_for_something_elsewhere_runs_nothing_of_before() {
    let pool = || ThreadPoolBuilder::new().num_threads(1).build();
    let (here, elsewhere) = (pool().expect("a pool"), pool().expect("a pool"));
    for call in CALLS {
        for wait in WAITS {
            let is_inside = AtomicBool::new(false);
            let deposit = || {
                call(&|| {
                    assert!(
                        !is_inside.swap(true, Ordering::Relaxed),
                        "on top of another"
                    );
                    wait(&elsewhere);
                    is_inside.store(false, Ordering::Relaxed);
                });
            };
            here.install(|| {
                scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|_| deposit());
                    }
                    deposit();
                });
            });
        }
    }
}

/// Calls `op` strictly, in each way, on the one worker of a pool.
fn in_each_call(op: impl Fn() + Sync) {
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a pool");
    for call in CALLS {
        pool.install(|| call(&op));
    }
}

/// A lane is for whichever worker comes next, and none would come.
#[test]
fn a_strict_frame_is_not_kept_waiting_for_jobs_with_a_priority() {
    in_each_call(|| {
        for priority in [Priority::High, Priority::Low] {
            let group = TaskGroup::new().with_priority(priority);
            group.run(spawn_another);
            group.wait();
        }
    });
}

fn spawn_another() {
    let group = TaskGroup::new().with_priority(Priority::High);
    group.run(|| ());
    group.wait();
}

/// More than a deque has room for.
const OVERFLOWING: usize = 1_300_000;

#[test]
fn a_strict_frame_is_not_kept_waiting_for_jobs_beyond_the_room_of_its_deque() {
    in_each_call(|| {
        let ran = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..OVERFLOWING {
                scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
            }
        });
        assert_eq!(ran.into_inner(), OVERFLOWING);
    });
}

/// With a thief, which takes the jobs that lie together.
#[test]
fn jobs_beyond_the_room_of_a_deque_do_not_run_on_top_of_each_other() {
    for workers in [1, 3] {
        let pool = strict_pool(workers);
        let (deepest, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.scope(|outer| {
            for n in 0..OVERFLOWING {
                let (deepest, ran) = (&deepest, &ran);
                outer.spawn(move |_| {
                    let nested = NESTED.get() + 1;
                    NESTED.set(nested);
                    if n % 64 == 0 || n + 1000 > OVERFLOWING {
                        scope(|inner| inner.spawn(|_| _ = work(100)));
                    }
                    NESTED.set(nested - 1);
                    deepest.fetch_max(nested, Ordering::Relaxed);
                    ran.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(ran.into_inner(), OVERFLOWING);
        assert_eq!(deepest.into_inner(), 1, "{workers} workers");
    }
}

/// The owner of a stolen part would wait for the thief, and run nothing else.
#[test]
fn jobs_from_outside_come_before_those_in_the_deques_of_others() {
    const JOBS: usize = 20;
    let (has_spawned, may_go) = (AtomicBool::new(false), AtomicBool::new(false));
    let (ran, stolen_before) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let until = |is_over: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_over() && start.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
    };
    strict_pool(2).in_place_scope(|scope| {
        // One worker spawns jobs and is busy, the other becomes free when all is there.
        scope.spawn(|_| until(&|| may_go.load(Ordering::Relaxed)));
        scope.spawn(|scope| {
            for _ in 0..5 {
                scope.spawn(|_| {
                    let is_before = ran.load(Ordering::Relaxed) < JOBS;
                    stolen_before.fetch_add(usize::from(is_before), Ordering::Relaxed);
                });
            }
            has_spawned.store(true, Ordering::Relaxed);
            until(&|| ran.load(Ordering::Relaxed) == JOBS);
        });
        until(&|| has_spawned.load(Ordering::Relaxed));
        for _ in 0..JOBS {
            scope.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed));
        }
        may_go.store(true, Ordering::Relaxed);
    });
    // It may have stolen one at its first look.
    assert!(stolen_before.into_inner() <= 1);
}
