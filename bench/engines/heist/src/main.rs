//! The workloads on heist as it is by default.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    engine_heist::run(heist::Waiting::default())
}
