//! Insight: what the profile of a run is made of (`HEIST_PROFILE`), and its timeline.
//!
//! A worker of a pool that is *metered* is not in `CURRENT` (`worker/current.rs`), so that every
//! operation takes the way of a caller from outside, and finds there that the thread has a *meter*.
//! A pool that is not metered executes no instruction for this.
//!
//! The span is a clock that goes along with the jobs: a job begins at the *path* of whoever offered
//! it, and whoever waits for it goes on at the later of both ends. Nothing else is kept of the
//! program's shape.
//!
//! | file | holds |
//! |---|---|
//! | `clock`, `settings` | the time, and what the measurement itself takes |
//! | `site`, `tally` | where jobs are made, and what is counted there |
//! | `path`, `latest` | how far a thread has come; the latest of several |
//! | `meter` | what a thread measures |
//! | `dag` | its strands, each behind others |
//! | `call`, `pieces` | the frames of joins, calls and loops |
//! | `idle`, `interference` | where the time of workers went; what the machine took |
//! | `gather`, `summary`, `profile` | all of it as data, and in some lines; the file at the end |
//! | `timeline` | the recorded events of all pools, and their file (`HEIST_TIMELINE`) |
//! | `measured` | one call, for tests |

pub(crate) mod call;
pub(crate) mod clock;
pub(crate) mod dag;
mod gather;
pub(crate) mod idle;
pub(crate) mod interference;
pub(crate) mod latest;
mod measured;
pub(crate) mod meter;
pub(crate) mod path;
pub(crate) mod pieces;
pub(crate) mod profile;
mod settings;
pub(crate) mod site;
mod summary;
mod tally;
pub(crate) mod timeline;

pub use clock::pass;
pub use measured::{measured, stop_clock, Measured};
pub use pieces::Loop;
