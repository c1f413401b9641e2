//! The command `heist run`, and what all commands of the program share: how they end, read
//! numbers, and write to a terminal.
//!
//! [`run`] executes real irregular work serially, with two strategies that need no runtime, and on
//! heist, and shows them side by side. It is a package of its own so that the first command that
//! somebody tries compiles in seconds; the whole program, `heist`, has it too.

#![forbid(unsafe_code)]

pub mod exit;
pub mod limited;
pub mod number;
pub mod progress;
pub mod run;
pub mod terminal;
pub mod usage;

mod machine;
mod strategy;
mod trace;
mod workload;
