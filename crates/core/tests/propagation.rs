//! Surroundings of a call are around all that it begins, wherever that runs, and around nothing
//! else (RG-1).
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use heist_core::{
    broadcast, join, scope, scope_fifo, spawn, spawn_broadcast, spawn_fifo, submit,
    with_cancellation, with_propagation, yield_local, yield_now, Around, CancellationToken,
    Cancelled, JoinError, Once, Priority, Strand, TaskGroup, ThreadPool, ThreadPoolBuilder, Yield,
};

thread_local! {
    /// The spans that the thread is in, outermost first.
    static SPANS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) }
}

struct Span(u32);

impl Around for Span {
    fn around(&self, run: &mut dyn FnMut()) {
        SPANS.with_borrow_mut(|spans| spans.push(self.0));
        run();
        assert_eq!(SPANS.with_borrow_mut(Vec::pop), Some(self.0));
    }
}

fn spans() -> Vec<u32> {
    SPANS.with_borrow(Vec::clone)
}

fn within<R: Send>(span: u32, op: impl FnOnce() -> R + Send) -> R {
    with_propagation(Arc::new(Span(span)), op)
}

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// Calls `op` on another worker of the pool: the one that steals it.
fn stolen<R: Send>(op: impl FnOnce() -> R + Send) -> R {
    let (say, heard) = channel();
    let here = std::thread::current().id();
    let told = move || {
        assert_ne!(std::thread::current().id(), here);
        let result = op();
        say.send(()).unwrap();
        result
    };
    join(move || heard.recv().expect("it is stolen"), told).1
}

#[test]
fn jobs_see_the_spans_of_their_call_wherever_they_run() {
    let pool = pool(3);
    pool.install(|| {
        let seen = within(1, || {
            let here = within(2, || stolen(|| within(3, || stolen(spans))));
            (spans(), here, stolen(spans))
        });
        assert_eq!(seen, (vec![1], vec![1, 2, 3], vec![1]));
        assert!(spans().is_empty());
        assert!(stolen(spans).is_empty());
    });
}

#[test]
fn each_kind_of_job_sees_the_span_in_which_it_was_begun() {
    let (pool, other) = (pool(2), pool(1));
    let (say, heard) = channel();
    let say = || {
        let say = say.clone();
        move || say.send(spans()).unwrap()
    };
    let strand = Strand::new_in(&pool);
    pool.install(|| {
        within(1, || {
            let (job, fifo, group, late) = (say(), say(), TaskGroup::new(), say());
            spawn(job);
            spawn_fifo(fifo);
            group.run(say());
            group.wait();
            scope(|scope| scope.spawn(|_| say()()));
            scope_fifo(|scope| scope.spawn_fifo(|_| say()()));
            submit(say()).join();
            strand.spawn(say());
            strand.submit(say()).join();
            within(2, || spawn(move || within(3, late)));
            other.install(say());
            for place in 0..2 {
                heist_core::job().near(place).spawn(say());
                heist_core::job().only_on(place).submit(say()).join();
            }
            heist_core::job().priority(Priority::High).spawn(say());
            broadcast(|_| say()());
            let say = say();
            spawn_broadcast(move |_| say());
        });
    });
    drop(strand);
    pool.shutdown();
    other.shutdown();
    let mut seen: Vec<_> = heard.try_iter().collect();
    seen.sort();
    let mut expected = vec![vec![1]; 18];
    expected.insert(9, vec![1, 2, 3]);
    expected.sort();
    assert_eq!(seen, expected);
}

#[test]
fn what_waits_within_a_span_runs_nothing_from_outside_it() {
    let pool = pool(2);
    let (foreign, count) = (Arc::new(AtomicUsize::new(0)), 500);
    let job = || {
        let foreign = Arc::clone(&foreign);
        move || {
            assert_eq!(spans(), [], "of another call");
            foreign.fetch_add(1, Ordering::Relaxed);
        }
    };
    pool.install(|| {
        for _ in 0..count {
            pool.spawn(job());
            spawn(job());
            spawn_fifo(job());
            within(1, || {
                assert_eq!(yield_now(), Some(Yield::Idle));
                assert_eq!(yield_local(), Some(Yield::Idle));
                spawn(|| assert_eq!(spans(), [1]));
                spawn_fifo(|| assert_eq!(spans(), [1]));
                scope(|scope| scope.spawn(|_| drop(stolen_or_not(spans))));
                submit(|| assert_eq!(spans(), [1])).join();
            });
        }
    });
    pool.shutdown();
    assert_eq!(foreign.load(Ordering::Relaxed), 3 * count);
}

fn stolen_or_not<R: Send>(op: impl FnOnce() -> R + Send) -> R {
    join(|| (), op).1
}

/// On one worker, where nobody else could.
#[test]
fn what_a_span_waits_for_runs_there() {
    let pool = pool(1);
    pool.install(|| {
        let (job, strand) = (submit(spans), Strand::new());
        within(1, || {
            assert_eq!(job.join(), [1], "it was joined there");
            // So long that others have their turn before the next job of the strand.
            strand.spawn(|| std::thread::sleep(Duration::from_millis(2)));
            strand.spawn(|| assert_eq!(spans(), [1]));
            strand.wait();
            assert_eq!(broadcast(|_| spans()), [vec![1]]);
        });
        let job = within(2, || submit(spans));
        assert_eq!(job.join(), [2]);
        let job = within(3, || submit(spans));
        assert_eq!(within(4, || job.join()), [4, 3]);
    });
}

/// A job for every worker runs on top of a frame in a span, and leaves some behind.
#[test]
fn what_a_foreign_job_leaves_on_top_of_a_span_runs_elsewhere() {
    let pool = Arc::new(pool(2));
    let ((say, heard), (begun, begins), (ran, runs)) = (channel(), channel(), channel());
    let outside = std::thread::spawn({
        let pool = Arc::clone(&pool);
        move || {
            begins.recv().unwrap();
            pool.spawn_broadcast(move |_| {
                let say = say.clone();
                within(2, || spawn(move || say.send(spans()).unwrap()));
                let _ = ran.send(()); // the second run of the two is not waited for
            });
        }
    });
    let (say_stolen, is_stolen) = channel();
    pool.install(|| {
        within(1, || {
            join(
                // Then it waits for the other half.
                move || is_stolen.recv().expect("the other half is stolen"),
                move || {
                    say_stolen.send(()).unwrap();
                    begun.send(()).unwrap();
                    runs.recv().expect("the job for the first worker");
                },
            );
        });
    });
    outside.join().unwrap();
    Arc::into_inner(pool).expect("the last").shutdown();
    assert_eq!(heard.iter().collect::<Vec<_>>(), [[2], [2]]);
}

#[test]
fn the_value_of_a_once_is_not_made_in_the_span_of_those_who_wait_for_it() {
    let pool = pool(2);
    for _ in 0..100 {
        let once = Once::new();
        let value = || {
            *once.get_or_init(|| {
                let outer = spans();
                let part = || assert_eq!(spans(), outer);
                for _ in 0..50 {
                    join(part, part);
                }
                1
            })
        };
        let both = || join(|| within(1, value), || within(2, value));
        assert_eq!(pool.install(both), (1, 1));
    }
}

#[test]
fn destructors_of_a_panic_are_within_the_spans_too() {
    struct Job(Arc<Mutex<Vec<Vec<u32>>>>);
    impl Drop for Job {
        fn drop(&mut self) {
            let seen = Arc::clone(&self.0);
            assert!(std::thread::panicking());
            submit(move || seen.lock().unwrap().push(spans())).join();
        }
    }
    let seen = Arc::default();
    let job = Job(Arc::clone(&seen));
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool(1).install(|| {
            within(1, || {
                let _job = job;
                panic_any(7)
            });
        });
    }));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&7));
    assert_eq!(*seen.lock().unwrap(), [[1]]);
}

#[test]
fn a_span_and_a_token_hold_together() {
    pool(2).install(|| {
        let token = CancellationToken::new();
        let left: Result<(), _> = within(1, || {
            with_cancellation(&token, || {
                within(2, || {
                    stolen(|| {
                        assert_eq!(spans(), [1, 2]);
                        token.cancel();
                    });
                    spawn(|| unreachable!("its region is cancelled"));
                    heist_core::checkpoint();
                    unreachable!("was left");
                });
            })
        });
        assert_eq!(left, Err(Cancelled));
        assert!(spans().is_empty());
    });
}

/// Panics, or does not do what it should, on the threads that are told.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Before,
    Never,
    Twice,
    After,
}

thread_local!(static IS_SPARED: Cell<bool> = const { Cell::new(false) });

impl Around for Fault {
    fn around(&self, run: &mut dyn FnMut()) {
        if IS_SPARED.get() {
            return run();
        }
        match self {
            Self::Before => panic_any("before"),
            Self::Never => {}
            Self::Twice => {
                run();
                run();
            }
            Self::After => {
                run();
                panic_any("after");
            }
        }
    }
}

/// The text of the panic, if there is one.
fn panicked<R>(op: impl FnOnce() -> R) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(op)).err()?;
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
}

const FAULTS: [(Fault, &str, bool); 4] = [
    (Fault::Before, "before", false),
    (Fault::Never, "has not called", false),
    (Fault::Twice, "once", true),
    (Fault::After, "after", true),
];

#[test]
fn surroundings_that_fail_are_a_panic_of_the_call() {
    for (fault, text, runs) in FAULTS {
        let (ran, token) = (AtomicUsize::new(0), Arc::new(()));
        let panic = pool(1).install(|| {
            panicked(|| {
                let result = Arc::clone(&token);
                with_propagation(Arc::new(fault), || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    result
                })
            })
        });
        assert!(panic.expect("a panic").contains(text), "{text}");
        assert_eq!(ran.into_inner(), usize::from(runs));
        assert_eq!(Arc::strong_count(&token), 1, "all is dropped");
    }
    let both = || -> () { with_propagation(Arc::new(Fault::After), || panic_any("of the call")) };
    assert_eq!(panicked(both).as_deref(), Some("of the call"));
}

#[test]
fn surroundings_that_fail_elsewhere_are_a_panic_of_the_job_if_it_has_not_begun() {
    for (fault, text, runs) in FAULTS {
        let (say, handled) = channel();
        let say = Mutex::new(say);
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let pool = builder.panic_handler(move |payload| {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
            say.lock().unwrap().send(text.unwrap()).unwrap();
        });
        let pool = pool.build().expect("a pool");
        let (ran, token) = (Arc::new(AtomicUsize::new(0)), Arc::new(()));
        let job = || {
            let (ran, token) = (Arc::clone(&ran), Arc::clone(&token));
            move || {
                let _token = token;
                ran.fetch_add(1, Ordering::Relaxed);
            }
        };
        let mut panics = Vec::new();
        let mut is_cancelled = false;
        pool.install(|| {
            let region = |op: &(dyn Fn() + Sync)| {
                IS_SPARED.set(true);
                with_propagation(Arc::new(fault), || {
                    IS_SPARED.set(false);
                    op();
                });
            };
            // Left behind by their region, which is around them again when they run.
            region(&|| spawn(job()));
            while yield_local() == Some(Yield::Executed) {}
            let (group, handles) = (TaskGroup::new(), Mutex::new(Vec::new()));
            region(&|| group.run(job()));
            panics.push(panicked(|| group.wait()));
            region(&|| handles.lock().unwrap().push(submit(job())));
            let handle = handles.lock().unwrap().pop().unwrap();
            let outcome = handle.try_join();
            is_cancelled = matches!(outcome, Err(JoinError::Cancelled));
            panics.push(panicked(|| {
                outcome
                    .map_err(JoinError::into_panic)
                    .map_err(|payload| std::panic::resume_unwind(payload.unwrap()))
            }));
        });
        pool.shutdown();
        let handled: Vec<String> = handled.try_iter().collect();
        assert!(!is_cancelled);
        assert_eq!(ran.load(Ordering::Relaxed), if runs { 3 } else { 0 });
        assert_eq!(Arc::strong_count(&token), 1, "all is dropped");
        let (told, lost) = if runs { (0, 3) } else { (2, 1) };
        assert_eq!(panics.iter().flatten().count(), told);
        assert_eq!(handled.len(), lost, "{handled:?}");
        assert!(panics
            .into_iter()
            .flatten()
            .chain(handled)
            .all(|panic| panic.contains(text)));
    }
}

/// The half is lost if it has not begun, and so is the join.
#[test]
fn surroundings_that_fail_around_a_stolen_half_reach_the_join() {
    let pool = pool(2);
    pool.install(|| {
        IS_SPARED.set(true);
        let token = Arc::new(());
        let half = Arc::clone(&token);
        let panic = with_propagation(Arc::new(Fault::Before), || {
            panicked(|| {
                let half = move || drop(half);
                // The thief does not begin, and drops it.
                join(
                    || {
                        while Arc::strong_count(&token) > 1 {
                            std::thread::yield_now();
                        }
                    },
                    half,
                )
            })
        });
        assert_eq!(panic.as_deref(), Some("before"));
        IS_SPARED.set(false);
    });
}
