//! The stall watchdog (`HEIST_STALL`): says on standard error when nothing moves any more, and who
//! waits for whom.
//!
//! A pool *moves* when a job is taken, begins or ends, a worker comes by its deque, or a
//! thread in the program's code runs. It has *stalled* when nothing of it has moved for the time
//! that was asked for, and somebody waits: a frame for jobs, or a job for a worker. So a long job
//! is silent, and so is an idle pool. A thread that sleeps for a time of its own, or waits for a
//! file or a socket, has six times as long, since it may go on by itself.
//!
//! One thread watches all pools of the process. It kills nothing, and speaks once for each stall.
//! A pool that is not watched executes no instruction for it in a join, a push or a job from a
//! deque: `is_watched` (`worker/run.rs`) is the look for recorder, meter and watchdog together.
//!
//! | file | holds |
//! |---|---|
//! | `judge` | when a pool has stalled |
//! | `seen` | a pool as the watchdog sees it |
//! | `cycle` | who waits for whom |
//! | `text` | what is said |
//! | `watchdog` | the thread |

mod cycle;
mod judge;
mod seen;
mod text;
mod watchdog;

pub(crate) use watchdog::{describe, is_possible, present, watch};
