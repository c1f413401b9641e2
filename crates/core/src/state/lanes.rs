//! The injector: jobs that wait for any worker, in a lane for each priority.

use std::mem;

use heist_deque::Queue;
use heist_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use heist_sync::{fault, CachePadded, Mutex};

use crate::base::job::DetachedJob;
use crate::policy::Priority;

/// A queue for each [`Priority`].
///
/// A lane has two halves with a lock each, so that a thread outside that pushes job after job does
/// not take turns with the workers that take them: jobs arrive in one half, and a worker that finds
/// the other half empty exchanges the two.
///
/// One word says which halves hold jobs, and how many workers' own queues do, so that a busy worker
/// sees with one load that nothing waits. It is written when that changes, and not with each job.
#[derive(Debug)]
pub(crate) struct Lanes<T: Send = DetachedJob> {
    /// The jobs that came last.
    arrived: CachePadded<Mutex<Queues<T>>>,
    /// The jobs before those, which are taken first. Locked before `arrived`.
    ready: CachePadded<Mutex<Queues<T>>>,
    /// A bit for each lane in which jobs have arrived, one for each in which they are ready, both
    /// in the order of the priorities, and above those the number of workers' queues that hold
    /// jobs. A bit is changed under the lock of its half.
    waiting: CachePadded<AtomicUsize>,
    /// The time when a worker first passed over each lane since a job was taken from it, in
    /// nanoseconds plus one; 0 if none has.
    passed_ns: [AtomicU64; 3],
}

type Queues<T> = [Queue<T>; 3];

const ONE_HINTED: usize = 1 << 6;

const fn arrived(lane: Priority) -> usize {
    1 << lane as usize
}

const fn ready(lane: Priority) -> usize {
    1 << (3 + lane as usize)
}

const fn bits(lane: Priority) -> usize {
    arrived(lane) | ready(lane)
}

impl<T: Send> Lanes<T> {
    pub(crate) fn new() -> Self {
        let half = || CachePadded::new(Mutex::new([(); 3].map(|()| Queue::new())));
        Self {
            arrived: half(),
            ready: half(),
            waiting: CachePadded::new(AtomicUsize::new(0)),
            passed_ns: [(); 3].map(|()| AtomicU64::new(0)),
        }
    }

    // Relaxed, here and below: hints; a worker that goes to sleep because of them runs a barrier
    // before. They are one word, so that no look misses a job that changes halves.
    #[inline(always)]
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// True if no job waited, here or in the queue of a worker, at some moment during the call.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// True if a job waits in this lane.
    #[inline]
    pub(crate) fn holds(&self, lane: Priority) -> bool {
        self.waiting() & bits(lane) != 0
    }

    /// True if a job waits here for which a worker may be disturbed.
    #[inline]
    pub(crate) fn are_urgent(&self) -> bool {
        self.waiting() & (bits(Priority::High) | bits(Priority::Normal)) != 0
    }

    /// True if jobs wait in the normal lane, and nowhere else.
    #[inline]
    pub(crate) fn hold_normal_only(&self) -> bool {
        let waiting = self.waiting();
        waiting != 0 && waiting & !bits(Priority::Normal) == 0
    }

    /// True if a job waits in the queue of a worker.
    pub(crate) fn are_hinted(&self) -> bool {
        self.waiting() >= ONE_HINTED
    }

    /// Queues a job.
    pub(crate) fn push(&self, lane: Priority, job: T) {
        let mut queues = self.arrived.lock();
        let queue = &mut queues[lane as usize];
        let is_first = queue.is_empty();
        queue.push(job);
        if is_first {
            if !self.holds(lane) {
                self.has_moved(lane);
            }
            self.waiting.fetch_or(arrived(lane), Ordering::Relaxed);
        }
    }

    /// The oldest job of this lane.
    pub(crate) fn take_from(&self, lane: Priority) -> Option<T> {
        if !self.holds(lane) {
            return None;
        }
        let mut queues = self.ready.lock();
        let queue = &mut queues[lane as usize];
        if queue.is_empty() {
            let mut late = self.arrived.lock();
            mem::swap(queue, &mut late[lane as usize]);
            if fault::planted("lanes.exchange") {
                drop(late);
            }
            if !queue.is_empty() {
                if fault::planted("lanes.both") {
                    self.waiting.fetch_xor(arrived(lane), Ordering::Relaxed);
                    self.waiting.fetch_xor(ready(lane), Ordering::Relaxed);
                } else {
                    // Both at once: a look in between would find neither.
                    self.waiting.fetch_xor(bits(lane), Ordering::Relaxed);
                }
            }
        }
        let (job, emptied) = queue.take();
        if job.is_some() && queue.is_empty() {
            self.waiting.fetch_and(!ready(lane), Ordering::Relaxed);
        }
        self.has_moved(lane);
        drop(queues);
        // Not under the lock: giving memory back is a system call.
        drop(emptied);
        job
    }

    /// Notes that the lane has not been passed over since now.
    fn has_moved(&self, lane: Priority) {
        let passed_ns = &self.passed_ns[lane as usize];
        // Looks first, so as not to write where no lane was passed over.
        if passed_ns.load(Ordering::Relaxed) != 0 {
            passed_ns.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that the queue of a worker holds jobs from now on, or none. Called under the lock of
    /// that queue.
    pub(crate) fn hint(&self, holds_jobs: bool) {
        let before = match holds_jobs {
            true => self.waiting.fetch_add(ONE_HINTED, Ordering::Relaxed),
            false => self.waiting.fetch_sub(ONE_HINTED, Ordering::Relaxed),
        };
        assert!(holds_jobs || before >= ONE_HINTED, "it held jobs");
    }

    /// The lane that comes before a worker's own jobs at this time, if one does. The others in
    /// which jobs wait have been passed over, a normal one only for a higher one: beside a worker's
    /// own jobs it has its [turns](crate::policy::Turns).
    pub(crate) fn first(&self, now_ns: u64) -> Option<Priority> {
        let waiting = self.waiting();
        let waits = Priority::ALL.map(|lane| waiting & bits(lane) != 0);
        let since_ns = [0, 1, 2].map(|lane: usize| {
            let passed_ns = self.passed_ns[lane].load(Ordering::Relaxed);
            passed_ns.checked_sub(1)
        });
        let first = Priority::first(waits, since_ns, now_ns);
        for lane in Priority::ALL {
            let is_passed = waits[lane as usize] && first != Some(lane);
            let counts = lane != Priority::Normal || waits[Priority::High as usize];
            if is_passed && counts && since_ns[lane as usize].is_none() {
                self.passed_ns[lane as usize].store(now_ns + 1, Ordering::Relaxed);
            }
        }
        first
    }
}

#[cfg(all(test, heist_loom))]
mod model;

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_word_says_where_jobs_wait() {
        let lanes = Lanes::new();
        assert!(lanes.is_empty());
        lanes.push(Priority::Low, 1);
        assert!(lanes.holds(Priority::Low) && !lanes.are_urgent());
        lanes.push(Priority::High, 2);
        lanes.hint(true);
        assert!(lanes.are_urgent() && lanes.are_hinted());
        assert_eq!(lanes.take_from(Priority::Normal), None);
        assert_eq!(lanes.take_from(Priority::High), Some(2));
        assert_eq!(lanes.take_from(Priority::Low), Some(1));
        assert!(!lanes.is_empty(), "a worker's queue holds one");
        lanes.hint(false);
        assert!(lanes.is_empty());
    }

    #[test]
    fn a_lane_is_passed_over_since_the_first_time_after_it_has_moved() {
        let lanes = Lanes::new();
        let late_ns = Priority::PASSED_OVER_MAX_NS;
        (0..3).for_each(|job| lanes.push(Priority::Low, job));
        assert_eq!(lanes.first(5), None);
        assert_eq!(lanes.first(4 + late_ns), None);
        assert_eq!(lanes.first(5 + late_ns), Some(Priority::Low));
        assert_eq!(lanes.take_from(Priority::Low), Some(0));
        assert_eq!(lanes.first(6 + late_ns), None);
        assert_eq!(lanes.first(6 + 2 * late_ns), Some(Priority::Low));
    }

    #[test]
    fn a_normal_lane_is_passed_over_for_a_high_one_only() {
        let lanes = Lanes::new();
        let late_ns = Priority::PASSED_OVER_MAX_NS;
        lanes.push(Priority::Normal, 1);
        assert_eq!(lanes.first(0), None);
        assert_eq!(lanes.first(late_ns), None);
        lanes.push(Priority::High, 2);
        assert_eq!(lanes.first(late_ns), Some(Priority::High));
        assert_eq!(lanes.first(2 * late_ns), Some(Priority::Normal));
    }
}
