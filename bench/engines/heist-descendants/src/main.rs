//! The workloads on heist with workers that wait for descendants only.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    engine_heist::run(heist::Waiting::Descendants)
}
