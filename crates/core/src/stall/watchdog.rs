//! The watchdog: one thread, which looks at all watched pools now and then.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use heist_sync::process::Generation;
use heist_sync::thread;
use heist_sync::thread_state::{self, ThreadState};
use heist_sync::{Condvar, Mutex};

use super::judge::{Judge, Look};
use super::seen::{is_in_program, Seen};
use super::text::Stall;
use crate::schedule;
use crate::state::{Doing, Frames, Pool, Stack, Wait};

/// The longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// The looks in the time after which a stall is said.
const LOOKS: u32 = 10;

/// A thread that has had a larger share of the time on a processor has moved.
const CPU_SHARE: f64 = 0.01;

/// The pools that are watched.
static WATCHED: std::sync::Mutex<Vec<Watched>> = std::sync::Mutex::new(Vec::new());

/// A pool, and what the last look has found.
struct Watched {
    pool: Weak<Pool>,
    judge: Judge,
    /// The last report.
    said: String,
    /// The sum of what its workers have counted.
    moves: u64,
    /// The time that threads have had on a processor, in ns.
    cpu_ns: HashMap<u32, u64>,
}

/// A look at a pool.
struct Sight {
    look: Look,
    waits_for_pool: bool,
    workers: Vec<Seen>,
    is_queued: bool,
}

/// True if pools can be watched. Where they cannot, a line says so, and the program runs on.
/// A forked child has no watchdog.
pub(crate) fn is_possible() -> bool {
    static BORN: OnceLock<Option<Generation>> = OnceLock::new();
    let born = BORN.get_or_init(|| {
        let is_told = thread_state::present_thread().is_some();
        if !is_told {
            refuse("this system does not tell what its threads do, as Linux does");
        }
        is_told.then(Generation::present)
    });
    born.is_some_and(|born| !born.is_past())
}

/// Starts the thread that watches.
fn start(patience: Duration) {
    let thread = thread::Builder::new().name("heist-stall".to_owned());
    if let Err(error) = thread.spawn(move || look_for_ever(patience)) {
        refuse(&format!("could not start its thread: {error}"));
    }
}

fn refuse(why: &str) {
    say(&format!("heist: no stall watchdog (HEIST_STALL): {why}\n"));
}

/// Watches a pool, whose threads have started, from now on.
pub(crate) fn watch(pool: &Arc<Pool>, patience: Duration) {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| start(patience));
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    watched.retain(|other| other.pool.strong_count() > 0);
    watched.push(Watched {
        pool: Arc::downgrade(pool),
        judge: Judge::new(patience),
        said: String::new(),
        moves: 0,
        cpu_ns: HashMap::new(),
    });
}

/// The report of the pool's present stall, if it stands still and is watched.
pub(crate) fn present(pool: &Pool) -> Option<String> {
    let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut watched = watched.iter();
    let watched = watched.find(|watched| watched.pool.as_ptr() == pool)?;
    watched.judge.has_stalled().then(|| watched.said.clone())
}

/// The workers of a pool that stands still, each with what it does, and a hint.
pub(crate) fn describe(pool: &Pool) -> String {
    let stall = Stall {
        pool: pool.number,
        still: Duration::ZERO,
        now_ns: pool.now_ns(),
        len: pool.len(),
        workers: &workers_with_frames(&stacks(pool)),
        is_queued: pool.has_a_job(),
    };
    stall.lines()
}

/// The frames of all workers.
fn stacks(pool: &Pool) -> Vec<Stack> {
    let frames = pool.workers().map(|worker| worker.frames.as_ref());
    let stacks = frames.map(|frames| frames.map(Frames::look).unwrap_or_default());
    stacks.collect()
}

/// The workers that have frames, and what their threads do.
fn workers_with_frames(stacks: &[Stack]) -> Vec<Seen> {
    let used = stacks.iter().enumerate();
    let used = used.filter(|(_, stack)| !stack.frames.is_empty());
    let seen = used.map(|(index, stack)| {
        let thread = stack.thread.filter(|_| is_in_program(&stack.frames));
        Seen {
            index,
            frames: stack.frames.clone(),
            thread: thread.and_then(ThreadState::of),
        }
    });
    seen.collect()
}

fn look_for_ever(patience: Duration) {
    schedule::watches();
    let pause = PAUSE_MAX.min(patience / LOOKS);
    let (bell, lock) = (Condvar::new(), Mutex::new(()));
    let mut last = Instant::now();
    loop {
        drop(bell.wait_timeout(lock.lock(), pause));
        let passed = last.elapsed();
        last = Instant::now();
        // If the whole process was stopped meanwhile, that is no stall.
        look(passed, passed.min(2 * pause));
    }
}

/// Looks at all pools, `passed` after the last look; so much of that `counts`.
fn look(passed: Duration, counts: Duration) {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sights = Vec::new();
    for watched in watched.iter_mut() {
        if let Some(pool) = watched.pool.upgrade() {
            let sight = watched.see(&pool, passed);
            sights.push((watched, pool, sight));
        }
    }
    let moving = sights.iter().filter(|(_, _, sight)| sight.look.moved);
    let is_any_moving = moving.count() > 0;
    let mut texts = Vec::new();
    for (watched, pool, mut sight) in sights {
        sight.look.moved |= sight.waits_for_pool && is_any_moving;
        if let Some(still) = watched.judge.hear(sight.look, counts) {
            let stall = Stall {
                pool: pool.number,
                still,
                now_ns: pool.now_ns(),
                len: pool.len(),
                workers: &sight.workers,
                is_queued: sight.is_queued,
            };
            watched.said = stall.text();
            texts.push(watched.said.clone());
        }
    }
    drop(watched);
    texts.iter().for_each(|text| say(text));
}

impl Watched {
    /// Looks at the pool, so long after the last look.
    fn see(&mut self, pool: &Pool, passed: Duration) -> Sight {
        let stacks = stacks(pool);
        let mut moved = self.has_counted(pool, &stacks);
        signal(pool, &stacks);
        // The files of the system are read only if need be.
        let workers = if moved {
            Vec::new()
        } else {
            workers_with_frames(&stacks)
        };
        moved |= self.has_run(&stacks, &workers, passed);
        let is_waiting = |is: &dyn Fn(Wait) -> bool| {
            let mut frames = stacks.iter().flat_map(|stack| &stack.frames);
            frames.any(|frame| matches!(frame.doing, Doing::Waits(wait) if is(wait)))
        };
        let is_queued = pool.has_a_job();
        Sight {
            look: Look {
                moved,
                waits: is_queued || is_waiting(&|_| true),
                sleeps: workers.iter().any(Seen::sleeps),
            },
            waits_for_pool: is_waiting(&|wait| matches!(wait, Wait::Pool)),
            workers,
            is_queued,
        }
    }

    /// True if jobs were taken, or frames began, went on or ended.
    fn has_counted(&mut self, pool: &Pool, stacks: &[Stack]) -> bool {
        let turns: u64 = stacks.iter().map(|stack| stack.turns).sum();
        let counters = pool.workers().map(|worker| worker.counters.snapshot(0));
        let counted: u64 = counters
            .map(|counters| counters.jobs + counters.pushes)
            .sum();
        let moves = turns + counted;
        std::mem::replace(&mut self.moves, moves) != moves
    }

    /// True if a thread that is in the program's code runs, or has run for long enough.
    fn has_run(&mut self, stacks: &[Stack], workers: &[Seen], passed: Duration) -> bool {
        let mut has_run = false;
        let before = std::mem::take(&mut self.cpu_ns);
        for worker in workers {
            let id = stacks[worker.index].thread;
            let (Some(thread), Some(id)) = (&worker.thread, id) else {
                continue;
            };
            self.cpu_ns.insert(id, thread.cpu_ns);
            let ran = before
                .get(&id)
                .map_or(0, |at| thread.cpu_ns.saturating_sub(*at));
            has_run |= thread.is_running() || ran as f64 > CPU_SHARE * passed.as_nanos() as f64;
        }
        has_run
    }
}

/// Signals the workers in the program's code, as a thief would: the next push or join of each, or
/// the end of the present grain of its loop, is a turn of its frame (`Worker::make_public`).
fn signal(pool: &Pool, stacks: &[Stack]) {
    let stacks = stacks.iter().enumerate();
    for (index, _) in stacks.filter(|(_, stack)| is_in_program(&stack.frames)) {
        pool.worker(index).deque().thief().signal();
    }
}

/// There may be no standard error any more.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
