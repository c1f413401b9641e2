//! The frames on a worker's stack, as far as the stall watchdog is to see them.

use heist_sync::process::Generation;
use heist_sync::Mutex;

use crate::base::job::{Job, Name};

/// The use that a frame makes of its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
    /// It is a job that was taken from a queue, of this name; and the slot where its frame waits
    /// for it, if one does.
    Runs {
        name: Option<Name>,
        slot: Option<usize>,
    },
    /// It is the call of a thread of the program, which is the worker meanwhile.
    Calls,
    /// It makes the value of the `Once` of this name.
    Initialises(usize),
    /// It is in [`blocking`](crate::blocking).
    Blocks,
    Waits(Wait),
}

impl Doing {
    /// Runs this job.
    pub(crate) fn of(job: &Job) -> Self {
        let slot = match job {
            Job::Lent { slot, .. } => Some(slot.as_ptr() as usize),
            _ => None,
        };
        Self::Runs {
            name: job.name(),
            slot,
        }
    }
}

/// That for which a frame waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// The second half of a join, of this name, which a thief has taken from this slot.
    Half { name: Name, slot: usize },
    /// Jobs that were begun before.
    Jobs,
    /// The value of the `Once` of this name.
    Value(usize),
    /// Another pool.
    Pool,
    /// An event that wakes a future.
    Event,
}

/// A frame, and the time at which it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) doing: Doing,
    pub(crate) since_ns: u64,
}

/// The frames of one worker, under a lock, which the worker takes at both ends of each frame.
pub(crate) struct Frames {
    stack: Mutex<Stack>,
    /// In a forked child another thread of the parent may hold the lock for ever.
    born: Generation,
}

/// The frames of a worker at some moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stack {
    /// The thread that is the worker.
    pub(crate) thread: Option<u32>,
    /// The outermost first.
    pub(crate) frames: Vec<Frame>,
    /// How many have begun or ended.
    pub(crate) turns: u64,
}

/// A frame that has begun, and ends when this is dropped.
pub(crate) struct Entered<'a>(&'a Frames);

impl Frames {
    pub(crate) fn new() -> Self {
        Self {
            stack: Mutex::default(),
            born: Generation::present(),
        }
    }

    /// Begins a frame.
    pub(crate) fn enter(&self, doing: Doing, since_ns: u64) -> Entered<'_> {
        self.with(|stack| {
            stack.frames.push(Frame { doing, since_ns });
            stack.turns += 1;
        });
        Entered(self)
    }

    /// Notes something that moved inside of the innermost frame.
    pub(crate) fn turn(&self) {
        self.with(|stack| stack.turns += 1);
    }

    /// Notes the thread that is the worker from now on, and gives the one before.
    pub(crate) fn become_thread(&self, thread: Option<u32>) -> Option<u32> {
        let mut before = None;
        self.with(|stack| before = std::mem::replace(&mut stack.thread, thread));
        before
    }

    pub(crate) fn look(&self) -> Stack {
        self.stack.lock().clone()
    }

    fn with(&self, change: impl FnOnce(&mut Stack)) {
        if !self.born.is_past() {
            change(&mut self.stack.lock());
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.with(|stack| {
            stack.frames.pop();
            stack.turns += 1;
        });
    }
}
