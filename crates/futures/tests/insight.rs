//! Work and span of futures whose answers are known, by a clock that only they advance.

use heist_core::insight::{measured, pass, stop_clock, Measured};
use heist_core::{Callers, ThreadPool, ThreadPoolBuilder};
use heist_futures::{block_on, spawn_local, yield_now, SpawnFuture as _};

fn pool(workers: usize) -> ThreadPool {
    stop_clock(1000);
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    pool.expect("a pool")
}

/// Measures `op`, which spawns futures and waits for all of them, in pools of several sizes.
fn measure(work: i64, span: i64, op: impl Fn(&ThreadPool) + Send + Sync) {
    for workers in [1, 2, 3] {
        let pool = pool(workers);
        let outside = settled(&pool, || op(&pool));
        let inside = settled(&pool, || pool.install(|| op(&pool)));
        for takes in [outside, inside] {
            check(&takes, workers, (work, span));
        }
    }
}

/// Measures `op` until all workers have left the futures in it: they do so after a waiter goes on.
fn settled(pool: &ThreadPool, op: impl FnOnce()) -> Measured {
    let ((), takes) = measured(|| {
        op();
        pool.broadcast(|_| ());
    });
    takes
}

fn check(takes: &Measured, workers: usize, expected: (i64, i64)) {
    let told = format!("{workers} workers: {takes:?}");
    assert_eq!((takes.work, takes.span), expected, "{told}");
    assert_eq!(
        (takes.dag.work(), takes.dag.span()),
        (takes.work, Some(takes.span)),
        "{told}"
    );
    assert_eq!(takes.unjoined, 0, "{told}");
    let is_of_futures = |site: &&(&str, &str, i64, i64)| site.1 == "future";
    let of_futures = takes.sites.iter().filter(is_of_futures);
    assert_eq!(
        of_futures.map(|site| site.2).sum::<i64>(),
        takes.work,
        "{told}"
    );
}

#[test]
fn futures_one_behind_the_other_span_all_of_them() {
    measure(10 * 250, 10 * 250, |pool| {
        block_on(async {
            for _ in 0..10 {
                let one = pool.spawn_future(async {
                    pass(100);
                    yield_now().await;
                    pass(150);
                });
                one.await.expect("it ends");
            }
        });
    });
}

#[test]
fn pairs_of_futures_span_the_longer_ones_whether_they_have_ended_or_wake_their_waiter() {
    measure(10 * 250, 10 * 200, |pool| {
        for _ in 0..10 {
            let short = pool.spawn_future(async { pass(50) });
            let long = pool.spawn_future(async { pass(200) });
            block_on(async {
                long.await.expect("it ends");
                short.await.expect("it ends");
            });
        }
    });
}

#[test]
fn a_future_that_waits_for_others_goes_on_behind_the_last_of_them() {
    measure(75 + 200 + 50 + 25, 75 + 200 + 25, |pool| {
        let all = pool.install(|| {
            heist_futures::spawn_future(async {
                pass(75);
                let (a, b) = (
                    heist_futures::spawn_future(async { pass(200) }),
                    heist_futures::spawn_future(async { pass(50) }),
                );
                a.await.expect("it ends");
                b.await.expect("it ends");
                pass(25);
            })
        });
        all.join();
    });
}

#[test]
fn a_message_between_futures_is_a_dependency_if_somebody_waits_for_it() {
    let pool = pool(1);
    let takes = settled(&pool, || {
        let (say, heard) = async_channel::bounded::<()>(1);
        let receiver = pool.spawn_future(async move {
            pass(10);
            heard.recv().await.expect("it is said");
            pass(70);
        });
        // The only worker comes to this when the receiver waits.
        pool.install(|| ());
        let sender = pool.spawn_future(async move {
            pass(100);
            say.send(()).await.expect("it is heard");
        });
        sender.join();
        receiver.join();
    });
    check(&takes, 1, (180, 170));
}

#[test]
fn local_futures_are_measured_as_well() {
    stop_clock(1000);
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .callers(Callers::Move);
    let pool = pool.build().expect("a pool");
    let takes = settled(&pool, || {
        let both = pool.spawn_future(async {
            let one = spawn_local(async { pass(100) });
            one.await.expect("it ends");
            spawn_local(async { pass(30) }).await.expect("it ends");
        });
        both.join();
    });
    check(&takes, 2, (130, 130));
}
