//! Idle time by its cause: which workers have no job, and what those are doing that have one.
//!
//! A worker that runs out of jobs, or begins one after a search, changes the state that is kept for
//! it here; the time between two changes is booked on the state of all workers in it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::insight::site::{Site, SiteId, ROOT};

/// The state of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No thread is this worker.
    Gone,
    /// It has a job.
    Working,
    /// It searches or sleeps, and has none.
    Idle,
    /// It searches or sleeps, and has a job that waits for another one.
    Waiting,
}

/// The time of workers without a job, in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Idle {
    pub(crate) sequential: u64,
    pub(crate) narrow: u64,
    pub(crate) joins: u64,
    pub(crate) stealing: u64,
    pub(crate) waking: u64,
    /// Sequential sections, by the number of the site whose fork ended them.
    pub(crate) before: Vec<(SiteId, u64)>,
    /// The time in which no worker had a job.
    pub(crate) outside: u64,
    /// The time in which workers of several pools ran jobs, and that of all workers of those pools.
    pub(crate) at_once: u64,
    pub(crate) workers_at_once: u64,
}

/// The states of all workers of all metered pools, and the time booked so far.
struct Board {
    /// With places that are free.
    pools: Vec<Workers>,
    free: Vec<usize>,
    /// How many pools there have been, and the workers of the largest.
    built: usize,
    largest: usize,
    /// The time up to which everything is booked.
    booked: u64,
    idle: Idle,
}

struct Workers {
    /// How many there are, without compensation workers.
    len: usize,
    states: Vec<Of>,
    working: usize,
    waiting: usize,
    /// The idle time of the sequential section that has not found its end.
    pending: u64,
}

/// The state of one worker.
#[derive(Clone, Copy)]
struct Of {
    state: State,
    /// Since when it has had no job, and when it last woke up.
    since: u64,
    woke: u64,
}

static BOARD: Mutex<Board> = Mutex::new(Board::new());

fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enters a pool of so many workers, of which `len` are no compensation workers. Gives its number.
pub(crate) fn add_pool(len: usize, all: usize, now: u64) -> usize {
    board().add_pool(len, all, now)
}

/// The worker of the pool with this number has turned to this state; it `has_woken`.
pub(crate) fn turn(pool: usize, worker: usize, state: State, has_woken: bool, now: u64) {
    board().turn(pool, worker, state, has_woken, now);
}

/// The worker has found a job that was offered at this time, at this site. Gives for how long the
/// one was without the other.
pub(crate) fn found(
    pool: usize,
    worker: usize,
    site: Option<&'static Site>,
    at: u64,
    now: u64,
) -> u64 {
    let site = site.map_or(ROOT, Site::id);
    board().found(pool, worker, site, at, now)
}

/// The number of pools, the workers of the largest, and the idle time up to now.
pub(crate) fn sums(now: u64) -> (usize, usize, Idle) {
    let mut board = board();
    board.book(now);
    (board.built, board.largest, board.idle.clone())
}

/// The pool with this number has ended.
pub(crate) fn remove_pool(pool: usize, now: u64) {
    let mut board = board();
    board.book(now);
    board.pools[pool].len = 0;
    board.free.push(pool);
}

impl Board {
    const fn new() -> Self {
        Self {
            pools: Vec::new(),
            free: Vec::new(),
            built: 0,
            largest: 0,
            booked: 0,
            idle: Idle {
                sequential: 0,
                narrow: 0,
                joins: 0,
                stealing: 0,
                waking: 0,
                before: Vec::new(),
                outside: 0,
                at_once: 0,
                workers_at_once: 0,
            },
        }
    }

    fn add_pool(&mut self, len: usize, all: usize, now: u64) -> usize {
        self.book(now);
        let gone = Of {
            state: State::Gone,
            since: now,
            woke: 0,
        };
        let workers = Workers {
            len,
            states: vec![gone; all],
            working: 0,
            waiting: 0,
            pending: 0,
        };
        self.built += 1;
        self.largest = self.largest.max(len);
        match self.free.pop() {
            Some(pool) => {
                self.pools[pool] = workers;
                pool
            }
            None => {
                self.pools.push(workers);
                self.pools.len() - 1
            }
        }
    }

    /// Books the time up to now.
    fn book(&mut self, now: u64) {
        let passed = now.saturating_sub(self.booked);
        self.booked = self.booked.max(now);
        let mut is_outside = true;
        let (mut pools, mut all) = (0, 0);
        for workers in &mut self.pools {
            let (working, waiting) = (workers.working, workers.waiting);
            if working > 0 {
                (pools, all) = (pools + 1, all + workers.len as u64);
            }
            is_outside &= working + waiting == 0;
            self.idle.joins += waiting as u64 * passed;
            let idle = workers.len.saturating_sub(working + waiting) as u64 * passed;
            match working {
                0 => {}
                1 => {
                    self.idle.sequential += idle;
                    workers.pending += idle;
                }
                _ => self.idle.narrow += idle,
            }
        }
        if is_outside && !self.pools.is_empty() {
            self.idle.outside += passed;
        }
        if pools > 1 {
            self.idle.at_once += passed;
            self.idle.workers_at_once += all * passed;
        }
    }

    fn turn(&mut self, pool: usize, worker: usize, state: State, has_woken: bool, now: u64) {
        self.book(now);
        let workers = &mut self.pools[pool];
        let of = &mut workers.states[worker];
        if has_woken {
            of.woke = now;
        }
        let before = std::mem::replace(&mut of.state, state);
        if before == State::Working && state != State::Working {
            of.since = now;
        }
        for (state, is_more) in [(before, false), (state, true)] {
            let count = match state {
                State::Working => &mut workers.working,
                State::Waiting => &mut workers.waiting,
                State::Gone | State::Idle => continue,
            };
            *count = if is_more { *count + 1 } else { *count - 1 };
        }
        if workers.working == 0 {
            let pending = std::mem::take(&mut workers.pending);
            self.idle.add_before(ROOT, pending);
        }
    }

    fn found(&mut self, pool: usize, worker: usize, site: SiteId, at: u64, now: u64) -> u64 {
        self.book(now);
        let workers = &mut self.pools[pool];
        let pending = std::mem::take(&mut workers.pending);
        let of = workers.states[worker];
        let began = at.max(of.since).min(now);
        let woke = of.woke.clamp(began, now);
        let (waking, stealing) = (woke - began, now - woke);
        // It was booked on whatever the others did meanwhile, as far as one can tell now.
        let idle = &mut self.idle;
        let mut left = waking + stealing;
        for booked in [&mut idle.sequential, &mut idle.narrow, &mut idle.joins] {
            let moved = left.min(*booked);
            *booked -= moved;
            left -= moved;
        }
        let moved = waking + stealing - left;
        idle.waking += waking.min(moved);
        idle.stealing += moved - waking.min(moved);
        idle.add_before(site, pending.saturating_sub(waking + stealing));
        waking + stealing
    }
}

impl Idle {
    fn add_before(&mut self, site: SiteId, ticks: u64) {
        if ticks == 0 {
            return;
        }
        match self.before.iter().position(|(of, _)| *of == site) {
            Some(index) => self.before[index].1 += ticks,
            None => self.before.push((site, ticks)),
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn pools_are_at_once_while_workers_of_several_run_jobs() {
        let mut board = Board::new();
        let pools = [3, 5].map(|len| board.add_pool(len, len, 0));
        board.turn(pools[0], 0, State::Working, false, 10);
        board.turn(pools[1], 4, State::Working, false, 30);
        assert_eq!(board.idle.at_once, 0, "one of them had a job");
        board.turn(pools[1], 4, State::Idle, false, 37);
        // It calls the other pool, and waits.
        board.turn(pools[0], 0, State::Waiting, false, 50);
        board.turn(pools[1], 4, State::Working, false, 50);
        board.book(90);
        assert_eq!((board.idle.at_once, board.idle.workers_at_once), (7, 8 * 7));
        assert_eq!(board.idle.outside, 10);
    }
}
