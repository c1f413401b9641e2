//! A latch that its waiter makes pending again.

use std::sync::Arc;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::thread;

use super::{check, Pool};

/// It is set twice. The waiter may see both at once, and then misses neither.
#[test]
fn a_signal_that_is_set_again_while_it_is_reset_is_seen() {
    check(4, || {
        let (pool, sent) = (Pool::new(1), Arc::new(AtomicUsize::new(0)));
        let setter = thread::spawn({
            let (pool, sent) = (Arc::clone(&pool), Arc::clone(&sent));
            move || {
                for n in 1..=2 {
                    // Relaxed: the latch is what orders it.
                    sent.store(n, Ordering::Relaxed);
                    pool.set(&pool.end[0], 0);
                }
            }
        });
        // As `block_on` polls and waits.
        while sent.load(Ordering::Relaxed) < 2 {
            assert!(!pool.search(0, &pool.end[0]));
            pool.end[0].reset();
        }
        setter.join().unwrap();
    });
}
