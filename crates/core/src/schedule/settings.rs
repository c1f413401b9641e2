//! The value of `HEIST_SCHEDULE`, and the beginning of the deterministic mode of this process.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use heist_sync::process::Generation;
use heist_sync::thread_state;

use super::baton::Baton;
use super::chooser::Rule;
use super::file::{self, Schedule};
use super::monitor;
use super::pct::DEPTH_MAX;
use super::runner;

/// The values that are accepted.
const ACCEPTED: &str =
    "random:SEED with a whole number from 0 to 18446744073709551615, pct:SEED:d=DEPTH with a depth \
     from 1 to 1000, or replay:FILE with the name of a file in which a schedule was recorded";

/// The schedule that was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    rule: Rule,
    /// The points behind which a runner blocks, if they are known.
    blocks: Option<Vec<u64>>,
}

/// True if the pools of this process are scheduled: `value` is that of `HEIST_SCHEDULE`. The first
/// call begins the schedule. A forked child has none: its runners are the parent's.
///
/// # Errors
///
/// Says why there is no such schedule, and what would be accepted.
pub(crate) fn wanted(value: Option<&OsStr>) -> Result<bool, String> {
    static BEGINNING: Mutex<Option<Generation>> = Mutex::new(None);
    let Some(value) = value else {
        return Ok(runner::is_on());
    };
    if runner::is_past() {
        return Ok(false);
    }
    let mut began = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    if began.is_none() {
        begin(value)?;
        *began = Some(Generation::present());
    }
    Ok(runner::is_on())
}

fn begin(value: &OsStr) -> Result<(), String> {
    let text = value.to_str();
    let wanted = text
        .and_then(parse)
        .ok_or_else(|| format!("accepted is {ACCEPTED}"))??;
    if thread_state::present_thread().is_none() {
        return Err(
            "this system does not tell what its threads do, as Linux does; accepted is no value"
                .to_owned(),
        );
    }
    let mut record = None;
    if let Some(name) = env::var_os("HEIST_SCHEDULE_FILE") {
        let head = format!(
            "{}\n# HEIST_SCHEDULE={}\nrecorded\n",
            file::HEAD,
            value.to_string_lossy()
        );
        let made = File::create(&name).and_then(|mut file| {
            file.write_all(head.as_bytes())?;
            Ok(file)
        });
        record = Some(made.map_err(|error| {
            format!(
                "the schedule cannot be written to {name:?}, as HEIST_SCHEDULE_FILE says: {error}; \
                 accepted there is the name of a file that can be made"
            )
        })?);
    }
    let told = value.to_string_lossy().into_owned();
    let baton = Baton::new(&wanted.rule, wanted.blocks, record, told);
    if runner::begin(baton) {
        monitor::start();
    }
    Ok(())
}

/// `None` if it is malformed, and an error if its file is.
fn parse(text: &str) -> Option<Result<Wanted, String>> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        "random" => {
            let rule = Rule::Random {
                seed: rest.parse().ok()?,
            };
            Some(Ok(Wanted { rule, blocks: None }))
        }
        "pct" => {
            let (seed, depth) = rest.split_once(":d=")?;
            let (seed, depth) = (seed.parse().ok()?, depth.parse().ok()?);
            let rule = Rule::Pct { seed, depth };
            let is_accepted = (1..=DEPTH_MAX).contains(&depth);
            is_accepted.then_some(Ok(Wanted { rule, blocks: None }))
        }
        "replay" if !rest.is_empty() => Some(read(rest)),
        _ => None,
    }
}

fn read(name: &str) -> Result<Wanted, String> {
    let text = fs::read_to_string(name).map_err(|error| error.to_string());
    let Schedule { deviations, blocks } =
        text.and_then(|text| file::parse(&text)).map_err(|why| {
            format!("the schedule in {name:?} cannot be read: {why}; accepted is {ACCEPTED}")
        })?;
    Ok(Wanted {
        rule: Rule::Replay(deviations),
        blocks,
    })
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_whole_number() {
        let rule = Rule::Random { seed: 17 };
        let wanted = Wanted { rule, blocks: None };
        assert_eq!(parse("random:17"), Some(Ok(wanted)));
        let rule = Rule::Pct { seed: 3, depth: 4 };
        let wanted = Wanted { rule, blocks: None };
        assert_eq!(parse("pct:3:d=4"), Some(Ok(wanted)));
        for text in [
            "",
            "1",
            "random",
            "random:",
            "random:x",
            "random:-1",
            "pct:1",
            "pct:1:3",
            "pct:1:d=0",
            "pct:1:d=1001",
            "pct:x:d=3",
            "replay:",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = parse("replay:/no/such/file").unwrap().unwrap_err();
        assert!(
            error.contains("/no/such/file") && error.contains("replay:FILE"),
            "{error}"
        );
    }
}
