//! The vocabulary of heist: what can happen in a pool, as plain data.
//!
//! There are two nouns. An [`Event`] is one thing that happened on one worker at one moment: it
//! found a job in a victim's deque, it fell asleep. The [counters](PoolCounters) say how often each
//! thing happened and where the time went. The runtime writes both, `heist-observe` reads them, and
//! neither knows the other: they meet in these types.
//!
//! Events are recorded only where a pool was built with a recorder; counters are always on. A
//! [profile](profile::Profile) sums a whole run up: its work and span, and where they are. A
//! [snapshot](live::Snapshot) is a program that runs, at one moment; it lies in one of two
//! [`halves`] of a file. A [recording](recording::Recording) has the events of a whole program, a [DAG](dag::Dag) has its
//! strands, and a [schedule](schedule::Schedule) says in which order its workers run.
//!
//! ```
//! use heist_event::{Event, EventKind, WorkerId};
//!
//! let event = Event { at_ns: 1_500, kind: EventKind::Steal { victim: WorkerId::new(3) } };
//! assert_eq!(Event::from_word(event.to_word()), Some(event));
//! ```

#![forbid(unsafe_code)]

mod counters;
pub mod dag;
mod event;
pub mod halves;
mod json;
pub mod live;
mod names;
pub mod profile;
pub mod recording;
pub mod schedule;

pub use counters::{PoolCounters, WorkerCounters};
pub use event::{Event, EventKind, WorkerEvents, WorkerId};
pub use names::{short_name, user_name};
