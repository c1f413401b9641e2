//! Jobs of an initialiser that wait in lanes, in queues of one worker and in mailboxes: nothing
//! unrelated runs on top of them (ON-1, ON-3).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use heist_core::{
    current_thread_index, job, join, scope, spawn_broadcast, submit, JoinHandle, Once, Priority,
    TaskGroup, ThreadPool, ThreadPoolBuilder,
};

fn pool(workers: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    pool.expect("a pool")
}

/// How far the job has come.
#[derive(Clone, Default)]
struct Stage(Arc<AtomicUsize>);

const BEGUN: usize = 1;
const LENT: usize = 2;

impl Stage {
    fn reach(&self, at: usize) {
        self.0.fetch_max(at, Ordering::Relaxed);
    }

    fn is_at(&self, at: usize) -> bool {
        self.0.load(Ordering::Relaxed) >= at
    }

    fn until(&self, at: usize) {
        while !self.is_at(at) {
            thread::yield_now();
        }
    }

    /// A job that another worker helps: when that has begun, this one waits for it.
    fn job(&self) {
        self.reach(BEGUN);
        let begun = Instant::now();
        join(
            || self.until(LENT),
            || {
                self.reach(LENT);
                while begun.elapsed() < Duration::from_millis(100) {}
            },
        );
    }
}

/// Makes a value by an initialiser that is given a job for another worker, and waits for it. When
/// that job waits for a thief, jobs come that want the value.
fn others_want_the_value(initialiser: impl Fn(&ThreadPool, Stage) + Sync) {
    let (pool, stage, once) = (pool(3), Stage::default(), Once::new());
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            once.get_or_init(|| initialiser(&pool, stage.clone()));
        });
        stage.until(LENT);
        for _ in 0..3 {
            scope.spawn(|_| {
                once.get_or_init(|| unreachable!("it is being made"));
            });
        }
    });
}

fn another() -> usize {
    (current_thread_index().expect("a worker") + 1) % 3
}

/// Waits for the job, which this worker is not to run.
fn joins(stage: &Stage, handle: JoinHandle<()>) {
    stage.until(BEGUN);
    handle.join();
}

#[test]
fn on_top_of_a_job_in_a_lane() {
    for priority in [Priority::High, Priority::Low] {
        others_want_the_value(|_, stage| {
            let there = stage.clone();
            let handle = job().priority(priority).submit(move || there.job());
            joins(&stage, handle);
        });
    }
}

#[test]
fn on_top_of_a_job_in_the_queue_of_a_worker() {
    others_want_the_value(|_, stage| {
        let there = stage.clone();
        let handle = job().near(another()).submit(move || there.job());
        joins(&stage, handle);
    });
}

#[test]
fn on_top_of_a_spawned_job_in_the_queue_of_a_worker() {
    others_want_the_value(|_, stage| {
        let (there, ended) = (stage.clone(), Arc::new(()));
        let end = Arc::clone(&ended);
        job().near(another()).spawn(move || {
            there.job();
            drop(end);
        });
        while Arc::strong_count(&ended) > 1 {
            thread::yield_now();
        }
    });
}

#[test]
fn on_top_of_a_job_for_one_worker() {
    others_want_the_value(|_, stage| {
        let there = stage.clone();
        let handle = job().only_on(another()).submit(move || there.job());
        joins(&stage, handle);
    });
}

#[test]
fn on_top_of_a_job_for_every_worker() {
    others_want_the_value(|_, stage| {
        let at = another();
        scope(|scope| {
            scope.spawn_broadcast(|_, here| {
                if here.index() == at {
                    stage.job();
                }
            });
        });
    });
    others_want_the_value(|_, stage| {
        let (at, there, ended) = (another(), stage.clone(), Arc::new(()));
        let end = Mutex::new(Some(Arc::clone(&ended)));
        spawn_broadcast(move |here| {
            if here.index() == at {
                there.job();
                end.lock().unwrap().take();
            }
        });
        while Arc::strong_count(&ended) > 1 {
            thread::yield_now();
        }
    });
}

/// The job of the initialiser ends before that which it has begun.
#[test]
fn on_top_of_a_job_that_a_job_has_left() {
    others_want_the_value(|_, stage| {
        let there = stage.clone();
        let handle = Arc::new(Mutex::new(None));
        let place = Arc::clone(&handle);
        let first = job().near(another()).submit(move || {
            *place.lock().unwrap() = Some(submit(move || there.job()));
        });
        while !first.is_finished() {
            thread::yield_now();
        }
        first.join();
        let second = handle.lock().unwrap().take().expect("begun");
        joins(&stage, second);
    });
}

/// A job for a worker that is in the middle of another initialiser, a part of which wants the value
/// for whose sake the job is there: it must not run on top of that.
#[test]
fn on_top_of_a_job_on_a_frame_of_another_initialiser() {
    const LONG: Duration = Duration::from_millis(100);
    const PART: usize = 3;
    for is_broadcast in [false, true] {
        let (pool, stage) = (pool(4), Stage::default());
        let (first, second, place) = (Once::new(), Once::new(), AtomicUsize::new(0));
        let part = || {
            stage.reach(BEGUN);
            stage.until(PART);
            let begun = Instant::now();
            let want = || {
                first.get_or_init(|| unreachable!("it is being made"));
            };
            join(|| while begun.elapsed() < LONG {}, want);
        };
        let there = stage.clone();
        let buries = move || {
            let begun = Instant::now();
            let lent = || {
                there.reach(PART);
                while begun.elapsed() < 2 * LONG {}
            };
            join(|| there.until(PART), lent);
        };
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                second.get_or_init(|| {
                    place.store(current_thread_index().expect("a worker"), Ordering::Relaxed);
                    join(|| stage.until(BEGUN), part);
                });
            });
            stage.until(BEGUN);
            let place = place.load(Ordering::Relaxed);
            let (first, buries) = (&first, &buries);
            scope.spawn(move |_| {
                first.get_or_init(|| {
                    if is_broadcast {
                        heist_core::broadcast(|here| {
                            if here.index() == place {
                                buries();
                            }
                        });
                    } else {
                        job().only_on(place).submit(buries.clone()).join();
                    }
                });
            });
        });
        assert!(second.get().is_some(), "made");
    }
}

/// Also those of a thread outside, which the initialiser may have started.
#[test]
fn jobs_of_a_group_keep_their_priority_while_a_value_is_made() {
    let (pool, once, order) = (pool(1), Once::new(), Arc::new(Mutex::new(Vec::new())));
    let stage = Stage::default();
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            once.get_or_init(|| {
                stage.reach(BEGUN);
                stage.until(LENT);
            });
        });
        stage.until(BEGUN);
        for priority in [Priority::Low, Priority::Normal, Priority::High] {
            let order = Arc::clone(&order);
            let group = TaskGroup::new_in(&pool).with_priority(priority);
            group.run(move || order.lock().unwrap().push(priority));
        }
        stage.reach(LENT);
    });
    pool.install(|| ());
    while Arc::strong_count(&order) > 1 {
        thread::yield_now();
    }
    let order = order.lock().unwrap();
    assert_eq!(order[0], Priority::High);
    assert_eq!(order[2], Priority::Low);
}

/// Mail that others send while an initialiser waits for a thief wants the value as well: it comes
/// when that has ended, also where it yields or waits for a job from outside.
#[test]
fn mail_of_others_waits_until_the_initialiser_has_ended() {
    for round in 0..if cfg!(debug_assertions) { 100 } else { 1000 } {
        let (workers, once) = (2 + round % 2, Arc::new(Once::new()));
        let pool = pool(workers);
        let value = |once: &Once<u32>| *once.get_or_init(|| join_tree(8));
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    let all = pool.broadcast(|_| value(&once));
                    assert_eq!(all, vec![256; workers]);
                });
            }
            let jobs: Vec<_> = (0..6)
                .map(|n| {
                    let once = Arc::clone(&once);
                    pool.job().only_on(n % workers).submit(move || {
                        if n % 3 == 0 {
                            heist_core::yield_now();
                        } else if n % 3 == 1 {
                            assert_eq!(job().priority(Priority::Low).submit(|| 3).join(), 3);
                        }
                        value(&once)
                    })
                })
                .collect();
            for job in jobs {
                assert_eq!(job.join(), 256);
            }
        });
    }
}

fn join_tree(depth: u32) -> u32 {
    if depth == 0 {
        return 1;
    }
    let (one, two) = join(|| join_tree(depth - 1), || join_tree(depth - 1));
    one + two
}
