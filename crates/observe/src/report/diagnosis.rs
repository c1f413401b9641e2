//! The sentence on top of the page: which workers idled, and for lack of what.
//!
//! It follows from who had a task when. Events do not say what lay in the queues, so neither does
//! the sentence.

use super::idle::{idleness, Alone, Idleness, LaneIdle};
use crate::words::{count, duration, percent};
use crate::{Run, Span, SpanKind};

/// Below this share of idle time, sharing the work better would gain little.
const LITTLE: f64 = 0.05;
/// A worker that idled for a larger share is named even then.
const MUCH: f64 = 0.10;

/// The sentence about a run, or none if it had one worker, and so nobody to share with.
///
/// # Examples
///
/// ```
/// let run = heist_observe::Run { wall_ns: 1_000, ..heist_observe::Run::default() };
/// assert_eq!(heist_observe::report::diagnosis(&run), None);
/// ```
#[must_use]
pub fn diagnosis(run: &Run) -> Option<String> {
    if run.lanes.len() < 2 {
        return None;
    }
    let idleness = idleness(run);
    if idleness.window_ns == 0 {
        return Some("The record does not reach back far enough to say who idled.".to_owned());
    }
    let subject = Subject { run, idleness };
    let text = match subject.share() {
        share if share < LITTLE => subject.little(),
        _ => format!("{}; {}.", subject.who(), subject.lack()),
    };
    Some(match subject.idleness.from_ns {
        0 => text,
        _ => format!(
            "(Seen in the last {} of the run; older events were overwritten.) {text}",
            percent(subject.idleness.window_ns as f64 / run.wall_ns as f64)
        ),
    })
}

struct Subject<'a> {
    run: &'a Run,
    idleness: Idleness,
}

impl Subject<'_> {
    /// The share of all workers' time that was idle.
    fn share(&self) -> f64 {
        let lanes = &self.idleness.lanes;
        lanes.iter().map(|lane| self.of(lane)).sum::<f64>() / lanes.len() as f64
    }

    fn of(&self, lane: &LaneIdle) -> f64 {
        lane.idle_ns() as f64 / self.idleness.window_ns as f64
    }

    /// The worker that idled most.
    fn worst(&self) -> (usize, &LaneIdle) {
        let lanes = self.idleness.lanes.iter().enumerate();
        lanes
            .rev()
            .max_by_key(|(_, lane)| lane.idle_ns())
            .expect("a run with lanes")
    }

    fn little(&self) -> String {
        let busy = percent(1.0 - self.share());
        let text = format!("The workers had tasks for {busy} of their time: idleness cost little");
        let (worker, worst) = self.worst();
        match self.of(worst) {
            share if share > MUCH => {
                let name = &self.run.lanes[worker].name;
                format!("{text}, most of it to {name} ({}).", percent(share))
            }
            _ => format!("{text}."),
        }
    }

    /// Names who idled, for how long, and since when if it was for good.
    fn who(&self) -> String {
        let number = self.run.lanes.len();
        let (worker, worst) = self.worst();
        let (most, all) = (self.of(worst), self.share());
        if most < all * 1.25 {
            let every = if number == 2 { "Both" } else { "All" };
            return format!("{every} workers idled, for {} of their time", percent(all));
        }
        let name = &self.run.lanes[worker].name;
        let mut text = format!("{name} idled for {} of the time", percent(most));
        if let Some(from_ns) = worst.last_from_ns {
            let last_ns = self.run.wall_ns - from_ns;
            if last_ns * 2 > worst.idle_ns() {
                text.push_str(&format!(", from {} to the end", duration(from_ns as f64)));
            }
        }
        if number > 2 {
            text.push_str(&format!(
                " (the {number} workers together: {})",
                percent(all)
            ));
        }
        text
    }

    /// Says what the idle lacked, by what the others did meanwhile.
    fn lack(&self) -> String {
        let mut by_busy_ns = [0; 3];
        for lane in &self.idleness.lanes {
            for (sum_ns, ns) in by_busy_ns.iter_mut().zip(lane.by_busy_ns) {
                *sum_ns += ns;
            }
        }
        let all_ns: u64 = by_busy_ns.iter().sum();
        let part = |class: usize| percent(by_busy_ns[class] as f64 / all_ns as f64);
        let most = (0..3).max_by_key(|&class| by_busy_ns[class]);
        match most {
            Some(0) => format!(
                "for {} of that time no worker had a task: there was none yet, or no longer, or \
                 all waited for something else",
                part(0)
            ),
            Some(1) => format!("for {} of that time {}", part(1), self.alone()),
            _ => format!(
                "for {} of that time several others had tasks{}",
                part(2),
                self.searches()
            ),
        }
    }

    /// Says which worker had work alone, and in which task, if it was one.
    fn alone(&self) -> String {
        let mut by_worker_ns = vec![0; self.run.lanes.len()];
        for alone in &self.idleness.alone {
            by_worker_ns[alone.worker] += alone.end_ns - alone.begin_ns;
        }
        let all_ns: u64 = by_worker_ns.iter().sum();
        let (worker, most_ns) = (by_worker_ns.iter().enumerate())
            .max_by_key(|(_, ns)| **ns)
            .expect("a run with lanes");
        if most_ns * 4 < all_ns * 3 {
            return "one worker alone had a task, in turn, and shared none".to_owned();
        }
        let name = &self.run.lanes[worker].name;
        match self.task_of(worker, *most_ns) {
            Some(task) => {
                let length = duration((task.end_ns - task.begin_ns) as f64);
                format!(
                    "{name} alone had a task, mostly one that was not shared: {} ({length})",
                    task.label
                )
            }
            None => format!("{name} alone had tasks, and shared none"),
        }
    }

    /// The innermost task of a worker in which it spent over half of its time alone.
    fn task_of(&self, worker: usize, alone_ns: u64) -> Option<&Span> {
        let alone = self.idleness.alone.iter();
        let alone: Vec<&Alone> = alone.filter(|alone| alone.worker == worker).collect();
        let tasks = self.run.lanes[worker].spans.iter();
        tasks
            .filter(|span| span.kind == SpanKind::Task)
            // A shorter one cannot hold that much, which spares looking at most of them.
            .filter(|span| (span.end_ns.saturating_sub(span.begin_ns)) * 2 > alone_ns)
            .filter(|span| within_ns(&alone, span) * 2 > alone_ns)
            .min_by_key(|span| span.end_ns - span.begin_ns)
    }

    /// Says what came of the searches, if the workers searched at all.
    fn searches(&self) -> String {
        let (mut all, mut found) = (0_u64, 0_u64);
        for (worker, lane) in self.run.lanes.iter().enumerate() {
            let steals = self.run.steals.iter().filter(|it| it.thief == worker);
            let mut steals_ns: Vec<u64> = steals.map(|steal| steal.at_ns).collect();
            steals_ns.sort_unstable();
            for span in &lane.spans {
                if span.kind == SpanKind::Search && span.begin_ns >= self.idleness.from_ns {
                    let next = steals_ns.partition_point(|at_ns| *at_ns < span.begin_ns);
                    all += 1;
                    found += u64::from(steals_ns.get(next).is_some_and(|at| *at <= span.end_ns));
                }
            }
        }
        let share = format!(
            "{} of {} searches ended in a steal",
            count(found),
            count(all)
        );
        match (all, found) {
            (0, _) => ", none of which it took over".to_owned(),
            _ if found * 2 < all => format!(", but few that could be taken: {share}"),
            _ => format!(
                ", and work was found but did not last: {share}, so tasks were small, or far apart"
            ),
        }
    }
}

/// The part of a span within ordered, disjoint stretches.
fn within_ns(stretches: &[&Alone], span: &Span) -> u64 {
    let first = stretches.partition_point(|it| it.end_ns <= span.begin_ns);
    let common = |it: &&Alone| it.end_ns.min(span.end_ns) - it.begin_ns.max(span.begin_ns);
    stretches[first..]
        .iter()
        .take_while(|it| it.begin_ns < span.end_ns)
        .map(common)
        .sum()
}

#[cfg(test)]
mod tests {
    use heist_event::EventKind::{
        self, Injected, JobBegin, JobEnd, SearchBegin, SearchEnd, Sleep, Wake,
    };
    use heist_event::{Event, WorkerEvents, WorkerId};

    use super::*;
    use crate::{fold, Lane};

    /// The sentence about a recorded timeline of 1000 ms, with times in ms.
    fn about(workers: &[&[(u64, EventKind)]]) -> String {
        diagnosis(&recorded(workers)).expect("several workers")
    }

    fn recorded(workers: &[&[(u64, EventKind)]]) -> Run {
        let event = |&(at_ms, kind): &(u64, EventKind)| Event {
            at_ns: at_ms * 1_000_000,
            kind,
        };
        let workers: Vec<_> = workers
            .iter()
            .map(|events| WorkerEvents {
                events: events.iter().map(event).collect(),
                dropped: 0,
                ..WorkerEvents::default()
            })
            .collect();
        Run {
            wall_ns: 1_000_000_000,
            ..Run::from(fold(&workers, 0..1_000_000_000))
        }
    }

    fn steal(victim: usize) -> EventKind {
        let victim = WorkerId::new(victim);
        EventKind::Steal { victim }
    }

    #[test]
    fn one_worker_has_no_diagnosis() {
        assert_eq!(diagnosis(&recorded(&[&[(0, JobBegin)]])), None);
        assert_eq!(diagnosis(&Run::default()), None);
    }

    #[test]
    fn busy_workers_lost_little() {
        assert_eq!(
            about(&[&[(0, JobBegin), (990, JobEnd)], &[(10, JobBegin)]]),
            "The workers had tasks for 99 % of their time: idleness cost little."
        );
    }

    #[test]
    fn one_idler_among_many_is_named_even_if_it_cost_little() {
        let busy: &[(u64, EventKind)] = &[(0, JobBegin)];
        let mut workers = vec![busy; 7];
        workers.push(&[(300, JobBegin)]);
        assert_eq!(
            about(&workers),
            "The workers had tasks for 96 % of their time: idleness cost little, most of it to \
             worker 7 (30 %)."
        );
    }

    #[test]
    fn a_task_that_was_not_shared_is_named_with_the_worker_that_waited_for_it() {
        let mut run = recorded(&[
            &[(0, Injected), (0, JobBegin)],
            &[
                (0, SearchBegin),
                (100, steal(0)),
                (100, SearchEnd),
                (100, JobBegin),
                (200, JobEnd),
                (200, SearchBegin),
                (210, SearchEnd),
                (210, Sleep),
            ],
        ]);
        let inner = |begin_ms: u64, end_ms: u64, label: &str| Span {
            begin_ns: begin_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            kind: SpanKind::Task,
            label: label.to_owned(),
            source: None,
        };
        assert_eq!(
            diagnosis(&run).as_deref(),
            Some(
                "worker 1 idled for 90 % of the time, from 200 ms to the end; for 100 % of that \
                 time worker 0 alone had a task, mostly one that was not shared: submitted job \
                 (1.00 s)."
            )
        );
        run.lanes[0].spans.push(inner(5, 200, "small"));
        run.lanes[0].spans.push(inner(210, 980, "large"));
        let sentence = diagnosis(&run).expect("two workers");
        assert!(
            sentence.ends_with("not shared: large (770 ms)."),
            "{sentence}"
        );
    }

    #[test]
    fn a_worker_alone_with_many_tasks_shared_none() {
        let mut events = Vec::new();
        for at in 0..20 {
            events.push((at * 50, JobBegin));
            events.push((at * 50 + 50, JobEnd));
        }
        assert_eq!(
            about(&[&[(0, Sleep)], &events]),
            "worker 0 idled for 100 % of the time, from 0 ns to the end; for 100 % of that time \
             worker 1 alone had tasks, and shared none."
        );
    }

    #[test]
    fn workers_that_take_turns_share_nothing() {
        assert_eq!(
            about(&[&[(0, JobBegin), (500, JobEnd)], &[(500, JobBegin)]]),
            "Both workers idled, for 50 % of their time; for 100 % of that time one worker alone \
             had a task, in turn, and shared none."
        );
    }

    #[test]
    fn a_pool_without_work_is_not_blamed_on_a_worker() {
        let events = [(0, Sleep), (800, Wake), (800, JobBegin)];
        assert_eq!(
            about(&[&events, &events, &events]),
            "All workers idled, for 80 % of their time; for 100 % of that time no worker had a \
             task: there was none yet, or no longer, or all waited for something else."
        );
    }

    #[test]
    fn steals_that_fail_while_others_work_are_told_from_those_that_feed_nobody() {
        let busy: &[(u64, EventKind)] = &[(0, JobBegin)];
        let mut failing = Vec::new();
        let mut fed = Vec::new();
        for at in (0..1000).step_by(100) {
            failing.extend([(at, SearchBegin), (at + 10, SearchEnd), (at + 10, Sleep)]);
            failing.push((at + 100, Wake));
            fed.extend([(at, SearchBegin), (at + 60, steal(0)), (at + 60, SearchEnd)]);
            fed.extend([(at + 60, JobBegin), (at + 100, JobEnd)]);
        }
        let failed = about(&[busy, busy, &failing]);
        assert_eq!(
            failed,
            "worker 2 idled for 100 % of the time, from 0 ns to the end (the 3 workers together: \
             33 %); for 100 % of that time several others had tasks, but few that could be \
             taken: 0 of 10 searches ended in a steal."
        );
        let found = about(&[busy, busy, &fed]);
        assert!(
            found.starts_with("worker 2 idled for 60 % of the time (the 3"),
            "{found}"
        );
        assert!(
            found.contains("10 of 10 searches ended in a steal"),
            "{found}"
        );
    }

    #[test]
    fn threads_that_do_not_search_took_over_nothing() {
        let busy: &[(u64, EventKind)] = &[(0, JobBegin)];
        let found = about(&[busy, busy, &[(0, JobBegin), (400, JobEnd)]]);
        assert_eq!(
            found,
            "worker 2 idled for 60 % of the time, from 400 ms to the end (the 3 workers together: \
             20 %); for 100 % of that time several others had tasks, none of which it took over."
        );
    }

    #[test]
    fn a_record_that_was_overwritten_limits_the_sentence_to_the_rest() {
        let mut run = recorded(&[&[(0, JobBegin)], &[(0, JobBegin), (700, JobEnd)]]);
        run.lanes[0].unknown_until_ns = 600_000_000;
        let sentence = diagnosis(&run).expect("two workers");
        assert!(
            sentence.starts_with(
                "(Seen in the last 40 % of the run; older events were overwritten.) worker 1 \
                 idled for 75 %"
            ),
            "{sentence}"
        );
        run.lanes[1] = Lane {
            unknown_until_ns: run.wall_ns,
            ..Lane::default()
        };
        assert_eq!(
            diagnosis(&run).as_deref(),
            Some("The record does not reach back far enough to say who idled.")
        );
    }
}
