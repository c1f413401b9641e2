//! The part of a worker's state that only its own thread touches, by subject.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr;

use crate::base::brief::Brief;
use crate::base::job::JobSlot;
use crate::base::mail::Mail;
use crate::base::region::Watch;
use crate::policy::{CallHistory, Gaps, Priority, Reach, Rng, StealBackoff, Turns, Yields};
use crate::sleep::{Looks, Nap};

/// The part that only the worker's own thread touches.
pub(crate) struct Local {
    pub(crate) frames: Frames,
    pub(crate) pushes: Pushes,
    pub(crate) order: Order,
    pub(crate) search: Search,
    pub(crate) thread: Thread,
}

/// The frames on the worker's stack, and how those that wait may wait.
pub(crate) struct Frames {
    /// The address of the lowest slot that the frame at the top of the stack may have pushed: the
    /// frame of a job, or of the innermost [`Watch`].
    pub(crate) base: Cell<usize>,
    /// The innermost frame that notes what it pushes, or null.
    pub(crate) watch: Cell<*const Watch>,
    /// True if jobs are to be noted, for the recorder, the meter or the stall watchdog, or because
    /// they may wait for descendants only.
    pub(crate) is_watched: Cell<bool>,
    /// The call whose contexts carry the deque's tail; null while the tail in memory is exact.
    pub(crate) carrier: Cell<*const Carrier>,
    /// True while the worker waits for descendants only.
    pub(crate) is_strict: Cell<bool>,
    /// The number of waiting frames below the present job.
    pub(crate) wait_depth: Cell<usize>,
    /// The level of the jobs that yield here: `wait_depth` if a frame below runs descendants only,
    /// and otherwise 0.
    pub(crate) yield_level: Cell<usize>,
    pub(crate) marks: Cell<Marks>,
}

/// The state of one call of [`with_context`](crate::with_context) whose contexts carry the deque's
/// tail, so that the one in memory lags behind.
pub(crate) struct Carrier {
    /// True while they carry the tail.
    pub(crate) carries: Cell<bool>,
    /// The slot from which on they do.
    pub(crate) lowest: JobSlot,
}

/// Addresses in a stack, which grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// A frame below this address is deep in the stack.
    pub(crate) deep: usize,
    /// A join that waits in a frame below this address runs descendants only.
    pub(crate) guarded: usize,
}

/// The jobs that the worker pushes.
pub(crate) struct Pushes {
    /// Whether the next push looks who sleeps, without a signal.
    pub(crate) looks: Looks,
    /// True if the deque may hold jobs that other threads have claimed.
    pub(crate) holds_void: Cell<bool>,
    /// The address of the lowest slot in which a job may lie that [was
    /// woken](crate::base::task::Woken), or the largest there is.
    pub(crate) woken_from: Cell<usize>,
    /// True if the present run has pushed a woken or spawned job that should have yielded, because
    /// a frame on top may wait for it.
    pub(crate) was_early: Cell<bool>,
}

/// The order of the worker's own jobs and those from outside, hinted ones and yielded ones.
pub(crate) struct Order {
    /// Decides when a job from outside comes before the worker's own.
    pub(crate) turns: Cell<Turns>,
    /// Since when lanes and hinted jobs have come before the worker's own jobs, without one of
    /// these in between, and the slot behind those then.
    pub(crate) lanes_first: Cell<Option<(u64, usize)>>,
    /// The priority of the job from outside that runs in the middle of another one here, or of an
    /// urgent one below: only a more urgent job may run on top.
    pub(crate) serving: Cell<Priority>,
    /// How often the main loop has come to the lanes.
    pub(crate) lanes_reached: Cell<u32>,
    /// The time since which the worker has passed over hinted jobs.
    pub(crate) queue_passed_ns: Cell<Option<u64>>,
    /// Since when there has been mail, as far as the worker looked, for which it had no turn.
    pub(crate) mail_passed_ns: Cell<Option<u64>>,
    /// Mail that came while the worker ran what an initialiser may wait for, and is not a part of
    /// that (ON-1).
    pub(crate) mail_aside: Cell<VecDeque<Mail>>,
    /// How often the main loop has come to its queue of yielded jobs.
    pub(crate) yielded_ran: Cell<u32>,
    /// True while the present run leaves its task in `again` if that is scheduled again.
    pub(crate) keeps: Cell<bool>,
    /// The job that the last run in turn has left.
    pub(crate) again: Cell<Option<Brief>>,
    /// The job that was alone in another worker's queue of yielded jobs when this one looked: the
    /// worker's index, and the number of the job.
    pub(crate) alone: Cell<(usize, usize)>,
}

/// The search for other workers' jobs.
pub(crate) struct Search {
    pub(crate) rng: Cell<Rng>,
    pub(crate) backoff: Cell<StealBackoff>,
    /// True if the last round found jobs for which `backoff` does not allow it to ask.
    pub(crate) was_refused: Cell<bool>,
    /// The distance up to which the worker may disturb others.
    pub(crate) reach: Cell<Reach>,
    /// How long the worker had nothing to do, lately.
    pub(crate) gaps: Cell<Gaps>,
    /// How long it had nothing to do while a job waited for others.
    pub(crate) waits: Cell<Gaps>,
    /// The costs of its last yields.
    pub(crate) yields: Cell<Yields>,
}

/// The thread that is the worker: its own, or that of an external caller in its place.
pub(crate) struct Thread {
    /// True while an external caller is in this worker's place.
    pub(crate) is_caller: Cell<bool>,
    /// The times at which callers came, and how long they stayed.
    pub(crate) calls: Cell<CallHistory>,
    /// True if others have taken jobs of the worker's since the last caller came.
    pub(crate) was_helped: Cell<bool>,
    /// True while the program's code blocks, inside [`blocking`](crate::blocking).
    pub(crate) is_blocked: Cell<bool>,
    /// True if the job that a compensation worker last ran has blocked.
    pub(crate) has_blocked: Cell<bool>,
    /// While the worker rests in the function that drives it: how, and since when it has no work.
    pub(crate) nap: Cell<Option<(Nap, u64)>>,
    /// Spare shares of the pool, if the worker may have any.
    pub(crate) stock: Cell<Option<usize>>,
    /// Spare shares of its memory; none where `stock` is `None`.
    pub(crate) guests: Cell<usize>,
    /// Called on the worker's own thread when the pool has ended.
    pub(crate) last: Cell<Option<fn()>>,
}

impl Local {
    /// The state of the worker with this index, which has no job yet.
    pub(crate) fn new(index: usize, seed: u64, is_strict: bool, is_watched: bool) -> Self {
        Self {
            frames: Frames {
                base: Cell::new(0),
                watch: Cell::new(ptr::null()),
                is_watched: Cell::new(is_watched),
                carrier: Cell::new(ptr::null()),
                is_strict: Cell::new(is_strict),
                wait_depth: Cell::new(0),
                yield_level: Cell::new(0),
                marks: Cell::new(Marks::default()),
            },
            pushes: Pushes {
                looks: Looks::new(),
                holds_void: Cell::new(false),
                woken_from: Cell::new(usize::MAX),
                was_early: Cell::new(false),
            },
            order: Order {
                turns: Cell::new(Turns::new()),
                lanes_first: Cell::new(None),
                serving: Cell::new(Priority::Low),
                lanes_reached: Cell::new(0),
                queue_passed_ns: Cell::new(None),
                mail_passed_ns: Cell::new(None),
                mail_aside: Cell::new(VecDeque::new()),
                yielded_ran: Cell::new(0),
                keeps: Cell::new(false),
                again: Cell::new(None),
                alone: Cell::new((index, 0)),
            },
            search: Search {
                rng: Cell::new(Rng::new(seed)),
                backoff: Cell::new(StealBackoff::new()),
                was_refused: Cell::new(false),
                reach: Cell::new(Reach::new()),
                gaps: Cell::new(Gaps::new()),
                waits: Cell::new(Gaps::of_waits()),
                yields: Cell::new(Yields::new()),
            },
            thread: Thread {
                is_caller: Cell::new(false),
                calls: Cell::new(CallHistory::new()),
                was_helped: Cell::new(false),
                is_blocked: Cell::new(false),
                has_blocked: Cell::new(false),
                nap: Cell::new(None),
                stock: Cell::new(None),
                guests: Cell::new(0),
                last: Cell::new(None),
            },
        }
    }
}
