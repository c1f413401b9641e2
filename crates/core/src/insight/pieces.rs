//! Loops, whose pieces could all run side by side, however they were cut.

use std::fmt;

use heist_sync::atomic::{AtomicU64, Ordering};

use crate::insight::latest::Latest;
use crate::insight::meter::{Meter, SiteBefore, Start};
use crate::insight::site::Site;

/// A loop that is run piece by piece. Its driver keeps what nobody has taken, so that one piece
/// comes after the other for want of a thief only; in the path they lie side by side, each behind
/// as many steals as it takes to hand out that many.
pub struct Loop {
    meter: &'static Meter,
    start: Start,
    before: SiteBefore,
    latest: Latest,
    /// Relaxed throughout: the end of the loop comes behind all of them.
    pieces: AtomicU64,
}

/// The site of a loop with these types.
struct LoopOf<T>(std::marker::PhantomData<T>);

impl<T> LoopOf<T> {
    const SITE: &'static Site = &Site::of::<T>("loop");
}

impl Loop {
    /// Begins a loop that consists of the type `T`. `None` if it is not measured.
    #[inline]
    #[must_use]
    pub fn begin<T>() -> Option<Self> {
        Meter::here().map(|meter| Self::begin_at(meter, LoopOf::<T>::SITE))
    }

    #[cold]
    fn begin_at(meter: &'static Meter, site: &'static Site) -> Self {
        let (start, before, _) = meter.fork_and_go_on(Some(site));
        meter.tell();
        Self {
            meter,
            start,
            before,
            latest: Latest::new(),
            pieces: AtomicU64::new(0),
        }
    }

    /// The calling thread begins another piece, and has ended the one before.
    pub fn begin_piece(&self) {
        if let Some(meter) = Meter::here() {
            meter.reach(&self.latest, &meter.turn_to(&self.start));
            self.pieces.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begun = self.pieces.load(Ordering::Relaxed);
        f.debug_struct("Loop").field("pieces", &begun).finish()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let meter = self.meter;
        meter.reach(&self.latest, &meter.point());
        if let Some(mut path) = self.latest.get() {
            let pieces = self.pieces.load(Ordering::Relaxed);
            // The start has one steal.
            let levels = pieces.max(1).next_power_of_two().trailing_zeros();
            path.burdened += meter.burden() * (i64::from(levels) - 1);
            meter.go_to(&path);
        }
        meter.go_back_to(&self.before);
    }
}
