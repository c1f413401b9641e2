//! The event recorder: a bounded ring for each worker that keeps the newest.

use std::ptr;

use heist_event::{Event, EventKind, WorkerEvents};
use heist_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use heist_sync::fault;

use crate::base::job::Name;

/// A ring of events that one worker writes and any thread may read.
///
/// An event is two words, and a reader leaves out those that may have been overwritten while it
/// read, so it never sees half of one.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: Box<[Slot]>,
    /// Events written so far.
    written: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    event: AtomicU64,
    /// A [`Name`], or null.
    name: AtomicPtr<()>,
}

impl Slot {
    fn name(&self) -> Option<Name> {
        let name = self.name.load(Ordering::Relaxed);
        // SAFETY: nothing is stored but null, which is `None`, and names.
        unsafe { std::mem::transmute::<*mut (), Option<Name>>(name) }
    }
}

impl Recorder {
    /// A ring that keeps the newest `capacity` events, if there is memory for it.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        // One slot more than is kept, so that readers never take the one that the writer is about
        // to overwrite.
        let slots = capacity.saturating_add(1);
        let mut ring = Vec::new();
        ring.try_reserve_exact(slots).ok()?;
        ring.resize_with(slots, || Slot {
            event: AtomicU64::new(0),
            name: AtomicPtr::new(ptr::null_mut()),
        });
        Some(Self {
            ring: ring.into_boxed_slice(),
            written: AtomicU64::new(0),
        })
    }

    /// Writes an event. Only the one writer may call this.
    pub(crate) fn record(&self, kind: EventKind, name: Option<Name>, at_ns: u64) {
        let written = self.written.load(Ordering::Relaxed); // own write
        let slot = &self.ring[(written % self.ring.len() as u64) as usize];
        // Release: pairs with the fence in `read`: whoever sees one of these words sees that they
        // were about to be written, in the place of older ones.
        fault::fence("recorder.slot", Ordering::Release);
        let name = name.map_or(ptr::null_mut(), |name| name as *mut ());
        slot.name.store(name, Ordering::Relaxed);
        let event = Event { at_ns, kind }.to_word();
        slot.event.store(event, Ordering::Relaxed);
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
        let read: Vec<(u64, Option<Name>)> = (start..end)
            .map(|i| &self.ring[(i % slots) as usize])
            .map(|slot| (slot.event.load(Ordering::Relaxed), slot.name()))
            .collect();
        // Acquire: whoever read a slot that was overwritten sees that it was.
        fault::fence("recorder.read", Ordering::Acquire);
        let written = self.written.load(Ordering::Relaxed);
        let valid = written.saturating_sub(kept).min(end);
        let (events, names) = read[(valid - start) as usize..]
            .iter()
            .filter_map(|&(word, name)| Some((Event::from_word(word)?, name)))
            .map(|(event, name)| (event, name.map_or("", |name| name())))
            .unzip();
        WorkerEvents {
            events,
            names,
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

    /// The n-th event is at n ns, and has the n-th name.
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
            let names: [Name; 3] = [|| "0", || "1", || "2"];
            for (at_ns, name) in (0..).zip(names) {
                recorder.record(EventKind::JobBegin, Some(name), at_ns);
            }
            let read = reader.join().unwrap();
            for ((event, name), at_ns) in read.events.iter().zip(&read.names).zip(read.dropped..) {
                assert_eq!(event.at_ns, at_ns);
                assert_eq!(*name, at_ns.to_string());
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
            recorder.record(EventKind::Sleep, None, at_ns);
        }
        let read = recorder.read();
        let times: Vec<_> = read.events.iter().map(|event| event.at_ns).collect();
        assert_eq!(times, [6, 7, 8, 9]);
        assert_eq!(read.dropped, 6);
    }

    #[test]
    fn an_event_has_the_name_that_came_with_it_also_in_the_place_of_an_older_one() {
        let recorder = Recorder::new(2).expect("memory for a few events");
        let names: [Option<Name>; 5] = [Some(|| "a"), Some(|| "b"), None, Some(|| "c"), None];
        for (at_ns, name) in (0..).zip(names) {
            recorder.record(EventKind::JobBegin, name, at_ns);
        }
        let read = recorder.read();
        assert_eq!((read.names, read.dropped), (vec!["c", ""], 3));
    }

    #[test]
    fn a_ring_that_is_not_full_has_dropped_nothing() {
        let recorder = Recorder::new(4).expect("memory for a few events");
        recorder.record(EventKind::Wake, None, 1);
        assert_eq!(recorder.read().events.len(), 1);
        assert_eq!(recorder.read().dropped, 0);
    }
}
