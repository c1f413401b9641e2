//! The report page of a run, from its events.

use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

use anyhow::Context as _;
use heist_observe::fleet::{self, AttemptEnd, Fleet, Stretch, Usage};
use heist_observe::Fact;

use super::events::Reader;
use super::folder::RunFolder;
use super::history::{open_attempt, History};
use super::run_state::RunState;

/// The most measurements of a machine on a page. Neighbours are merged until they fit.
const USAGE_MAX: usize = 2000;

/// The most decisions on a page: the last ones, and all moves.
const DECISIONS_MAX: usize = 500;

/// Writes the page about the run in `folder`.
pub(super) fn write(folder: &RunFolder, path: &Path) -> anyhow::Result<()> {
    let html = html(folder)?;
    // A pipe has no other file in its place, and a folder may admit no new one.
    replace(path, &html)
        .or_else(|_| fs::write(path, &html))
        .with_context(|| format!("cannot write the report to {}", path.display()))
}

/// The same while the run goes on, unless something other than a file is at `path`.
pub(super) fn write_live(folder: &RunFolder, path: &Path) -> anyhow::Result<()> {
    Ok(replace(path, &html(folder)?)?)
}

/// Puts a file in the place of the one at `path`, so that a reader finds a whole one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // Not by a link: `/dev/stdout` is one.
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => return Err(io::Error::other("it is no file")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let replaced = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        // It may not have been begun.
        let _ = fs::remove_file(&beside);
    }
    replaced
}

/// The page about the run in `folder`, as far as it has come.
fn html(folder: &RunFolder) -> anyhow::Result<String> {
    let mut reader = Reader::open(&folder.events())?;
    let mut state = RunState::with_history();
    for event in reader.read()? {
        state.take(&event);
    }
    let mut fleet = finish(state);
    if reader.not_understood > 0 {
        fleet.notes.push(format!(
            "{} lines of the run's events could not be understood and are not shown.",
            reader.not_understood
        ));
    }
    Ok(fleet::html(&format!("run {}", folder.name()), &fleet))
}

/// All of the run's history, for the page.
fn finish(mut state: RunState) -> Fleet {
    let mut history = state.take_history();
    let now_ms = history.now_ms;
    for machine in history.gone.clone().into_keys() {
        history.back(machine);
    }
    for attempt in history.fleet.jobs.iter_mut().filter_map(open_attempt) {
        attempt.stretch.end_ms = now_ms;
    }
    if state.is_driven() {
        let note = "The run is not over, or its driver was lost: this is how far it has come.";
        history.fleet.notes.push(note.to_owned());
    }
    history.facts(&state);
    history.thin();
    history.sort_machines();
    history.fleet.wall_ms = now_ms;
    history.fleet
}

impl History {
    fn facts(&mut self, state: &RunState) {
        let fleet = &self.fleet;
        let count = |end: AttemptEnd| {
            let attempts = fleet.jobs.iter().flat_map(|job| &job.attempts);
            attempts.filter(|attempt| attempt.end == end).count()
        };
        let came = fleet.moves.iter();
        let came: Vec<_> = came
            .filter_map(|moved| moved.outcome.as_ref()?.as_ref().ok())
            .collect();
        let standstill_ms: u64 = came.iter().map(|moved| moved.standstill_ms).sum();
        let failed = fleet.jobs.iter().filter(|job| job.is_failed).count();
        let mut facts = vec![
            ("began", local_time(state.began_ms)),
            ("backend", state.backend.clone()),
            ("took", format!("{:.1} s", self.now_ms as f64 / 1e3)),
            ("machines", fleet.machines.len().to_string()),
            ("jobs", fleet.jobs.len().to_string()),
            ("jobs done", count(AttemptEnd::Done).to_string()),
            ("moves", came.len().to_string()),
            ("standstill in all", format!("{standstill_ms} ms")),
            ("attempts at jobs lost", count(AttemptEnd::Lost).to_string()),
        ];
        let done = state.calls.done + state.calls_before.done;
        let lost = state.calls.lost + state.calls_before.lost;
        for (label, count) in [
            ("jobs without a result", failed as u64),
            ("calls done", done),
            ("attempts at calls lost", lost),
        ] {
            if count > 0 {
                facts.push((label, count.to_string()));
            }
        }
        let fact = |(label, value): (&str, String)| Fact {
            label: label.to_owned(),
            value,
        };
        self.fleet.facts = facts.into_iter().map(fact).collect();
    }

    /// Drops more than any screen can show.
    fn thin(&mut self) {
        for machine in &mut self.fleet.machines {
            while machine.usage.len() > USAGE_MAX {
                machine.usage = machine.usage.chunks(2).flat_map(together).collect();
            }
        }
        let decisions = &mut self.fleet.decisions;
        let quiet = decisions
            .iter()
            .filter(|decision| !decision.is_move)
            .count();
        let mut excess = quiet.saturating_sub(DECISIONS_MAX);
        if excess > 0 {
            self.fleet.notes.push(format!(
                "Of the decisions to move nothing, the first {excess} are not shown."
            ));
        }
        decisions.retain(|decision| {
            let is_kept = decision.is_move || excess == 0;
            excess -= usize::from(!is_kept);
            is_kept
        });
    }

    /// Puts the machines in the order of their names, n2 before n10.
    fn sort_machines(&mut self) {
        let fleet = &mut self.fleet;
        let mut order: Vec<usize> = (0..fleet.machines.len()).collect();
        order.sort_by_key(|&at| {
            let name = &fleet.machines[at].name;
            let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
            let (word, number) = name.split_at(name.len() - digits);
            (word.to_owned(), number.parse::<u64>().ok(), at)
        });
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        fleet.machines = order.iter().map(|&at| fleet.machines[at].clone()).collect();
        for attempt in fleet.jobs.iter_mut().flat_map(|job| &mut job.attempts) {
            attempt.machine = place[attempt.machine];
        }
        for moved in &mut fleet.moves {
            moved.from = moved.from.map(|from| place[from]);
            moved.to = place[moved.to];
        }
    }
}

/// The local time; empty before the first event.
fn local_time(unix_ms: u64) -> String {
    let at = i64::try_from(unix_ms).ok().filter(|ms| *ms > 0);
    let at = at.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| {
        let here = at.to_zoned(jiff::tz::TimeZone::system());
        here.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
    })
}

/// Two neighbours as one.
fn together(pair: &[Usage]) -> Vec<Usage> {
    let [first, second] = pair else {
        return pair.to_vec();
    };
    let stretch = Stretch {
        begin_ms: first.stretch.begin_ms,
        end_ms: second.stretch.end_ms,
    };
    let length = |usage: &Usage| (usage.stretch.end_ms - usage.stretch.begin_ms) as f64;
    let share = match (first.share, second.share) {
        (Some(one), Some(other)) => {
            let sum = one * length(first) + other * length(second);
            Some(sum / (length(first) + length(second)).max(1.0))
        }
        // A moment without data gets no entry of its own.
        (one, other) => one.or(other),
    };
    vec![Usage {
        stretch,
        share,
        note: if share.is_none() {
            first.note.clone()
        } else {
            String::new()
        },
    }]
}

#[cfg(test)]
mod tests;
