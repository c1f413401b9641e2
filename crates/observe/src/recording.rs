//! The timeline that a process writes when `HEIST_TIMELINE` is set, as it is read back.
//!
//! The process writes it by hand, so that no program carries a JSON library for it. Fields that
//! this reader does not know are left out.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use heist_event::{Event, EventKind, WorkerEvents, WorkerId};
use serde::Deserialize;

use crate::{fold, syntax, Run};

/// The version of the file that is read here.
const VERSION: u64 = 1;

/// The runs of the pools of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recording {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// From when the first pool was built to the end of the process.
    pub wall_ns: u64,
    /// A run for each pool, in the order in which they were built; each counts from its own begin.
    pub runs: Vec<Run>,
    /// When each was built, since the first one was.
    pub begins_ns: Vec<u64>,
    /// How many more pools there were, which the process has left out.
    pub other_pools: u64,
}

impl Recording {
    /// True if the text claims to be a timeline; one that is cut off does so at its begin.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_observe::recording::Recording;
    ///
    /// assert!(!Recording::is_in(r#"{"heist_profile": 1}"#));
    /// assert!(Recording::is_in(r#"{"heist_timeline": 1, "wall_n"#));
    /// ```
    #[must_use]
    pub fn is_in(text: &str) -> bool {
        let begin = text.trim_start().strip_prefix('{');
        begin.is_some_and(|begin| begin.trim_start().starts_with("\"heist_timeline\""))
            || serde_json::from_str::<Version>(text).is_ok_and(|it| it.heist_timeline.is_some())
    }

    /// Reads the text of a timeline. The names of its jobs stay in memory for good, each once.
    ///
    /// # Errors
    ///
    /// Fails if the text is no timeline, is one of another version, or if a field has a value that
    /// cannot be; the error says which.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_observe::recording::Recording;
    ///
    /// let text = r#"{"heist_timeline": 1, "wall_ns": 90, "names": ["app::sum"], "pools": [
    ///     {"began_ns": 0, "ended_ns": 90, "workers": [
    ///         {"dropped": 0, "events": [[10, "begin", 0], [70, "end"]]}]}]}"#;
    /// let recording = Recording::parse(text)?;
    /// assert_eq!(recording.runs[0].lanes[0].spans[0].label, "app::sum");
    /// # Ok::<(), heist_observe::recording::RecordingError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let refuse = |why: String| RecordingError(why);
        let version: Version =
            serde_json::from_str(text).map_err(|error| refuse(refusal(text, &error)))?;
        match version.heist_timeline {
            None => return Err(refuse("it has no field `heist_timeline`".to_owned())),
            Some(version) if version.as_u64() != Some(VERSION) => {
                return Err(refuse(format!(
                    "it has version {version}, and this heist reads version {VERSION}"
                )));
            }
            Some(_) => {}
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let file: File = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| refuse(syntax::in_field(&error)))?;
        let mut known = HashMap::new();
        let names = file.names.iter().map(|name| kept(&mut known, name));
        let names: Vec<&'static str> = names.collect();
        let mut recording = Self {
            command: file.command,
            wall_ns: file.wall_ns,
            other_pools: file.other_pools,
            ..Self::default()
        };
        for (number, pool) in file.pools.iter().enumerate() {
            let run = pool.run(number, &names);
            recording
                .runs
                .push(run.map_err(|why| refuse(format!("pools[{number}]: {why}")))?);
            recording.begins_ns.push(pool.began_ns);
        }
        Ok(recording)
    }

    /// The runs by one clock, that of the process.
    #[must_use]
    pub fn on_one_clock(&self) -> Vec<Run> {
        let mut runs = self.runs.clone();
        for (run, &begin_ns) in runs.iter_mut().zip(&self.begins_ns) {
            run.wall_ns += begin_ns;
            run.steals.iter_mut().for_each(|it| it.at_ns += begin_ns);
            for lane in &mut run.lanes {
                if lane.unknown_until_ns > 0 {
                    lane.unknown_until_ns += begin_ns;
                }
                for span in &mut lane.spans {
                    span.begin_ns += begin_ns;
                    span.end_ns += begin_ns;
                }
            }
        }
        runs
    }
}

/// The error about a text that is no JSON.
fn refusal(text: &str, error: &serde_json::Error) -> String {
    let why = syntax::fault(text, error);
    match Recording::is_in(text) {
        true => why,
        false => format!("it is no timeline of heist: {why}"),
    }
}

/// The reason why a text cannot be used as a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingError(String);

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for RecordingError {}

#[derive(Deserialize)]
struct Version {
    heist_timeline: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    command: Vec<String>,
    wall_ns: u64,
    #[serde(default)]
    other_pools: u64,
    names: Vec<String>,
    pools: Vec<Pool>,
}

#[derive(Deserialize)]
struct Pool {
    began_ns: u64,
    ended_ns: u64,
    workers: Vec<Worker>,
}

#[derive(Deserialize)]
struct Worker {
    dropped: u64,
    events: Vec<Recorded>,
}

/// The time, the kind, and the place of a name or the victim.
#[derive(Deserialize)]
struct Recorded(u64, Kind, #[serde(default)] Option<usize>);

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Begin,
    End,
    Steal,
    Submitted,
    Search,
    SearchEnd,
    Sleep,
    Wake,
}

impl Pool {
    fn run(&self, number: usize, names: &[&'static str]) -> Result<Run, String> {
        let (began_ns, ended_ns) = (self.began_ns, self.ended_ns);
        // The sums of both stay far below the end of the type.
        if ended_ns < began_ns || ended_ns > i64::MAX as u64 {
            return Err(format!("it began at {began_ns} and ended at {ended_ns}"));
        }
        let workers = self.workers.len();
        let events = self.workers.iter().map(|it| it.events(workers, names));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let wall_ns = ended_ns - began_ns;
        let plural = if workers == 1 { "" } else { "s" };
        Ok(Run {
            name: format!("pool {number}, {workers} worker{plural}"),
            wall_ns,
            ..Run::from(fold(&events, 0..wall_ns))
        })
    }
}

impl Worker {
    fn events(&self, workers: usize, names: &[&'static str]) -> Result<WorkerEvents, String> {
        let mut events = WorkerEvents {
            dropped: self.dropped,
            ..WorkerEvents::default()
        };
        for &Recorded(at_ns, kind, of) in &self.events {
            let name = match (kind, of) {
                (Kind::Begin, Some(place)) => names.get(place).copied().ok_or_else(|| {
                    format!("a job has the name {place}, and there are {}", names.len())
                })?,
                _ => "",
            };
            let kind = match kind {
                Kind::Begin => EventKind::JobBegin,
                Kind::End => EventKind::JobEnd,
                Kind::Steal => EventKind::Steal {
                    victim: victim(of, workers)?,
                },
                Kind::Submitted => EventKind::Injected,
                Kind::Search => EventKind::SearchBegin,
                Kind::SearchEnd => EventKind::SearchEnd,
                Kind::Sleep => EventKind::Sleep,
                Kind::Wake => EventKind::Wake,
            };
            events.events.push(Event { at_ns, kind });
            events.names.push(name);
        }
        Ok(events)
    }
}

fn victim(index: Option<usize>, workers: usize) -> Result<WorkerId, String> {
    let index = index.ok_or("a steal has no victim")?;
    if index >= workers || u16::try_from(index).is_err() {
        return Err(format!("a steal is from worker {index} of {workers}"));
    }
    Ok(WorkerId::new(index))
}

/// The name, in memory for good.
fn kept(known: &mut HashMap<String, &'static str>, name: &str) -> &'static str {
    if let Some(kept) = known.get(name) {
        return kept;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    known.insert(name.to_owned(), kept);
    kept
}

#[cfg(test)]
mod tests {
    use heist_event::recording::{RecordedPool, Recording as Written};

    use super::*;

    /// Each kind of event, on two workers.
    fn written() -> Written {
        let at = |at_ns, kind| Event { at_ns, kind };
        let victim = WorkerId::new(0);
        let first = WorkerEvents {
            events: vec![
                at(1, EventKind::Injected),
                at(2, EventKind::JobBegin),
                at(30, EventKind::JobEnd),
            ],
            names: vec!["", "app::\"sum\"\u{1b}", ""],
            dropped: 0,
        };
        let second = WorkerEvents {
            events: vec![
                at(3, EventKind::SearchBegin),
                at(4, EventKind::Sleep),
                at(9, EventKind::Wake),
                at(10, EventKind::Steal { victim }),
                at(11, EventKind::SearchEnd),
                at(12, EventKind::JobBegin),
                at(20, EventKind::JobEnd),
            ],
            names: Vec::new(),
            dropped: 2,
        };
        let pool = RecordedPool {
            began_ns: 100,
            ended_ns: 150,
            workers: vec![first, second],
        };
        Written {
            command: vec!["app".to_owned(), "\\ü".to_owned()],
            wall_ns: 200,
            pools: vec![RecordedPool::default(), pool],
            other_pools: 3,
            ..Written::default()
        }
    }

    fn text(written: &Written) -> String {
        let mut out = Vec::new();
        written.write(&mut out).expect("room");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn all_that_is_written_is_read_back() {
        let written = written();
        let text = text(&written);
        assert!(Recording::is_in(&text));
        let read = Recording::parse(&text).expect("a timeline");
        assert_eq!(read.command, written.command);
        assert_eq!((read.wall_ns, read.other_pools), (200, 3));
        assert_eq!(read.begins_ns, [0, 100]);
        assert!(read.runs[0].lanes.is_empty());
        let pool = &written.pools[1];
        let run = Run {
            name: "pool 1, 2 workers".to_owned(),
            wall_ns: 50,
            ..Run::from(fold(&pool.workers, 0..50))
        };
        assert_eq!(read.runs[1], run);
        let moved = &read.on_one_clock()[1];
        assert_eq!(moved.steals[0].at_ns, 110);
        assert_eq!(moved.lanes[0].spans[0].begin_ns, 102);
        assert_eq!(moved.lanes[1].unknown_until_ns, 103);
    }

    #[test]
    fn a_text_that_cannot_be_used_is_refused_with_the_reason() {
        let pool = |began: u64, event: &str| {
            format!(
                r#"{{"heist_timeline": 1, "wall_ns": 9, "names": ["a"], "pools": [{{
                "began_ns": {began}, "ended_ns": 9, "workers": [{{"dropped": 0, "events": [{event}]
                }}]}}]}}"#
            )
        };
        assert!(Recording::parse(&pool(0, r#"[1, "wake"]"#)).is_ok());
        for (text, why) in [
            ("none".to_owned(), "no timeline of heist"),
            (String::new(), "no timeline of heist: it is empty"),
            (pool(0, "")[..90].to_owned(), "it is cut off (EOF"),
            (r#"{"heist_profile": 1}"#.to_owned(), "no field"),
            (r#"{"heist_timeline": 2}"#.to_owned(), "version 2"),
            (r#"{"heist_timeline": 1}"#.to_owned(), "wall_ns"),
            (pool(10, ""), "pools[0]: it began at 10 and ended at 9"),
            (pool(0, r#"[1, "begin", 1]"#), "the name 1, and there are 1"),
            (pool(0, r#"[1, "steal", 1]"#), "from worker 1 of 1"),
            (pool(0, r#"[1, "steal"]"#), "no victim"),
            (pool(0, r#"[1, "jump"]"#), "events[0]"),
            (pool(0, r#"[-1, "wake"]"#), "events[0]"),
        ] {
            let refusal = Recording::parse(&text).expect_err("unusable").to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
