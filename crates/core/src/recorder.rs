//! The event recorder: a bounded ring for each worker that keeps the newest.

use heist_event::{Event, EventKind, WorkerEvents};
use heist_sync::atomic::{fence, AtomicU64, Ordering};

/// A ring of events that one worker writes and anybody may read.
///
/// An event is one word, so a reader never sees half of one.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: Box<[AtomicU64]>,
    /// Events written so far.
    written: AtomicU64,
}

impl Recorder {
    /// A ring that keeps the newest `capacity` events, if there is memory for it.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        // One slot more than is kept: the one that the writer is about to
        // overwrite is never among those that a reader takes.
        let slots = capacity.saturating_add(1);
        let mut ring = Vec::new();
        ring.try_reserve_exact(slots).ok()?;
        ring.resize_with(slots, || AtomicU64::new(0));
        Some(Self {
            ring: ring.into_boxed_slice(),
            written: AtomicU64::new(0),
        })
    }

    /// Writes an event. Only the one writer may call this.
    pub(crate) fn record(&self, kind: EventKind, at_ns: u64) {
        let written = self.written.load(Ordering::Relaxed); // own write
        let slot = &self.ring[(written % self.ring.len() as u64) as usize];
        slot.store(Event { at_ns, kind }.to_word(), Ordering::Relaxed);
        // Release: pairs with the first load in `read`.
        self.written.store(written + 1, Ordering::Release);
    }

    /// What the ring holds now, oldest first.
    pub(crate) fn read(&self) -> WorkerEvents {
        let slots = self.ring.len() as u64;
        let kept = slots - 1;
        // Acquire: the slots up to here are written.
        let end = self.written.load(Ordering::Acquire);
        let start = end.saturating_sub(kept);
        let words: Vec<u64> = (start..end)
            .map(|i| self.ring[(i % slots) as usize].load(Ordering::Relaxed))
            .collect();
        // Acquire: whoever read a slot that was overwritten sees that it was.
        fence(Ordering::Acquire);
        let written = self.written.load(Ordering::Relaxed);
        let valid = written.saturating_sub(kept).min(end);
        let events = words[(valid - start) as usize..].iter();
        WorkerEvents {
            events: events.filter_map(|&word| Event::from_word(word)).collect(),
            dropped: valid,
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest_and_counts_what_it_dropped() {
        let recorder = Recorder::new(4).expect("memory for a few events");
        for at_ns in 0..10 {
            recorder.record(EventKind::Sleep, at_ns);
        }
        let read = recorder.read();
        let times: Vec<_> = read.events.iter().map(|event| event.at_ns).collect();
        assert_eq!(times, [6, 7, 8, 9]);
        assert_eq!(read.dropped, 6);
    }

    #[test]
    fn a_ring_that_is_not_full_has_dropped_nothing() {
        let recorder = Recorder::new(4).expect("memory for a few events");
        recorder.record(EventKind::Wake, 1);
        assert_eq!(recorder.read().events.len(), 1);
        assert_eq!(recorder.read().dropped, 0);
    }
}
