//! The report of a stall, for people.

use std::fmt::Write as _;
use std::time::Duration;

use heist_event::short_name;

use super::cycle::{self, Cycle, Step};
use super::seen::{is_in_program, Seen};
use crate::base::job::Name;
use crate::state::{Doing, Frame, Wait};

/// The most frames of a worker that are told.
const FRAMES_MAX: usize = 6;

/// A stalled pool.
pub(super) struct Stall<'a> {
    pub(super) pool: usize,
    pub(super) still: Duration,
    /// The present time of the pool.
    pub(super) now_ns: u64,
    /// How many workers there are, idle ones included.
    pub(super) len: usize,
    /// The workers that have frames.
    pub(super) workers: &'a [Seen],
    /// A job waits for a worker.
    pub(super) is_queued: bool,
}

impl Stall<'_> {
    /// The report, which ends with a line end.
    pub(super) fn text(&self) -> String {
        let head = format!(
            "heist: nothing has moved for {:.1} s in pool {} ({} workers)\n",
            self.still.as_secs_f64(),
            self.pool,
            self.len,
        );
        head + &self.lines()
    }

    /// The report without its first line.
    pub(super) fn lines(&self) -> String {
        let mut text = String::new();
        for worker in self.workers {
            let _ = writeln!(text, "  worker {}  {}", worker.index, self.worker(worker));
        }
        let idle = self.len.saturating_sub(self.workers.len());
        if idle > 0 {
            let _ = writeln!(text, "  {idle} more: idle, without a job");
        }
        let cycle = cycle::find(self.workers);
        if let Some(cycle) = &cycle {
            let _ = writeln!(text, "  cycle: {}", self.cycle(cycle));
        }
        let _ = writeln!(text, "  {}", self.hint(cycle.as_ref()));
        text
    }

    /// The frames of a worker, the innermost first.
    fn worker(&self, worker: &Seen) -> String {
        let mut parts = Vec::new();
        if is_in_program(&worker.frames) {
            parts.push(match &worker.thread {
                Some(thread) if worker.is_in_futex() => {
                    format!("is blocked in {}", thread.place_text())
                }
                Some(thread) => format!("waits in {}", thread.place_text()),
                None => "is somewhere that the system does not tell".to_owned(),
            });
        }
        let told = worker.frames.iter().rev().take(FRAMES_MAX);
        parts.extend(told.map(|frame| self.frame(frame)));
        let left = worker.frames.len().saturating_sub(FRAMES_MAX);
        if left > 0 {
            parts.push(format!("and {left} frames more"));
        }
        let text = parts.join("; below that ");
        text.trim_start_matches("it ").to_owned()
    }

    fn frame(&self, frame: &Frame) -> String {
        let since = Duration::from_nanos(self.now_ns.saturating_sub(frame.since_ns));
        let since = format!("for {:.1} s", since.as_secs_f64());
        match frame.doing {
            Doing::Runs { name, .. } => format!("it runs {} {since}", job(name)),
            Doing::Calls => format!("it is in a call from outside {since}"),
            Doing::Initialises(_) => format!("it makes the value of a Once {since}"),
            Doing::Blocks => format!("it is in `blocking` {since}"),
            Doing::Waits(wait) => {
                let makers = self.workers.iter().filter(|other| other.makes(wait));
                let makers: Vec<_> = makers.map(|other| other.index.to_string()).collect();
                let by = if makers.is_empty() {
                    String::new()
                } else {
                    format!(", which worker {} runs,", makers.join(" and worker "))
                };
                format!("it waits {since} for {}{by}", awaited(wait))
                    .trim_end_matches(',')
                    .to_owned()
            }
        }
    }

    fn cycle(&self, cycle: &Cycle) -> String {
        let mut text = format!("worker {}", cycle.first);
        let mut at = cycle.first;
        for step in &cycle.steps {
            let from = self.workers.iter().find(|seen| seen.index == at);
            at = step.to();
            let _ = match step {
                Step::Awaits(worker) => write!(text, " -> worker {worker}"),
                Step::Locked(worker) => {
                    let address = from.and_then(Seen::futex);
                    let lock = address.map_or_else(String::new, |at| format!(" {at:#x}"));
                    write!(
                        text,
                        " -> lock{lock} -> a frame below on worker {worker} (probably)"
                    )
                }
            };
        }
        text
    }

    fn hint(&self, cycle: Option<&Cycle>) -> &'static str {
        let is_locked = |step: &Step| matches!(step, Step::Locked(_));
        if cycle.is_some_and(|cycle| cycle.steps.iter().any(is_locked)) {
            "hint: a lock, or a value that is made once, is held over a join or a scope, and a job \
             that runs meanwhile wants it. Let it go before, or let waits run their own jobs only \
             (`Waiting::Descendants`); `Once` and `Lazy` of heist are made for such values"
        } else if self.is_queued && self.workers.iter().any(Seen::is_in_futex) {
            "hint: jobs wait for a worker, and each worker is blocked. A job that waits for another \
             one has to wait by heist (a join, a scope, a handle), or inside of `blocking`"
        } else if self.workers.iter().any(Seen::is_in_futex) {
            "hint: a job waits for something that no worker seems to have: a channel, a condition \
             variable, or a lock of a thread outside of the pool"
        } else if self.is_queued {
            "hint: jobs wait for a worker, and no worker comes: other programs leave the workers no \
             processor, or it is a fault of heist"
        } else {
            "hint: the jobs or events that are waited for are not here: they are in another pool, \
             on other threads, or never come"
        }
    }
}

fn job(name: Option<Name>) -> String {
    let name = name.map(|name| short_name(name()));
    let of_program = name.filter(|name| !name.starts_with("heist_") && name.contains("::"));
    of_program.map_or_else(|| "a job".to_owned(), |name| format!("`{name}`"))
}

fn awaited(wait: Wait) -> String {
    match wait {
        Wait::Half { name, .. } => format!("the second half of a join, {}", job(Some(name))),
        Wait::Jobs => "jobs that it has begun".to_owned(),
        Wait::Value(_) => "the value of a Once".to_owned(),
        Wait::Pool => "a call in another pool".to_owned(),
        Wait::Event => "an event, as a future does".to_owned(),
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;
    use crate::stall::seen::tests::{blocked, half, runs, seen, waiting, waits};

    fn text(workers: &[Seen], is_queued: bool) -> String {
        let stall = Stall {
            pool: 3,
            still: Duration::from_millis(10_040),
            now_ns: 11_200_000_000,
            len: 4,
            workers,
            is_queued,
        };
        stall.text()
    }

    #[test]
    fn the_report_names_both_ends_and_the_cycle() {
        let workers = [
            seen(2, &[waits(half(8)), runs(Some(4))], Some(blocked(0xa8))),
            seen(3, &[runs(Some(8))], Some(blocked(0xa8))),
        ];
        let expected = "\
heist: nothing has moved for 10.0 s in pool 3 (4 workers)
  worker 2  is blocked in futex 0xa8; below that it runs `prog::update` for 10.2 s; below that it \
waits for 10.2 s for the second half of a join, `prog::stats`, which worker 3 runs
  worker 3  is blocked in futex 0xa8; below that it runs `prog::update` for 10.2 s
  2 more: idle, without a job
  cycle: worker 2 -> worker 3 -> lock 0xa8 -> a frame below on worker 2 (probably)
  hint: a lock, or a value that is made once, is held over a join or a scope, ";
        let text = text(&workers, false);
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with('\n') && text.lines().count() == 6, "{text}");
    }

    #[test]
    fn each_kind_of_stall_has_its_hint() {
        let job = [seen(0, &[runs(None)], Some(blocked(0xa8)))];
        assert!(text(&job, true).contains("hint: jobs wait for a worker, and each worker"));
        assert!(text(&job, false).contains("a channel, a condition variable"));
        let other = [seen(0, &[runs(None), waits(Wait::Pool)], None)];
        assert!(text(&other, false).contains("they are in another pool"));
        assert!(text(&[], true).contains("a fault of heist"));
    }

    #[test]
    fn a_place_that_the_system_does_not_tell_is_said_to_be_so() {
        let workers = [
            seen(0, &[waits(half(8))], None),
            seen(1, &[runs(Some(8))], Some(waiting(None))),
        ];
        let text = text(&workers, false);
        assert!(text.contains("worker 1  waits in a place that the system does not tell"));
        assert!(!text.contains("cycle"), "{text}");
    }
}
