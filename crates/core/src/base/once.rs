//! The state of a [`Once`](crate::Once): whether there is a value, and the list of waiters.
//!
//! | from | to | by |
//! |---|---|---|
//! | empty | running | whoever wins, and runs the initialiser |
//! | running | ready | the winner, with the value |
//! | running | empty | the winner, whose initialiser has panicked: another may win |
//!
//! The word of a running one says in which process the winner lives: a child made by `fork` has a
//! copy of the word, and not of the winner.
//!
//! A waiter is lost if it looks at the word before the winner changes that, and comes into the list
//! after the winner has emptied it. So it looks again under the lock of the list, which the winner
//! takes after its change.

use std::sync::Arc;

use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::process::Generation;
use heist_sync::{fault, Mutex};

use crate::base::latch::Latch;

const EMPTY: u32 = 0;
const READY: u32 = 1;
/// This value and above: running, in the process whose generation is the value less this.
const RUNNING: u32 = 2;

/// The state and the waiters of a `Once`.
#[derive(Debug)]
pub(crate) struct OnceState<L> {
    word: AtomicU32,
    waiters: Mutex<Vec<Arc<L>>>,
}

impl<L> OnceState<L> {
    #[cfg(not(heist_loom))]
    pub(crate) const fn new() -> Self {
        Self {
            word: AtomicU32::new(EMPTY),
            waiters: Mutex::new(Vec::new()),
        }
    }

    #[cfg(heist_loom)]
    pub(crate) fn new() -> Self {
        Self {
            word: AtomicU32::new(EMPTY),
            waiters: Mutex::new(Vec::new()),
        }
    }

    /// True if there is a value, which is then visible to the caller.
    #[inline(always)]
    pub(crate) fn is_ready(&self) -> bool {
        // Acquire: pairs with the release in `end`.
        let order = fault::ordering("once.is_ready", Ordering::Acquire);
        self.word.load(order) == READY
    }

    /// True if an initialiser runs, in this process or in one that it was forked from. A hint, but
    /// to whoever holds the lock of the list.
    pub(crate) fn is_running(&self) -> bool {
        self.word.load(Ordering::Relaxed) >= RUNNING
    }

    /// True if an initialiser runs in a process that this one was forked from.
    pub(crate) fn is_left_behind(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word >= RUNNING && word != RUNNING + Generation::present().count()
    }

    /// True if `is_it` is true of a waiter.
    pub(crate) fn any_waiter(&self, is_it: impl Fn(&L) -> bool) -> bool {
        self.waiters.lock().iter().any(|waiter| is_it(waiter))
    }

    /// True if the caller has won: it must [`end`](Self::end) what it begins.
    pub(crate) fn begin(&self) -> bool {
        let running = RUNNING + Generation::present().count();
        if fault::planted("once.begin") {
            let is_empty = self.word.load(Ordering::Relaxed) == EMPTY;
            self.word.store(running, Ordering::Relaxed);
            return is_empty;
        }
        // Relaxed: those that have begun before have left no value.
        self.word
            .compare_exchange(EMPTY, running, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

impl<L: Latch> OnceState<L> {
    /// Ends what the winner began; `is_ready` says whether it has written a value.
    pub(crate) fn end(&self, is_ready: bool) {
        let word = if is_ready { READY } else { EMPTY };
        // Release: pairs with the acquire in `is_ready`.
        self.word
            .store(word, fault::ordering("once.end", Ordering::Release));
        let waiters = std::mem::take(&mut *self.waiters.lock());
        for waiter in waiters {
            // SAFETY: the `Arc` keeps the latch, and each is set once.
            unsafe { L::set(Arc::as_ptr(&waiter)) };
        }
    }

    /// Waits by this latch until the running initialiser has ended. It may return before.
    pub(crate) fn wait(&self, latch: L, wait: impl FnOnce(&L)) {
        let latch = Arc::new(latch);
        {
            let mut waiters = self.waiters.lock();
            if !self.is_running() && !fault::planted("once.recheck") {
                return;
            }
            waiters.push(Arc::clone(&latch));
        }
        wait(&latch);
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::atomic::{AtomicUsize, Ordering};
    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::OnceState;
    use crate::base::latch::BlockingLatch;

    struct Value {
        state: OnceState<BlockingLatch>,
        value: UnsafeCell<usize>,
        /// How often an initialiser has run, and how often one is to panic.
        runs: AtomicUsize,
        panics: usize,
    }

    // SAFETY: loom checks that nobody reads the value while it is written.
    unsafe impl Sync for Value {}
    // SAFETY: as above.
    unsafe impl Send for Value {}

    impl Value {
        /// As `Once::get_or_init` on a thread that is no worker.
        fn get_or_init(&self) {
            while !self.state.is_ready() {
                if self.state.begin() {
                    let run = self.runs.fetch_add(1, Ordering::Relaxed);
                    if run >= self.panics {
                        // SAFETY: the winner is alone, which loom checks.
                        self.value.with_mut(|value| unsafe { *value += 1 });
                    }
                    self.state.end(run >= self.panics);
                } else {
                    self.state.wait(BlockingLatch::new(), BlockingLatch::wait);
                }
            }
            // SAFETY: it is ready, so that nobody writes any more, which loom checks.
            assert_eq!(self.value.with(|value| unsafe { *value }), 1);
        }
    }

    fn check(threads: usize, panics: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let value = Arc::new(Value {
                state: OnceState::new(),
                value: UnsafeCell::new(0),
                runs: AtomicUsize::new(0),
                panics,
            });
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let value = Arc::clone(&value);
                    thread::spawn(move || value.get_or_init())
                })
                .collect();
            value.get_or_init();
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(value.runs.load(Ordering::Relaxed), panics + 1);
        });
    }

    #[test]
    fn one_of_two_makes_the_value_and_both_see_it() {
        check(2, 0);
    }

    #[test]
    fn after_a_panic_one_of_three_makes_the_value() {
        check(3, 1);
    }
}
