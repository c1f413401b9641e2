//! The event recorder: a bounded ring for each worker that keeps the newest.

use heist_event::{Event, EventKind, WorkerEvents};
use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::fault;

/// A ring of events that one worker writes and any thread may read.
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
        // One slot more than is kept, so that readers never take the one that the writer is about
        // to overwrite.
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
        // Release: pairs with the fence in `read`: whoever sees this event sees that it was about
        // to be written, in the place of an older one.
        let order = fault::ordering("recorder.slot", Ordering::Release);
        slot.store(Event { at_ns, kind }.to_word(), order);
        // Release: pairs with the first load in `read`.
        let order = fault::ordering("recorder.written", Ordering::Release);
        self.written.store(written + 1, order);
    }

    /// The events in the ring, oldest first.
    pub(crate) fn read(&self) -> WorkerEvents {
        let slots = self.ring.len() as u64;
        let kept = slots - 1;
        // Acquire: the slots up to here are written.
        let order = fault::ordering("recorder.end", Ordering::Acquire);
        let end = self.written.load(order);
        let start = end.saturating_sub(kept);
        let words: Vec<u64> = (start..end)
            .map(|i| self.ring[(i % slots) as usize].load(Ordering::Relaxed))
            .collect();
        // Acquire: whoever read a slot that was overwritten sees that it was.
        fault::fence("recorder.read", Ordering::Acquire);
        let written = self.written.load(Ordering::Relaxed);
        let valid = written.saturating_sub(kept).min(end);
        let events = words[(valid - start) as usize..].iter();
        WorkerEvents {
            events: events.filter_map(|&word| Event::from_word(word)).collect(),
            dropped: valid,
        }
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use std::sync::Arc;

    use heist_sync::thread;

    use super::*;

    /// The n-th event is at n ns.
    #[test]
    fn a_reader_beside_the_writer_gets_each_event_in_its_place_or_counts_it_as_dropped() {
        loom::model(|| {
            let recorder = Arc::new(Recorder::new(1).expect("memory for a few events"));
            // Not the other way round: loom tries no order of a load and a later store if the
            // storing thread has loaded in between.
            let reader = thread::spawn({
                let recorder = Arc::clone(&recorder);
                move || recorder.read()
            });
            (0..3).for_each(|at_ns| recorder.record(EventKind::Sleep, at_ns));
            let read = reader.join().unwrap();
            for (event, at_ns) in read.events.iter().zip(read.dropped..) {
                assert_eq!(event.at_ns, at_ns);
            }
        });
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
