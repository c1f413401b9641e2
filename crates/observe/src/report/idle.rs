//! The idle time of each worker, by how many others had a task meanwhile.

use crate::Run;

/// The idle time of a run, from the first moment that is recorded of every worker.
pub(super) struct Idleness {
    /// That moment.
    pub(super) from_ns: u64,
    /// The time from there to the end of the run.
    pub(super) window_ns: u64,
    /// The idle time of each worker.
    pub(super) lanes: Vec<LaneIdle>,
    /// The stretches in which one worker alone had a task, in order.
    pub(super) alone: Vec<Alone>,
}

/// The idle time of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneIdle {
    /// Idle time while no worker had a task, exactly one had, and several had.
    pub(super) by_busy_ns: [u64; 3],
    /// The begin of the idle stretch that lasted to the end of the run, if one did.
    pub(super) last_from_ns: Option<u64>,
}

impl LaneIdle {
    pub(super) fn idle_ns(&self) -> u64 {
        self.by_busy_ns.iter().sum()
    }
}

/// A stretch in which one worker alone had a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alone {
    pub(super) worker: usize,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

/// Sorts the idle time of a run.
pub(super) fn idleness(run: &Run) -> Idleness {
    let unknown = run.lanes.iter().map(|lane| lane.unknown_until_ns);
    let from_ns = unknown.max().unwrap_or(0).min(run.wall_ns);
    let mut sweep = Sweep {
        at_ns: from_ns,
        // No worker is busy before its first change.
        idle_since: vec![Some(([0; 3], from_ns)); run.lanes.len()],
        lanes: vec![LaneIdle::default(); run.lanes.len()],
        ..Sweep::default()
    };
    for (at_ns, worker, begins) in changes(run, from_ns) {
        sweep.advance(at_ns);
        sweep.turn(worker, begins);
    }
    sweep.advance(run.wall_ns);
    for worker in 0..run.lanes.len() {
        if let Some((_, since_ns)) = sweep.idle_since[worker] {
            sweep.lanes[worker].last_from_ns = (since_ns < run.wall_ns).then_some(since_ns);
            sweep.turn(worker, true);
        }
    }
    Idleness {
        from_ns,
        window_ns: run.wall_ns - from_ns,
        lanes: sweep.lanes,
        alone: sweep.alone,
    }
}

/// The moments at which a worker became busy (true) or idle, in order, within the window.
fn changes(run: &Run, from_ns: u64) -> Vec<(u64, usize, bool)> {
    let mut changes = Vec::new();
    for (worker, lane) in run.lanes.iter().enumerate() {
        for (begin_ns, end_ns) in lane.busy() {
            let (begin_ns, end_ns) = (begin_ns.max(from_ns), end_ns.min(run.wall_ns));
            if begin_ns < end_ns {
                changes.push((begin_ns, worker, true));
                changes.push((end_ns, worker, false));
            }
        }
    }
    // An end comes before a begin at the same moment, so that one task after another is one.
    changes.sort_unstable_by_key(|&(at_ns, worker, begins)| (at_ns, begins, worker));
    changes
}

#[derive(Default)]
struct Sweep {
    at_ns: u64,
    busy: Vec<usize>,
    /// The time so far in which none, one and several were busy.
    passed_ns: [u64; 3],
    /// That time when the worker became idle, and the moment; none while it is busy.
    idle_since: Vec<Option<([u64; 3], u64)>>,
    lanes: Vec<LaneIdle>,
    alone: Vec<Alone>,
}

impl Sweep {
    fn advance(&mut self, at_ns: u64) {
        let step_ns = at_ns - self.at_ns;
        if step_ns == 0 {
            return;
        }
        self.passed_ns[self.busy.len().min(2)] += step_ns;
        if let [worker] = self.busy[..] {
            match self.alone.last_mut() {
                Some(last) if last.worker == worker && last.end_ns == self.at_ns => {
                    last.end_ns = at_ns;
                }
                _ => self.alone.push(Alone {
                    worker,
                    begin_ns: self.at_ns,
                    end_ns: at_ns,
                }),
            }
        }
        self.at_ns = at_ns;
    }

    fn turn(&mut self, worker: usize, busy: bool) {
        if !busy {
            self.busy.retain(|&other| other != worker);
            self.idle_since[worker] = Some((self.passed_ns, self.at_ns));
            return;
        }
        self.busy.push(worker);
        if let Some((then_ns, _)) = self.idle_since[worker].take() {
            for (class, then_ns) in then_ns.into_iter().enumerate() {
                self.lanes[worker].by_busy_ns[class] += self.passed_ns[class] - then_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lane, Span, SpanKind};

    fn run(wall_ns: u64, lanes: &[&[(u64, u64)]]) -> Run {
        let span = |&(begin_ns, end_ns): &(u64, u64)| Span {
            begin_ns,
            end_ns,
            kind: SpanKind::Task,
            label: "task".to_owned(),
            source: None,
        };
        let lane = |tasks: &&[(u64, u64)]| Lane {
            spans: tasks.iter().map(span).collect(),
            ..Lane::default()
        };
        Run {
            wall_ns,
            lanes: lanes.iter().map(lane).collect(),
            ..Run::default()
        }
    }

    #[test]
    fn idle_time_is_sorted_by_how_many_others_were_busy() {
        let run = run(100, &[&[(10, 90)], &[(20, 30)], &[(25, 60), (60, 70)]]);
        let found = idleness(&run);
        let by_busy: Vec<_> = found.lanes.iter().map(|lane| lane.by_busy_ns).collect();
        // Two others are busy from 25 to 30 for nobody; worker 2 idles while both work, 20 to 25.
        assert_eq!(by_busy, [[20, 0, 0], [20, 30, 40], [20, 30, 5]]);
        let lasts: Vec<_> = found.lanes.iter().map(|lane| lane.last_from_ns).collect();
        assert_eq!(lasts, [Some(90), Some(30), Some(70)]);
        let alone = |begin_ns, end_ns| Alone {
            worker: 0,
            begin_ns,
            end_ns,
        };
        assert_eq!(found.alone, [alone(10, 20), alone(70, 90)]);
    }

    #[test]
    fn time_that_is_not_recorded_of_every_worker_is_left_out() {
        let mut run = run(100, &[&[(0, 50)], &[(0, 100)]]);
        run.lanes[1].unknown_until_ns = 40;
        let found = idleness(&run);
        assert_eq!((found.from_ns, found.window_ns), (40, 60));
        assert_eq!(found.lanes[0].by_busy_ns, [0, 50, 0]);
        assert_eq!(found.lanes[1].idle_ns(), 0);
        assert_eq!(found.lanes[1].last_from_ns, None);
    }

    #[test]
    fn spans_beyond_the_end_of_the_run_count_up_to_it() {
        let found = idleness(&run(100, &[&[(90, 200)], &[(150, 200)]]));
        assert_eq!(found.lanes[0].by_busy_ns, [90, 0, 0]);
        assert_eq!(found.lanes[1].by_busy_ns, [90, 10, 0]);
    }
}
