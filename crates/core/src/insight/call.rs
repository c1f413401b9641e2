//! Calls that offer jobs to others and wait for them, as meters see them.

use std::cell::Cell;
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, Ordering};

use crate::insight::dag::Mark;
use crate::insight::latest::Latest;
use crate::insight::meter::{Meter, SiteBefore, Start};
use crate::insight::path::Path;
use crate::insight::site::Site;

/// The note that the jobs of a call share with its frame: where they begin, and the latest point
/// that they have come to.
pub(crate) struct Note {
    start: Start,
    latest: Latest,
}

impl Note {
    fn new(start: Start) -> Self {
        Self {
            start,
            latest: Latest::new(),
        }
    }

    /// Runs a job of the call, on any thread.
    pub(crate) fn run<R>(&self, job: impl FnOnce() -> R) -> R {
        self.start.run(Some(&self.latest), job)
    }
}

impl Start {
    /// Runs the job that was offered, which ends before whoever waits for it goes on at `latest`.
    pub(crate) fn run<R>(&self, latest: Option<&Latest>, job: impl FnOnce() -> R) -> R {
        struct End<'a>(&'static Meter, Option<&'a Latest>);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let path = self.0.ends();
                match self.1 {
                    Some(latest) => self.0.reach(latest, &path),
                    None => self.0.end(),
                }
            }
        }
        let meter = Meter::of_thread();
        meter.begins(self);
        let _end = End(meter, latest);
        job()
    }
}

/// Learns what happens in a join.
pub(crate) trait SeesJoin {
    /// The first closure has ended, and the second runs here.
    fn second_in_place(&mut self) {}

    /// The first closure has panicked; the second runs somewhere.
    fn first_has_panicked(&mut self) {}
}

/// In a pool that is not metered.
impl SeesJoin for () {}

/// The frame of a join. Its functions are no part of the generic code of joins, of which there is
/// a copy for each pair of closures.
pub(crate) struct Fork {
    meter: &'static Meter,
    note: Note,
    before: SiteBefore,
    mark: Mark,
    /// Where the first closure has ended, if the second runs here.
    first: Cell<Option<Path>>,
    is_paused: bool,
    /// True if the frame runs the second closure itself. Relaxed throughout: whoever runs it else
    /// has found it false.
    is_in_place: AtomicBool,
}

impl Fork {
    /// Offers the second closure of a join, of this site; `None` if it is a part of the present
    /// job. Goes on with the first. Nothing on a thread without a meter.
    #[inline(never)]
    pub(crate) fn here(site: Option<&'static Site>) -> Option<Self> {
        let meter = Meter::here()?;
        let is_paused = meter.is_paused();
        let (start, before, mark) = meter.fork_and_go_on(site);
        Some(Self {
            meter,
            note: Note::new(start),
            before,
            mark,
            first: Cell::new(None),
            is_paused,
            is_in_place: AtomicBool::new(false),
        })
    }

    /// Runs the second closure, on any thread: that of a thief touches nothing but the note, and
    /// looks whether the closure runs in place.
    #[inline(always)]
    pub(crate) fn run<R>(fork: Option<&Self>, job: impl FnOnce() -> R) -> R {
        match fork {
            Some(fork) if !fork.is_in_place.load(Ordering::Relaxed) => fork.note.run(job),
            _ => job(),
        }
    }

    /// The first closure has ended, and the second begins here.
    #[inline(never)]
    fn turn(&self) {
        self.is_in_place.store(true, Ordering::Relaxed);
        self.first.set(Some(self.meter.turn_to(&self.note.start)));
    }
}

impl SeesJoin for Option<&Fork> {
    #[inline(always)]
    fn second_in_place(&mut self) {
        if let Some(fork) = self {
            fork.turn();
        }
    }

    #[cold]
    fn first_has_panicked(&mut self) {
        if let Some(fork) = self {
            fork.first.set(Some(fork.meter.point()));
        }
    }
}

impl Drop for Fork {
    /// Both closures have ended.
    #[inline(never)]
    fn drop(&mut self) {
        let meter = self.meter;
        if let Some(first) = self.first.get_mut() {
            let is_in_place = !self.note.latest.is_reached();
            meter.join(first, &self.note.start, &self.mark, is_in_place);
        }
        if self.note.latest.is_reached() {
            meter.reach_latest(&self.note.latest);
        }
        meter.go_back_to(&self.before);
        if meter.is_paused() && !self.is_paused {
            // The second closure has run here as a job of its own.
            meter.resume();
        }
    }
}

/// A call whose jobs run elsewhere while the frame waits.
pub(crate) struct Call(Option<(&'static Meter, Note)>);

impl Call {
    /// Begins a call of this site from a thread that is, or waits for, a worker of a pool which
    /// `is_metered`.
    pub(crate) fn new(is_metered: bool, site: &'static Site) -> Self {
        Self(is_metered.then(|| {
            let meter = Meter::of_thread();
            (meter, Note::new(meter.fork(site)))
        }))
    }

    /// Runs a job of the call, on any thread.
    pub(crate) fn run<R>(&self, job: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some((_, note)) => note.run(job),
            None => job(),
        }
    }
}

impl Drop for Call {
    /// The call has waited for its jobs.
    fn drop(&mut self) {
        if let Some((meter, note)) = &self.0 {
            meter.reach_latest(&note.latest);
            if meter.is_paused() {
                meter.end();
            }
        }
    }
}

/// The thread runs no job of its own while this lives: it waits.
pub(crate) struct Pause(Option<&'static Meter>);

impl Pause {
    pub(crate) fn begin() -> Self {
        Self(Meter::here().filter(|meter| meter.pause()))
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        if let Some(meter) = self.0 {
            meter.resume();
        }
    }
}

/// The thread, which is no worker, is one while this lives.
pub(crate) struct Stay(Option<&'static Meter>);

impl Stay {
    pub(crate) fn begin(is_metered: bool) -> Self {
        let stay = Self(is_metered.then(Meter::of_thread));
        if let Some(meter) = stay.0 {
            meter.resume();
        }
        stay
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        if let Some(meter) = self.0 {
            meter.pause();
            meter.end();
        }
    }
}

/// Where jobs begin that outlive the frame which offers them, if they are metered.
pub(crate) type Later = Option<Arc<Start>>;

/// The start of jobs of this site that outlive the frame.
pub(crate) fn later(is_metered: bool, site: &'static Site) -> Later {
    is_metered.then(|| Arc::new(Meter::of_thread().fork(site)))
}

/// The start of jobs of this site for which nobody waits.
pub(crate) fn unjoined(is_metered: bool, site: &'static Site) -> Later {
    is_metered.then(|| Arc::new(Meter::of_thread().fork(site).unjoined()))
}

/// Runs such a job, before whoever waits for it goes on at `latest`.
pub(crate) fn run_later<R>(start: &Later, latest: Option<&Latest>, job: impl FnOnce() -> R) -> R {
    match start {
        Some(start) => start.run(latest, job),
        None => job(),
    }
}

/// Runs a job that comes behind all those that have come to `latest`, and comes there itself.
pub(crate) fn in_sequence(latest: &Latest, job: impl FnOnce()) {
    match Meter::here() {
        Some(meter) => {
            meter.not_before(latest.get());
            job();
            meter.not_before(None);
            meter.reach(latest, &meter.point());
        }
        None => job(),
    }
}

/// Runs a job on top of whatever the thread does, if that is metered. The job does not unwind.
pub(crate) fn as_a_job(job: impl FnOnce()) {
    match Meter::here() {
        Some(meter) => {
            let below = meter.enter();
            job();
            meter.leave(&below);
        }
        None => job(),
    }
}

/// The point to which the thread has come in its job, if that is metered.
pub(crate) fn point() -> Option<Path> {
    let meter = Meter::here().filter(|meter| !meter.is_paused())?;
    Some(meter.point())
}

/// Goes on when this point of a metered job has been reached, too.
#[cold]
pub(crate) fn go_behind(point: &Path) {
    let meter = Meter::of_thread();
    meter.go_behind(point);
    if meter.is_paused() {
        meter.end();
    }
}

/// Goes on, behind a wait, at the latest point that the jobs have come to.
pub(crate) fn reach(latest: &Latest) {
    if let Some(meter) = Meter::here() {
        meter.reach_latest(latest);
    }
}
