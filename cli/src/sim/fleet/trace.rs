//! A public trace as it is read: its jobs and machines in common terms, and what was left out.

use std::path::PathBuf;
use std::str::FromStr;

use heist_sim::fleet::dag::Tasks;

use super::skips::{Fault, Skips};

/// The latest time of a trace, and the longest that anything lasts: 400 days.
pub(super) const SECONDS_MAX: f64 = 400.0 * 86_400.0;
/// The most CPUs of a job or a machine.
pub(super) const CPUS_MAX: f64 = 1e5;

/// The form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Google,
    Alibaba,
    Azure,
    Packing,
}

impl Format {
    const ALL: [(&'static str, Self); 4] = [
        ("google", Self::Google),
        ("alibaba", Self::Alibaba),
        ("azure", Self::Azure),
        ("packing", Self::Packing),
    ];

    fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(_, format)| *format == self)
            .map_or("", |(name, _)| name)
    }

    /// The CPUs and GiB of a machine of which the trace says nothing.
    pub(super) fn machine(self) -> (f64, f64) {
        match self {
            Self::Google | Self::Packing => (64.0, 256.0),
            Self::Alibaba => (96.0, 512.0),
            Self::Azure => (64.0, 512.0),
        }
    }
}

/// A file, and the form in which it is.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) format: Format,
    pub(super) path: PathBuf,
}

impl Input {
    pub(super) fn title(&self) -> String {
        format!("{}:{}", self.format.name(), self.path.display())
    }
}

impl FromStr for Input {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let accepted = || {
            let names = Format::ALL.map(|(name, _)| name).join(", ");
            format!("accepted is FORMAT:FILE, where FORMAT is one of {names}, and FILE may be -")
        };
        let (name, path) = given.split_once(':').ok_or_else(accepted)?;
        let found = Format::ALL.iter().find(|(known, _)| *known == name);
        let (_, format) = found.ok_or_else(accepted)?;
        if path.is_empty() {
            return Err(accepted());
        }
        Ok(Self {
            format: *format,
            path: path.into(),
        })
    }
}

/// The part of a trace that is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from_s: f64,
    pub(super) span_s: Option<f64>,
    pub(super) limit: u64,
}

impl Window {
    pub(super) fn end_s(&self) -> f64 {
        self.span_s.map_or(f64::INFINITY, |span| self.from_s + span)
    }
}

/// A job in common terms; times are seconds of the trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) start_s: f64,
    /// Without it the trace knows nothing of the end.
    pub(super) end_s: Option<f64>,
    /// Whether it lasted longer than until its end here.
    pub(super) is_censored: bool,
    /// CPUs that were asked for, and that were used, if that is known.
    pub(super) cpus: f64,
    pub(super) used_cpus: Option<f64>,
    pub(super) memory_gib: f64,
    pub(super) priority: u8,
    pub(super) task: Option<u32>,
    pub(super) machine: Option<i64>,
}

/// A machine in common terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Machine {
    pub(super) id: i64,
    pub(super) cpus: f64,
    pub(super) memory_gib: f64,
    pub(super) rack: u32,
    /// From when to when it is gone, in seconds of the trace.
    pub(super) down: Vec<(f64, f64)>,
}

/// All that was read.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) format: Format,
    pub(super) window: Window,
    pub(super) entries: Vec<Entry>,
    pub(super) tasks: Tasks,
    pub(super) machines: Vec<Machine>,
    pub(super) rows: u64,
    /// Rows that were left out.
    pub(super) skipped: Skips,
    /// Rows that were kept, but not as they are.
    pub(super) changed: Skips,
    /// The latest time that a row had.
    pub(super) last_s: f64,
    /// Whether the limit ended the reading.
    pub(super) is_cut: bool,
}

impl Trace {
    pub(super) fn new(format: Format, window: Window) -> Self {
        Self {
            format,
            window,
            entries: Vec::new(),
            tasks: Tasks::default(),
            machines: Vec::new(),
            rows: 0,
            skipped: Skips::default(),
            changed: Skips::default(),
            last_s: 0.0,
            is_cut: false,
        }
    }

    /// Whether there is no room for another job.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() as u64 >= self.window.limit
    }

    /// Adds the job if it has a part in the window; counts it if not.
    pub(super) fn push_if_wanted(&mut self, place: &str, entry: Entry) {
        if self.wants(place, entry.start_s, entry.end_s) {
            self.entries.push(entry);
        }
    }

    /// Whether a job that lasts so long has a part in the window; counts it if not.
    pub(super) fn wants(&mut self, place: &str, start_s: f64, end_s: Option<f64>) -> bool {
        self.last_s = self.last_s.max(start_s).max(end_s.unwrap_or(0.0));
        if start_s >= self.window.end_s() {
            self.skipped
                .add(place, "it begins after the time that is simulated");
            return false;
        }
        if end_s.is_some_and(|end_s| end_s <= self.window.from_s) && self.window.from_s > 0.0 {
            self.skipped
                .add(place, "it ends before the time that is simulated");
            return false;
        }
        true
    }
}

/// A number in a field.
pub(super) fn number(
    field: &'static str,
    cell: &str,
    range: std::ops::RangeInclusive<f64>,
    accepted: &'static str,
) -> Result<f64, Fault> {
    let number = cell.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| Fault::new(field, cell, accepted))
}

/// A time in a field, in seconds.
pub(super) fn time(field: &'static str, cell: &str) -> Result<f64, Fault> {
    number(
        field,
        cell,
        0.0..=SECONDS_MAX,
        "a time in seconds, from 0 to 400 days",
    )
}
