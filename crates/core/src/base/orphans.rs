//! Orphans: tasks that are woken after the end of their pool, and dropped on a thread of their own.
//!
//! A waker may be called anywhere: under the lock of a channel, say, that the destructor of the
//! task takes as well. So the task must not be dropped there, and the pool has no worker left to
//! drop it.

use std::mem;
use std::sync::Arc;

use heist_sync::{thread, Mutex};

use crate::base::unwind;

/// A value to drop.
type Orphan = Box<dyn Send>;

/// The orphans of one pool.
#[derive(Default)]
pub(crate) struct Orphans(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    orphans: Vec<Orphan>,
    /// True while a thread drops them.
    is_attended: bool,
}

impl Orphans {
    /// Drops the value soon, on another thread; or here, if no thread can be started.
    pub(crate) fn add(self: &Arc<Self>, orphan: Orphan) {
        let mut waiting = self.0.lock();
        waiting.orphans.push(orphan);
        let is_attended = mem::replace(&mut waiting.is_attended, true);
        drop(waiting);
        if is_attended {
            return;
        }
        let orphans = Arc::clone(self);
        let builder = thread::Builder::new().name("heist-orphans".into());
        if builder.spawn(move || orphans.drop_all()).is_err() {
            self.drop_all();
        }
    }

    fn drop_all(&self) {
        loop {
            let mut waiting = self.0.lock();
            let orphans = mem::take(&mut waiting.orphans);
            waiting.is_attended = !orphans.is_empty();
            drop(waiting);
            if orphans.is_empty() {
                return;
            }
            orphans.into_iter().for_each(unwind::discard);
        }
    }
}
