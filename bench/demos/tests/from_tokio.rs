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

/// tokio's reactor drives a worker of heist's, on which tokio's sockets and timers work.
#[test]
fn tokios_sockets_wake_futures_of_heist() {
    let builder = heist::ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.drive_workers(|main_loop| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(main_loop);
    });
    let pool = pool.build().expect("a pool");
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
