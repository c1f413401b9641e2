//! The profile of this process and its DAG: where they are to be written, and their end.

use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use heist_event::dag::Dag;
use heist_event::profile::Profile as Data;
use heist_sync::process::{self, Generation};
use heist_sync::ticks;

use crate::base::whole_file;
use crate::insight::dag::FLOOR_NS;
use crate::insight::gather::{self, Span};
use crate::insight::interference;
use crate::insight::meter;
use crate::insight::settings::Settings;
use crate::insight::site::Site;
use crate::insight::summary;

/// A variable that names a file without its ending, and the ending.
pub(crate) type Output = (&'static str, &'static str);

pub(crate) const PROFILE: Output = ("HEIST_PROFILE", ".json");
pub(crate) const DAG: Output = ("HEIST_DAG", ".dag.json");

/// The price of a steal.
pub(crate) const STEAL_NS: u64 = 4_000;

/// How long the counter of the processor is compared with the clock, at the start.
const COMPARISON_NS: u128 = 1_000_000;

/// A profile that is to be written, or a DAG, or both.
struct Profile {
    file: Option<PathBuf>,
    dag: Option<PathBuf>,
    born: Generation,
    began: Instant,
    began_ticks: u64,
    started: SystemTime,
    machine: interference::Beginning,
}

static WRITTEN: OnceLock<Profile> = OnceLock::new();

/// The values of `HEIST_PROFILE` and `HEIST_DAG`.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) profile: Option<&'a OsStr>,
    pub(crate) dag: Option<&'a OsStr>,
}

/// True if the pools of this process are metered. The first call begins the profile. A forked child
/// has none: the locks of meters may be held in it for ever.
///
/// # Errors
///
/// Says which of the files cannot be written, and why.
pub(crate) fn is_wanted(wanted: Wanted<'_>) -> Result<bool, (Output, String)> {
    static BEGINNING: Mutex<()> = Mutex::new(());
    if WRITTEN.get().is_some_and(|profile| profile.born.is_past()) {
        return Ok(false);
    }
    if wanted.profile.is_none() && wanted.dag.is_none() {
        return Ok(Settings::get().is_some());
    }
    let _beginning = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    if Settings::get().is_none() {
        begin(wanted)?;
    }
    Ok(true)
}

fn begin(wanted: Wanted<'_>) -> Result<(), (Output, String)> {
    let file = |output: Output, value: Option<&OsStr>| {
        let file = value.map(|value| whole_file::named(value, output.1));
        file.transpose().map_err(|why| (output, why))
    };
    let dag = file(DAG, wanted.dag)?;
    let file = file(PROFILE, wanted.profile)?;
    if !process::at_exit(write) {
        let why = "this system does not call the program when it ends".to_owned();
        return Err((if file.is_some() { PROFILE } else { DAG }, why));
    }
    let (began, began_ticks) = (Instant::now(), ticks());
    // Some value, by which it takes as long.
    let empty = meter::empty_strand(i64::from(dag.is_some()));
    while began.elapsed().as_nanos() < COMPARISON_NS {
        std::hint::spin_loop();
    }
    let per_ns = (ticks() - began_ticks) as f64 / began.elapsed().as_nanos() as f64;
    let floor = dag.as_ref().map_or(0.0, |_| FLOOR_NS as f64 * per_ns);
    let profile = Profile {
        file,
        dag,
        born: Generation::present(),
        began,
        began_ticks,
        started: SystemTime::now(),
        machine: interference::Beginning::now(),
    };
    let _ = WRITTEN.set(profile);
    let steal = (STEAL_NS as f64 * per_ns) as i64;
    Settings {
        is_virtual: false,
        empty,
        steal,
        floor: floor as i64,
    }
    .set();
    Ok(())
}

/// The profile of this process up to now, if it has one, without what the machine did.
pub(crate) fn so_far() -> Option<Data> {
    let profile = WRITTEN.get().filter(|profile| !profile.born.is_past());
    profile.map(Profile::gather)
}

impl Profile {
    fn gather(&self) -> Data {
        gather::gather(&Span {
            ticks: ticks() - self.began_ticks,
            ns: self.began.elapsed().as_nanos() as f64,
        })
    }

    /// The DAG of a process with this profile. The time of a strand is not less than nothing, and
    /// no path in a node longer than its work: the figures of short ones are right on average only.
    fn dag(&self, data: &Data) -> Dag {
        let now = ticks();
        let ticks = now - self.began_ticks;
        let per_tick = self.began.elapsed().as_nanos() as f64 / ticks.max(1) as f64;
        let (mut dag, dropped) = meter::take_dag(Some(now));
        let to_ns = |ticks: i64| (ticks.max(0) as f64 * per_tick).round() as i64;
        for node in &mut dag.nodes {
            node.work = to_ns(node.work);
            node.span = to_ns(node.span).min(node.work);
        }
        Dag {
            heist: data.heist.clone(),
            command: data.command.clone(),
            pid: data.pid,
            workers: data.workers,
            wall_ns: data.wall_ns,
            outside_ns: data.outside_ns,
            dropped_ns: dropped.map_or(0, |dropped| to_ns(dropped).max(1) as u64),
            sites: (Site::known().0.into_iter())
                .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
                .collect(),
            ..dag
        }
    }
}

/// Writes what is wanted, as the last thing that the process does.
fn write() {
    let Some(profile) = WRITTEN.get().filter(|profile| !profile.born.is_past()) else {
        return;
    };
    let mut data = profile.gather();
    let mut text = String::new();
    if let Some(file) = &profile.file {
        let started_unix = profile.started.duration_since(SystemTime::UNIX_EPOCH);
        data.started_unix_ms = started_unix.map_or(0, |time| time.as_millis() as u64);
        data.interference = profile.machine.taken_since();
        data.has_replaced = file.exists();
        text.push_str(&summary::of(&data));
        let written = whole_file::put(file, |out| out.write_all(data.to_json().as_bytes()));
        text.push_str(&told("profile", file, "", &written));
    }
    if let Some(file) = &profile.dag {
        let dag = profile.dag(&data);
        let written = whole_file::put(file, |out| {
            let mut out = BufWriter::new(out);
            dag.write(&mut out)?;
            out.flush()
        });
        let purpose = match dag.dropped_ns {
            0 => ", for `heist sim replay`",
            _ => ", but has no strands: it was to offer more jobs than there was room for",
        };
        text.push_str(&told("DAG", file, purpose, &written));
    }
    // There may be no standard error any more.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The line that says where a file is, or why it is nowhere.
fn told(what: &str, file: &Path, purpose: &str, written: &io::Result<()>) -> String {
    let file = whole_file::told(file);
    match written {
        Ok(()) => format!("heist: the {what} is in {file}{purpose}\n"),
        Err(error) => format!("heist: could not write the {what} to {file}: {error}\n"),
    }
}
