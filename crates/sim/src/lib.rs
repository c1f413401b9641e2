//! Work stealing in a model: how a computation would run on any number of workers.
//!
//! Time goes in steps, as in the model of Arora, Blumofe and Plaxton ("Thread scheduling for
//! multiprogrammed multiprocessors", SPAA 1998): in each step each worker runs one unit of work or
//! tries one victim. Theory speaks of this model, so what it promises can be looked up in the
//! outcome; [`validate`] does. The choice of victims and the random numbers are those of the
//! runtime.
//!
//! A program that was recorded runs again in [`replay`], in nanoseconds and on any machine. Jobs
//! that move between machines are in `fleet`, on Unix systems, where clusters are.
//!
//! # Examples
//!
//! ```
//! use heist_sim::{simulate, Fib, Policy};
//!
//! let serial = simulate(&Fib(16), 1, &Policy::default(), 1);
//! assert_eq!(serial.steps, serial.work);
//!
//! let outcome = simulate(&Fib(16), 8, &Policy::default(), 1);
//! assert_eq!(outcome.work, serial.work);
//! assert!(outcome.steps >= outcome.span.max(outcome.work.div_ceil(8)));
//! // Each step of each worker was work or an attempt, but for the last step.
//! let spent = outcome.work + outcome.attempts;
//! assert!((8 * outcome.steps - spent) < 8);
//! ```

#![forbid(unsafe_code)]

pub mod balance;
#[cfg(unix)]
pub mod fleet;
mod policy;
mod recursion;
pub mod replay;
mod steps;
pub mod validate;

pub use policy::{End, Order, Policy, Source, Take, Victim};
pub use recursion::{Bag, Fib, Loop, Recursion, Uts};
pub use steps::{simulate, Outcome};
