//! Each future comes to its turn: a ready one waits for as many others as there are, and 61 more,
//! at most (FU-2); and no worker that is held up keeps to itself what others could run.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier};
use std::task::Poll;
use std::time::Duration;

use heist_core::{Callers, ThreadPool, ThreadPoolBuilder, Waiting};
use heist_futures::{block_on, spawn_future, spawn_local, yield_now, FutureHandle, SpawnFuture};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

/// Each poll of a future, or run of a job, that counts as another's turn.
#[derive(Default)]
struct Polls(AtomicUsize);

impl Polls {
    fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn now(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Futures that let others go first `times` times, and say how many went at most.
fn yielding(count: usize, times: usize, polls: &Arc<Polls>) -> Vec<FutureHandle<usize>> {
    let spawn = |_| {
        let polls = Arc::clone(polls);
        spawn_future(async move {
            let mut most = 0;
            for _ in 0..times {
                let before = polls.count();
                yield_now().await;
                most = most.max(polls.now() - before - 1);
            }
            most
        })
    };
    (0..count).map(spawn).collect()
}

/// A future that spawns the next, until all is over: the worker never runs dry.
fn chain(polls: Arc<Polls>, is_over: Arc<AtomicBool>) {
    polls.count();
    if !is_over.load(Ordering::Relaxed) {
        drop(spawn_future(async move { chain(polls, is_over) }));
    }
}

/// As [`chain`], of jobs.
fn chain_of_jobs(polls: Arc<Polls>, is_over: Arc<AtomicBool>) {
    polls.count();
    if !is_over.load(Ordering::Relaxed) {
        heist_core::spawn(move || chain_of_jobs(polls, is_over));
    }
}

/// Two futures that send each other something until all is over.
fn pair(polls: &Arc<Polls>, is_over: &Arc<AtomicBool>) {
    let (ping, pinged) = async_channel::bounded(1);
    let (pong, ponged) = async_channel::bounded(1);
    let (of_one, is_over) = (Arc::clone(polls), Arc::clone(is_over));
    drop(spawn_future(async move {
        while !is_over.load(Ordering::Relaxed) && ping.send(()).await.is_ok() {
            of_one.count();
            if ponged.recv().await.is_err() {
                break;
            }
        }
    }));
    let of_other = Arc::clone(polls);
    drop(spawn_future(async move {
        while pinged.recv().await.is_ok() {
            of_other.count();
            if pong.send(()).await.is_err() {
                break;
            }
        }
    }));
}

/// Begins something that goes on until all is over.
type Beside = fn(&Arc<Polls>, &Arc<AtomicBool>);

/// The most that have gone before one of `count` futures which let others go first, while `beside`
/// has begun something else.
fn most_before(count: usize, beside: Beside) -> usize {
    let pool = pool(1);
    let (polls, is_over) = (Arc::new(Polls::default()), Arc::new(AtomicBool::new(false)));
    let most = pool.spawn_future({
        let is_over = Arc::clone(&is_over);
        async move {
            let all = yielding(count, 300, &polls);
            // Until each has been polled the newest comes first, as of jobs.
            while polls.now() < count {
                yield_now().await;
            }
            beside(&polls, &is_over);
            let mut most = 0;
            for each in all {
                most = most.max(each.await.unwrap());
            }
            is_over.store(true, Ordering::Relaxed);
            most
        }
    });
    most.join()
}

#[test]
fn fu_2_futures_that_yield_wait_for_each_other_only() {
    for count in [1, 2, 7, 100] {
        // The future that awaits them may be woken in between.
        assert!(most_before(count, |_, _| ()) <= count);
    }
}

#[test]
fn fu_2_beside_what_never_ends_a_future_waits_for_the_others_and_sixty_one_more() {
    for count in [1, 7, 100] {
        let beside: [(&str, Beside); 3] = [
            ("a chain of futures", |polls, is_over| {
                chain(Arc::clone(polls), Arc::clone(is_over));
            }),
            ("a chain of jobs", |polls, is_over| {
                chain_of_jobs(Arc::clone(polls), Arc::clone(is_over));
            }),
            ("a pair", pair),
        ];
        for (name, beside) in beside {
            let most = most_before(count, beside);
            // Those beside, and the one that awaits.
            let ready = count + 3;
            assert!(
                most <= ready + 61,
                "{most} beside {name} before one of {count}"
            );
        }
    }
}

/// tokio#5686: two tasks that wake each other by the slot for the last one woken keep a worker.
#[test]
fn fu_2_a_future_that_was_spawned_before_a_pair_that_never_ends_runs() {
    for endless in [pair, |polls: &Arc<Polls>, is_over: &Arc<AtomicBool>| {
        chain(Arc::clone(polls), Arc::clone(is_over));
    }] {
        let pool = pool(1);
        let (polls, is_over) = (Arc::new(Polls::default()), Arc::new(AtomicBool::new(false)));
        let first = pool.install(|| {
            let first = spawn_future({
                let is_over = Arc::clone(&is_over);
                async move { is_over.store(true, Ordering::Relaxed) }
            });
            endless(&polls, &is_over);
            first
        });
        first.join();
    }
}

/// Memory that was used last is used again first: a burst runs as that of jobs does.
#[test]
fn futures_that_one_poll_spawns_run_newest_first() {
    let pool = pool(1);
    let (say, heard) = mpsc::channel();
    let burst = pool.spawn_future(async move {
        for n in 0..1_000 {
            let say = say.clone();
            drop(spawn_future(async move { say.send(n).unwrap() }));
        }
    });
    burst.join();
    let order: Vec<_> = heard.iter().collect();
    assert!(order.iter().copied().eq((0..1_000).rev()), "{order:?}");
}

#[test]
fn a_future_that_wakes_itself_lets_those_from_outside_go_first() {
    for workers in [1, 2] {
        let pool = pool(workers);
        let is_over = Arc::new(AtomicBool::new(false));
        let selfish: Vec<_> = (0..2 * workers)
            .map(|_| {
                let is_over = Arc::clone(&is_over);
                pool.spawn_future(poll_fn(move |cx| {
                    cx.waker().wake_by_ref();
                    match is_over.load(Ordering::Relaxed) {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                }))
            })
            .collect();
        for n in 0..200 {
            assert_eq!(pool.spawn_future(async move { n }).join(), n);
            assert_eq!(pool.submit(move || n).join(), n);
        }
        is_over.store(true, Ordering::Relaxed);
        selfish.into_iter().for_each(FutureHandle::join);
    }
}

/// Wakes this many futures, which then say so; the calling future blocks its thread meanwhile.
async fn wake_and_block(count: usize) {
    let (say, heard) = mpsc::channel();
    let woken: Vec<_> = (0..count)
        .map(|_| {
            let (wake, woken) = async_channel::bounded::<()>(1);
            let say = say.clone();
            drop(spawn_future(async move {
                woken.recv().await.unwrap();
                say.send(()).unwrap();
            }));
            wake
        })
        .collect();
    // Now they wait.
    for wake in &woken {
        while wake.receiver_count() == 0 {
            yield_now().await;
        }
    }
    yield_now().await;
    for wake in &woken {
        wake.try_send(()).unwrap();
    }
    for _ in 0..count {
        heard.recv().unwrap();
    }
}

/// tokio#4941, tokio#8100: a task that was woken last is stuck behind a poll that blocks.
#[test]
fn what_a_future_has_woken_or_spawned_is_run_by_another_worker_while_it_blocks() {
    let pool = pool(2);
    for round in 0..if cfg!(debug_assertions) { 50 } else { 300 } {
        pool.spawn_future(wake_and_block(1 + round % 9)).join();
        let (say, heard) = mpsc::channel();
        let blocks = pool.spawn_future(async move {
            drop(spawn_future(async move {
                yield_now().await;
                say.send(()).unwrap();
            }));
            heard.recv().unwrap();
        });
        blocks.join();
    }
}

/// Two workers are held up, and each has one that would come after all others.
#[test]
fn what_workers_that_are_held_up_have_put_behind_is_run_if_that_is_one_for_each() {
    // Of so many in a row that a job spawns, one has to wait its turn.
    const SPAWNED: usize = 62;
    let pool = pool(4);
    for held_up in 1..=3 {
        let (say, heard) = mpsc::channel();
        let places = Arc::new(Barrier::new(held_up));
        let releases: Vec<_> = (0..held_up)
            .map(|_| {
                let (release, released) = mpsc::channel::<()>();
                let (say, places) = (say.clone(), Arc::clone(&places));
                pool.spawn(move || {
                    places.wait();
                    for _ in 0..SPAWNED {
                        let say = say.clone();
                        drop(spawn_future(async move { say.send(()).unwrap() }));
                    }
                    let _ = released.recv();
                });
                release
            })
            .collect();
        for _ in 0..held_up * SPAWNED {
            let run = heard.recv_timeout(Duration::from_secs(120));
            assert!(run.is_ok(), "a future never came to its turn");
        }
        drop(releases);
    }
}

/// tokio#7209: wake-ups that were put off are lost when the worker's core goes elsewhere.
#[test]
fn what_a_future_wakes_before_it_blocks_in_its_worker_s_place_is_run_and_so_is_the_future() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.compensation_workers(1).build().expect("a pool");
    for _ in 0..50 {
        let (wake, woken) = async_channel::bounded::<()>(1);
        let (say, heard) = mpsc::channel();
        let other = pool.spawn_future(async move {
            woken.recv().await.unwrap();
            yield_now().await;
            say.send(()).unwrap();
        });
        let mut has_blocked = false;
        let blocks = pool.spawn_future(poll_fn(move |cx| {
            if has_blocked {
                return Poll::Ready(());
            }
            has_blocked = true;
            // It is to be polled once more, and the other one too.
            cx.waker().wake_by_ref();
            wake.try_send(()).unwrap();
            heist_core::blocking(|| heard.recv().unwrap());
            Poll::Pending
        }));
        blocks.join();
        other.join();
    }
}

/// FU-2, for the frames of a worker: while they always found something else, those that had yielded
/// waited for ever.
#[test]
fn fu_2_a_future_that_yields_has_its_turn_beside_a_scope_without_an_end() {
    fn chain<'s>(scope: &heist_core::Scope<'s>, is_over: &'s AtomicBool) {
        if !is_over.load(Ordering::Relaxed) {
            scope.spawn(move |scope| chain(scope, is_over));
        }
    }
    let (pool, is_over) = (pool(1), Arc::new(AtomicBool::new(false)));
    let (begins, begun) = mpsc::channel();
    let over = Arc::clone(&is_over);
    pool.spawn(move || {
        heist_core::scope(|scope| {
            begins.send(()).expect("it is waited for");
            chain(scope, &over);
        });
    });
    begun.recv().expect("it begins");
    let yields = pool.spawn_future(async {
        for _ in 0..20 {
            yield_now().await;
        }
    });
    yields.join();
    is_over.store(true, Ordering::Relaxed);
}

/// Futures that wait, once polled, until all of them are woken by the call, and then say how many
/// jobs of a chain came before them.
fn waiting(
    pool: &ThreadPool,
    count: usize,
    polls: &Arc<Polls>,
) -> (impl FnOnce() + Send, Vec<FutureHandle<usize>>) {
    let (opens, opened) = async_channel::bounded::<()>(1);
    let (polled, has_polled) = mpsc::channel();
    let all: Vec<_> = (0..count)
        .map(|_| {
            let (opened, polled, polls) = (opened.clone(), polled.clone(), Arc::clone(polls));
            pool.spawn_future(async move {
                polled.send(()).expect("it is waited for");
                assert!(opened.recv().await.is_err());
                polls.now()
            })
        })
        .collect();
    for _ in 0..count {
        has_polled.recv().expect("each is polled");
    }
    // Behind the polls that have just said so.
    pool.spawn_future(yield_now()).join();
    (move || drop(opens), all)
}

/// Wakes futures, and begins a chain.
type Begin = fn(&ThreadPool, Box<dyn FnOnce() + Send>, Arc<Polls>, Arc<AtomicBool>);

const WAYS_TO_WAKE: [(&str, Begin); 4] = [
    ("a job", |pool, open, polls, is_over| {
        pool.spawn(move || {
            open();
            chain_of_jobs(polls, is_over);
        });
    }),
    ("a poll", |pool, open, polls, is_over| {
        drop(pool.spawn_future(async move {
            open();
            chain_of_jobs(polls, is_over);
        }));
    }),
    ("a job among others", |pool, open, polls, is_over| {
        pool.spawn(move || {
            for _ in 0..100 {
                heist_core::spawn(|| ());
            }
            open();
            for _ in 0..3 {
                chain_of_jobs(Arc::clone(&polls), Arc::clone(&is_over));
            }
        });
    }),
    (IN_SCOPE, |pool, open, polls, is_over| {
        fn chain<'s>(scope: &heist_core::Scope<'s>, polls: &'s Polls, is_over: &'s AtomicBool) {
            polls.count();
            if !is_over.load(Ordering::Relaxed) {
                scope.spawn(move |scope| chain(scope, polls, is_over));
            }
        }
        pool.spawn(move || {
            heist_core::scope(|scope| {
                scope.spawn(|scope| {
                    open();
                    chain(scope, &polls, &is_over);
                });
            });
        });
    }),
];

const IN_SCOPE: &str = "a job in a scope";

/// FU-2, for those that lay below in the deque: under the jobs that their waker spawned, or that
/// those spawned, without an end.
#[test]
fn fu_2_what_a_job_has_woken_has_its_turn_beside_the_chain_that_the_job_begins() {
    for count in [1, 2, 100] {
        for (name, begin) in WAYS_TO_WAKE {
            let pool = pool(1);
            let (polls, is_over) = (Arc::new(Polls::default()), Arc::new(AtomicBool::new(false)));
            let (open, all) = waiting(&pool, count, &polls);
            begin(&pool, Box::new(open), polls, Arc::clone(&is_over));
            let jobs = all.into_iter().map(FutureHandle::join).max().expect("some");
            is_over.store(true, Ordering::Relaxed);
            // In a frame that waits, one future goes at a time.
            let most = if name == IN_SCOPE {
                32 * (count + 2)
            } else {
                65
            };
            assert!(jobs <= most, "{jobs} of {name} before one of {count}");
        }
    }
}

/// A job that wakes the consumer of what it produces, and then spawns the next one.
#[test]
fn fu_2_a_consumer_keeps_up_with_jobs_that_wake_it() {
    fn produce(send: async_channel::Sender<usize>, most: Arc<Polls>, left: usize) {
        send.try_send(left).expect("it is received");
        most.0.fetch_max(send.len(), Ordering::Relaxed);
        if left > 0 {
            heist_core::spawn(move || produce(send, most, left - 1));
        }
    }
    for waiting in [Waiting::Any, Waiting::Descendants] {
        let builder = ThreadPoolBuilder::new().num_threads(1).waiting(waiting);
        let pool = builder.build().expect("a pool");
        let most = Arc::new(Polls::default());
        let (send, receive) = async_channel::unbounded();
        let consumer = pool.spawn_future(async move {
            let mut count = 0;
            while receive.recv().await.is_ok() {
                count += 1;
            }
            count
        });
        let times = 100_000;
        let (begin, of_jobs) = (send, Arc::clone(&most));
        pool.spawn(move || produce(begin, of_jobs, times - 1));
        assert_eq!(consumer.join(), times);
        assert!(most.now() <= 200, "{} wait", most.now());
    }
}

/// On a worker others go on while a future in `block_on` does nothing but yield.
#[test]
fn fu_2_a_future_in_block_on_that_yields_lets_others_go_first() {
    for waiting in [Waiting::Any, Waiting::Descendants] {
        let builder = ThreadPoolBuilder::new().num_threads(1).waiting(waiting);
        let pool = builder.callers(Callers::Move).build().expect("a pool");
        // Until it has run.
        let until = |begin: fn(Box<dyn FnOnce() + Send>)| {
            let has_run = Arc::new(AtomicBool::new(false));
            let runs = Arc::clone(&has_run);
            begin(Box::new(move || runs.store(true, Ordering::Relaxed)));
            block_on(async {
                while !has_run.load(Ordering::Relaxed) {
                    yield_now().await;
                }
            });
        };
        pool.install(|| {
            until(|run| heist_core::spawn(run));
            until(|run| {
                drop(spawn_future(async {
                    yield_now().await;
                    run();
                }));
            });
            until(|run| {
                drop(spawn_local(async {
                    yield_now().await;
                    run();
                }));
            });
            until(|run| heist_core::job().only_on(0).spawn(run));
        });
    }
}
