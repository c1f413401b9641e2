//! A program on tokio awaits heist's jobs, and none of its threads is blocked.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use futures_lite::StreamExt;
use heist::futures::{spawn_future, IntoStream, SpawnFuture};
use heist::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Runs a future on a runtime of one thread, beside a task that counts how often it is polled.
fn beside_a_heart<F: Future>(run: impl FnOnce(Arc<AtomicU32>) -> F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let beats = Arc::new(AtomicU32::new(0));
    let beating = Arc::clone(&beats);
    runtime.block_on(async {
        let heart = tokio::spawn(async move {
            loop {
                beating.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let output = run(beats).await;
        heart.abort();
        output
    })
}

/// The runtime has one thread. The job ends only if a task beats on it meanwhile.
#[test]
fn a_task_beats_on_tokios_only_thread_while_another_awaits_a_job() {
    let sum = beside_a_heart(|beats| async move {
        let job = heist::submit(move || {
            while beats.load(Ordering::Relaxed) < 100 {
                std::thread::yield_now();
            }
            heist::join(|| 1, || 2)
        });
        let (one, two) = job.await.expect("it does not panic");
        one + two
    });
    assert_eq!(sum, 3);
}

#[test]
fn a_job_starts_tasks_by_the_handle_of_its_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .expect("a runtime");
    let value = runtime.block_on(async {
        let here = tokio::runtime::Handle::current();
        let task = heist::submit(move || here.spawn(async { 7 })).await;
        task.expect("it does not panic")
            .await
            .expect("nor does the task")
    });
    assert_eq!(value, 7);
}

/// The stream ends only if a task beats on the same thread while its items are computed.
#[test]
fn a_task_beats_on_tokios_only_thread_while_another_awaits_a_stream_of_items() {
    let sum = beside_a_heart(|beats| async move {
        let here = std::thread::current().id();
        let items = (0..500_u32).into_par_iter().map(move |n| {
            assert_ne!(std::thread::current().id(), here, "it computes elsewhere");
            while beats.load(Ordering::Relaxed) < n {
                std::thread::yield_now();
            }
            n
        });
        let mut items = items.into_stream(16);
        let mut sum = 0;
        while let Some(item) = items.next().await {
            sum += item;
        }
        sum
    });
    assert_eq!(sum, (0..500).sum());
}

/// A pool whose workers share a reactor of tokio's.
fn driven_by_tokio(workers: usize) -> heist::ThreadPool {
    let reactor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a reactor");
    let builder = heist::ThreadPoolBuilder::new().num_threads(workers);
    let builder = builder.drive_workers(move |main_loop| reactor.block_on(main_loop));
    builder.build().expect("a pool")
}

/// More messages than tokio lets a task receive in one poll. The next ones come in a turn of the
/// reactor, for which no future waits in vain until the worker's time is up.
#[test]
fn futures_whose_budget_of_tokio_is_used_up_go_on_in_the_next_turn() {
    let pool = driven_by_tokio(1);
    let (say, mut heard) = tokio::sync::mpsc::channel(16);
    let sum = pool.spawn_future(async move {
        let mut sum = 0;
        while let Some(n) = heard.recv().await {
            sum += n;
        }
        sum
    });
    let says = pool.spawn_future(async move {
        for n in 0..20_000_u64 {
            say.send(n).await.expect("it is heard");
        }
    });
    assert_eq!(sum.join(), (0..20_000).sum());
    says.join();
}

/// tokio's reactor drives a worker of heist's, on which tokio's sockets and timers work.
#[test]
fn tokios_sockets_wake_futures_of_heist() {
    let pool = driven_by_tokio(1);
    let echoed = pool.spawn_future(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let server = spawn_future(async move {
            let (mut stream, _) = listener.accept().await?;
            let mut read = [0; 4];
            for _ in 0..100 {
                stream.read_exact(&mut read).await?;
                // Computed by another pool.
                let answer = heist::submit(move || u32::from_le_bytes(read) + 1).await;
                let answer = answer.expect("no panic").to_le_bytes();
                stream.write_all(&answer).await?;
            }
            Ok::<(), std::io::Error>(())
        });
        let mut stream = TcpStream::connect(address).await?;
        let mut read = 0_u32.to_le_bytes();
        for _ in 0..100 {
            stream.write_all(&read).await?;
            stream.read_exact(&mut read).await?;
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        server.await.expect("no panic")?;
        Ok::<_, std::io::Error>(u32::from_le_bytes(read))
    });
    assert_eq!(echoed.join().expect("sockets"), 100);
}

/// The first that comes waits in the reactor, whichever of them has made the socket.
#[test]
fn several_workers_share_one_reactor() {
    let pool = driven_by_tokio(4);
    let echoes: Vec<_> = (0..64)
        .map(|n: u32| {
            pool.spawn_future(async move {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
                let mut client = TcpStream::connect(listener.local_addr()?).await?;
                let (mut stream, _) = listener.accept().await?;
                let server = spawn_future(async move {
                    let mut read = [0; 4];
                    for _ in 0..20 {
                        stream.read_exact(&mut read).await?;
                        stream.write_all(&read).await?;
                    }
                    Ok::<(), std::io::Error>(())
                });
                let mut sum = 0;
                for _ in 0..20 {
                    client.write_all(&n.to_le_bytes()).await?;
                    let mut read = [0; 4];
                    client.read_exact(&mut read).await?;
                    sum += u32::from_le_bytes(read);
                }
                server.await.expect("no panic")?;
                Ok::<_, std::io::Error>(sum)
            })
        })
        .collect();
    for (n, sum) in (0..).zip(echoes) {
        assert_eq!(sum.join().expect("sockets"), 20 * n);
    }
}

/// Tasks of the runtime run in the turns of the reactor, beside the pool's futures.
#[test]
fn a_future_of_heist_awaits_a_task_of_the_runtime_that_drives_its_worker() {
    let pool = driven_by_tokio(1);
    let sum = pool.spawn_future(async {
        let mut sum = 0;
        for n in 0..100 {
            sum += tokio::spawn(async move { n }).await.expect("no panic");
        }
        sum
    });
    assert_eq!(sum.join(), 4950);
}

/// A pool that ends drops the futures that wait for sockets and timers, after its reactor has
/// had its last turn.
#[test]
fn sockets_and_timers_of_a_pool_that_ends_are_closed() {
    for _ in 0..20 {
        let pool = driven_by_tokio(2);
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let handle = pool.spawn_future(async move {
            let mut stream = TcpStream::connect(address).await?;
            tokio::select! {
                _ = stream.read_u8() => {}
                () = tokio::time::sleep(Duration::from_secs(3600)) => {}
            }
            Ok::<(), std::io::Error>(())
        });
        let (mut stream, _) = listener.accept().expect("it connects");
        drop(pool);
        let read = std::io::Read::read(&mut stream, &mut [0]);
        assert_eq!(read.expect("it is closed"), 0);
        let ended = heist::futures::block_on(handle);
        assert!(
            matches!(ended, Err(heist::JoinError::Cancelled)),
            "{ended:?}"
        );
    }
}
