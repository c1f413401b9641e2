//! The tests that every engine passes: remote functions and jobs, and what must be true of
//! them, whatever the engine.
//!
//! Each program in `tests/` connects to one engine and runs the same [`calls`].

pub mod calls;
mod work;

heist_cluster::export!();
