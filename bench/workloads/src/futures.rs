//! Tasks that are futures: spawned, awaited, woken by each other, and letting others go first.
//!
//! After the programs by which runtimes of futures measure themselves: `chained_spawn`,
//! `ping_pong`, `yield_many` and `spawn_many` of tokio (2019), and those of async-executor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::measure::{sample, sample_of_times};
use crate::peer::Futures;
use crate::Request;

/// Tasks, each of which starts the next; a unit is one of them.
pub(crate) fn run_chain<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let tasks = request.size("tasks")?;
    request.repeat(|| {
        sample(tasks, || {
            heard_of(|say| start_chain(peer.clone(), tasks, 0, say))
        })
    })
}

/// Starts a task that starts the next one, until `left` are done; the last says how many.
fn start_chain<P: Futures>(peer: P, left: u64, done: u64, say: mpsc::SyncSender<u64>) {
    let next = peer.clone();
    peer.start_future(async move {
        if left == 1 {
            // The sample waits for it.
            let _ = say.send(done + 1);
        } else {
            start_chain(next, left - 1, done + 1, say);
        }
    });
}

/// Pairs of tasks that send each other something; a unit is one pair.
pub(crate) fn run_ping_pong<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let pairs = request.size("pairs")?;
    request.repeat(|| {
        sample(pairs, || {
            heard_of(|say| {
                let (left, starter) = (Arc::new(AtomicU64::new(pairs)), peer.clone());
                peer.start_future(async move {
                    for _ in 0..pairs {
                        let (left, say, peer) = (Arc::clone(&left), say.clone(), starter.clone());
                        starter.start_future(async move {
                            pair(&peer).await;
                            // Relaxed: nothing is read but the count.
                            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                                let _ = say.send(pairs);
                            }
                        });
                    }
                });
            })
        })
    })
}

/// Sends something to another task, and waits for the answer.
async fn pair<P: Futures>(peer: &P) {
    let (ping, pinged) = oneshot::channel();
    let (pong, ponged) = oneshot::channel();
    peer.start_future(async move {
        pinged.await.expect("the other task waits for the answer");
        pong.send(()).expect("the other task waits for the answer");
    });
    ping.send(()).expect("the other task waits");
    ponged.await.expect("the other task answers");
}

/// Tasks that let others go first again and again; a unit is one time.
pub(crate) fn run_yield<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let (tasks, yields) = (request.size("tasks")?, request.size("yields")?);
    request.repeat(|| {
        sample(tasks * yields, || {
            let (say, heard) = mpsc::channel();
            for _ in 0..tasks {
                let say = say.clone();
                peer.start_future(async move {
                    for _ in 0..yields {
                        P::yield_now().await;
                    }
                    let _ = say.send(yields);
                });
            }
            drop(say);
            heard.iter().sum()
        })
    })
}

/// Empty tasks that one task starts; a unit is one of them.
pub(crate) fn run_spawn<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let tasks = request.size("tasks")?;
    request.repeat(|| {
        sample(tasks, || {
            heard_of(|say| {
                let (left, starter) = (Arc::new(AtomicU64::new(tasks)), peer.clone());
                peer.start_future(async move {
                    for _ in 0..tasks {
                        let (left, say) = (Arc::clone(&left), say.clone());
                        starter.start_future(async move {
                            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                                let _ = say.send(tasks);
                            }
                        });
                    }
                });
            })
        })
    })
}

/// Empty tasks that a thread outside starts and then waits for; a unit is one of them.
pub(crate) fn run_remote<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let tasks = request.size("tasks")?;
    request.repeat(|| {
        sample(tasks, || {
            let handles: Vec<_> = (0..tasks)
                .map(|n| peer.spawn_future(async move { n }))
                .collect();
            peer.block_on(async {
                let mut sum = 0;
                for handle in handles {
                    sum += handle.await;
                }
                sum
            })
        })
    })
}

/// Empty tasks that one task starts and awaits, one after the other; a unit is one of them.
pub(crate) fn run_await<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let tasks = request.size("tasks")?;
    request.repeat(|| {
        sample(tasks, || {
            heard_of(|say| {
                let starter = peer.clone();
                peer.start_future(async move {
                    let mut sum = 0;
                    for n in 0..tasks {
                        sum += starter.spawn_future(async move { n }).await;
                    }
                    let _ = say.send(sum);
                });
            })
        })
    })
}

/// Measures how long tasks from outside wait, one each `period_us`, while four tasks for each
/// worker work for `spin_us` between two times that they let others go first.
pub(crate) fn run_injected<P: Futures>(peer: &P, request: &Request) -> Result<(), String> {
    let (busy, spin) = (4 * request.workers()?, request.size("spin_us")?);
    let (tasks, period) = (request.size("tasks")?, request.size("period_us")?);
    let (spin, period) = (Duration::from_micros(spin), Duration::from_micros(period));
    request.repeat(|| {
        let is_over = Arc::new(AtomicBool::new(false));
        let (end, ended) = mpsc::channel::<()>();
        for _ in 0..busy {
            let (is_over, end) = (Arc::clone(&is_over), end.clone());
            peer.start_future(async move {
                // Relaxed: it says when to stop, and nothing else hangs on it.
                while !is_over.load(Ordering::Relaxed) {
                    crate::measure::wait(spin);
                    P::yield_now().await;
                }
                drop(end);
            });
        }
        drop(end);
        std::thread::sleep(20 * period);
        let (report, reports) = mpsc::channel();
        for task in 1..=tasks {
            let (report, submitted) = (report.clone(), Instant::now());
            peer.start_future(async move {
                let delay = submitted.elapsed().as_nanos() as u64;
                let _ = report.send((task, delay));
            });
            std::thread::sleep(period);
        }
        is_over.store(true, Ordering::Relaxed);
        let _ = ended.recv();
        drop(report);
        let (tasks, mut delays): (Vec<u64>, Vec<u64>) = reports.iter().unzip();
        sample_of_times(&mut delays, tasks.iter().sum())
    })
}

/// The number that the last of the tasks which `begin` starts says.
fn heard_of(begin: impl FnOnce(mpsc::SyncSender<u64>)) -> u64 {
    let (say, heard) = mpsc::sync_channel(1);
    begin(say);
    heard.recv().unwrap_or(0)
}
