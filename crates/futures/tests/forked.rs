//! Futures and a process that calls `fork`: in the child, which has none of the parent's workers,
//! each call that would wait for them is refused, and a pool of its own works.
// The thread sanitizer starts no thread in the child of a process that had several.
#![cfg(all(unix, not(heist_tsan)))]

#[path = "../../core/tests/in_fork/mod.rs"]
mod in_fork;

use std::future::pending;
use std::panic::{catch_unwind, AssertUnwindSafe};

use futures_lite::StreamExt;
use heist::futures::{block_on, spawn_future, IntoStream, JoinError, SpawnFuture};
use heist::iter::IntoParallelIterator;
use heist::{Callers, ThreadPool, ThreadPoolBuilder};

use in_fork::{assert_passes, assert_refused, in_fork, FINE};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.callers(Callers::Move).build().expect("a pool")
}

#[test]
fn a_child_is_refused_what_would_wait_for_a_future_of_its_parent() {
    assert_passes("in_a_process");
}

#[test]
#[ignore = "forks; run by the test above"]
fn in_a_process() {
    let pool = pool(2);
    let done = pool.spawn_future(async { 1 });
    while !done.is_finished() {
        std::thread::yield_now();
    }
    let (awaited, joined, mut aborted) = (
        pool.spawn_future(pending::<()>()),
        pool.spawn_future(pending::<()>()),
        pool.spawn_local_on(1, pending::<()>),
    );
    let stream = pool.install(|| (0..100_u32).into_par_iter().into_stream(4));
    let end = in_fork(|| {
        assert_eq!(done.join(), 1, "what is done is done");
        let wait = "wait for a future of";
        assert_refused(wait, || block_on(awaited));
        assert_refused(wait, || joined.join());
        aborted.abort();
        assert!(matches!(block_on(aborted), Err(JoinError::Cancelled)));
        let spawn = "spawn a future in";
        assert_refused(spawn, || pool.spawn_future(async {}));
        assert_refused(spawn, || pool.spawn_local_on(0, || async {}));
        // It has begun a part at least, or begins one.
        let items = catch_unwind(AssertUnwindSafe(|| block_on(stream.collect::<Vec<_>>())));
        assert!(items.is_err(), "all items were the parent's to compute");
        let sum = self::pool(2).install(|| spawn_future(async { 1 + 2 }).join());
        assert_eq!(sum, 3);
    });
    assert_eq!(end, FINE);
}

#[test]
#[cfg(feature = "io")]
fn a_child_has_sockets_and_timers_if_its_parent_has_used_none() {
    assert_passes("in_a_process_without_a_reactor");
}

#[test]
#[cfg(feature = "io")]
#[ignore = "forks; run by the test above"]
fn in_a_process_without_a_reactor() {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use heist_futures::io::{Async, Timer};

    async fn connect() {
        Timer::after(Duration::from_millis(1)).await;
        let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).expect("a socket");
        let address = listener.get_ref().local_addr().expect("an address");
        let (client, server) =
            futures_lite::future::zip(Async::<TcpStream>::connect(address), listener.accept())
                .await;
        assert!(client.is_ok() && server.is_ok());
    }
    block_on(spawn_future(async {})).expect("the global pool");
    let end = in_fork(|| {
        block_on(connect());
        pool(1).spawn_future(connect()).join();
    });
    assert_eq!(end, FINE);
    spawn_future(connect()).join();
}
