//! The monitor: a thread that takes the baton from a runner that keeps it without running, and
//! reports that nothing can run any more.

use std::io::{self, Write as _};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use heist_sync::atomic::Ordering;
use heist_sync::process;
use heist_sync::thread;
use heist_sync::thread_state::{self, present_thread, ThreadState};
use heist_sync::Futex;

use super::baton::{Baton, State};
use super::runner;
use super::DEADLOCK;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The looks in a row at which a runner must wait in the system while no other thread runs, to lose
/// the baton.
const LOOKS: u32 = 3;

/// The looks at which it must wait where the schedule says that it goes on, or another thread runs
/// that may wake it: one that is on its way to be a worker, and has the allocator's lock.
const LOOKS_IF_NOT_SO: u32 = 1_000;

/// How long a runner may run without a point while others could.
const ALONE_MAX: Duration = Duration::from_secs(1);

/// The looks at which nothing runs, before that is a deadlock.
const LOOKS_AT_STILL: u32 = 30;

/// How long nothing runs besides, while a thread that does not use heist waits for a time of its
/// own, as that of a test harness or of the thread sanitizer does. A time, for a look takes 10 ms
/// under that sanitizer.
const OTHERS_MAX: Duration = Duration::from_secs(2);

/// The rounds of searches, without anything else, after which nothing runs.
const ROUNDS_MAX: u64 = 5_000;

/// The threads of heist's own that look at the program now and then.
static WATCHERS: std::sync::Mutex<Vec<u32>> = std::sync::Mutex::new(Vec::new());

/// The calling thread is one of heist's own: the program does not wait for it.
pub(crate) fn watches() {
    let mut watchers = WATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
    watchers.extend(present_thread());
}

/// Starts the thread that looks.
pub(super) fn start() {
    let thread = thread::Builder::new().name("heist-schedule".to_owned());
    if let Err(error) = thread.spawn(look_for_ever) {
        let text = format!("heist: HEIST_SCHEDULE: could not start the monitor: {error}\n");
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// The state of the monitor between two looks.
struct Monitor {
    /// The point that the holder had come to at the last look.
    points: u64,
    since: Instant,
    /// Its thread's time on a processor then.
    cpu_ns: Option<u64>,
    /// The looks since then at which it has waited.
    waited: u32,
    /// The last of them, at which no other thread ran.
    waited_alone: u32,
    still: Still,
}

/// The looks in a row at which nothing ran.
struct Still {
    looks: u32,
    since: Instant,
    /// The last of them, at which there was no reason for patience.
    hopeless: u32,
}

fn look_for_ever() {
    watches();
    let mut monitor = Monitor {
        points: u64::MAX,
        since: Instant::now(),
        cpu_ns: None,
        waited: 0,
        waited_alone: 0,
        still: Still::new(Instant::now()),
    };
    loop {
        Futex::new(0).wait_timeout(0, PAUSE);
        let Some(mut baton) = runner::baton() else {
            return;
        };
        monitor.look(&mut baton);
    }
}

impl Monitor {
    fn look(&mut self, baton: &mut Baton) {
        if baton.points != self.points {
            self.points = baton.points;
            self.begin();
        }
        match baton.holder {
            Some(holder) if baton.is_settling => self.look_at_woken(baton, holder),
            Some(holder) if baton.is_running => self.look_at_holder(baton, holder),
            _ => {}
        }
        let is_still = baton.holder.is_none() || baton.rounds > ROUNDS_MAX;
        let patience = is_still.then(|| Self::patience(baton)).flatten();
        if self.still.is_for_good(patience, Instant::now()) {
            report(baton);
        }
    }

    /// A runner has come to another point.
    fn begin(&mut self) {
        self.since = Instant::now();
        self.cpu_ns = None;
        self.waited = 0;
        self.waited_alone = 0;
    }

    fn look_at_holder(&mut self, baton: &mut Baton, holder: usize) {
        let Some(id) = baton.runners[holder].thread else {
            return;
        };
        let arrives = &baton.runners[holder].arrives;
        // Relaxed: as in `Runner::is_woken`.
        if thread_state::waits(id) && !arrives.load(Ordering::Relaxed) {
            if ThreadState::of(id).is_none() {
                // It came to heist again when its thread-local values were dropped.
                if !baton.has_woken() {
                    baton.leaves(holder);
                    self.begin();
                }
                return;
            }
            self.waited += 1;
            let is_alone = Self::others().all(thread_state::waits);
            self.waited_alone = if is_alone { self.waited_alone + 1 } else { 0 };
            let may_be_so = baton.is_to_block() != Some(false);
            let is_long = self.waited >= LOOKS_IF_NOT_SO;
            if (is_long || may_be_so && self.waited_alone >= LOOKS) && !baton.has_woken() {
                baton.block();
                self.begin();
            }
            return;
        }
        self.waited = 0;
        self.waited_alone = 0;
        if self.has_run_for_long(id) && baton.has_others() {
            lose(baton);
            baton.stop(State::Loose);
            self.begin();
        }
    }

    /// The holder waits for runners that it has woken, and that run.
    fn look_at_woken(&mut self, baton: &mut Baton, holder: usize) {
        if self.since.elapsed() < ALONE_MAX {
            return;
        }
        lose(baton);
        for (runner, blocked) in baton.runners.iter_mut().enumerate() {
            if runner != holder && blocked.state == State::Blocked {
                blocked.state = State::Loose;
            }
        }
    }

    /// The threads of the process but those that watch it.
    fn others() -> impl Iterator<Item = u32> {
        let watchers = WATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads = thread_state::all_threads();
        threads.retain(|id| !watchers.contains(id));
        threads.into_iter()
    }

    fn has_run_for_long(&mut self, id: u32) -> bool {
        if self.since.elapsed() < ALONE_MAX {
            return false;
        }
        let Some(now) = ThreadState::of(id).map(|state| state.cpu_ns) else {
            return false;
        };
        let then = *self.cpu_ns.get_or_insert(now);
        Duration::from_nanos(now - then) > ALONE_MAX
    }

    /// The time after which this is a deadlock: a runner waits for another one, no thread of the
    /// process runs, and no runner waits for a time of its own. `None` if it is not.
    fn patience(baton: &Baton) -> Option<Duration> {
        let waits = baton.runners.iter().any(|runner| match runner.state {
            State::Blocked => true,
            State::Waits(_) => !runner.is_worker,
            State::Able | State::Arrived | State::Loose | State::Gone => false,
        });
        if !waits {
            return None;
        }
        let mut patience = Duration::ZERO;
        for id in Self::others() {
            let mut runners = baton.runners.iter();
            let runner = runners.find(|it| it.thread == Some(id) && it.state != State::Gone);
            if runner.is_some_and(|runner| runner.state == State::Able) {
                // It searches in vain.
                continue;
            }
            match ThreadState::of(id) {
                None => {}
                Some(state) if state.is_in_futex() => {}
                Some(state) if state.is_running() || runner.is_some() => return None,
                Some(_) => patience = OTHERS_MAX,
            }
        }
        Some(patience)
    }
}

impl Still {
    fn new(now: Instant) -> Self {
        Self {
            looks: 0,
            since: now,
            hopeless: 0,
        }
    }

    /// True if nothing has run for so long, and at so many looks, that nothing will. At this look
    /// something ran, or else this is the patience for that.
    fn is_for_good(&mut self, patience: Option<Duration>, now: Instant) -> bool {
        let Some(patience) = patience else {
            *self = Self::new(now);
            return false;
        };
        if self.looks == 0 {
            self.since = now;
        }
        self.looks += 1;
        // A single look does not count for those before it: a thread that comes back from the
        // network, and waits for the lock that this one holds, looks as if it waited for another.
        self.hopeless = if patience.is_zero() {
            self.hopeless + 1
        } else {
            0
        };
        let are_many = self.looks > LOOKS_AT_STILL && now - self.since >= OTHERS_MAX;
        self.hopeless > LOOKS_AT_STILL || are_many
    }
}

/// From here on the schedule says no more what is to come.
fn lose(baton: &mut Baton) {
    if !std::mem::replace(&mut baton.is_lost, true) {
        baton.say(
            "a thread has run for a second without a point, and now runs beside the others: this \
             run cannot be repeated exactly",
        );
    }
}

/// Says that nothing can run any more, and ends the process.
fn report(baton: &mut Baton) -> ! {
    let points = baton.points - baton.rounds.min(baton.points);
    let mut text = format!("deadlock: nothing can run any more, at point {points}\n");
    let pools = baton.pools.iter().filter_map(|describe| describe());
    text.extend(pools);
    for runner in baton.runners.iter().filter(|runner| !runner.is_worker) {
        match runner.state {
            State::Waits(_) => text.push_str("  a thread outside waits for a pool\n"),
            State::Blocked => text.push_str("  a thread outside is blocked\n"),
            State::Able | State::Arrived | State::Loose | State::Gone => {}
        }
    }
    text.push_str(&format!("  {}", baton.deviations()));
    baton.say(&text);
    baton.record_all();
    process::leave(DEADLOCK)
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_comes_back_in_the_middle_of_a_look_is_no_deadlock() {
        let mut now = Instant::now();
        let mut still = Still::new(now);
        let mut looks = |patience, count: u32| {
            let mut look = |_| {
                now += PAUSE;
                still.is_for_good(patience, now)
            };
            (0..count).position(&mut look)
        };
        let (others, none) = (Some(OTHERS_MAX), Some(Duration::ZERO));
        let at_once = Some(LOOKS_AT_STILL as usize);
        assert_eq!(looks(others, 1_000), None);
        assert_eq!(looks(none, 1), None, "it waits for the lock");
        assert_eq!(looks(None, 1), None, "it has it");
        assert_eq!(looks(others, 500), None);
        assert_eq!(looks(none, 100), at_once);
        assert_eq!(looks(None, 1), None);
        assert_eq!(looks(none, 100), at_once);
        assert_eq!(looks(None, 1), None);
        assert_eq!(looks(others, 1_000), None);
        assert_eq!(looks(none, 20), None);
        assert_eq!(looks(others, 1_000), Some(980), "two seconds are over");
    }
}
