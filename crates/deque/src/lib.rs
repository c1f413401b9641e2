//! The work-stealing deque and the injector.
//!
//! There are four nouns. The [`Owner`] of a [`Deque`] pushes jobs at one end and takes them back
//! there, as on a stack. Any number of [`Thief`]s take the oldest job from the other end. An
//! [`Injector`] is the queue for threads that own no deque: only the owner ever adds to a deque.
//!
//! A job lies in a [`Slot`]: a kind, and a payload whose meaning depends on the kind. The deque
//! does not interpret jobs and never runs them.
//!
//! The states, the races, the ordering of every access and the argument why no job is lost or taken
//! twice are in `README.md` beside this crate.
//!
//! # Examples
//!
//! A deque of numbers, each copied by the thread that takes it.
//!
//! ```
//! use heist_deque::{Deque, Slot, Steal};
//! use heist_sync::{Barrier, BarrierRequest};
//! use std::ptr::NonNull;
//!
//! struct Number;
//! let read = |slot: NonNull<Slot<Number>>| {
//!     // Sound: each pushed slot below holds a number, and this one was just taken.
//!     unsafe { Slot::payload(slot).cast::<u64>().read() }
//! };
//!
//! let deque = Deque::new(8, Barrier::new(BarrierRequest::Auto).unwrap()).unwrap();
//! // Sound: this is the only thread here.
//! let (owner, thief) = (unsafe { deque.owner() }, deque.thief());
//! for number in [1_u64, 2] {
//!     // Sound: the slot is vacant until it is written, and any thread may take a number.
//!     unsafe {
//!         let slot = owner.vacant();
//!         Slot::payload(slot).cast().write(number);
//!         let is_signalled = owner.push(slot, &Number);
//!         assert!(!is_signalled, "no thief has been here");
//!     }
//! }
//! // Sound: the claim copies the number, and so the slot may be used again.
//! let oldest = unsafe { thief.steal(|| true, |_, slot| read(slot)) };
//! assert_eq!(oldest, Steal::Success(1));
//! // Sound: as above.
//! let newest = unsafe { owner.pop_if(|_| true) };
//! assert_eq!(newest.map(|(_, slot)| read(slot)), Some(2));
//! ```

mod deque;
mod injector;
mod owner;
mod queue;
mod slot;
mod state;
mod thief;

pub use deque::Deque;
pub use injector::Injector;
pub use owner::Owner;
pub use queue::{Block, Queue};
pub use slot::{Slot, PAYLOAD};
pub use thief::{Steal, Thief};
