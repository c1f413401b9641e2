//! Tokens of single jobs, and groups that are cancelled: each closure runs or is dropped, once.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;

use heist_core::{
    checkpoint, is_cancelled, job, join, CancellationToken, JoinError, Priority, TaskGroup,
    ThreadPool, ThreadPoolBuilder,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

#[test]
fn a_job_whose_token_is_cancelled_before_it_begins_is_dropped_once() {
    let pool = pool(1);
    let held = Arc::new(());
    pool.install(|| {
        let token = CancellationToken::new();
        let mut handles = Vec::new();
        for builder in [
            job(),
            job().priority(Priority::High),
            job().priority(Priority::Low),
            job().near(0),
            job().only_on(0),
        ] {
            let builder = builder.cancelled_by(&token);
            let (one, other) = (Arc::clone(&held), Arc::clone(&held));
            builder
                .clone()
                .spawn(move || unreachable!("{one:?} is cancelled"));
            handles.push(builder.submit(move || unreachable!("{other:?} is cancelled")));
        }
        assert_eq!(Arc::strong_count(&held), 11);
        token.cancel();
        for handle in handles {
            assert!(matches!(
                handle.try_join(),
                Err::<(), _>(JoinError::Cancelled)
            ));
        }
    });
    pool.shutdown();
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_job_that_runs_is_left_at_its_next_checkpoint_with_what_it_has_begun() {
    let pool = pool(2);
    for _ in 0..50 {
        let token = CancellationToken::new();
        let (say, heard) = channel();
        let handle = pool.job().cancelled_by(&token).submit(move || {
            say.send(()).unwrap();
            let forever = || loop {
                checkpoint();
            };
            join(forever, forever);
        });
        heard.recv().unwrap();
        token.cancel();
        assert!(matches!(handle.try_join(), Err(JoinError::Cancelled)));
    }
    let token = CancellationToken::new();
    let is_cancelled = pool.job().cancelled_by(&token).submit(is_cancelled);
    assert!(!is_cancelled.join());
}

#[test]
fn a_job_of_a_cancelled_call_is_cancelled_whatever_its_own_token_says() {
    let pool = pool(1);
    let (call, own) = (CancellationToken::new(), CancellationToken::new());
    let handle = pool.install(|| {
        heist_core::with_cancellation(&call, || {
            let handle = job()
                .cancelled_by(&own)
                .submit(|| unreachable!("cancelled"));
            call.cancel();
            handle
        })
    });
    let handle = handle.expect("it has come to its end");
    assert!(matches!(
        handle.try_join(),
        Err::<(), _>(JoinError::Cancelled)
    ));
}

#[test]
fn a_group_that_is_cancelled_drops_what_has_not_begun_and_goes_on() {
    let pool = pool(2);
    for round in 0..100 {
        let (held, ran) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let group = TaskGroup::new_in(&pool);
        let add = || {
            let (held, ran) = (Arc::clone(&held), Arc::clone(&ran));
            group.run(move || {
                drop(held);
                ran.fetch_add(1, Ordering::Relaxed);
            });
        };
        (0..round).for_each(|_| add());
        group.cancel();
        group.wait();
        let before = ran.load(Ordering::Relaxed);
        assert!(before <= round);
        assert_eq!(Arc::strong_count(&held), 1, "all others were dropped");
        (0..10).for_each(|_| add());
        group.wait();
        assert_eq!(ran.load(Ordering::Relaxed), before + 10);
    }
}

#[test]
fn a_group_is_cancelled_by_one_of_its_jobs() {
    let pool = pool(1);
    let group = Arc::new(TaskGroup::new_in(&pool));
    let ran = Arc::new(AtomicUsize::new(0));
    pool.install({
        let (group, ran) = (Arc::clone(&group), Arc::clone(&ran));
        move || {
            for _ in 0..10 {
                let (of_job, ran) = (Arc::clone(&group), Arc::clone(&ran));
                group.run(move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                    of_job.cancel();
                });
            }
            group.wait();
        }
    });
    assert_eq!(
        ran.load(Ordering::Relaxed),
        1,
        "one worker runs one after the other"
    );
}
