//! Workers that are recalled, and made active again.

use std::sync::Arc;

use heist_sync::atomic::Ordering;
use heist_sync::thread;

use super::{check, sleeper, Pool, Sleeper};

/// A worker that searches, and must leave because it is recalled.
fn leaver(pool: &Arc<Pool>, worker: usize) -> thread::JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || assert!(!pool.search_and_vacate(worker, &pool.end[worker], true)))
}

#[test]
fn a_worker_that_falls_asleep_hears_that_it_is_recalled() {
    check(4, || {
        let pool = Pool::new(1);
        let worker = leaver(&pool, 0);
        pool.sleep.set_active(0);
        worker.join().unwrap();
    });
}

#[test]
fn a_worker_in_whose_place_a_caller_was_hears_that_it_is_recalled() {
    check(3, || {
        let pool = Pool::new(1);
        let worker = leaver(&pool, 0);
        let caller = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.participate(false)
        });
        pool.sleep.set_active(0);
        worker.join().unwrap();
        caller.join().unwrap();
    });
}

#[test]
fn a_worker_that_stands_aside_hears_that_it_is_active_again() {
    check(4, || {
        let pool = Pool::new(1);
        pool.sleep.set_active(0);
        let worker = thread::spawn({
            let pool = Arc::clone(&pool);
            move || {
                let is_wanted = || !pool.sleep.is_recalled(0);
                while !is_wanted() {
                    let parker = Sleeper::Worker(0);
                    let was_unparked =
                        pool.sleep
                            .withdraw(parker, &pool.end[0], &*pool, is_wanted, || (), None);
                    if was_unparked {
                        pool.sleep.stop_search(&*pool);
                    }
                }
            }
        });
        pool.sleep.set_active(1);
        worker.join().unwrap();
    });
}

/// The publisher may count on the searcher that is recalled, which passes the search on.
#[test]
fn a_job_is_found_by_the_other_worker_when_the_searcher_is_recalled() {
    check(2, || {
        let pool = Pool::new(2);
        let stays = sleeper(&pool, 0);
        let leaves = thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.search_and_vacate(1, &pool.end[1], true)
        });
        pool.jobs.store(1, Ordering::Relaxed);
        pool.sleep.published(&*pool);
        pool.sleep.set_active(1);
        if leaves.join().unwrap() {
            // It had the job before it was recalled.
            pool.jobs.store(1, Ordering::Relaxed);
            pool.sleep.published(&*pool);
        }
        stays.join().unwrap();
    });
}
