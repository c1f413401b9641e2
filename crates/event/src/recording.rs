//! The recorded events of a process, as it writes them at its end when `HEIST_TIMELINE` is set.
//!
//! It is JSON that is written by hand, because the recorded program writes it, and is to carry no
//! library for that; and piece by piece, because it may be long.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::json::Json;
use crate::{EventKind, WorkerEvents};

/// The events of all pools of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The version of heist.
    pub heist: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The number of the process.
    pub pid: u32,
    /// When its first pool was built, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// From then to the end of the process.
    pub wall_ns: u64,
    /// The pools, in the order in which they were built.
    pub pools: Vec<RecordedPool>,
    /// How many more there were, which had ended and for which there was no room.
    pub other_pools: u64,
}

/// The events of one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedPool {
    /// When it was built, since the first one was; the times of events count from here.
    pub began_ns: u64,
    /// When it, or the process, ended.
    pub ended_ns: u64,
    /// Those of each worker.
    pub workers: Vec<WorkerEvents>,
}

impl Recording {
    /// The version of the form that is written.
    pub const VERSION: u32 = 1;

    /// Writes it as JSON. An event is a list: its time in nanoseconds, its kind, and the place of
    /// the job's name among the names, or the victim.
    ///
    /// # Errors
    ///
    /// Fails if `out` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_event::recording::{RecordedPool, Recording};
    /// use heist_event::{Event, EventKind, WorkerEvents};
    ///
    /// let events = vec![Event { at_ns: 7, kind: EventKind::JobBegin }];
    /// let worker = WorkerEvents { events, names: vec!["app::sum"], dropped: 0 };
    /// let pool = RecordedPool { workers: vec![worker], ..RecordedPool::default() };
    /// let mut file = Vec::new();
    /// Recording { pools: vec![pool], ..Recording::default() }.write(&mut file)?;
    /// assert!(String::from_utf8_lossy(&file).contains(r#"[[7, "begin", 0]]"#));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut places = HashMap::new();
        let mut names = Vec::new();
        let all = self.pools.iter().flat_map(|pool| &pool.workers);
        for name in all.flat_map(|worker| &worker.names) {
            if !name.is_empty() && !places.contains_key(name) {
                places.insert(*name, names.len());
                names.push((*name).to_owned());
            }
        }
        let mut head = Json::default();
        head.object(|json| {
            json.number("heist_timeline", Self::VERSION);
            json.text("heist", &self.heist);
            json.texts("command", &self.command);
            json.number("pid", self.pid);
            json.number("started_unix_ms", self.started_unix_ms);
            json.number("wall_ns", self.wall_ns);
            json.number("other_pools", self.other_pools);
            json.texts("names", &names);
        });
        let head = head.unfinished();
        write!(out, "{head},\n  \"pools\": [")?;
        for (n, pool) in self.pools.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let (began_ns, ended_ns) = (pool.began_ns, pool.ended_ns);
            write!(
                out,
                "{comma}\n    {{ \"began_ns\": {began_ns}, \"ended_ns\": {ended_ns}, \"workers\": ["
            )?;
            for (n, worker) in pool.workers.iter().enumerate() {
                out.write_all(if n == 0 { b"" } else { b"," })?;
                write_worker(worker, &places, out)?;
            }
            out.write_all(b"] }")?;
        }
        out.write_all(b"]\n}\n")
    }
}

fn write_worker(
    worker: &WorkerEvents,
    places: &HashMap<&str, usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let dropped = worker.dropped;
    write!(out, "\n      {{ \"dropped\": {dropped}, \"events\": [")?;
    for (n, event) in worker.events.iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        write!(out, "{comma}[{}, \"{}\"", event.at_ns, word(event.kind))?;
        let name = worker.names.get(n).and_then(|name| places.get(name));
        match (event.kind, name) {
            (EventKind::Steal { victim }, _) => write!(out, ", {victim}]")?,
            (EventKind::JobBegin, Some(place)) => write!(out, ", {place}]")?,
            _ => out.write_all(b"]")?,
        }
    }
    out.write_all(b"] }")
}

/// The name of a kind in the file.
fn word(kind: EventKind) -> &'static str {
    match kind {
        EventKind::JobBegin => "begin",
        EventKind::JobEnd => "end",
        EventKind::Steal { .. } => "steal",
        EventKind::Injected => "submitted",
        EventKind::SearchBegin => "search",
        EventKind::SearchEnd => "search_end",
        EventKind::Sleep => "sleep",
        EventKind::Wake => "wake",
    }
}
