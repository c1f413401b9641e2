//! The value of `HEIST_SCHEDULE`, and the beginning of the deterministic mode of this process.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use heist_event::schedule::{Schedule, Wanted, ACCEPTED, HEAD};
use heist_sync::process::Generation;
use heist_sync::thread_state;

use super::baton::Baton;
use super::chooser::Rule;
use super::monitor;
use super::runner;
use crate::base::whole_file;

/// The rule, and the points behind which a runner blocks, if they are known.
type Asked = (Rule, Option<Vec<u64>>);

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
    let wanted = value.to_str().and_then(Wanted::parse);
    let (rule, blocks) = asked(wanted.ok_or_else(|| format!("accepted is {ACCEPTED}"))?)?;
    // The name of a file may hold anything, and goes to a terminal and into a line of a file.
    let told = whole_file::told(Path::new(value));
    if thread_state::present_thread().is_none() {
        return Err(
            "this system does not tell what its threads do, as Linux does; accepted is no value"
                .to_owned(),
        );
    }
    let mut record = None;
    if let Some(name) = env::var_os("HEIST_SCHEDULE_FILE") {
        let head = format!("{HEAD}\n# HEIST_SCHEDULE={told}\nrecorded\n");
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
    let baton = Baton::new(&rule, blocks, record, told);
    if runner::begin(baton) {
        monitor::start();
    }
    Ok(())
}

fn asked(wanted: Wanted<'_>) -> Result<Asked, String> {
    match wanted {
        Wanted::Default => Ok((Rule::Replay(Vec::new()), None)),
        Wanted::Random { seed } => Ok((Rule::Random { seed }, None)),
        Wanted::Pct { seed, depth } => Ok((Rule::Pct { seed, depth }, None)),
        Wanted::Replay { file } => read(file),
    }
}

fn read(name: &str) -> Result<Asked, String> {
    let text = fs::read_to_string(name).map_err(|error| error.to_string());
    let schedule = text.and_then(|text| Schedule::parse(&text));
    let schedule = schedule.map_err(|why| {
        format!("the schedule in {name:?} cannot be read: {why}; accepted is {ACCEPTED}")
    })?;
    Ok((Rule::Replay(schedule.deviations), schedule.blocks))
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let file = "/no/such/file";
        let error = asked(Wanted::Replay { file }).unwrap_err();
        assert!(
            error.contains("/no/such/file") && error.contains("replay:FILE"),
            "{error}"
        );
    }
}
