//! Tasks that are woken after the end of their pool, and are dropped on a thread of that purpose.
//!
//! A waker is called in places that its task knows nothing of: under the lock of a channel, say,
//! that the destructor of the task takes as well. So the task must not be dropped there, and of the
//! pool nobody is left to do it.

use std::mem;
use std::sync::Arc;

use heist_sync::{thread, Mutex};

use crate::base::unwind;

/// Something to be dropped.
type Orphan = Box<dyn Send>;

/// The orphans of one pool.
#[derive(Default)]
pub(crate) struct Orphans(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    orphans: Vec<Orphan>,
    /// A thread is about it.
    is_attended: bool,
}

impl Orphans {
    /// Drops this soon, on another thread; if there is none to be had, here.
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
