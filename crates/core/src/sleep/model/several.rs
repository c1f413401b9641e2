//! A worker that publishes two jobs, and wakes two others for them.

use std::sync::Arc;

use heist_sync::atomic::Ordering;
use heist_sync::thread;

use super::{check, Pool};
use crate::sleep::protocol::{Rest, Sleeps};
use crate::sleep::{Looks, Sleeper};

impl Pool {
    /// As `publish`, with P4.
    fn publish_among(&self, looks: &Looks) {
        if self.push() {
            let waiting = self.jobs.load(Ordering::Relaxed);
            let woke = self.sleep.published_among(waiting, self, || false);
            if self.sleep.looks_again(looks, woke.unwrap_or(0)) {
                self.signalled.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The first that is woken does not come to search until the second has a job, so that nobody but
/// the publisher can have woken that one.
#[test]
fn a_publisher_wakes_two_though_the_first_is_held_up() {
    check(3, || {
        let pool = Pool::new(3);
        // The present thread is worker 2; the others sleep.
        for worker in [0, 1] {
            pool.sleep.start_search();
            let (parker, latch) = (Sleeper::Worker(worker), &pool.end[worker]);
            let rest = pool.sleep.announce(parker, Sleeps::Held, latch, &*pool);
            assert_eq!(rest, Some(Rest::Briefly));
        }
        let sleeper = |worker: usize, before: Option<thread::JoinHandle<()>>| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                // It has looked once more, before there was a job.
                pool.sleep.park(Sleeper::Worker(worker));
                if let Some(before) = before {
                    before.join().unwrap();
                }
                assert!(pool.take());
                pool.sleep.stop_search(&*pool);
            })
        };
        let second = sleeper(1, None);
        let first = sleeper(0, Some(second));
        let looks = Looks::new();
        pool.publish_among(&looks);
        pool.publish_among(&looks);
        first.join().unwrap();
    });
}

/// To wake more than one loses no job either.
#[test]
fn two_jobs_that_are_published_together_occupy_two_workers() {
    check(2, || {
        let pool = Pool::new(3);
        let workers = [0, 1].map(|worker| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || assert!(pool.search(worker, &pool.end[worker])))
        });
        let looks = Looks::new();
        pool.publish_among(&looks);
        pool.publish_among(&looks);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}
