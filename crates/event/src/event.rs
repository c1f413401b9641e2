//! One thing that happened on one worker, small enough for one atomic word.

use std::fmt;

/// A worker's index in its pool, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(u16);

impl WorkerId {
    /// The id of the worker with this index.
    ///
    /// # Panics
    ///
    /// Panics if `index` is above 65,535, the largest index a pool can have.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(heist_event::WorkerId::new(7).index(), 7);
    /// ```
    #[must_use]
    pub fn new(index: usize) -> Self {
        let index = u16::try_from(index).expect("a pool has at most 65,536 workers");
        Self(index)
    }

    /// The worker's index in its pool.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// The worker began to run a job that it took from a deque, a mailbox or the injector. Jobs
    /// nest: a worker that waits may begin another.
    JobBegin,
    /// The innermost job that the worker had begun has ended.
    JobEnd,
    /// The worker took the oldest job of `victim`.
    Steal {
        /// The owner of the deque that the job was taken from.
        victim: WorkerId,
    },
    /// The worker took a job that was submitted from outside the pool.
    Injected,
    /// The worker ran out of work and began to look for some.
    SearchBegin,
    /// The worker stopped looking: it found a job, or its wait is over.
    SearchEnd,
    /// The worker fell asleep.
    Sleep,
    /// The worker woke up.
    Wake,
}

/// One thing that happened on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Nanoseconds since the pool's recorder was started.
    pub at_ns: u64,
    /// The kind of an event.
    pub kind: EventKind,
}

/// Width of the time field: 2^44 ns, four hours and 53 minutes.
const TIME_BITS: u32 = 44;
const KIND_BITS: u32 = 4;

impl Event {
    /// The latest moment that an event can carry, in nanoseconds (about 4.9 hours). Later events
    /// are recorded with this time.
    pub const AT_NS_MAX: u64 = (1 << TIME_BITS) - 1;

    /// Packs the event into one word: from the lowest bit, 44 bits of time, 4 bits of kind, 16 bits
    /// of victim.
    #[must_use]
    pub fn to_word(self) -> u64 {
        let (code, victim) = match self.kind {
            EventKind::JobBegin => (1, 0),
            EventKind::JobEnd => (2, 0),
            EventKind::Steal { victim } => (3, u64::from(victim.0)),
            EventKind::Injected => (4, 0),
            EventKind::SearchBegin => (5, 0),
            EventKind::SearchEnd => (6, 0),
            EventKind::Sleep => (7, 0),
            EventKind::Wake => (8, 0),
        };
        self.at_ns.min(Self::AT_NS_MAX) | code << TIME_BITS | victim << (TIME_BITS + KIND_BITS)
    }

    /// The event that [`to_word`](Self::to_word) packed, or `None` if the word is no event (an
    /// unwritten slot is 0, which is none).
    #[must_use]
    pub fn from_word(word: u64) -> Option<Self> {
        let at_ns = word & Self::AT_NS_MAX;
        let victim = (word >> (TIME_BITS + KIND_BITS)) as u16;
        let kind = match (word >> TIME_BITS) & ((1 << KIND_BITS) - 1) {
            1 => EventKind::JobBegin,
            2 => EventKind::JobEnd,
            3 => EventKind::Steal {
                victim: WorkerId(victim),
            },
            4 => EventKind::Injected,
            5 => EventKind::SearchBegin,
            6 => EventKind::SearchEnd,
            7 => EventKind::Sleep,
            8 => EventKind::Wake,
            _ => return None,
        };
        Some(Self { at_ns, kind })
    }
}

/// The events that one worker recorded, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerEvents {
    /// The events that the recorder still holds, oldest first.
    pub events: Vec<Event>,
    /// For each of them, where a job begins, the name of its type as
    /// [`type_name`](std::any::type_name) gives it, in which those of the program's closures are:
    /// [`short_name`](crate::short_name) finds them. Empty where none begins or none is known; a
    /// list that is shorter than `events` knows none of the rest.
    pub names: Vec<&'static str>,
    /// How many older events the bounded recorder has overwritten.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_the_round_trip_through_a_word() {
        let kinds = [
            EventKind::JobBegin,
            EventKind::JobEnd,
            EventKind::Steal {
                victim: WorkerId::new(0),
            },
            EventKind::Steal {
                victim: WorkerId::new(65_535),
            },
            EventKind::Injected,
            EventKind::SearchBegin,
            EventKind::SearchEnd,
            EventKind::Sleep,
            EventKind::Wake,
        ];
        for kind in kinds {
            for at_ns in [0, 1, 123_456_789, Event::AT_NS_MAX] {
                let event = Event { at_ns, kind };
                assert_eq!(Event::from_word(event.to_word()), Some(event));
            }
        }
    }

    #[test]
    fn a_time_past_the_field_is_recorded_as_the_latest_and_spills_into_nothing() {
        let event = Event {
            at_ns: u64::MAX,
            kind: EventKind::Wake,
        };
        let back = Event::from_word(event.to_word()).expect("a packed event");
        assert_eq!(back.kind, EventKind::Wake);
        assert_eq!(back.at_ns, Event::AT_NS_MAX);
    }

    #[test]
    fn an_unwritten_slot_is_no_event() {
        assert_eq!(Event::from_word(0), None);
    }
}
