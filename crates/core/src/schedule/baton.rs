//! The baton: the runners, which of them runs, and which one is next.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Condvar};

use heist_event::schedule::Deviation;
use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::{set_time_ns, thread_state};

use super::chooser::{Chooser, Rule};

/// The time that passes from one point to the next.
const POINT_NS: u64 = 1_000;

/// The rounds of searches in vain, without anything else, after which others go first.
const ROUNDS_FIRST: u64 = 3;

/// The rounds of searches in vain, without anything else, after which those that have arrived are
/// able to run: the searchers may wait for them.
const ROUNDS_ALONE: u64 = 1_000;

/// The most deviations that a report tells.
const TOLD_MAX: usize = 40;

/// How many bytes of a schedule are kept back at most.
const KEPT_BACK: usize = 1 << 16;

/// Says what the workers of a pool do, or that it has ended.
pub(crate) type Describe = Box<dyn Fn() -> Option<String> + Send>;

/// A point at which the baton may change hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// The runner has work.
    Work,
    /// It has looked for work in vain, and others should go first.
    Round,
}

/// The runners of a pool's workers, by the number of the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members(pub(super) usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It runs, or would if it had the baton.
    Able,
    /// It has come to heist at a time of its own, and would run. It is able to once nobody else is:
    /// how long others have searched in vain by then must not matter. Or once somebody who has work
    /// comes to a point; but not a thread from outside, unless that work is another one's.
    Arrived,
    /// It waits in heist, until somebody wakes it by this address.
    Waits(usize),
    /// It waits in the program's code, and lost the baton there.
    Blocked,
    /// It runs without the baton.
    Loose,
    /// Its thread is not there yet, or no more.
    Gone,
}

/// A thread that uses heist.
pub(super) struct Runner {
    pub(super) state: State,
    /// It searches.
    is_idle: bool,
    /// As the system knows it, once it is there.
    pub(super) thread: Option<u32>,
    /// The worker that it is for good.
    pub(super) is_worker: bool,
    pub(super) bell: Arc<Condvar>,
    /// It is back in heist, and about to have the lock of the baton.
    pub(super) arrives: Arc<AtomicBool>,
}

impl Runner {
    /// True if it was blocked, and runs again or has come to a point.
    pub(super) fn is_woken(&self) -> bool {
        // Relaxed, and in this order: if it waits for the lock of the baton, it has set the word
        // before it called the system, which has told us.
        self.state == State::Blocked
            && self.thread.is_some_and(|thread| {
                !thread_state::waits(thread) || self.arrives.load(Ordering::Relaxed)
            })
    }
}

/// The runners, and which of them runs.
pub(super) struct Baton {
    pub(super) runners: Vec<Runner>,
    /// Each says what the workers of a pool do, while there is that pool.
    pub(super) pools: Vec<Describe>,
    /// The runner that runs.
    pub(super) holder: Option<usize>,
    /// The one that ran last.
    last: usize,
    /// The holder has noticed.
    pub(super) is_running: bool,
    /// The holder waits for those whom it has woken.
    pub(super) is_settling: bool,
    pub(super) points: u64,
    /// How many rounds of searches came since anything else.
    pub(super) rounds: u64,
    /// The time that has passed besides that of the points.
    slept_ns: u64,
    chooser: Chooser,
    /// The points behind which a runner blocks, as far as they are to come.
    blocks: Option<VecDeque<u64>>,
    record: Option<File>,
    /// Lines for it that came while no thread outside of all pools was there.
    kept_back: String,
    deviations: u64,
    /// The first ones.
    first: Vec<Deviation>,
    pub(super) told: String,
    pub(super) is_lost: bool,
    /// The options of the present choice.
    options: Vec<usize>,
}

impl Baton {
    /// As `told`.
    pub(super) fn new(
        rule: &Rule,
        blocks: Option<Vec<u64>>,
        record: Option<File>,
        told: String,
    ) -> Self {
        set_time_ns(0);
        Self {
            runners: Vec::new(),
            pools: Vec::new(),
            holder: None,
            last: 0,
            is_running: false,
            is_settling: false,
            points: 0,
            rounds: 0,
            slept_ns: 0,
            chooser: Chooser::new(rule),
            blocks: blocks.map(VecDeque::from),
            record,
            kept_back: String::new(),
            deviations: 0,
            first: Vec::new(),
            told,
            is_lost: false,
            options: Vec::new(),
        }
    }

    /// Adds a runner, and returns its number.
    pub(super) fn add(&mut self, state: State, thread: Option<u32>, is_worker: bool) -> usize {
        // The system gives the number of a thread that has ended to another one.
        if let Some(former) = thread.and_then(|thread| self.outside(thread)) {
            self.leaves(former);
        }
        self.runners.push(Runner {
            state,
            is_idle: is_worker,
            thread,
            is_worker,
            bell: Arc::default(),
            arrives: Arc::new(AtomicBool::new(false)),
        });
        if !is_worker {
            self.record_all();
        }
        self.runners.len() - 1
    }

    /// The last runner that this thread was outside of all pools.
    pub(super) fn outside(&self, thread: u32) -> Option<usize> {
        let was = |runner: &Runner| runner.thread == Some(thread) && !runner.is_worker;
        self.runners.iter().rposition(was)
    }

    /// A runner has come to heist, or back to it, and would go on. It has the baton if nobody else
    /// has.
    pub(super) fn arrives(&mut self, me: usize) {
        if self.runners[me].state != State::Able {
            self.runners[me].state = State::Arrived;
        }
        if self.holder.is_none() {
            self.pass();
        }
    }

    /// The holder, which has work, has come to a point.
    fn admit_to_work(&mut self) {
        let is_outside = |runner: &Runner| {
            let is_there = matches!(
                runner.state,
                State::Waits(_) | State::Blocked | State::Loose
            );
            !runner.is_worker && is_there
        };
        let holder = self.holder.map(|holder| &self.runners[holder]);
        let is_work_of_others =
            holder.is_some_and(|holder| !holder.is_worker) || self.runners.iter().any(is_outside);
        self.admit(is_work_of_others);
    }

    /// Those that have arrived are able to run from now on; workers only, or threads from `outside`
    /// as well.
    fn admit(&mut self, outside: bool) {
        for runner in &mut self.runners {
            if runner.state == State::Arrived && (outside || runner.is_worker) {
                runner.state = State::Able;
                runner.is_idle = false;
                self.rounds = 0;
            }
        }
    }

    /// The holder has come to a point.
    pub(super) fn count(&mut self, point: Point) {
        self.points += 1;
        let is_round = point == Point::Round;
        self.rounds = if is_round { self.rounds + 1 } else { 0 };
        if let Some(holder) = self.holder {
            self.runners[holder].is_idle = is_round;
            if self.rounds >= ROUNDS_FIRST {
                self.chooser.pass_over(holder);
            }
        }
        if !is_round {
            self.admit_to_work();
        } else if self.rounds > ROUNDS_ALONE {
            self.admit(true);
        }
        self.set_time();
    }

    /// So much time passes without a point.
    pub(super) fn pass_time(&mut self, ns: u64) {
        self.slept_ns = self.slept_ns.saturating_add(ns);
        self.set_time();
    }

    fn set_time(&self) {
        set_time_ns((self.points * POINT_NS).saturating_add(self.slept_ns));
    }

    /// Those that wait at this address may go on. The runner with the baton keeps it.
    pub(super) fn wakes(&mut self, address: usize) {
        let mut has_woken = false;
        for runner in &mut self.runners {
            if runner.state == State::Waits(address) {
                runner.state = State::Able;
                has_woken = true;
            }
        }
        if has_woken {
            self.rounds = 0;
            if self.holder.is_none() {
                self.pass();
            }
        }
    }

    /// This runner is there no more: its thread has ended, or does something else.
    pub(super) fn leaves(&mut self, runner: usize) {
        if self.holder == Some(runner) {
            self.stop(State::Gone);
        } else {
            self.runners[runner].state = State::Gone;
        }
    }

    /// The holder stops to run.
    pub(super) fn stop(&mut self, state: State) {
        if let Some(holder) = self.holder {
            self.runners[holder].state = state;
            // A thread that leaves may be waited for, until it has left or a moment before.
            if !self.runners[holder].is_idle && state != State::Gone {
                self.admit_to_work();
            }
            self.pass();
        }
    }

    /// The baton goes to the runner that is chosen, if one is able to run.
    ///
    /// By default the present one goes on. If it cannot, or searches, the next one in a ring has
    /// it, first of those that have work.
    pub(super) fn pass(&mut self) {
        let count = self.runners.len();
        if !(0..count).any(|runner| self.is_able(runner)) {
            self.admit(true);
        }
        let from = self.holder.unwrap_or(self.last);
        let goes_on = self.is_able(from) && !self.runners[from].is_idle;
        let ring = (0..count).map(|nth| (from + nth + usize::from(!goes_on)) % count);
        let mut options = std::mem::take(&mut self.options);
        options.clear();
        options.extend(ring.filter(|&runner| self.is_able(runner)));
        options.sort_by_key(|&runner| self.runners[runner].is_idle);
        let next = match options.len() {
            0 => None,
            _ => {
                let (option, deviation) = self.chooser.choose_runner(&options);
                self.note(deviation);
                Some(options[option])
            }
        };
        self.options = options;
        self.last = next.unwrap_or(from);
        if next != self.holder {
            self.holder = next;
            self.is_running = false;
            if let Some(next) = next {
                self.runners[next].bell.notify_one();
            }
        }
    }

    fn is_able(&self, runner: usize) -> bool {
        self.runners[runner].state == State::Able
    }

    /// True if a runner has been woken in the program's code, and has not come to a point since.
    pub(super) fn has_woken(&self) -> bool {
        self.runners.iter().any(Runner::is_woken)
    }

    /// True if some runner could run besides the holder.
    pub(super) fn has_others(&self) -> bool {
        let mut all = 0..self.runners.len();
        all.any(|runner| {
            let is_there = matches!(self.runners[runner].state, State::Able | State::Arrived);
            Some(runner) != self.holder && is_there
        })
    }

    /// The number of one of so many options.
    pub(super) fn choose(&mut self, options: usize) -> usize {
        let (option, deviation) = self.chooser.choose(options);
        self.note(deviation);
        option
    }

    fn note(&mut self, deviation: Option<Deviation>) {
        if let Some(deviation) = deviation {
            self.deviations += 1;
            if self.first.len() < TOLD_MAX {
                self.first.push(deviation);
            }
            self.write(&format!("{deviation}\n"));
        }
    }

    /// True if the runner that runs behind the present point blocks there, according to the
    /// schedule; `None` if that does not say.
    pub(super) fn is_to_block(&self) -> Option<bool> {
        let blocks = self.blocks.as_ref()?;
        Some(blocks.contains(&self.points))
    }

    /// Takes the baton away from the holder, which waits in the program's code.
    pub(super) fn block(&mut self) {
        self.write(&format!("blocked {}\n", self.points));
        if let Some(blocks) = &mut self.blocks {
            let at = blocks.iter().position(|&point| point == self.points);
            at.map(|at| blocks.remove(at));
        }
        self.stop(State::Blocked);
    }

    /// Records a line. Once the last thread from outside has gone the process may end at any
    /// moment: so a line counts only if another such thread comes, or all are blocked.
    fn write(&mut self, line: &str) {
        self.kept_back.push_str(line);
        let mut outside = self.runners.iter().filter(|runner| !runner.is_worker);
        if outside.any(|runner| runner.state != State::Gone) || self.kept_back.len() > KEPT_BACK {
            self.record_all();
        }
    }

    /// Records the lines that were kept back.
    pub(super) fn record_all(&mut self) {
        let lines = std::mem::take(&mut self.kept_back);
        if let Some(file) = &mut self.record {
            if let Err(error) = file.write_all(lines.as_bytes()) {
                // Without the rest it is another schedule.
                let _ = file.set_len(0);
                self.record = None;
                self.say(&format!("the schedule cannot be recorded: {error}"));
            }
        }
    }

    /// The schedule ends here.
    pub(super) fn end_record(&mut self) {
        self.record = None;
    }

    /// The schedule up to now, for people.
    pub(super) fn deviations(&self) -> String {
        let first: Vec<String> = self.first.iter().map(ToString::to_string).collect();
        let more = match self.deviations - self.first.len() as u64 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!(
            "{} deviations from the default schedule: {}{more}",
            self.deviations,
            first.join(", ")
        )
    }

    pub(super) fn say(&self, text: &str) {
        let text = format!("heist: HEIST_SCHEDULE={}: {text}\n", self.told);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
