//! Runs in the Trace Event Format, which Perfetto (`ui.perfetto.dev`) and Chromium's
//! `chrome://tracing` open.
//!
//! A run is a process there and a worker a thread of it; spans are slices that nest, steals are
//! arrows from the victim to the job that the thief runs next. Times are in microseconds with three
//! decimals.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{json, Value};

use crate::{Lane, Run, Span, SpanKind, Steal};

/// Writes `runs` as one trace.
///
/// A track needs slices that nest, so a span that outlasts the one in which it begins is cut at the
/// end of that; its argument `uncut_us` has the whole length. The argument `job` of a pool's job
/// says whether it was the worker's own, stolen or submitted. Where the recorder has overwritten
/// events stands a slice `not recorded`.
///
/// # Errors
///
/// Fails if `out` does.
///
/// # Examples
///
/// ```
/// use heist_observe::{trace, Lane, Run, Source, Span, SpanKind};
///
/// let (kind, source) = (SpanKind::Task, Some(Source::Stolen));
/// let span = Span { begin_ns: 5, end_ns: 1_500, kind, label: "count".into(), source };
/// let lane = Lane { name: "worker 0".into(), spans: vec![span], ..Lane::default() };
/// let run = Run { name: "stealing".into(), lanes: vec![lane], ..Run::default() };
///
/// let mut file = Vec::new();
/// trace::write("one small run", &[run], &mut file)?;
/// assert!(String::from_utf8_lossy(&file).contains(r#""name":"count","cat":"task","ph":"X""#));
/// # std::io::Result::Ok(())
/// ```
pub fn write(title: &str, runs: &[Run], out: impl Write) -> io::Result<()> {
    let mut trace = Trace { out, begun: false };
    let head = json!({ "title": title });
    write!(
        trace.out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{head},\"traceEvents\":["
    )?;
    for (pid, run) in (1..).zip(runs) {
        trace.run(pid, run)?;
    }
    writeln!(trace.out, "\n]}}")?;
    trace.out.flush()
}

/// An event, field by field as the format names them.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    ph: &'static str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// `e`: an arrow ends at the slice around it, and not at the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

impl<'a> Event<'a> {
    fn new(ph: &'static str, name: &'a str, pid: usize, tid: usize) -> Self {
        Self {
            name,
            cat: "",
            ph,
            pid,
            tid,
            ts: None,
            dur: None,
            id: None,
            bp: None,
            args: Value::Null,
        }
    }
}

/// The list of events, as far as it is written.
struct Trace<W> {
    out: W,
    begun: bool,
}

impl<W: Write> Trace<W> {
    fn run(&mut self, pid: usize, run: &Run) -> io::Result<()> {
        self.about("process_name", pid, 0, json!({ "name": run.name }))?;
        self.about("process_sort_index", pid, 0, json!({ "sort_index": pid }))?;
        let facts: Vec<_> = run
            .facts
            .iter()
            .map(|fact| format!("{}: {}", fact.label, fact.value))
            .collect();
        if !facts.is_empty() {
            let labels = json!({ "labels": facts.join(", ") });
            self.about("process_labels", pid, 0, labels)?;
        }
        self.at_work(pid, run)?;
        let laid = Laid::out(run);
        for (index, lane) in run.lanes.iter().enumerate() {
            self.lane(pid, index, lane)?;
            self.spans(pid, index, &laid)?;
        }
        self.steals(pid, &laid)
    }

    fn lane(&mut self, pid: usize, index: usize, lane: &Lane) -> io::Result<()> {
        let tid = index + 1;
        self.about("thread_name", pid, tid, json!({ "name": lane.name }))?;
        self.about("thread_sort_index", pid, tid, json!({ "sort_index": tid }))?;
        if lane.unknown_until_ns == 0 {
            return Ok(());
        }
        self.event(&Event {
            cat: "gap",
            ts: Some(0.0),
            dur: Some(us(lane.unknown_until_ns)),
            args: json!({ "events": lane.dropped }),
            ..Event::new("X", "not recorded", pid, tid)
        })
    }

    fn spans(&mut self, pid: usize, index: usize, laid: &Laid<'_>) -> io::Result<()> {
        // The ends of the spans around the present one.
        let mut ends: Vec<u64> = Vec::new();
        for (position, span) in laid.spans[index].iter().enumerate() {
            while ends.last().is_some_and(|&end_ns| end_ns <= span.begin_ns) {
                ends.pop();
            }
            let whole_ns = span.end_ns.saturating_sub(span.begin_ns);
            let room_ns = ends
                .last()
                .map_or(whole_ns, |end_ns| end_ns - span.begin_ns);
            let length_ns = whole_ns.min(room_ns);
            ends.push(span.begin_ns + length_ns);
            let mut args = serde_json::Map::new();
            if length_ns < whole_ns {
                args.insert("uncut_us".to_owned(), json!(us(whole_ns)));
            }
            if let Some(source) = span.source {
                args.insert("job".to_owned(), json!(source.word()));
            }
            if let Some(victim) = laid.stolen.get(&(index, position)) {
                args.insert("stolen_from".to_owned(), json!(laid.name(*victim)));
            }
            self.event(&Event {
                cat: category(span.kind),
                ts: Some(us(span.begin_ns)),
                dur: Some(us(length_ns)),
                args: match args.is_empty() {
                    true => Value::Null,
                    false => Value::Object(args),
                },
                ..Event::new("X", &span.label, pid, index + 1)
            })?;
        }
        Ok(())
    }

    /// An arrow for each steal. It ends where the stolen job begins, as far as that is known.
    fn steals(&mut self, pid: usize, laid: &Laid<'_>) -> io::Result<()> {
        for (number, (steal, job_ns)) in laid.run.steals.iter().zip(&laid.jobs_ns).enumerate() {
            let arrow = |ph, at_ns, worker| Event {
                cat: "steal",
                ts: Some(us(at_ns)),
                id: Some(format!("{pid}.{number}")),
                ..Event::new(ph, "steal", pid, worker + 1)
            };
            self.event(&arrow("s", steal.at_ns, steal.victim))?;
            self.event(&Event {
                bp: Some("e"),
                ..arrow("f", job_ns.unwrap_or(steal.at_ns), steal.thief)
            })?;
        }
        Ok(())
    }

    /// How many workers were inside a task and neither searched nor slept, whenever that changes.
    fn at_work(&mut self, pid: usize, run: &Run) -> io::Result<()> {
        let mut changes: Vec<(u64, i64)> = run
            .lanes
            .iter()
            .flat_map(Lane::busy)
            .flat_map(|(begin_ns, end_ns)| [(begin_ns, 1), (end_ns, -1)])
            .collect();
        changes.sort_unstable();
        let (mut workers, mut shown) = (0, None);
        for together in changes.chunk_by(|one, next| one.0 == next.0) {
            workers += together.iter().map(|(_, change)| change).sum::<i64>();
            if shown.replace(workers) == Some(workers) {
                continue;
            }
            self.event(&Event {
                ts: Some(us(together[0].0)),
                args: json!({ "workers": workers }),
                ..Event::new("C", "workers at work", pid, 0)
            })?;
        }
        Ok(())
    }

    /// A name, or another property, of a process or thread.
    fn about(&mut self, what: &str, pid: usize, tid: usize, args: Value) -> io::Result<()> {
        let event = Event::new("M", what, pid, tid);
        self.event(&Event { args, ..event })
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let comma = if self.begun { ",\n" } else { "\n" };
        self.begun = true;
        self.out.write_all(comma.as_bytes())?;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }
}

/// A run whose spans are in order, with the jobs that its steals were about.
struct Laid<'a> {
    run: &'a Run,
    /// Those of each worker by their begin, outermost first.
    spans: Vec<Vec<&'a Span>>,
    /// When the thief began to run the job, for each steal.
    jobs_ns: Vec<Option<u64>>,
    /// The victim, by the thief and the position of the job among its spans.
    stolen: HashMap<(usize, usize), usize>,
}

impl<'a> Laid<'a> {
    fn out(run: &'a Run) -> Self {
        let mut laid = Self {
            run,
            spans: run.lanes.iter().map(in_order).collect(),
            jobs_ns: vec![None; run.steals.len()],
            stolen: HashMap::new(),
        };
        let mut steals: Vec<(usize, &Steal)> = run.steals.iter().enumerate().collect();
        steals.sort_by_key(|(_, steal)| (steal.thief, steal.at_ns));
        for (at, &(number, steal)) in steals.iter().enumerate() {
            let next = steals
                .get(at + 1)
                .filter(|next| next.1.thief == steal.thief);
            let until_ns = next.map_or(u64::MAX, |(_, next)| next.at_ns);
            if let Some((position, begin_ns)) = laid.job(steal, until_ns) {
                laid.jobs_ns[number] = Some(begin_ns);
                laid.stolen.insert((steal.thief, position), steal.victim);
            }
        }
        laid
    }

    /// The first task that the thief began from the steal on, if it did before `until_ns`.
    fn job(&self, steal: &Steal, until_ns: u64) -> Option<(usize, u64)> {
        let spans = self.spans.get(steal.thief)?;
        let first = spans.partition_point(|span| span.begin_ns < steal.at_ns);
        let later = spans[first..]
            .iter()
            .position(|it| it.kind == SpanKind::Task)?;
        let begin_ns = spans[first + later].begin_ns;
        (begin_ns < until_ns).then_some((first + later, begin_ns))
    }

    fn name(&self, worker: usize) -> String {
        let lane = self.run.lanes.get(worker);
        lane.map_or_else(|| format!("worker {worker}"), |lane| lane.name.clone())
    }
}

fn in_order(lane: &Lane) -> Vec<&Span> {
    let mut spans: Vec<&Span> = lane.spans.iter().collect();
    spans.sort_by_key(|span| (span.begin_ns, Reverse(span.end_ns)));
    spans
}

fn category(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Task => "task",
        SpanKind::Search => "search",
        SpanKind::Sleep => "sleep",
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

#[cfg(test)]
mod tests;
