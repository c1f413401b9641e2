//! Chaos: calls and jobs on a cluster of which parts are killed, stopped, cut off and starved, by a
//! seed.
//!
//! `cargo lab cluster chaos` starts this program. It goes round by round: each has a driver, a
//! process of its own with the cluster, whose jobs are in a store ([`drive`]). While it works,
//! workers and nodes are killed, stopped and cut off, the driver too, and its disk is slow or full
//! ([`faults`]). Then there is calm, and everything must come to an end: every call has its result
//! or a reason, every job its result, exactly and once; and nothing is left ([`left`]).

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod left;
#[cfg(target_os = "linux")]
mod round;

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A worker comes back from here never.
    heist_cluster::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = run(&arguments);
    done.unwrap_or_else(|why| {
        // The caller may have closed it.
        let _ = writeln!(std::io::stderr(), "chaos: {why}");
        ExitCode::FAILURE
    })
}

#[cfg(not(target_os = "linux"))]
fn run(_: &[String]) -> Result<ExitCode, String> {
    Err("processes are found as Linux shows them".to_owned())
}

#[cfg(target_os = "linux")]
fn run(arguments: &[String]) -> Result<ExitCode, String> {
    use heist_cluster_suite::chaos::Place;

    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| {
        let parsed = text.parse::<u64>();
        parsed.map_err(|_| format!("'{text}' is no whole number"))
    };
    match arguments.as_slice() {
        ["drive", place, folder, seed] => {
            let driven = drive::drive(Place::parse(place)?, folder.as_ref(), number(seed)?);
            driven.or_else(drive::cut_off)
        }
        ["audit", folder, seed] => drive::audit(folder.as_ref(), number(seed)?),
        [place, seconds, seed, report] => {
            let place = Place::parse(place)?;
            round::run(place, number(seconds)?, number(seed)?, report.as_ref())
        }
        other => Err(format!(
            "it was called with {other:?}, accepted is BACKEND SECONDS SEED REPORT; `cargo lab \
             cluster chaos` does it"
        )),
    }
}
