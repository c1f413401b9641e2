//! The latest point that several jobs have come to, beside whatever their waiter waits by.

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;

use crate::insight::dag::{NodeId, BEGINNING};
use crate::insight::path::Path;

/// The latest of the points that some jobs have come to. It hands nothing over: each job reaches it
/// before it tells its waiter of its end.
#[derive(Debug)]
pub(crate) struct Latest {
    /// The span and the burdened span of `path`, so that most jobs need not lock it.
    span: AtomicU64,
    burdened: AtomicU64,
    reached: Mutex<Option<Box<Reached>>>,
}

#[derive(Debug)]
struct Reached {
    /// Its node, if the DAG is recorded, is one behind those of all jobs.
    path: Path,
    /// True if somebody has gone on at that node: what comes later needs another.
    is_left: bool,
}

/// Less than any path.
const NOTHING: u64 = i64::MIN as u64;

impl Latest {
    pub(crate) fn new() -> Self {
        Self {
            span: AtomicU64::new(NOTHING),
            burdened: AtomicU64::new(NOTHING),
            reached: Mutex::new(None),
        }
    }

    /// A job has come to this point. If the DAG is recorded, `behind` puts a node behind another
    /// one, and makes the former if there is none.
    pub(crate) fn reach(&self, path: &Path, behind: impl Fn(NodeId, NodeId) -> NodeId) {
        // Relaxed: whoever sees an old value takes the lock.
        let span = self.span.load(Ordering::Relaxed) as i64;
        let burdened = self.burdened.load(Ordering::Relaxed) as i64;
        let is_recorded = path.node != BEGINNING;
        if path.span <= span && path.burdened <= burdened && !is_recorded {
            return;
        }
        let mut reached = self.reached.lock();
        let before = reached.as_deref();
        let mut latest = before.map_or(*path, |before| path.later(before.path));
        latest.node = before.map_or(BEGINNING, |before| before.path.node);
        if is_recorded {
            if let Some(left) = before.filter(|before| before.is_left) {
                latest.node = behind(BEGINNING, left.path.node);
            }
            latest.node = behind(latest.node, path.node);
        }
        self.span.store(latest.span as u64, Ordering::Relaxed);
        self.burdened
            .store(latest.burdened as u64, Ordering::Relaxed);
        *reached = Some(Box::new(Reached {
            path: latest,
            is_left: false,
        }));
    }

    /// True if a job has come to a point. For a caller that has waited for the jobs.
    #[inline]
    pub(crate) fn is_reached(&self) -> bool {
        self.span.load(Ordering::Relaxed) != NOTHING
    }

    /// The latest point, if a job has come to one.
    pub(crate) fn get(&self) -> Option<Path> {
        if self.is_reached() {
            self.reached.lock().as_deref_mut().map(|reached| {
                reached.is_left = true;
                reached.path
            })
        } else {
            None
        }
    }
}
