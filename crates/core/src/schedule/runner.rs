//! The calling thread as a runner, and the baton of this process.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use heist_sync::atomic::{AtomicBool, Ordering};
use heist_sync::process::Generation;
use heist_sync::thread_local;
use heist_sync::thread_state::present_thread;

use super::baton::{Baton, Describe, Members, Point, State};

/// Never rung.
static PAUSED: Condvar = Condvar::new();

/// The pause between two looks at those who were woken.
const PAUSE: Duration = Duration::from_micros(20);

struct Scheduled {
    baton: Mutex<Baton>,
    born: Generation,
}

static SCHEDULED: OnceLock<Scheduled> = OnceLock::new();

thread_local! {
    /// The runner that this thread is.
    static HERE: Here = const { Here(RefCell::new(None)) }
}

/// Leaves when the thread ends.
struct Here(RefCell<Option<Me>>);

/// The number of the runner, and its word that says that it arrives.
struct Me(usize, Arc<AtomicBool>);

impl Drop for Here {
    fn drop(&mut self) {
        if let Some(me) = self.0.take() {
            me.leave();
        }
    }
}

/// Begins the deterministic mode of this process. False if it has begun.
pub(super) fn begin(baton: Baton) -> bool {
    let scheduled = Scheduled {
        baton: Mutex::new(baton),
        born: Generation::present(),
    };
    SCHEDULED.set(scheduled).is_ok()
}

/// True if the process is scheduled.
#[inline]
pub(crate) fn is_on() -> bool {
    SCHEDULED.get().is_some_and(|here| !here.born.is_past())
}

/// True if a parent of the process was scheduled.
pub(super) fn is_past() -> bool {
    SCHEDULED.get().is_some_and(|here| here.born.is_past())
}

pub(super) fn baton() -> Option<MutexGuard<'static, Baton>> {
    let scheduled = SCHEDULED.get().filter(|here| !here.born.is_past())?;
    let baton = scheduled.baton.lock();
    Some(baton.unwrap_or_else(PoisonError::into_inner))
}

/// The baton and the runner that the calling thread is, or becomes. `None` if the process is not
/// scheduled, or about to end.
fn here() -> Option<(MutexGuard<'static, Baton>, usize)> {
    if !is_on() {
        return None;
    }
    let here = HERE.try_with(|here| here.0.borrow().as_ref().map(Me::arrive));
    match here {
        Ok(Some(here)) => return here,
        Ok(None) => {}
        Err(_) => return again(),
    }
    let mut baton = baton()?;
    let me = baton.add(State::Arrived, present_thread(), false);
    let here = Me::of(&baton, me);
    HERE.with(|place| place.0.replace(Some(here)));
    Some((baton, me))
}

/// The baton and the runner that the calling thread was, and is again: the destructor of a
/// thread-local value of the program's calls heist. The monitor sees when the thread has ended.
#[cold]
fn again() -> Option<(MutexGuard<'static, Baton>, usize)> {
    let thread = present_thread().filter(|&thread| thread != std::process::id())?;
    let mut baton = baton()?;
    let me = match baton.outside(thread) {
        Some(me) => me,
        None => baton.add(State::Arrived, Some(thread), false),
    };
    Some((baton, me))
}

impl Me {
    fn of(baton: &Baton, me: usize) -> Self {
        Self(me, Arc::clone(&baton.runners[me].arrives))
    }

    fn arrive(&self) -> Option<(MutexGuard<'static, Baton>, usize)> {
        // Relaxed: as in `Runner::is_woken`.
        self.1.store(true, Ordering::Relaxed);
        let baton = baton()?;
        self.1.store(false, Ordering::Relaxed);
        Some((baton, self.0))
    }

    fn leave(self) {
        if let Some((mut baton, me)) = self.arrive() {
            if present_thread() == Some(std::process::id()) {
                // The process ends, at some moment in what others still do.
                baton.end_record();
            }
            if baton.holder == Some(me) {
                baton = settle(baton);
            }
            baton.leaves(me);
        }
    }
}

/// Blocks until the calling runner has the baton.
fn run<'a>(mut baton: MutexGuard<'a, Baton>, me: usize) -> MutexGuard<'a, Baton> {
    let bell = Arc::clone(&baton.runners[me].bell);
    while baton.holder != Some(me) {
        baton = bell.wait(baton).unwrap_or_else(PoisonError::into_inner);
    }
    baton.is_running = true;
    baton
}

/// Waits until each runner that was woken in the program's code has come to a point, or waits
/// again.
fn settle(mut baton: MutexGuard<'static, Baton>) -> MutexGuard<'static, Baton> {
    while baton.has_woken() {
        baton.is_settling = true;
        // It is a mere pause.
        let pause = PAUSED.wait_timeout(baton, PAUSE);
        baton = pause.unwrap_or_else(PoisonError::into_inner).0;
    }
    baton.is_settling = false;
    baton
}

/// The baton may change hands here.
#[cold]
#[inline(never)]
pub(crate) fn point(point: Point) {
    if let Some((mut baton, me)) = here() {
        if baton.holder == Some(me) {
            baton = settle(baton);
            baton.count(point);
            baton.pass();
            drop(run(baton, me));
        } else {
            // The first is a point, and a return none, whether somebody else has the baton or
            // nobody: that is chance.
            let is_back = baton.runners[me].state == State::Blocked;
            baton.arrives(me);
            baton = run(baton, me);
            if !is_back {
                baton.count(point);
            }
        }
    }
}

/// The number of one of so many options; 0 if the process is not scheduled.
pub(crate) fn choose(options: usize) -> usize {
    here().map_or(0, |(mut baton, _)| baton.choose(options))
}

/// The calling runner waits, and has slept for so long.
pub(crate) fn pass_time(slept: Duration) {
    if let Some((mut baton, _)) = here() {
        baton.pass_time(u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX));
    }
}

/// The calling runner hands the baton on, because it is about to wait for [`wakes`] with this
/// address. [`goes_on`] must come afterwards.
#[cold]
pub(crate) fn stops(address: usize) {
    if let Some((mut baton, me)) = here() {
        baton.arrives(me);
        let baton = run(baton, me);
        settle(baton).stop(State::Waits(address));
    }
}

/// The calling runner has waited. Blocks until it has the baton again.
#[cold]
pub(crate) fn goes_on() {
    if let Some((mut baton, me)) = here() {
        baton.arrives(me);
        drop(run(baton, me));
    }
}

/// Those that wait at this address are about to be woken. To be called before they are.
#[inline]
pub(crate) fn wakes(address: usize) {
    if is_on() {
        wakes_there(address);
    }
}

#[cold]
fn wakes_there(address: usize) {
    if let Some(mut baton) = baton() {
        baton.wakes(address);
    }
}

impl Members {
    /// Those of a pool with so many workers, whose threads are not there yet. `None` if the process
    /// is not scheduled.
    pub(crate) fn reserve(workers: usize) -> Option<Self> {
        let (mut baton, me) = here()?;
        baton.arrives(me);
        baton = run(baton, me);
        let first = baton.runners.len();
        for _ in 0..workers {
            baton.add(State::Gone, None, true);
        }
        Some(Self(first))
    }

    /// Has a pool in reports.
    pub(crate) fn show(describe: Describe) {
        if let Some(mut baton) = baton() {
            baton.pools.push(describe);
        }
    }

    /// The thread of this worker is about to be started, or could not be.
    pub(crate) fn expect(self, index: usize, is_coming: bool) {
        if let Some(mut baton) = baton() {
            let state = if is_coming { State::Able } else { State::Gone };
            baton.runners[self.0 + index].state = state;
        }
    }

    /// The calling thread is this worker from now on. Blocks until it may run.
    pub(crate) fn become_worker(self, index: usize) {
        let me = self.0 + index;
        let Some(mut baton) = baton() else {
            return;
        };
        baton.runners[me].thread = present_thread();
        let here = Me::of(&baton, me);
        drop(baton);
        let former = HERE.try_with(|place| place.0.replace(Some(here)));
        if let Ok(Some(former)) = former {
            former.leave();
        }
        goes_on();
    }

    /// The calling thread is no worker any more.
    pub(crate) fn leave() {
        if let Ok(Some(me)) = HERE.try_with(|place| place.0.take()) {
            me.leave();
        }
    }
}
