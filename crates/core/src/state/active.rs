//! The number of active workers of a pool: as many as the program wants, and, in a pool that
//! follows the system's limit, no more than that allows.
//!
//! Workers with nothing better to do ask for the limit: a recalled one, each second while others
//! are awake; if none is recalled, one that begins a search, or has finished some jobs in its main
//! loop. So no timer runs in an idle pool, and a pool without recalled workers learns of a lower
//! limit when a worker looks for work.

use std::time::Duration;

use heist_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heist_sync::{usable_processors, Mutex};

use crate::sleep::Sleep;

/// The shortest interval between two requests for the limit, while there is work.
const ASKED_EVERY_NS: u64 = 1_000_000_000;
/// The limit has not been asked for since the pool was idle.
const NOT_OF_LATE: u64 = 0;
/// No recalled worker is free to ask.
const NOBODY: usize = usize::MAX;

/// The number of workers of a pool that are to be active.
#[derive(Debug)]
pub(crate) struct Active {
    numbers: Mutex<Numbers>,
    /// The processors at the last request.
    processors: AtomicUsize,
    /// The time of the last request, in a pool that follows the limit.
    asked_ns: Option<AtomicU64>,
    /// The recalled worker that asks, or [`NOBODY`].
    asker: AtomicUsize,
}

#[derive(Debug)]
struct Numbers {
    /// The number that the program wants.
    wanted: usize,
    /// The number that the system allows.
    allowed: usize,
}

impl Active {
    pub(crate) fn new(workers: usize, follows: bool) -> Self {
        let processors = usable_processors();
        Self {
            numbers: Mutex::new(Numbers {
                wanted: workers,
                allowed: if follows { processors } else { usize::MAX },
            }),
            processors: AtomicUsize::new(processors),
            asked_ns: follows.then(|| AtomicU64::new(1)),
            asker: AtomicUsize::new(NOBODY),
        }
    }

    /// True if the pool follows the system's limit.
    pub(crate) fn follows(&self) -> bool {
        self.asked_ns.is_some()
    }

    /// True if more workers are active than there are processors: then waiters should not spin.
    pub(crate) fn is_oversubscribed(&self, sleep: &Sleep) -> bool {
        sleep.active() > self.processors.load(Ordering::Relaxed)
    }

    /// Sets the number that the program wants. Returns the number that are active.
    pub(crate) fn want(&self, sleep: &Sleep, wanted: usize) -> usize {
        self.change(sleep, |numbers| numbers.wanted = wanted)
    }

    /// As many workers are active as the numbers say when they are changed.
    fn change(&self, sleep: &Sleep, change: impl FnOnce(&mut Numbers)) -> usize {
        // Held until all is done: the last to change the numbers is the last to apply them.
        let mut numbers = self.numbers.lock();
        change(&mut numbers);
        let active = numbers.wanted.min(numbers.allowed).max(1);
        if active != sleep.active() {
            sleep.set_active(active);
        }
        active
    }

    /// True if this pool follows the system's limit, and it is time to ask for it.
    fn is_due(&self, now_ns: u64) -> bool {
        self.asked_ns.as_ref().is_some_and(|asked_ns| {
            // Relaxed, here and below: to ask too often or too late does no harm.
            let asked_ns = asked_ns.load(Ordering::Relaxed);
            asked_ns == NOT_OF_LATE || now_ns.saturating_sub(asked_ns) >= ASKED_EVERY_NS
        })
    }

    /// Asks for the system's limit, if it is time, or lets the recalled worker do so whose role it
    /// is.
    #[inline]
    pub(crate) fn check_cpu_limit(&self, sleep: &Sleep, now_ns: u64) {
        if self.is_due(now_ns) {
            match self.asker.load(Ordering::Relaxed) {
                NOBODY => self.apply_cpu_limit(sleep, now_ns),
                // Its fence pairs with that in `withdraw`: either the worker is found armed, or it
                // sees in the counts that the caller is awake.
                asker => _ = sleep.unpark_for_mail(asker),
            }
        }
    }

    /// Asks for the system's limit, if it is time, and has as many workers active.
    fn apply_cpu_limit(&self, sleep: &Sleep, now_ns: u64) {
        if let Some(asked_ns) = self.asked_ns.as_ref().filter(|_| self.is_due(now_ns)) {
            asked_ns.store(now_ns.max(1), Ordering::Relaxed);
            let processors = usable_processors();
            self.processors.store(processors, Ordering::Relaxed);
            self.change(sleep, |numbers| numbers.allowed = processors);
        }
    }

    /// True if it is this recalled worker's role to ask for the limit, as long as it has nothing
    /// else to do.
    pub(crate) fn take_role(&self, worker: usize) -> bool {
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = || self.asker.compare_exchange(NOBODY, worker, yes, no);
        self.follows() && taken().map_or_else(|asker| asker == worker, |_| true)
    }

    /// Gives up the role, because the worker has something else to do. Other recalled workers may
    /// take it.
    pub(crate) fn leave_role(&self, sleep: &Sleep, workers: usize) {
        self.asker.store(NOBODY, Ordering::Relaxed);
        for recalled in sleep.active()..workers {
            sleep.unpark_for_mail(recalled);
        }
    }

    /// The longest time for which the worker that asks for the limit may withdraw: without bound if
    /// it is the last that is awake.
    pub(crate) fn patience(&self, sleep: &Sleep, now_ns: u64) -> Option<Duration> {
        self.apply_cpu_limit(sleep, now_ns);
        if sleep.are_others_awake() {
            return Some(Duration::from_nanos(ASKED_EVERY_NS));
        }
        if let Some(asked_ns) = &self.asked_ns {
            // The worker that wakes first unparks this one.
            asked_ns.store(NOT_OF_LATE, Ordering::Relaxed);
        }
        None
    }
}
