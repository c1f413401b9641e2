//! Gathering: the profile as data, out of all meters and the books of idle time.

use std::env;

use heist_event::profile::{Grain, Idle, Profile, Sequential, Site as SiteData};
use heist_sync::{thread, ticks};

use crate::insight::idle;
use crate::insight::meter::{self, Sums};
use crate::insight::path::Path;
use crate::insight::settings::Settings;
use crate::insight::site::{Site, NONE};
use crate::insight::tally::{length, Tally, LENGTHS};

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

    /// Adds a strand that took so many ticks, `empty` of them for the measurement. Gives the rest.
    fn add_strand(&mut self, ticks: u64, empty: i64) -> i64 {
        let took = i64::try_from(ticks).unwrap_or(i64::MAX) - empty;
        let (count, work) = &mut self.strands[length(ticks)];
        *count += 1;
        *work += took;
        self.longest = self.longest.max(ticks);
        took
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

    /// Makes the strands of each length take at least nothing, and so much together. Single strands
    /// may count as negative, because the price of the measurement is taken off on average.
    fn settle(&mut self, work: i64) {
        let parts = share_out(&self.strands.map(|(_, work)| work), work);
        for ((_, of_length), part) in self.strands.iter_mut().zip(parts) {
            *of_length = part;
        }
        // Rounded down, they may be a little less.
        self.longest = self.longest.min(self.work() as u64);
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

/// The parts of a whole in proportion to these, none of which is less than nothing. Together they
/// are the whole, or a little less, and none is more than the given one if the whole is not.
fn share_out(given: &[i64], whole: i64) -> Vec<i64> {
    let all: i128 = given.iter().map(|&part| i128::from(part.max(0))).sum();
    let whole = i128::from(whole.max(0)).min(all);
    let part = |&part: &i64| i128::from(part.max(0)) * whole / all.max(1);
    // No part is more than the given one, which is a number of this size.
    given.iter().map(|given| part(given) as i64).collect()
}

/// Makes figures agree that are right on average only: no work is less than nothing, that of all
/// lengths is that of the site, that of all sites is all work, no path is longer than that (IN-2),
/// its parts are no longer than it is, and none has more of a site than there is. Gives the parts
/// of the path, by site.
fn settle(totals: &mut [Total], path: &mut Path) -> Vec<i64> {
    let works: Vec<i64> = totals.iter().map(Total::work).collect();
    let works = share_out(&works, works.iter().sum());
    for (total, &work) in totals.iter_mut().zip(&works) {
        total.settle(work);
    }
    let work = totals.iter().map(Total::work).sum();
    path.span = path.span.clamp(0, work);
    path.burdened = path.burdened.max(path.span);
    let part_of = |(id, total): (usize, &Total)| {
        let mut parts = path.sites().into_iter().zip(&path.parts);
        let part = parts.find(|&(site, _)| site != NONE && usize::from(site) == id);
        part.map_or(0, |(_, &part)| part.min(total.work()))
    };
    let parts: Vec<i64> = totals.iter().enumerate().map(part_of).collect();
    share_out(&parts, path.span)
}

/// The counts of all threads, for each of so many sites.
fn totals(sums: &mut Sums, sites: usize, empty: i64) -> Vec<Total> {
    let mut totals = vec![Total::NOTHING; sites];
    for tally in &sums.tallies {
        totals[usize::from(tally.site)].add(tally);
    }
    // They are as long as the process lasted, and nobody waits for them.
    for strand in meter::under_way(ticks()) {
        if let Some(total) = totals.get_mut(usize::from(strand.site)) {
            let took = total.add_strand(strand.ticks, empty);
            sums.unjoined_work += took;
            sums.longest = sums.longest.later(strand.path(took));
        }
    }
    totals
}

/// The profile up to now, without what the machine did.
pub(crate) fn gather(span: &Span) -> Profile {
    let mut sums = meter::sums();
    let (pools, workers, idle) = idle::sums(ticks());
    let (names, other_sites) = Site::known();
    let settings = Settings::get().copied().unwrap_or_default();
    let mut totals = totals(&mut sums, names.len(), settings.empty);
    let parts = settle(&mut totals, &mut sums.longest);
    let mut all = Total::NOTHING;
    totals.iter().for_each(|total| all.merge(total));
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
        pools_at_once_ns: span.length_ns(idle.at_once),
        workers_at_once_ns: span.length_ns(idle.workers_at_once),
        work_ns: span.to_ns(all.work()),
        span_ns: span.to_ns(sums.longest.span),
        burdened_span_ns: span.to_ns(sums.longest.burdened),
        steal_ns: span.to_ns(settings.steal),
        median_steal_ns: median(&sums.steals).map(|ticks| span.length_ns(ticks)),
        unjoined_work_ns: span.to_ns(sums.unjoined_work.min(all.work())),
        strands: all.strands.iter().map(|(count, _)| count).sum(),
        forks: all.forks,
        stolen: all.stolen,
        empty_strand_ns: settings.empty as f64 * span.ns / span.ticks.max(1) as f64,
        grain: all.grain(span),
        sites: sites(span, &parts, &names, &totals),
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
    parts: &[i64],
    names: &[(&'static str, &'static str)],
    totals: &[Total],
) -> Vec<SiteData> {
    let some = |total: &Total| total.forks > 0 || total.strands.iter().any(|(count, _)| *count > 0);
    let mut sites: Vec<_> = (names.iter().zip(totals).zip(parts))
        .filter(|((_, total), _)| some(total))
        .map(|((&(name, kind), total), &part)| SiteData {
            name: name.to_owned(),
            kind,
            forks: total.forks,
            stolen: total.stolen,
            work_ns: span.to_ns(total.work()),
            span_ns: span.to_ns(part),
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

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;
    use crate::insight::path::Progress;

    fn total(strands: &[(u64, i64)]) -> Total {
        let mut total = Total::NOTHING;
        total.strands[..strands.len()].copy_from_slice(strands);
        total.longest = 1 << strands.len();
        total
    }

    #[test]
    fn a_whole_is_shared_out_among_those_that_have_something() {
        assert_eq!(share_out(&[-5, 30, 10], 20), [0, 15, 5]);
        assert_eq!(share_out(&[-5, 30, 10], 100), [0, 30, 10]);
        assert_eq!(share_out(&[-5, 30], -1), [0, 0]);
        assert_eq!(share_out(&[-5, 0], 7), [0, 0]);
        assert_eq!(share_out(&[i64::MAX, i64::MAX], i64::MAX)[0], i64::MAX / 2);
    }

    #[test]
    fn figures_agree_where_more_was_taken_off_strands_than_they_took() {
        let mut totals = [
            total(&[(9, -90), (3, 30), (2, 200)]),
            total(&[(7, -40)]),
            total(&[(1, 5), (1, -6), (1, 101)]),
        ];
        let progress = Progress::new();
        progress.extend(1, -40);
        progress.extend(0, 250);
        progress.extend(2, 90);
        let mut path = progress.get();
        path.burdened = 10;
        let parts = settle(&mut totals, &mut path);
        let works: Vec<i64> = totals.iter().map(Total::work).collect();
        let work = works.iter().sum();
        assert!((190..=200).contains(&work), "200, rounded down: {works:?}");
        assert_eq!((path.span, path.burdened), (work, work));
        assert!(parts.iter().sum::<i64>() <= path.span, "{parts:?}");
        for ((total, work), part) in totals.iter().zip(works).zip(parts) {
            assert!(total.strands.iter().all(|(_, work)| *work >= 0), "{work}");
            assert!((0..=work).contains(&part), "{part} of {work}");
            assert!(total.longest as i64 <= work);
        }
    }
}
