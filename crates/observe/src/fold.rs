//! Folds the events that each worker recorded into a lane of spans.

use std::collections::HashMap;
use std::ops::Range;

use heist_event::{user_name, Event, EventKind, WorkerEvents};

use crate::{Lane, Run, Source, Span, SpanKind, Steal};

/// The result of [`fold`]: lanes, and the steals between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// A lane for each worker, in the order of their indices.
    pub lanes: Vec<Lane>,
    /// The steals of all workers, oldest first.
    pub steals: Vec<Steal>,
}

impl From<Folded> for Run {
    /// A run without name, duration and figures.
    fn from(folded: Folded) -> Self {
        Run {
            lanes: folded.lanes,
            steals: folded.steals,
            ..Run::default()
        }
    }
}

/// Folds the events of each worker into a lane, within `window_ns`.
///
/// The window is in the recorder's time; what lies outside is cut off, and the spans count from its
/// start. Every job becomes a span, even one that began while its worker waited inside another. It
/// is named after the program's closure in it, if the recorder knows one, and else after its
/// [`Source`].
///
/// A recorder is bounded, so the oldest events of a worker may be missing. A job whose beginning is
/// missing is drawn from the first moment that is known, a job without an end up to the end of the
/// window. [`Lane::unknown_until_ns`] says from when on the lane can be trusted.
///
/// # Examples
///
/// ```
/// use heist_event::{Event, EventKind, WorkerEvents};
///
/// // The begin of this job was overwritten.
/// let end = Event { at_ns: 70, kind: EventKind::JobEnd };
/// let wake = Event { at_ns: 40, kind: EventKind::Wake };
/// let recorded = [WorkerEvents { events: vec![wake, end], dropped: 12, ..WorkerEvents::default() }];
///
/// let lane = &heist_observe::fold(&recorded, 0..100).lanes[0];
/// assert_eq!(lane.unknown_until_ns, 40);
/// assert_eq!(lane.spans.last().map(|job| (job.begin_ns, job.end_ns)), Some((40, 70)));
/// ```
#[must_use]
pub fn fold(workers: &[WorkerEvents], window_ns: Range<u64>) -> Folded {
    let mut folded = Folded::default();
    let mut names = Names::default();
    for (index, worker) in workers.iter().enumerate() {
        let lane = fold_worker(index, worker, &window_ns, &mut names, &mut folded.steals);
        folded.lanes.push(lane);
    }
    folded.steals.sort_by_key(|steal| steal.at_ns);
    folded
}

fn fold_worker(
    index: usize,
    worker: &WorkerEvents,
    window_ns: &Range<u64>,
    names: &mut Names,
    steals: &mut Vec<Steal>,
) -> Lane {
    let known_from_ns = known_from_ns(worker, window_ns);
    let mut spans = Spans {
        window_ns,
        done: Vec::new(),
    };
    // The jobs that ran before the record begins, then those that begin in it, innermost last.
    let mut jobs = vec![Begun::unseen(known_from_ns); ends_without_begin(&worker.events)];
    let mut search = Toggle::new(SpanKind::Search, "looking for work", known_from_ns);
    let mut sleep = Toggle::new(SpanKind::Sleep, "asleep", known_from_ns);
    let mut source = Source::Own;
    for (at, event) in worker.events.iter().enumerate() {
        let at_ns = event.at_ns;
        match event.kind {
            EventKind::Steal { victim } => {
                source = Source::Stolen;
                if window_ns.contains(&at_ns) {
                    steals.push(Steal {
                        at_ns: at_ns - window_ns.start,
                        thief: index,
                        victim: victim.index(),
                    });
                }
            }
            EventKind::Injected => source = Source::Submitted,
            EventKind::JobBegin => {
                let source = std::mem::replace(&mut source, Source::Own);
                jobs.push(names.begun(at_ns, worker.names.get(at), source));
            }
            EventKind::JobEnd => {
                let job = jobs.pop().expect("every end has a begin by now");
                spans.push_job(job, at_ns);
            }
            EventKind::SearchBegin => search.begin(at_ns),
            EventKind::SearchEnd => search.end(at_ns, &mut spans),
            EventKind::Sleep => sleep.begin(at_ns),
            EventKind::Wake => sleep.end(at_ns, &mut spans),
            // A kind that a newer version added has no effect on these spans.
            _ => {}
        }
    }
    for job in jobs {
        spans.push_job(job, window_ns.end);
    }
    search.finish(&mut spans);
    sleep.finish(&mut spans);
    Lane {
        name: format!("worker {index}"),
        spans: spans.done,
        unknown_until_ns: known_from_ns - window_ns.start,
        dropped: worker.dropped,
    }
}

/// A job that has begun.
#[derive(Clone)]
struct Begun {
    at_ns: u64,
    label: String,
    source: Option<Source>,
}

impl Begun {
    /// One whose begin is missing.
    fn unseen(known_from_ns: u64) -> Self {
        Self {
            at_ns: known_from_ns,
            label: "job".to_owned(),
            source: None,
        }
    }
}

/// The names of closures, each shortened once.
#[derive(Default)]
struct Names(HashMap<&'static str, Option<String>>);

impl Names {
    fn begun(&mut self, at_ns: u64, name: Option<&&'static str>, source: Source) -> Begun {
        let name = name.copied().unwrap_or_default();
        let known = self.0.entry(name).or_insert_with(|| user_name(name));
        let known = known.clone();
        Begun {
            at_ns,
            label: known.unwrap_or_else(|| format!("{} job", source.word())),
            source: Some(source),
        }
    }
}

/// The first moment of the window at which no event of the worker is missing.
fn known_from_ns(worker: &WorkerEvents, window_ns: &Range<u64>) -> u64 {
    match worker.events.first() {
        Some(first) if worker.dropped > 0 => first.at_ns.clamp(window_ns.start, window_ns.end),
        // All events were overwritten: nothing is known.
        None if worker.dropped > 0 => window_ns.end,
        _ => window_ns.start,
    }
}

/// The number of jobs that end in `events` and did not begin there.
fn ends_without_begin(events: &[Event]) -> usize {
    let (mut open, mut missing) = (0_usize, 0);
    for event in events {
        match event.kind {
            EventKind::JobBegin => open += 1,
            EventKind::JobEnd if open > 0 => open -= 1,
            EventKind::JobEnd => missing += 1,
            _ => {}
        }
    }
    missing
}

/// Collects spans, cut to the window and moved to its start.
struct Spans<'a> {
    window_ns: &'a Range<u64>,
    done: Vec<Span>,
}

impl Spans<'_> {
    fn push(&mut self, kind: SpanKind, label: &str, begin_ns: u64, end_ns: u64) {
        self.keep(Span {
            begin_ns,
            end_ns,
            kind,
            label: label.to_owned(),
            source: None,
        });
    }

    fn push_job(&mut self, job: Begun, end_ns: u64) {
        self.keep(Span {
            begin_ns: job.at_ns,
            end_ns,
            kind: SpanKind::Task,
            label: job.label,
            source: job.source,
        });
    }

    fn keep(&mut self, span: Span) {
        let begin_ns = span.begin_ns.max(self.window_ns.start);
        let end_ns = span.end_ns.min(self.window_ns.end);
        if begin_ns < end_ns {
            self.done.push(Span {
                begin_ns: begin_ns - self.window_ns.start,
                end_ns: end_ns - self.window_ns.start,
                ..span
            });
        }
    }
}

/// A condition of a worker: searching or sleeping.
struct Toggle {
    kind: SpanKind,
    label: &'static str,
    known_from_ns: u64,
    state: ToggleState,
}

/// Whether the condition holds.
enum ToggleState {
    /// Unknown until the first event; an end means that it has held from the first moment.
    Unseen,
    Out,
    Since(u64),
}

impl Toggle {
    fn new(kind: SpanKind, label: &'static str, known_from_ns: u64) -> Self {
        Self {
            kind,
            label,
            known_from_ns,
            state: ToggleState::Unseen,
        }
    }

    fn begin(&mut self, at_ns: u64) {
        if !matches!(self.state, ToggleState::Since(_)) {
            self.state = ToggleState::Since(at_ns);
        }
    }

    fn end(&mut self, at_ns: u64, spans: &mut Spans<'_>) {
        match self.state {
            ToggleState::Unseen => spans.push(self.kind, self.label, self.known_from_ns, at_ns),
            ToggleState::Since(begin_ns) => spans.push(self.kind, self.label, begin_ns, at_ns),
            ToggleState::Out => {}
        }
        self.state = ToggleState::Out;
    }

    fn finish(self, spans: &mut Spans<'_>) {
        if let ToggleState::Since(begin_ns) = self.state {
            spans.push(self.kind, self.label, begin_ns, spans.window_ns.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use heist_event::EventKind::{Injected, JobBegin, JobEnd, SearchBegin, SearchEnd, Sleep, Wake};
    use heist_event::WorkerId;

    use super::*;

    fn recorded(dropped: u64, events: &[(u64, EventKind)]) -> WorkerEvents {
        let event = |&(at_ns, kind)| Event { at_ns, kind };
        WorkerEvents {
            events: events.iter().map(event).collect(),
            dropped,
            ..WorkerEvents::default()
        }
    }

    /// The spans of a single worker, ordered by begin and, from there, outermost first.
    fn spans(dropped: u64, events: &[(u64, EventKind)]) -> Vec<(u64, u64, SpanKind, String)> {
        let mut lane = fold(&[recorded(dropped, events)], 100..200).lanes.remove(0);
        lane.spans
            .sort_by_key(|span| (span.begin_ns, std::cmp::Reverse(span.end_ns)));
        let tuple = |span: Span| (span.begin_ns, span.end_ns, span.kind, span.label);
        lane.spans.into_iter().map(tuple).collect()
    }

    fn task(begin_ns: u64, end_ns: u64, label: &str) -> (u64, u64, SpanKind, String) {
        (begin_ns, end_ns, SpanKind::Task, label.to_owned())
    }

    #[test]
    fn nested_jobs_become_nested_spans_named_after_their_source() {
        let victim = WorkerId::new(1);
        let found = spans(
            0,
            &[
                (110, Injected),
                (111, JobBegin),
                (120, SearchBegin),
                (125, EventKind::Steal { victim }),
                (125, SearchEnd),
                (126, JobBegin),
                (140, JobBegin),
                (150, JobEnd),
                (160, JobEnd),
                (190, JobEnd),
            ],
        );
        let search = (20, 25, SpanKind::Search, "looking for work".to_owned());
        assert_eq!(
            found,
            [
                task(11, 90, "submitted job"),
                search,
                task(26, 60, "stolen job"),
                task(40, 50, "own job"),
            ]
        );
    }

    #[test]
    fn a_job_is_named_after_the_closure_of_the_program_and_else_after_its_source() {
        let victim = WorkerId::new(1);
        let mut worker = recorded(
            0,
            &[
                (110, JobBegin),
                (120, EventKind::Steal { victim }),
                (121, JobBegin),
                (130, JobEnd),
                (140, JobBegin),
            ],
        );
        worker.names = vec![
            "heist_core::base::task::Boxed<wordstat::count::{{closure}}>",
            "",
            "wordstat::merge<u8>::{{closure}}::{{closure}}",
            "",
            "heist_core::base::job_ref::JobRef",
        ];
        let lane = fold(&[worker], 100..200).lanes.remove(0);
        let jobs = lane.spans.iter().map(|span| (&*span.label, span.source));
        let mut jobs: Vec<_> = jobs.collect();
        jobs.sort_unstable_by_key(|job| job.0);
        assert_eq!(
            jobs,
            [
                ("own job", Some(Source::Own)),
                ("wordstat::count", Some(Source::Own)),
                ("wordstat::merge", Some(Source::Stolen)),
            ]
        );
    }

    #[test]
    fn a_job_whose_begin_was_overwritten_starts_where_the_record_starts() {
        let events = [(130, JobBegin), (135, JobEnd), (140, JobEnd), (150, JobEnd)];
        assert_eq!(
            spans(9, &events),
            [
                task(30, 50, "job"),
                task(30, 40, "job"),
                task(30, 35, "own job"),
            ]
        );
    }

    #[test]
    fn a_job_that_never_ended_lasts_until_the_window_ends() {
        let events = [(130, JobBegin), (150, JobBegin)];
        assert_eq!(
            spans(0, &events),
            [task(30, 100, "own job"), task(50, 100, "own job")]
        );
    }

    #[test]
    fn sleep_and_search_cut_by_the_record_reach_to_its_edges() {
        let events = [
            (120, Wake),
            (140, SearchBegin),
            (150, SearchEnd),
            (160, Sleep),
        ];
        let found: Vec<_> = spans(1, &events)
            .into_iter()
            .map(|(begin_ns, end_ns, kind, _)| (begin_ns, end_ns, kind))
            .collect();
        // The wake is the first event that survived, so the sleep before it has
        // no known length.
        assert_eq!(
            found,
            [(40, 50, SpanKind::Search), (60, 100, SpanKind::Sleep)]
        );
    }

    #[test]
    fn a_search_without_recorded_begin_starts_where_the_record_starts() {
        let events = [(110, JobBegin), (120, JobEnd), (130, SearchEnd)];
        let found = spans(1, &events);
        let search = (10, 30, SpanKind::Search, "looking for work".to_owned());
        assert!(found.contains(&search), "{found:?}");
    }

    #[test]
    fn what_lies_outside_the_window_is_cut_off() {
        let events = [
            (10, JobBegin),
            (20, JobEnd),
            (90, JobBegin),
            (150, JobEnd),
            (250, JobBegin),
            (260, JobEnd),
        ];
        assert_eq!(spans(0, &events), [task(0, 50, "own job")]);
    }

    #[test]
    fn steals_of_all_workers_come_in_the_order_of_time_and_only_from_the_window() {
        let steal = |victim| EventKind::Steal {
            victim: WorkerId::new(victim),
        };
        let workers = [
            recorded(0, &[(50, steal(1)), (170, steal(1))]),
            recorded(0, &[(120, steal(0))]),
        ];
        assert_eq!(
            fold(&workers, 100..200).steals,
            [
                Steal {
                    at_ns: 20,
                    thief: 1,
                    victim: 0
                },
                Steal {
                    at_ns: 70,
                    thief: 0,
                    victim: 1
                },
            ]
        );
    }

    #[test]
    fn a_lane_says_how_much_is_missing_and_from_when_on_it_is_known() {
        let lanes = fold(
            &[
                recorded(7, &[(130, JobBegin)]),
                recorded(7, &[(10, JobBegin)]),
                recorded(7, &[]),
                recorded(0, &[(130, JobBegin)]),
            ],
            100..200,
        )
        .lanes;
        let missing: Vec<_> = lanes
            .iter()
            .map(|lane| (lane.dropped, lane.unknown_until_ns))
            .collect();
        assert_eq!(missing, [(7, 30), (7, 0), (7, 100), (0, 0)]);
    }
}
