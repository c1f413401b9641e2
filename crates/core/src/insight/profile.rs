//! The profile of this process: where it is to be written, and its end.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use heist_event::profile::Profile as Data;
use heist_sync::process::{self, Generation};
use heist_sync::ticks;

use crate::base::whole_file;
use crate::insight::gather::{self, Span};
use crate::insight::interference;
use crate::insight::meter;
use crate::insight::settings::Settings;
use crate::insight::summary;

/// The ending of the name of its file.
pub(crate) const ENDING: &str = ".json";

/// The price of a steal.
pub(crate) const STEAL_NS: u64 = 4_000;

/// How long the counter of the processor is compared with the clock, at the start.
const COMPARISON_NS: u128 = 1_000_000;

/// A profile that is to be written.
struct Profile {
    file: PathBuf,
    born: Generation,
    began: Instant,
    began_ticks: u64,
    started: SystemTime,
    machine: interference::Beginning,
}

static PROFILE: OnceLock<Profile> = OnceLock::new();

/// True if the pools of this process are metered: `value` is that of `HEIST_PROFILE`. The first
/// call begins the profile. A forked child has none: the locks of meters may be held in it for
/// ever.
///
/// # Errors
///
/// Says why a profile cannot be written there.
pub(crate) fn is_wanted(value: Option<&OsStr>) -> Result<bool, String> {
    static BEGINNING: Mutex<()> = Mutex::new(());
    if PROFILE.get().is_some_and(|profile| profile.born.is_past()) {
        return Ok(false);
    }
    let Some(value) = value else {
        return Ok(Settings::get().is_some());
    };
    let _beginning = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    if Settings::get().is_none() {
        begin(value)?;
    }
    Ok(true)
}

fn begin(value: &OsStr) -> Result<(), String> {
    let file = whole_file::named(value, ENDING)?;
    if !process::at_exit(write) {
        return Err("this system does not call the program when it ends".to_owned());
    }
    let (began, began_ticks) = (Instant::now(), ticks());
    let empty = meter::empty_strand();
    while began.elapsed().as_nanos() < COMPARISON_NS {
        std::hint::spin_loop();
    }
    let per_ns = (ticks() - began_ticks) as f64 / began.elapsed().as_nanos() as f64;
    let profile = Profile {
        file,
        born: Generation::present(),
        began,
        began_ticks,
        started: SystemTime::now(),
        machine: interference::Beginning::now(),
    };
    let _ = PROFILE.set(profile);
    let steal = (STEAL_NS as f64 * per_ns) as i64;
    Settings {
        is_virtual: false,
        empty,
        steal,
    }
    .set();
    Ok(())
}

/// The profile of this process up to now, if it has one, without what the machine did.
pub(crate) fn so_far() -> Option<Data> {
    let profile = PROFILE.get().filter(|profile| !profile.born.is_past());
    profile.map(Profile::gather)
}

impl Profile {
    fn gather(&self) -> Data {
        gather::gather(&Span {
            ticks: ticks() - self.began_ticks,
            ns: self.began.elapsed().as_nanos() as f64,
        })
    }
}

/// Writes the profile, as the last thing that the process does.
fn write() {
    let Some(profile) = PROFILE.get().filter(|profile| !profile.born.is_past()) else {
        return;
    };
    let started_unix = profile.started.duration_since(SystemTime::UNIX_EPOCH);
    let mut data = profile.gather();
    data.started_unix_ms = started_unix.map_or(0, |time| time.as_millis() as u64);
    data.interference = profile.machine.taken_since();
    let file = &profile.file;
    let written = whole_file::put(file, |out| out.write_all(data.to_json().as_bytes()));
    let mut text = summary::of(&data);
    match written {
        Ok(()) => text.push_str(&format!(
            "heist: the profile is in {}\n",
            whole_file::told(file)
        )),
        Err(error) => text.push_str(&format!(
            "heist: could not write the profile to {}: {error}\n",
            whole_file::told(file)
        )),
    }
    // There may be no standard error any more.
    let _ = io::stderr().write_all(text.as_bytes());
}
