//! The thread of the live view, which looks at all pools now and then.

use std::env;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use heist_event::live::{Snapshot, POOLS_MAX, WORKERS_MAX};
use heist_event::{PoolCounters, WorkerCounters};
use heist_sync::process::{self, Generation};
use heist_sync::process_folder::{ProcessFolder, ProcessId};
use heist_sync::thread;
use heist_sync::Condvar;

use super::seen::{self, MeterLook, Second};
use super::writer::Writer;
use crate::base::whole_file;
use crate::insight::profile;
use crate::schedule;
use crate::state::Pool;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(250);

/// The pools that are looked at, the oldest first.
static POOLS: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

/// The view of this process, if there could be one.
static VIEW: OnceLock<Option<View>> = OnceLock::new();

/// A view that was begun.
struct View {
    born: Generation,
    place: (ProcessFolder, ProcessId),
}

/// A pool, and its counters up to a second ago.
struct Seen {
    pool: Weak<Pool>,
    second: Second<PoolCounters>,
}

/// Has the pool, whose threads have started, looked at from now on. A forked child has no view: the
/// locks may be held in it for ever.
pub(crate) fn watch(pool: &Arc<Pool>) {
    let view = VIEW.get_or_init(|| begin().map_err(|error| refuse(&error)).ok());
    if view.as_ref().is_none_or(|view| view.born.is_past()) {
        return;
    }
    let mut pools = pools();
    pools.retain(|seen| seen.pool.strong_count() > 0);
    pools.push(Seen {
        pool: Arc::downgrade(pool),
        second: Second::new(PoolCounters::new(vec![WorkerCounters::default()])),
    });
}

/// Removes the file, as one of the last things that the process does.
fn end() {
    let view = VIEW.get().and_then(Option::as_ref);
    if let Some(view) = view.filter(|view| !view.born.is_past()) {
        let (folder, process) = &view.place;
        Writer::remove(folder, *process);
    }
}

fn pools() -> MutexGuard<'static, Vec<Seen>> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the file, and starts the thread.
fn begin() -> io::Result<View> {
    let mut viewer = Viewer::new();
    let writer = Writer::begin(&viewer.look().to_json())?;
    let place = writer.place();
    let builder = thread::Builder::new().name("heist-live".to_owned());
    if let Err(error) = builder.spawn(move || viewer.look_for_ever(writer)) {
        Writer::remove(&place.0, place.1);
        return Err(error);
    }
    // Where the system calls nothing at the end the file stays, and the next process removes it.
    let _ = process::at_exit(end);
    let born = Generation::present();
    Ok(View { born, place })
}

fn refuse(why: &io::Error) {
    let place = ProcessFolder::places().into_iter().next();
    let place = place.map_or_else(String::new, |place| {
        format!("{}: ", whole_file::told(&place))
    });
    // There may be no standard error any more.
    let text = format!("heist: no live view (HEIST_LIVE): {place}{why}\n");
    let _ = io::stderr().write_all(text.as_bytes());
}

/// All that the thread keeps.
struct Viewer {
    began_unix_ms: u64,
    meter: Second<MeterLook>,
}

impl Viewer {
    fn new() -> Self {
        Self {
            began_unix_ms: unix_ms(),
            meter: Second::new(MeterLook::default()),
        }
    }

    fn look_for_ever(mut self, mut writer: Writer) {
        schedule::watches();
        let (bell, lock) = (Condvar::new(), heist_sync::Mutex::new(()));
        loop {
            drop(bell.wait_timeout(lock.lock(), PAUSE));
            // A disk that is full may have room again at the next look; until then the last one
            // stays, with its time.
            let _ = writer.write(&self.look().to_json());
        }
    }

    /// The process at this moment.
    fn look(&mut self) -> Snapshot {
        let mut snapshot = Snapshot {
            heist: env!("CARGO_PKG_VERSION").to_owned(),
            command: command(),
            pid: std::process::id(),
            began_unix_ms: self.began_unix_ms,
            written_unix_ms: unix_ms(),
            processors: thread::available_parallelism().map_or(1, usize::from),
            metered: profile::so_far().map(|profile| seen::metered(profile, &mut self.meter)),
            ..Snapshot::default()
        };
        let mut room = WORKERS_MAX;
        // The last handle of a pool may be dropped here, which ends it: not under the lock.
        let mut held = Vec::new();
        for seen in pools().iter_mut() {
            let Some(pool) = seen.pool.upgrade() else {
                continue;
            };
            let view = seen::pool(&pool, &mut seen.second, room);
            held.push(pool);
            if snapshot.pools.len() < POOLS_MAX {
                room -= view.workers.len();
                snapshot.pools.push(view);
            } else {
                snapshot.other_pools += 1;
            }
        }
        snapshot
    }
}

/// The program and its arguments, as far as there is room for them.
fn command() -> Vec<String> {
    const WORDS_MAX: usize = 16;
    const SIGNS_MAX: usize = 200;
    let words = env::args_os().take(WORDS_MAX);
    let word = |word: std::ffi::OsString| word.to_string_lossy().chars().take(SIGNS_MAX).collect();
    words.map(word).collect()
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
