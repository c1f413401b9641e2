//! Measuring a single call, by a clock that only the test advances: then work and span are exact.

use std::sync::{Mutex, PoisonError};

use heist_event::dag::Dag;

use crate::insight::meter::{self, Meter};
use crate::insight::path::Path;
use crate::insight::settings::Settings;
use crate::insight::site::Site;

/// The floor of DAGs, in ticks.
const FLOOR: i64 = 50;

/// The measurement of one call, in ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The sum of all strands.
    pub work: i64,
    /// The longest path.
    pub span: i64,
    /// The longest path, if each fork on it costs a steal.
    pub burdened: i64,
    /// The part of the work for which nobody waits.
    pub unjoined: i64,
    /// The number of jobs that were offered.
    pub forks: u64,
    /// Names and kinds of sites, with their work and their parts of the span.
    pub sites: Vec<(&'static str, &'static str, i64, i64)>,
    /// The strands of the call, of which short ones are together.
    pub dag: Dag,
}

/// From now on all pools that are built are metered, and time stands still but for
/// [`pass`](crate::insight::pass). Each fork on the burdened path costs so many ticks.
///
/// # Panics
///
/// Panics if the process is profiled by the clock.
pub fn stop_clock(steal: i64) {
    let settings = Settings {
        is_virtual: true,
        empty: 0,
        steal,
        floor: FLOOR,
    };
    settings.set();
    let is_stopped = Settings::get().is_some_and(|settings| settings.is_virtual);
    assert!(is_stopped, "HEIST_PROFILE is set, and time goes on");
}

/// Calls `op` on this thread, while no other thread does this, and says what it took.
pub fn measured<R>(op: impl FnOnce() -> R) -> (R, Measured) {
    static MEASURING: Mutex<()> = Mutex::new(());
    let _measuring = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let meter = Meter::of_thread();
    meter.go_to(&Path::START);
    let before = now();
    drop(meter::take_dag(None));
    let result = op();
    let path = meter.point();
    let mut taken = now();
    (taken.dag, _) = meter::take_dag(None);
    taken.dag.sites = (taken.sites.iter())
        .map(|&(name, kind, ..)| (name.to_owned(), kind.to_owned()))
        .collect();
    taken.work -= before.work;
    taken.unjoined -= before.unjoined;
    taken.forks -= before.forks;
    (taken.span, taken.burdened) = (path.span, path.burdened);
    for (id, site) in taken.sites.iter_mut().enumerate() {
        site.2 -= before.sites.get(id).map_or(0, |before| before.2);
        let mut parts = path.sites().into_iter().zip(&path.parts);
        let part = parts.find(|&(of, _)| usize::from(of) == id);
        site.3 = part.map_or(0, |(_, &part)| part);
    }
    taken.sites.retain(|site| site.2 != 0 || site.3 != 0);
    (result, taken)
}

fn now() -> Measured {
    let sums = meter::sums();
    let (names, _) = Site::known();
    let mut now = Measured {
        unjoined: sums.unjoined_work,
        sites: names
            .iter()
            .map(|&(name, kind)| (name, kind, 0, 0))
            .collect(),
        ..Measured::default()
    };
    for tally in &sums.tallies {
        let strands = tally.strands.iter();
        let work: i64 = strands.map(|strands| strands.work.get() as i64).sum();
        now.work += work;
        now.forks += tally.forks.get();
        now.sites[usize::from(tally.site)].2 += work;
    }
    now
}
