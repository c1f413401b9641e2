//! The latest point that several jobs have come to, beside whatever their waiter waits by.

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;

use crate::insight::path::Path;

/// The latest of the points that some jobs have come to. It hands nothing over: each job reaches it
/// before it tells its waiter of its end.
#[derive(Debug)]
pub(crate) struct Latest {
    /// The span and the burdened span of `path`, so that most jobs need not lock it.
    span: AtomicU64,
    burdened: AtomicU64,
    path: Mutex<Option<Box<Path>>>,
}

/// Less than any path.
const NOTHING: u64 = i64::MIN as u64;

impl Latest {
    pub(crate) fn new() -> Self {
        Self {
            span: AtomicU64::new(NOTHING),
            burdened: AtomicU64::new(NOTHING),
            path: Mutex::new(None),
        }
    }

    /// A job has come to this point.
    pub(crate) fn reach(&self, path: &Path) {
        // Relaxed: whoever sees an old value takes the lock.
        let span = self.span.load(Ordering::Relaxed) as i64;
        let burdened = self.burdened.load(Ordering::Relaxed) as i64;
        if path.span <= span && path.burdened <= burdened {
            return;
        }
        let mut latest = self.path.lock();
        let path = latest.as_deref().map_or(*path, |other| path.later(*other));
        *latest = Some(Box::new(path));
        self.span.store(path.span as u64, Ordering::Relaxed);
        self.burdened.store(path.burdened as u64, Ordering::Relaxed);
    }

    /// True if a job has come to a point. For a caller that has waited for the jobs.
    #[inline]
    pub(crate) fn is_reached(&self) -> bool {
        self.span.load(Ordering::Relaxed) != NOTHING
    }

    /// The latest point, if a job has come to one.
    pub(crate) fn get(&self) -> Option<Path> {
        if self.is_reached() {
            self.path.lock().as_deref().copied()
        } else {
            None
        }
    }
}
