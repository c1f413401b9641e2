//! Meters: what a thread measures of the jobs that it runs.
//!
//! A meter has the path to where its thread is in the program, and the beginning of the present
//! *strand*, a stretch of code without a fork or a join. Where a strand ends its time is added to
//! the work of its site and to the path. While the thread waits, or runs what is no job, the meter
//! is paused.

mod recorded;

use std::cell::Cell;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use heist_sync::process::Generation;
use heist_sync::thread_local;

use crate::insight::clock;
use crate::insight::dag::{Mark, Recorder};
use crate::insight::idle;
use crate::insight::interference;
use crate::insight::latest::Latest;
use crate::insight::path::{Path, Progress};
use crate::insight::settings::Settings;
use crate::insight::site::{Site, SiteId, OTHERS, ROOT};
use crate::insight::tally::{length, Tally, Tick, LENGTHS};

pub(crate) use recorded::take_dag;

thread_local! {
    /// The meter of this thread, if it has one.
    static METER: Cell<Option<&'static Meter>> = const { Cell::new(None) }
}

thread_local! {
    /// Gives the meter of this thread back when the thread ends.
    static HELD: Held = const { Held(Cell::new(None)) }
}

/// All meters, and those that no thread has.
static METERS: Mutex<(Vec<&'static Meter>, Vec<&'static Meter>)> =
    Mutex::new((Vec::new(), Vec::new()));

/// In the place of a time: the meter is paused.
const PAUSED: u64 = u64::MAX;

/// The entries of a meter's table of sites, a power of two.
const ENTRIES: usize = 1024;

/// The meter of a thread.
pub(crate) struct Meter {
    /// That of the site of the present strand, and the site; none for `ROOT`.
    tally: Cell<&'static Tally>,
    site: Cell<Option<&'static Site>>,
    /// True if nobody waits for the present job.
    is_unjoined: Cell<bool>,
    /// The next job does not begin before this point.
    floor: Cell<Option<Path>>,
    /// The numbers of the pool and of the worker that the thread is.
    place: Cell<(usize, usize)>,
    /// By the addresses of their sites, with linear probing.
    table: Box<[Cell<Option<Entry>>]>,
    used: Cell<usize>,
    settings: Cell<Settings>,
    root: &'static Tally,
    /// From here on, what other threads may read. The beginning of the present strand, or `PAUSED`.
    since: Tick,
    /// The number of its site.
    at: Tick,
    /// The path to its beginning.
    path: Progress,
    /// The latest point that the thread has been at before it went elsewhere: that path goes on
    /// later, or has ended.
    ends: Progress,
    tallies: Mutex<Vec<&'static Tally>>,
    unjoined_work: Tick,
    /// How many steals took how long, from when there was a job and the thief had none.
    steals: [Tick; LENGTHS],
    dag: Mutex<Recorder>,
}

// SAFETY: all that is not for others to read is touched by the one thread that has the meter in
// `METER`; it passes from thread to thread under the lock of `METERS`.
unsafe impl Sync for Meter {}
// SAFETY: as above.
unsafe impl Send for Meter {}

type Entry = (&'static Site, &'static Tally);

/// The site of a strand that has ended, if one has, and the time that it took.
type Ended = Option<(SiteId, i64)>;

/// The point at which a job is offered to other threads, where its own path begins.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    path: Path,
    /// The site that its strands are of.
    site: Option<&'static Site>,
    /// The time of the offer, and by whom; null if that was no worker.
    at: u64,
    by: *const (),
    /// True if nobody waits for it.
    is_unjoined: bool,
}

// SAFETY: `by` is a mere name.
unsafe impl Send for Start {}
// SAFETY: as above.
unsafe impl Sync for Start {}

/// The state of a meter below a job.
pub(crate) struct Below {
    is_paused: bool,
    path: Path,
    tally: &'static Tally,
    site: Option<&'static Site>,
    is_unjoined: bool,
}

/// The sums of all meters.
pub(crate) struct Sums {
    /// One for each thread and site.
    pub(crate) tallies: Vec<&'static Tally>,
    pub(crate) unjoined_work: i64,
    pub(crate) steals: [u64; LENGTHS],
    pub(crate) longest: Path,
}

/// The strand that a thread is in the midst of.
pub(crate) struct UnderWay {
    pub(crate) site: SiteId,
    pub(crate) ticks: u64,
    /// The path to its beginning.
    path: Path,
}

impl UnderWay {
    /// The path to where the thread is, if so many ticks of the strand were work.
    pub(crate) fn path(&self, took: i64) -> Path {
        let progress = Progress::new();
        progress.set(&self.path);
        progress.extend(self.site, took);
        progress.get()
    }
}

struct Held(Cell<Option<(&'static Meter, Generation)>>);

impl Drop for Held {
    fn drop(&mut self) {
        METER.with(|here| here.set(None));
        let held = self.0.take();
        // In a forked child some thread of the parent may hold the locks for ever.
        if let Some((meter, _)) = held.filter(|(_, born)| !born.is_past()) {
            // `exit` ends the values of a thread before anything is called, and perhaps a job.
            meter.pause();
            meter.end();
            interference::thread_ends();
            lock(&METERS).1.push(meter);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meter {
    /// The meter of the calling thread, if it has one.
    #[inline]
    pub(crate) fn here() -> Option<&'static Self> {
        METER.with(Cell::get)
    }

    /// The meter of the calling thread, which gets one if it has none.
    pub(crate) fn of_thread() -> &'static Self {
        if let Some(meter) = Self::here() {
            return meter;
        }
        let mut meters = lock(&METERS);
        let meter = match meters.1.pop() {
            Some(meter) => meter,
            None => {
                let number = meters.0.len() + 1;
                let meter: &'static Self = Box::leak(Box::new(Self::new(number)));
                meters.0.push(meter);
                meter
            }
        };
        drop(meters);
        meter.since.set(PAUSED);
        meter.path.set(&Path::START);
        meter.set_site(meter.root, None, false);
        meter
            .settings
            .set(Settings::get().copied().unwrap_or_default());
        METER.with(|here| here.set(Some(meter)));
        // A thread whose thread-local values are gone keeps its meter for ever.
        let held = (meter, Generation::present());
        let _ = HELD.try_with(|here| here.0.set(Some(held)));
        meter
    }

    /// The meter of this number, from 1.
    fn new(number: usize) -> Self {
        let root: &'static Tally = Box::leak(Box::new(Tally::new(ROOT)));
        Self {
            tally: Cell::new(root),
            site: Cell::new(None),
            is_unjoined: Cell::new(false),
            floor: Cell::new(None),
            place: Cell::new((0, 0)),
            table: (0..ENTRIES).map(|_| Cell::new(None)).collect(),
            used: Cell::new(0),
            settings: Cell::default(),
            root,
            since: Tick::new(PAUSED),
            at: Tick::new(ROOT.into()),
            path: Progress::new(),
            ends: Progress::new(),
            tallies: Mutex::new(vec![root]),
            unjoined_work: Tick::new(0),
            steals: std::array::from_fn(|_| Tick::new(0)),
            dag: Mutex::new(Recorder::new(number)),
        }
    }

    #[inline(always)]
    fn set_tally(&self, tally: &'static Tally) {
        self.tally.set(tally);
        self.at.set(tally.site.into());
    }

    fn set_site(&self, tally: &'static Tally, site: Option<&'static Site>, is_unjoined: bool) {
        self.set_tally(tally);
        self.site.set(site);
        self.is_unjoined.set(is_unjoined);
    }

    /// The tally of the site.
    #[inline(always)]
    fn tally(&self, site: &'static Site) -> &'static Tally {
        let mut index = hash(site);
        loop {
            match self.table[index].get() {
                Some((other, tally)) if ptr::eq(other, site) => return tally,
                Some(_) if self.used.get() < ENTRIES * 3 / 4 => index = (index + 1) % ENTRIES,
                _ => return self.make_tally(site, index),
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn make_tally(&self, site: &'static Site, index: usize) -> &'static Tally {
        if self.used.get() >= ENTRIES * 3 / 4 {
            return self.tally_of(OTHERS);
        }
        let tally = self.tally_of(site.id());
        self.table[index].set(Some((site, tally)));
        self.used.set(self.used.get() + 1);
        tally
    }

    fn tally_of(&self, id: SiteId) -> &'static Tally {
        let mut tallies = lock(&self.tallies);
        let known = tallies.iter().find(|tally| tally.site == id);
        known.copied().unwrap_or_else(|| {
            let tally: &'static Tally = Box::leak(Box::new(Tally::new(id)));
            tallies.push(tally);
            tally
        })
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        clock::now(self.settings.get().is_virtual)
    }

    /// Ends the present strand, if the meter is not paused, and begins the next one.
    #[inline(always)]
    pub(crate) fn cut(&self) {
        let ended = self.count();
        if ended.is_some() && self.is_recorded() {
            self.record(ended, |_| ());
        }
    }

    /// As [`cut`](Self::cut), but that the DAG has not got the strand which has ended, if one has.
    #[inline(always)]
    fn count(&self) -> Ended {
        let since = self.since.get();
        if since == PAUSED {
            return None;
        }
        let now = self.now();
        self.since.set(now);
        let ticks = now.saturating_sub(since);
        let took = ticks as i64 - self.settings.get().empty;
        let tally = self.tally.get();
        tally.count(ticks, took);
        self.path.extend(tally.site, took);
        if self.is_unjoined.get() {
            self.unjoined_work.add(took as u64);
        }
        Some((tally.site, took))
    }

    /// Ends the present strand and pauses. True if the meter was not paused before.
    pub(crate) fn pause(&self) -> bool {
        self.cut();
        let was_paused = self.is_paused();
        self.since.set(PAUSED);
        !was_paused
    }

    /// Begins a strand after a pause.
    pub(crate) fn resume(&self) {
        self.since.set(self.now());
    }

    /// A job of this site is about to be offered to others.
    #[inline]
    pub(crate) fn fork(&self, site: &'static Site) -> Start {
        self.cut_and(Recorder::tell);
        self.tally(site).forks.add(1);
        self.start(Some(site), self.settings.get().steal)
    }

    /// As [`fork`](Self::fork), or for a part of the present job, which has no site of its own; goes
    /// on at the site of the job, in the frame that offers it.
    #[inline(always)]
    pub(crate) fn fork_and_go_on(&self, site: Option<&'static Site>) -> (Start, SiteBefore, Mark) {
        let mark = self.cut_and(Recorder::mark);
        let before = SiteBefore(self.tally.get(), self.site.get());
        let (tally, site, burden) = match site {
            Some(of) => (self.tally(of), site, self.settings.get().steal),
            None => (before.0, before.1, 0),
        };
        tally.forks.add(1);
        let start = self.start(site, burden);
        self.set_tally(tally);
        self.site.set(site);
        (start, before, mark)
    }

    /// The point at which a job begins that the thread is about to hand over, and to wait for.
    #[inline(always)]
    fn start(&self, site: Option<&'static Site>, burden: i64) -> Start {
        let since = self.since.get();
        let is_worker = since != PAUSED;
        let path = self.path.get();
        Start {
            path: Path {
                burdened: path.burdened + burden,
                ..path
            },
            site,
            at: since,
            by: if is_worker {
                ptr::from_ref(self).cast()
            } else {
                ptr::null()
            },
            is_unjoined: self.is_unjoined.get(),
        }
    }

    /// Comes back to the site that it was at.
    #[inline(always)]
    pub(crate) fn go_back_to(&self, before: &SiteBefore) {
        self.set_tally(before.0);
        self.site.set(before.1);
    }

    /// Ends the present strand, and gives the point that it has come to.
    #[inline]
    pub(crate) fn point(&self) -> Path {
        self.cut_and(Recorder::tell);
        self.path.get()
    }

    /// Ends the present strand; the next one begins where this job does. Gives the point that it
    /// has come to.
    #[inline(always)]
    pub(crate) fn turn_to(&self, start: &Start) -> Path {
        self.cut();
        let path = self.path.get();
        self.ends.advance(&path);
        self.path.set(&start.path);
        path
    }

    /// Goes on at the latest point that others have come to.
    pub(crate) fn reach_latest(&self, latest: &Latest) {
        if let Some(path) = latest.get() {
            self.go_behind(&path);
        }
    }

    /// Goes on when this point has been reached, too.
    pub(crate) fn go_behind(&self, path: &Path) {
        self.cut();
        self.path.advance(path);
        let node = self.behind(self.path.node(), path.node);
        self.path.set_node(node);
    }

    /// Ends the present strand, and goes on at this point, whatever came before.
    pub(crate) fn go_to(&self, path: &Path) {
        self.cut();
        self.path.set(path);
    }

    /// The thread is this worker of the pool with that number from now on.
    pub(crate) fn sits_at(&self, pool: usize, worker: usize) {
        self.place.set((pool, worker));
    }

    /// The next job does not begin before this point.
    pub(crate) fn not_before(&self, point: Option<Path>) {
        self.floor.set(point);
    }

    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.since.get() == PAUSED
    }

    /// The price of a steal.
    pub(crate) fn burden(&self) -> i64 {
        self.settings.get().steal
    }

    /// Begins a job on top of whatever the thread does, of which it is not known yet where its
    /// path begins.
    pub(crate) fn enter(&self) -> Below {
        let below = Below {
            is_paused: !self.pause(),
            path: self.leave_path(),
            tally: self.tally.get(),
            site: self.site.get(),
            is_unjoined: self.is_unjoined.get(),
        };
        self.path.set(&Path::START);
        self.set_site(self.root, None, false);
        self.resume();
        below
    }

    /// Ends it. If nobody waits for it, its path has ended here.
    pub(crate) fn leave(&self, below: &Below) {
        if self.pause() {
            self.end();
        }
        self.path.set(&below.path);
        self.set_site(below.tally, below.site, below.is_unjoined);
        if !below.is_paused {
            self.resume();
        }
    }

    /// The job that was entered begins there.
    pub(crate) fn begins(&self, start: &Start) {
        if self.is_paused() {
            self.resume();
        }
        self.path.set(&match self.floor.take() {
            Some(floor) => Path {
                node: self.behind(start.path.node, floor.node),
                ..start.path.later(floor)
            },
            None => start.path,
        });
        let tally = match start.site {
            Some(site) => self.tally(site),
            None => self.root,
        };
        self.set_site(tally, start.site, start.is_unjoined);
        let is_stolen = !start.by.is_null() && !ptr::eq(start.by, ptr::from_ref(self).cast());
        if is_stolen {
            tally.stolen.add(1);
            if !self.settings.get().is_virtual {
                let (pool, worker) = self.place.get();
                let took = idle::found(pool, worker, start.site, start.at, self.since.get());
                self.steals[length(took)].add(1);
            }
        }
    }

    /// The job that was entered has come to its end, which is there.
    pub(crate) fn ends(&self) -> Path {
        self.pause();
        self.leave_path()
    }

    /// The thread's path has come to an end, or to a point that it is going to stay at.
    pub(crate) fn end(&self) {
        self.leave_path();
    }

    /// The strand that its thread is in the midst of.
    fn under_way(&self, now: u64) -> Option<UnderWay> {
        let path = self.path.get();
        let since = self.since.get();
        let ticks = now.checked_sub(since).filter(|_| since != PAUSED)?;
        // It may be the one before, but some site's.
        let site = SiteId::try_from(self.at.get()).ok()?;
        Some(UnderWay { site, ticks, path })
    }

    /// Keeps the point that the thread has come to, and is about to leave.
    #[inline(always)]
    fn leave_path(&self) -> Path {
        self.tell();
        let path = self.path.get();
        self.ends.advance(&path);
        path
    }
}

/// The site at which a thread was.
pub(crate) struct SiteBefore(&'static Tally, Option<&'static Site>);

impl Start {
    /// The start of a job for which nobody waits.
    pub(crate) fn unjoined(mut self) -> Self {
        self.is_unjoined = true;
        self
    }
}

fn hash(site: &'static Site) -> usize {
    let address = ptr::from_ref(site) as usize;
    (address >> 4 ^ address >> 14) % ENTRIES
}

/// The time that an empty strand seems to take, in ticks, if the DAG is recorded with this floor:
/// the median of many.
pub(crate) fn empty_strand(floor: i64) -> i64 {
    // The tallies of a meter stay for ever, and the meter with them.
    static OF_NO_THREAD: OnceLock<Meter> = OnceLock::new();
    let meter = OF_NO_THREAD.get_or_init(|| Meter::new(1));
    meter.settings.set(Settings {
        floor,
        ..Settings::default()
    });
    meter.resume();
    let mut took: Vec<i64> = (0..1000)
        .map(|_| {
            let before = meter.path.get().span;
            meter.point().span - before
        })
        .collect();
    took.sort_unstable();
    took[took.len() / 2]
}

/// The sums of all meters at this moment.
pub(crate) fn sums() -> Sums {
    if let Some(meter) = Meter::here() {
        meter.cut();
        meter.end();
    }
    let mut sums = Sums {
        tallies: Vec::new(),
        unjoined_work: 0,
        steals: [0; LENGTHS],
        longest: Path::START,
    };
    for meter in &lock(&METERS).0 {
        sums.tallies.extend(&*lock(&meter.tallies));
        let here = meter.path.get();
        sums.longest = sums.longest.later(meter.ends.get()).later(here);
        sums.unjoined_work += meter.unjoined_work.get() as i64;
        for (sum, steals) in sums.steals.iter_mut().zip(&meter.steals) {
            *sum += steals.get();
        }
    }
    sums
}

/// The strands that other threads are in the midst of. To be asked for after the tallies have been
/// read: a strand that ends meanwhile is missed then, and not counted twice. As a rule: it may be
/// on its path and in the beginning of the next one, if the processor reads the latter first.
pub(crate) fn under_way(now: u64) -> Vec<UnderWay> {
    let meters = lock(&METERS);
    let begun = meters.0.iter().filter_map(|meter| meter.under_way(now));
    begun.collect()
}
