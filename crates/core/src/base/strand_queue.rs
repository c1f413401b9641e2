//! The queue of a strand, whose jobs run one at a time, in the order in which they came.
//!
//! The submitter that finds the queue idle has to start a drainer. The drainer takes all queued
//! jobs, runs them, and looks again; when it finds none, the queue is idle.
//!
//! ```text
//! IDLE ──push──> RUNNING     the submitter, who starts the drainer
//!   └<─take_all──┘           the drainer, if nothing is queued
//! ```
//!
//! Invariant ST-1: one job of a queue runs at a time, in order. There is a drainer exactly while
//! the queue is running, because look and change are one step, under the lock. The lock also
//! publishes the writes of the jobs: a drainer has released it before the next one is started.

use std::mem;

use heist_sync::{fault, Mutex};

use crate::base::job_queue::JobQueue;

/// The content of the queue, under its lock.
pub(crate) trait Jobs: Default {
    fn is_empty(&self) -> bool;

    /// Gives back the memory of a burst.
    fn shrink(&mut self);
}

impl Jobs for JobQueue {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn shrink(&mut self) {
        self.shrink();
    }
}

/// The queue of a strand.
pub(crate) struct StrandQueue<Q = JobQueue>(Mutex<State<Q>>);

struct State<Q> {
    jobs: Q,
    /// True while there is a drainer.
    is_running: bool,
}

impl<Q: Jobs> StrandQueue<Q> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State {
            jobs: Q::default(),
            is_running: false,
        }))
    }

    /// Lets `put` queue a job. True if the caller has to start the drainer; if so, `begin` was
    /// called before, and if that panics, nothing is queued.
    pub(crate) fn push(&self, begin: impl FnOnce(), put: impl FnOnce(&mut Q)) -> bool {
        let mut state = self.0.lock();
        let starts = !state.is_running || fault::planted("strand_queue.start");
        if starts {
            begin();
            state.is_running = true;
        }
        put(&mut state.jobs);
        starts
    }

    /// Moves all queued jobs into the drainer's own queue, which is empty. False if there are none:
    /// then the queue is idle, and the drainer has to end.
    pub(crate) fn take_all(&self, own: &mut Q) -> bool {
        let was_empty = fault::planted("strand_queue.end") && self.0.lock().jobs.is_empty();
        let mut state = self.0.lock();
        let is_idle = was_empty || state.jobs.is_empty();
        if is_idle {
            // It stays behind as the queue of the idle strand.
            own.shrink();
        }
        mem::swap(&mut state.jobs, own);
        state.is_running = !is_idle && !fault::planted("strand_queue.take_all");
        !is_idle
    }

    /// True if no job is queued or runs.
    pub(crate) fn is_idle(&self) -> bool {
        !self.0.lock().is_running
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_deque::Queue;
    use heist_sync::cell::UnsafeCell;
    use heist_sync::thread;

    use super::{Jobs, StrandQueue};

    impl Jobs for Queue<usize> {
        fn is_empty(&self) -> bool {
            self.is_empty()
        }

        fn shrink(&mut self) {
            self.shrink();
        }
    }

    /// A strand whose drainer is whoever has to start it.
    struct Strand {
        queue: StrandQueue<Queue<usize>>,
        /// The jobs that have run.
        ran: UnsafeCell<Vec<usize>>,
    }

    // SAFETY: loom checks that no two jobs run at the same time, and that each sees what the one
    // before has written.
    unsafe impl Sync for Strand {}
    // SAFETY: as above.
    unsafe impl Send for Strand {}

    impl Strand {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                queue: StrandQueue::new(),
                ran: UnsafeCell::new(Vec::new()),
            })
        }

        fn submit(&self, jobs: &[usize]) {
            for &job in jobs {
                if self.queue.push(|| (), |queue| queue.push(job)) {
                    self.drain();
                }
            }
        }

        fn drain(&self) {
            let mut own = Queue::new();
            while self.queue.take_all(&mut own) {
                while let (Some(job), _) = own.take() {
                    // SAFETY: loom checks it.
                    self.ran.with_mut(|ran| unsafe { (*ran).push(job) });
                }
            }
        }

        /// When all is done: these jobs of one submitter have run once each, in this order.
        fn assert_ran(&self, jobs: &[usize]) {
            // SAFETY: loom checks it.
            let ran = self.ran.with(|ran| unsafe { (*ran).clone() });
            let ran = ran.into_iter().filter(|job| jobs.contains(job));
            assert_eq!(ran.collect::<Vec<_>>(), jobs);
        }
    }

    /// The second submitter comes while the drainer is about to leave, or has just left.
    #[test]
    fn jobs_of_two_submitters_run_once_each_and_one_at_a_time() {
        loom::model(|| {
            let strand = Strand::new();
            let other = thread::spawn({
                let strand = Arc::clone(&strand);
                move || strand.submit(&[0, 1])
            });
            strand.submit(&[2, 3]);
            other.join().unwrap();
            assert!(strand.queue.is_idle());
            strand.assert_ran(&[0, 1]);
            strand.assert_ran(&[2, 3]);
        });
    }

    #[test]
    fn jobs_of_three_submitters_run_once_each_and_one_at_a_time() {
        loom::model(|| {
            let strand = Strand::new();
            let others = [0, 1].map(|job| {
                let strand = Arc::clone(&strand);
                thread::spawn(move || strand.submit(&[job]))
            });
            strand.submit(&[2]);
            for other in others {
                other.join().unwrap();
            }
            assert!(strand.queue.is_idle());
            for job in 0..3 {
                strand.assert_ran(&[job]);
            }
        });
    }
}
