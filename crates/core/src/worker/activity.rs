//! A worker's activity, counted and recorded.

use heist_event::EventKind;
use heist_sync::{thread, ticks};

use crate::base::counters::Activity;
use crate::base::job::Name;
use crate::base::latch::CoreLatch;
use crate::insight::idle::{self, State};
use crate::insight::interference;
use crate::policy::Yields;
use crate::schedule::{self, Point};
use crate::state::{Doing, Entered};
use crate::worker::Worker;

impl Worker {
    /// Notes that the thread has just become a worker.
    pub(crate) fn begins_to_work(&self) {
        let now_ns = self.pool().now_ns();
        self.state().counters.time.change(Activity::Working, now_ns);
        self.turns(State::Working, false);
    }

    /// Notes that the thread is about to be no worker any more.
    pub(crate) fn is_gone(&self) {
        self.gives_way();
        self.turns(State::Gone, false);
    }

    /// Books the idle time of a metered pool up to now.
    #[inline]
    fn turns(&self, state: State, has_woken: bool) {
        let pool = self.pool();
        if pool.metered {
            if state == State::Working {
                interference::works();
            }
            idle::turn(pool.board, self.index(), state, has_woken, ticks());
        }
    }

    /// True if the worker may yield at this time.
    pub(crate) fn may_yield(&self, now_ns: u64) -> bool {
        self.local().search.yields.get().may_yield(now_ns)
    }

    /// Lets other threads go first, as the worker has no job, unless the latch is set. Notes what
    /// that cost.
    pub(crate) fn yields(&self, latch: &CoreLatch) {
        self.gives_way();
        let yields = &self.local().search.yields;
        let (mut counted, mut began_ns) = (yields.get(), self.pool().now_ns());
        for _ in 0..Yields::BURST {
            if latch.probe() {
                break;
            }
            thread::yield_now();
            let ended_ns = self.pool().now_ns();
            counted.count(began_ns, ended_ns);
            if !counted.may_yield(ended_ns) || self.glances() {
                break;
            }
            began_ns = ended_ns;
        }
        yields.set(counted);
    }

    /// True if there is a job somewhere, as far as a glance tells. Among many workers some other
    /// one is about to look, and this one would take long.
    fn glances(&self) -> bool {
        const FEW: usize = 4;
        let pool = self.pool();
        pool.victims().len() <= FEW && pool.sees_a_job(self.index())
    }

    /// Tells the profile, if there is one, that the worker, which has no job, yields or sleeps.
    fn gives_way(&self) {
        if self.pool().metered {
            interference::gives_way();
        }
    }

    /// Begins a frame that the stall watchdog may see, if it watches.
    #[inline]
    pub(crate) fn enters(&self, doing: impl FnOnce() -> Doing) -> Option<Entered<'_>> {
        let frames = self.state().frames.as_ref()?;
        Some(frames.enter(doing(), self.pool().now_ns()))
    }

    /// Tells the stall watchdog, if it watches, that the present frame goes on.
    pub(crate) fn has_moved(&self) {
        if let Some(frames) = &self.state().frames {
            frames.turn();
        }
    }

    /// The worker has come to a point, if its pool is scheduled.
    #[inline]
    pub(crate) fn point(&self, point: Point) {
        if self.pool().members.is_some() {
            schedule::point(point);
        }
    }

    /// Notes the worker's activity from now on, and returns the time.
    pub(crate) fn turn_to(&self, activity: Activity, event: EventKind) -> u64 {
        let now_ns = self.pool().now_ns();
        self.turn_to_at(activity, event, now_ns);
        now_ns
    }

    pub(crate) fn turn_to_at(&self, activity: Activity, event: EventKind, now_ns: u64) {
        self.state().counters.time.change(activity, now_ns);
        if let Some(recorder) = &self.state().recorder {
            recorder.record(event, None, now_ns);
        }
        if activity == Activity::Asleep {
            self.gives_way();
        }
        let state = match activity {
            Activity::Working => State::Working,
            Activity::Searching | Activity::Asleep if self.is_on_top() => State::Waiting,
            Activity::Searching | Activity::Asleep => State::Idle,
        };
        self.turns(state, event == EventKind::Wake);
    }

    #[inline]
    pub(crate) fn record(&self, event: EventKind) {
        self.record_named(event, None);
    }

    /// As `record`, with the name of the job that begins.
    #[inline]
    pub(crate) fn record_named(&self, event: EventKind, name: Option<Name>) {
        if let Some(recorder) = &self.state().recorder {
            recorder.record(event, name, self.pool().now_ns());
        }
    }

    /// Counts a job that was taken back and run by the join that lent it.
    #[inline(always)]
    pub(crate) fn count_in_place(&self) {
        self.state().counters.in_place.add(1);
    }
}
