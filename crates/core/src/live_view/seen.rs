//! A pool and the meter, as the live view sees them: now, and a second ago.

use std::collections::{HashMap, VecDeque};

use heist_event::live::{Metered, Pool as PoolView, Site, Worker as WorkerView};
use heist_event::profile::{Idle, Profile};
use heist_event::{short_name, PoolCounters, WorkerCounters};

use crate::base::counters::Activity;
use crate::stall;
use crate::state::Pool;

/// The *last second*: figures are compared with those that are so old, or a little older.
const SECOND_NS: u64 = 1_000_000_000;

/// The most sites that are told, and the most signs of the name of each.
const SITES_MAX: usize = 12;
const NAME_MAX: usize = 200;

/// The most bytes of a stall's report.
const STALL_MAX: usize = 4096;

/// Figures at the times of the last looks, from a second ago on.
#[derive(Debug)]
pub(super) struct Second<T>(VecDeque<(u64, T)>);

impl<T> Second<T> {
    /// Begins with these figures, at the time 0.
    pub(super) fn new(first: T) -> Self {
        Self([(0, first)].into())
    }

    /// Takes figures of now. Gives those of a second ago, and how long ago that was.
    pub(super) fn take(&mut self, now_ns: u64, figures: T) -> (&T, u64) {
        let is_older = |looks: &VecDeque<(u64, T)>| {
            let second = looks.get(1);
            second.is_some_and(|(at_ns, _)| now_ns.saturating_sub(*at_ns) >= SECOND_NS)
        };
        while is_older(&self.0) {
            self.0.pop_front();
        }
        self.0.push_back((now_ns, figures));
        let (at_ns, then) = &self.0[0];
        (then, now_ns.saturating_sub(*at_ns))
    }
}

/// A pool at this moment, with at most so many of its workers one by one.
pub(super) fn pool(pool: &Pool, second: &mut Second<PoolCounters>, workers_max: usize) -> PoolView {
    let now_ns = pool.now_ns();
    let counters = |counters: Vec<WorkerCounters>| PoolCounters::new(counters).total();
    let of = |index: usize| pool.worker(index).counters.snapshot(now_ns);
    let started: Vec<usize> = pool.started().map(|(index, _)| index).collect();
    let total = counters(started.iter().map(|&index| of(index)).collect());
    let (then, last_ns) = second.take(now_ns, PoolCounters::new(vec![total]));
    let last = PoolCounters::new(vec![total]).since(then).total();
    let told = started.iter().take(workers_max);
    let workers = told.map(|&index| {
        let (activity, for_ns) = pool.worker(index).counters.time.present(now_ns);
        WorkerView {
            index,
            state: match activity {
                Activity::Working => "working",
                Activity::Searching => "searching",
                Activity::Asleep => "asleep",
            },
            for_ns,
            total: of(index),
        }
    });
    PoolView {
        number: pool.number,
        age_ns: now_ns,
        len: pool.len(),
        has_a_job: pool.has_a_job(),
        total,
        last,
        last_ns,
        workers: workers.collect(),
        other_workers: started.len().saturating_sub(workers_max),
        stall: stall::present(pool).map(|text| cut(&text, STALL_MAX)),
    }
}

/// The figures of the meter that are compared.
#[derive(Debug, Default)]
pub(super) struct MeterLook {
    idle: Idle,
    works_ns: HashMap<(String, &'static str), u64>,
}

/// The figures of the meter at this moment.
pub(super) fn metered(profile: Profile, second: &mut Second<MeterLook>) -> Metered {
    let sites = profile.sites.iter();
    let works = sites.map(|site| ((site.name.clone(), site.kind), site.work_ns));
    let look = MeterLook {
        idle: profile.idle,
        works_ns: works.collect(),
    };
    let (then, last_ns) = second.take(profile.wall_ns, look);
    let mut sites: Vec<(u64, _)> = (profile.sites.into_iter())
        .map(|site| {
            let key = (site.name, site.kind);
            let before = then.works_ns.get(&key).copied().unwrap_or(0);
            let (name, kind) = key;
            let view = Site {
                name: cut(&short_name(&name), NAME_MAX),
                kind,
                work_ns: site.work_ns,
                last_work_ns: site.work_ns.saturating_sub(before),
                span_ns: site.span_ns,
                forks: site.forks,
                stolen: site.stolen,
            };
            (view.last_work_ns, view)
        })
        .collect();
    // It keeps the order of equals, that of all work.
    sites.sort_by_key(|(last_ns, _)| u64::MAX - last_ns);
    sites.truncate(SITES_MAX);
    Metered {
        work_ns: profile.work_ns,
        span_ns: profile.span_ns,
        last_ns,
        idle: profile.idle,
        last_idle: since(&profile.idle, &then.idle),
        sites: sites.into_iter().map(|(_, site)| site).collect(),
    }
}

/// The idle time since `then`. Some may have been booked on another cause meanwhile.
fn since(now: &Idle, then: &Idle) -> Idle {
    Idle {
        sequential_ns: now.sequential_ns.saturating_sub(then.sequential_ns),
        narrow_ns: now.narrow_ns.saturating_sub(then.narrow_ns),
        joins_ns: now.joins_ns.saturating_sub(then.joins_ns),
        stealing_ns: now.stealing_ns.saturating_sub(then.stealing_ns),
        waking_ns: now.waking_ns.saturating_sub(then.waking_ns),
    }
}

/// The text without what is beyond so many bytes.
fn cut(text: &str, bytes_max: usize) -> String {
    let ends = text.char_indices().map(|(at, sign)| at + sign.len_utf8());
    let end = ends.take_while(|&end| end <= bytes_max).last();
    text[..end.unwrap_or(0)].to_owned()
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_event::profile::Site as SiteData;

    use super::*;

    #[test]
    fn the_last_second_is_one_second_long_or_a_little_more() {
        let mut second = Second::new(0);
        let at = |quarter: u64| quarter * SECOND_NS / 4;
        let taken: Vec<_> = (1..=10)
            .map(|quarter| {
                let (&then, ns) = second.take(at(quarter), quarter);
                (then, ns * 4 / SECOND_NS)
            })
            .collect();
        let since_start = [(0, 1), (0, 2), (0, 3), (0, 4)];
        assert_eq!(taken[..4], since_start);
        assert_eq!(taken[4..], [(1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4)]);
        // The program was stopped for long.
        assert_eq!(second.take(at(100), 100), (&10, at(90)));
    }

    #[test]
    fn the_hottest_site_is_that_with_the_most_work_of_the_last_second() {
        let profile = |wall_ns, works: [u64; 2], joins_ns| Profile {
            wall_ns,
            idle: Idle {
                joins_ns,
                ..Idle::default()
            },
            sites: ["prog::old", "prog::new"]
                .into_iter()
                .zip(works)
                .map(|(name, work_ns)| SiteData {
                    name: name.to_owned(),
                    kind: "join",
                    work_ns,
                    ..SiteData::default()
                })
                .collect(),
            ..Profile::default()
        };
        let mut second = Second::new(MeterLook::default());
        metered(profile(SECOND_NS, [900, 10], 70), &mut second);
        let view = metered(profile(3 * SECOND_NS, [950, 400], 60), &mut second);
        let sites: Vec<_> = view
            .sites
            .iter()
            .map(|site| (&*site.name, site.last_work_ns))
            .collect();
        assert_eq!(sites, [("prog::new", 390), ("prog::old", 50)]);
        assert_eq!(view.last_idle.joins_ns, 0, "booked elsewhere meanwhile");
        assert_eq!(view.last_ns, 2 * SECOND_NS);
    }

    #[test]
    fn texts_are_cut_between_two_signs() {
        assert_eq!(
            [0, 1, 2, 3, 4].map(|bytes| cut("aéb", bytes)),
            ["", "a", "a", "aé", "aéb"]
        );
    }
}
