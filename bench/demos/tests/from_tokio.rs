//! A program on tokio awaits heist's jobs, and none of its threads is blocked.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use futures_lite::StreamExt;
use heist::futures::IntoStream;
use heist::prelude::*;

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
