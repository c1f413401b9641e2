//! The timeline (`HEIST_TIMELINE`): what the workers of all pools did when, in a file that the
//! program writes when it ends.
//!
//! Each pool is built with a recorder, and is noted here. When it ends its events are kept, up to a
//! bound; those of pools that are there at the end of the process are read then, beside workers
//! that go on.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsStr;
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use heist_event::recording::{RecordedPool, Recording};
use heist_event::WorkerEvents;
use heist_sync::process::{self, Generation};
use heist_sync::Condvar;

use crate::base::whole_file;

/// The ending of the name of its file.
pub(crate) const ENDING: &str = ".timeline.json";

/// The events that each worker keeps, if nobody says how many: half a megabyte.
pub(crate) const EVENTS_OF_WORKER: usize = 1 << 15;

/// The most that is kept of pools that have ended: events, and pools.
const EVENTS_KEPT: usize = 1 << 21;
const POOLS_KEPT: usize = 1 << 10;

/// How long the end of the process waits for pools that other threads are about to end, and how
/// often it looks.
const ENDING_PATIENCE: Duration = Duration::from_millis(200);
const ENDING_PAUSE: Duration = Duration::from_millis(1);

/// A pool that records.
pub(crate) trait Recorded: Send + Sync {
    /// When its recorder was started, and the events of each worker up to now.
    fn recorded(&self) -> (Option<Instant>, Vec<WorkerEvents>);
}

/// A timeline that is to be written.
struct Timeline {
    file: PathBuf,
    born: Generation,
    began: Instant,
    started: SystemTime,
}

static TIMELINE: OnceLock<Timeline> = OnceLock::new();

static POOLS: Mutex<Pools> = Mutex::new(Pools {
    there: Vec::new(),
    past: VecDeque::new(),
    events: 0,
    left_out: 0,
});

/// The pools of this process.
struct Pools {
    there: Vec<Weak<dyn Recorded>>,
    /// Those that have ended, the one that did so last at the end.
    past: VecDeque<RecordedPool>,
    /// The events of all of those.
    events: usize,
    /// How many had to go.
    left_out: u64,
}

/// True if this process writes a timeline: `value` is that of `HEIST_TIMELINE`. The first call
/// begins it. A forked child has none: the lock may be held in it for ever.
///
/// # Errors
///
/// Says why a timeline cannot be written there.
pub(crate) fn is_wanted(value: Option<&OsStr>) -> Result<bool, String> {
    static BEGINNING: Mutex<()> = Mutex::new(());
    if TIMELINE.get().is_some_and(|it| it.born.is_past()) {
        return Ok(false);
    }
    let Some(value) = value else {
        return Ok(TIMELINE.get().is_some());
    };
    let _beginning = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    if TIMELINE.get().is_none() {
        let file = whole_file::named(value, ENDING)?;
        if !process::at_exit(write) {
            return Err("this system does not call the program when it ends".to_owned());
        }
        let _ = TIMELINE.set(Timeline {
            file,
            born: Generation::present(),
            began: Instant::now(),
            started: SystemTime::now(),
        });
    }
    Ok(true)
}

/// Has the pool in the timeline, if there is one.
pub(crate) fn watch(pool: Weak<dyn Recorded>) {
    if present().is_some() {
        pools().there.push(pool);
    }
}

/// Keeps the events of a pool that ends.
pub(crate) fn keep(pool: &dyn Recorded) {
    if let Some(timeline) = present() {
        let recorded = timeline.recorded(pool);
        let mut pools = pools();
        pools.remove(pool);
        pools.keep(recorded, EVENTS_KEPT, POOLS_KEPT);
    }
}

/// The timeline, unless this is a forked child.
fn present() -> Option<&'static Timeline> {
    TIMELINE.get().filter(|it| !it.born.is_past())
}

fn pools() -> MutexGuard<'static, Pools> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pools {
    /// The pool is not there any more.
    fn remove(&mut self, pool: &dyn Recorded) {
        let place = |it: &Weak<dyn Recorded>| std::ptr::addr_eq(it.as_ptr(), pool);
        if let Some(at) = self.there.iter().position(place) {
            self.there.swap_remove(at);
        }
    }

    /// True if a pool is neither there any more nor kept yet: another thread ends it.
    fn is_one_ending(&self) -> bool {
        self.there.iter().any(|pool| pool.strong_count() == 0)
    }

    /// Keeps a pool, in the place of older ones if there are more than that already.
    fn keep(&mut self, pool: RecordedPool, events_max: usize, pools_max: usize) {
        self.events += events_of(&pool);
        self.past.push_back(pool);
        while self.past.len() > 1 && (self.events > events_max || self.past.len() > pools_max) {
            if let Some(oldest) = self.past.pop_front() {
                self.events -= events_of(&oldest);
                self.left_out += 1;
            }
        }
    }
}

fn events_of(pool: &RecordedPool) -> usize {
    pool.workers.iter().map(|worker| worker.events.len()).sum()
}

impl Timeline {
    /// The events of a pool up to now.
    fn recorded(&self, pool: &dyn Recorded) -> RecordedPool {
        let (began, workers) = pool.recorded();
        let began = began.map(|at| at.saturating_duration_since(self.began));
        RecordedPool {
            began_ns: began.map_or(0, |began| began.as_nanos() as u64),
            ended_ns: self.now_ns(),
            workers,
        }
    }

    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn recording(&self) -> Recording {
        let (bell, lock) = (Condvar::new(), heist_sync::Mutex::new(()));
        let began = Instant::now();
        while pools().is_one_ending() && began.elapsed() < ENDING_PATIENCE {
            drop(bell.wait_timeout(lock.lock(), ENDING_PAUSE));
        }
        let (there, past, left_out) = {
            let mut pools = pools();
            let past = std::mem::take(&mut pools.past);
            (std::mem::take(&mut pools.there), past, pools.left_out)
        };
        // The last handle of a pool may be dropped here, which ends it: not under the lock.
        let there: Vec<Arc<dyn Recorded>> = there.iter().filter_map(Weak::upgrade).collect();
        let mut pools = Vec::from(past);
        pools.extend(there.iter().map(|pool| self.recorded(&**pool)));
        pools.sort_by_key(|pool| pool.began_ns);
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH);
        Recording {
            heist: env!("CARGO_PKG_VERSION").to_owned(),
            command: env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            pid: std::process::id(),
            started_unix_ms: started.map_or(0, |time| time.as_millis() as u64),
            wall_ns: self.now_ns(),
            pools,
            other_pools: left_out,
        }
    }
}

/// Writes the timeline, as one of the last things that the process does.
fn write() {
    let Some(timeline) = present() else {
        return;
    };
    let recording = timeline.recording();
    let file = &timeline.file;
    let written = whole_file::put(file, |out| {
        let mut out = BufWriter::new(out);
        recording.write(&mut out)?;
        out.flush()
    });
    let text = match written {
        Ok(()) => format!(
            "heist: the timeline is in {}, for `heist report`\n",
            whole_file::told(file)
        ),
        Err(error) => format!(
            "heist: could not write the timeline to {}: {error}\n",
            whole_file::told(file)
        ),
    };
    // There may be no standard error any more.
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_event::{Event, EventKind, WorkerEvents};

    use super::*;

    fn pool(began_ns: u64, events: usize) -> RecordedPool {
        let event = Event {
            at_ns: 0,
            kind: EventKind::Wake,
        };
        let worker = WorkerEvents {
            events: vec![event; events],
            ..WorkerEvents::default()
        };
        RecordedPool {
            began_ns,
            workers: vec![worker],
            ..RecordedPool::default()
        }
    }

    #[test]
    fn pools_that_ended_long_ago_make_room_and_are_counted() {
        let mut pools = Pools {
            there: Vec::new(),
            past: VecDeque::new(),
            events: 0,
            left_out: 0,
        };
        for (began_ns, events) in [(1, 3), (2, 4), (3, 4), (4, 0), (5, 0)] {
            pools.keep(pool(began_ns, events), 8, 3);
        }
        let kept: Vec<u64> = pools.past.iter().map(|pool| pool.began_ns).collect();
        assert_eq!((kept, pools.events, pools.left_out), (vec![3, 4, 5], 4, 2));
        pools.keep(pool(6, 100), 8, 3);
        assert_eq!((pools.past.len(), pools.left_out), (1, 5));
    }

    /// Something of a size, so that each has an address of its own.
    struct Silent(#[expect(dead_code, reason = "it takes room")] u8);

    impl Recorded for Silent {
        fn recorded(&self) -> (Option<Instant>, Vec<WorkerEvents>) {
            (None, Vec::new())
        }
    }

    #[test]
    fn a_pool_that_another_thread_ends_is_missed_until_it_is_kept() {
        let (one, other) = (Arc::new(Silent(1)), Arc::new(Silent(2)));
        let mut pools = Pools {
            there: Vec::new(),
            past: VecDeque::new(),
            events: 0,
            left_out: 0,
        };
        for pool in [&one, &other] {
            let pool = Arc::downgrade(pool);
            pools.there.push(pool);
        }
        assert!(!pools.is_one_ending());
        pools.remove(&*other);
        assert_eq!(pools.there.len(), 1);
        drop(one);
        assert!(pools.is_one_ending(), "it is gone and not kept");
    }
}
