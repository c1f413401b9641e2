//! Gathering: the profile as data, out of all meters and the books of idle time.

use std::env;

use heist_event::profile::{Grain, Idle, Profile, Sequential, Site as SiteData};
use heist_sync::{thread, ticks};

use crate::insight::idle;
use crate::insight::meter::{self, Sums};
use crate::insight::settings::Settings;
use crate::insight::site::{Site, NONE};
use crate::insight::tally::{Tally, LENGTHS};

/// A stretch of time, by the counter and by the clock.
pub(crate) struct Span {
    pub(crate) ticks: u64,
    pub(crate) ns: f64,
}

impl Span {
    /// So many ticks in nanoseconds; less than nothing is nothing.
    fn to_ns(&self, ticks: i64) -> u64 {
        (ticks.max(0) as f64 * self.ns / self.ticks.max(1) as f64).round() as u64
    }

    fn length_ns(&self, ticks: u64) -> u64 {
        self.to_ns(i64::try_from(ticks).unwrap_or(i64::MAX))
    }
}

/// The sums of several tallies.
#[derive(Clone, Copy)]
struct Total {
    forks: u64,
    stolen: u64,
    longest: u64,
    strands: [(u64, i64); LENGTHS],
}

impl Total {
    const NOTHING: Self = Self {
        forks: 0,
        stolen: 0,
        longest: 0,
        strands: [(0, 0); LENGTHS],
    };

    fn add(&mut self, tally: &Tally) {
        self.forks += tally.forks.get();
        self.stolen += tally.stolen.get();
        self.longest = self.longest.max(tally.longest.get());
        for ((count, work), strands) in self.strands.iter_mut().zip(&tally.strands) {
            *count += strands.count.get();
            *work += strands.work.get() as i64;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.forks += other.forks;
        self.stolen += other.stolen;
        self.longest = self.longest.max(other.longest);
        for (sum, more) in self.strands.iter_mut().zip(&other.strands) {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        }
    }

    fn work(&self) -> i64 {
        self.strands.iter().map(|(_, work)| work).sum()
    }

    fn grain(&self, span: &Span) -> Vec<Grain> {
        let lengths = self.strands.iter().enumerate();
        let used = lengths.filter(|(_, (count, _))| *count > 0);
        let grain = used.map(|(length, &(strands, work))| Grain {
            below_ns: span.length_ns(1 << length).max(1),
            strands,
            work_ns: span.to_ns(work),
        });
        grain.collect()
    }
}

/// The profile up to now, without what the machine did.
pub(crate) fn gather(span: &Span) -> Profile {
    let sums = meter::sums();
    let (pools, workers, idle) = idle::sums(ticks());
    let (names, other_sites) = Site::known();
    let mut totals = vec![Total::NOTHING; names.len()];
    for tally in &sums.tallies {
        totals[usize::from(tally.site)].add(tally);
    }
    let mut all = Total::NOTHING;
    totals.iter().for_each(|total| all.merge(total));
    let settings = Settings::get().copied().unwrap_or_default();
    let mut profile = Profile {
        heist: env!("CARGO_PKG_VERSION").to_owned(),
        command: env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        pid: std::process::id(),
        workers,
        pools,
        processors: thread::available_parallelism().map_or(1, usize::from),
        wall_ns: span.length_ns(span.ticks),
        outside_ns: span.length_ns(idle.outside),
        work_ns: span.to_ns(all.work()),
        // No path is longer than all strands (IN-2), unless more was taken off those that are not
        // on it than they took.
        span_ns: span.to_ns(sums.longest.span.min(all.work())),
        burdened_span_ns: span.to_ns(sums.longest.burdened),
        steal_ns: span.to_ns(settings.steal),
        median_steal_ns: median(&sums.steals).map(|ticks| span.length_ns(ticks)),
        unjoined_work_ns: span.to_ns(sums.unjoined_work),
        strands: all.strands.iter().map(|(count, _)| count).sum(),
        forks: all.forks,
        stolen: all.stolen,
        empty_strand_ns: settings.empty as f64 * span.ns / span.ticks.max(1) as f64,
        grain: all.grain(span),
        sites: sites(span, &sums, &names, &totals),
        other_sites: other_sites as u64,
        ..Profile::default()
    };
    profile.idle = Idle {
        sequential_ns: span.length_ns(idle.sequential),
        narrow_ns: span.length_ns(idle.narrow),
        joins_ns: span.length_ns(idle.joins),
        stealing_ns: span.length_ns(idle.stealing),
        waking_ns: span.length_ns(idle.waking),
    };
    profile.sequential = idle
        .before
        .iter()
        .map(|&(site, ticks)| Sequential {
            before: names[usize::from(site)].0.to_owned(),
            ns: span.length_ns(ticks),
        })
        .collect();
    profile
        .sequential
        .sort_by_key(|section| u64::MAX - section.ns);
    profile
}

/// The sites at which there was something, that with the most work first.
fn sites(
    span: &Span,
    sums: &Sums,
    names: &[(&'static str, &'static str)],
    totals: &[Total],
) -> Vec<SiteData> {
    let on_the_path = |id: usize| {
        let parts = sums.longest.sites.iter().zip(&sums.longest.parts);
        let mut parts = parts.filter(|(&site, _)| site != NONE && usize::from(site) == id);
        parts.next().map_or(0, |(_, &part)| part)
    };
    let some = |total: &Total| total.forks > 0 || total.strands.iter().any(|(count, _)| *count > 0);
    let mut sites: Vec<_> = (names.iter().zip(totals).enumerate())
        .filter(|(_, (_, total))| some(total))
        .map(|(id, (&(name, kind), total))| SiteData {
            name: name.to_owned(),
            kind,
            forks: total.forks,
            stolen: total.stolen,
            work_ns: span.to_ns(total.work()),
            span_ns: span.to_ns(on_the_path(id)),
            longest_ns: span.length_ns(total.longest),
            grain: total.grain(span),
        })
        .collect();
    sites.sort_by_key(|site| u64::MAX - site.work_ns);
    sites
}

/// The middle of the length that the median has.
fn median(counts: &[u64; LENGTHS]) -> Option<u64> {
    let all: u64 = counts.iter().sum();
    let mut below = 0;
    let length = counts.iter().position(|count| {
        below += count;
        all > 0 && below * 2 >= all
    })?;
    Some((1 << length) * 3 / 4)
}
