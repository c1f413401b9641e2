//! Deterministic mode (`HEIST_SCHEDULE`): of all threads that use heist one runs at a time, and a
//! seed or a file says which.
//!
//! Each worker's thread, and each thread outside that calls heist, is a *runner*. One of them has
//! the *baton* and runs. It changes hands only at *points*: where an operation begins, behind a
//! push, before a join takes its second closure back, where a job begins and where it ends, at each
//! round of a search, and where a runner waits. At a point the chooser picks the next runner; it
//! also picks where a thief looks first. Nothing else is left to chance: the time is the number of
//! points, and victims have an order. So a seed is a schedule, and a program that depends on
//! nothing else does the same again.
//!
//! A worker sleeps by its protocol as ever, and hands the baton on before. The one that wakes
//! a runner has the baton, and notes that the other may run.
//!
//! A thread that comes to heist, or comes back from something else that it has waited for, does so
//! at a time of its own. It takes part once all others wait, or, while there is work of another
//! thread from outside, when a runner that has work comes to a point. So it does not matter for how
//! long workers have searched in vain by then.
//!
//! A runner that blocks in the program's own code would keep the baton for ever. A thread, the
//! *monitor*, takes it away from one that waits in the system without a point. When such a runner
//! goes on, it runs beside the one that woke it until it comes to a point, for which that one waits
//! at its own next point.
//!
//! Off, nothing is executed for all this in a join, a push or a job from a deque: the workers of a
//! scheduled pool are hidden (`worker/current.rs`), their jobs are watched (`worker/run.rs`), and
//! they are signalled at each push. It explores who steals what, and when. It does not explore the
//! order in which processors see memory, nor races in the program: between two points a runner runs
//! without interruption.
//!
//! | file | holds |
//! |---|---|
//! | `chooser` | the choices, by a seed or a list |
//! | `pct` | priorities by a seed, which change a few times |
//! | `settings` | the value of the variable; its form is in `heist_event::schedule` |
//! | `baton` | the runners, and which of them runs |
//! | `monitor` | the thread that takes the baton away, and reports deadlocks |
//! | `runner` | the calling thread, as a runner |
//! | `check` | a test under one schedule after another |
//! | `trial` | its runs, in a process each |
//! | `inside` | the check within such a process |

mod baton;
mod check;
mod chooser;
mod inside;
mod monitor;
mod pct;
mod runner;
mod settings;
mod trial;

pub use check::{check, Check};

pub(crate) use baton::{Members, Point};
pub(crate) use monitor::watches;
pub(crate) use runner::{choose, goes_on, is_on, pass_time, point, stops, wakes};
pub(crate) use settings::wanted;

/// The code with which a process ends in which nothing can run any more.
pub(crate) const DEADLOCK: i32 = 86;
