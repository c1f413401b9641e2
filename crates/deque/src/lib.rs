//! The work-stealing deque and the injector.
//!
//! Three nouns. The [`Owner`] of a deque pushes and pops at one end, as on a
//! stack. Any number of [`Thief`]s take the oldest item from the other end. An
//! [`Injector`] is the queue for everybody who owns no deque: nobody but the
//! owner ever pushes to a deque.
//!
//! An item is one machine word ([`Word`]): a `Box`, an `Arc`, a `&'static`, or
//! a pointer type of the caller's. The slots are ordinary atomic pointers, so
//! that no item is ever torn and every tool can see them.
//!
//! The indices, the races, the ordering of every access and the argument why
//! no item is lost or taken twice are in `README.md` beside this crate.
//!
//! # Examples
//!
//! A worker's way to find something to do: its own deque first, then the
//! victims' deques, then the injector.
//!
//! ```
//! use heist_deque::{deque, Injector, Owner, Steal, Thief};
//!
//! fn find(own: &Owner<Box<u32>>, victims: &[Thief<Box<u32>>], outside: &Injector<Box<u32>>) -> Option<Box<u32>> {
//!     if let Some(item) = own.pop() {
//!         return Some(item);
//!     }
//!     loop {
//!         let mut lost_a_race = false;
//!         for victim in victims {
//!             match victim.steal() {
//!                 Steal::Success(item) => return Some(item),
//!                 Steal::Retry => lost_a_race = true,
//!                 Steal::Empty => {}
//!             }
//!         }
//!         if !lost_a_race {
//!             return outside.take();
//!         }
//!     }
//! }
//!
//! let (own, _) = deque(8);
//! let (victim, thief) = deque(8);
//! let outside = Injector::new();
//! victim.push(Box::new(1));
//! outside.push(Box::new(2));
//! let thieves = [thief];
//! assert_eq!(find(&own, &thieves, &outside), Some(Box::new(1)));
//! assert_eq!(find(&own, &thieves, &outside), Some(Box::new(2)));
//! assert_eq!(find(&own, &thieves, &outside), None);
//! ```

mod buffer;
mod deque;
mod injector;
mod word;

pub use deque::{deque, Owner, Steal, Thief};
pub use injector::Injector;
pub use word::Word;

#[doc(hidden)]
pub use deque::deque_at;
