//! How much the same work takes longer if more workers do it.
//!
//! Memory, caches, locks and processors that share a core make it grow. The time for which threads
//! waited for a processor is taken off first; it is not known by site, so each site bears its part.

use serde::Serialize;

use super::merge::Group;

/// Sites that hold less of the additional work than this are not listed.
const SITE_SHARE: f64 = 0.01;

/// The growth of work between two numbers of workers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Growth {
    /// The fewest workers that were tried.
    pub from_workers: u64,
    /// The most.
    pub to_workers: u64,
    /// The additional work as a share of the work at the fewest; below 0 if it shrinks.
    pub share: f64,
    /// The sites whose work grows, those that grow most first.
    pub sites: Vec<SiteGrowth>,
}

/// The growth at one site.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SiteGrowth {
    /// Its short name.
    pub name: String,
    /// Its operation.
    pub kind: String,
    /// Its work with the fewest workers.
    pub from_ns: f64,
    /// Its work with the most.
    pub to_ns: f64,
    /// The growth as a share of the first.
    pub share: f64,
}

/// The growth from one group to another, unless one has no work or both have equally many workers.
pub(super) fn growth(few: &Group, many: &Group) -> Option<Growth> {
    let work = |group: &Group| group.profile.work_ns as f64 * group.undelayed;
    let (from, to) = (work(few), work(many));
    let (from_workers, to_workers) = (few.profile.workers, many.profile.workers);
    if from <= 0.0 || to <= 0.0 || from_workers == to_workers {
        return None;
    }
    let mut sites: Vec<SiteGrowth> = Vec::new();
    for site in &many.sites {
        let same = few
            .sites
            .iter()
            .find(|same| same.name == site.name && same.kind == site.kind);
        let Some(same) = same.filter(|same| same.work_ns > 0) else {
            continue;
        };
        let from_ns = same.work_ns as f64 * few.undelayed;
        let to_ns = site.work_ns as f64 * many.undelayed;
        if to_ns - from_ns > SITE_SHARE * (to - from).max(0.0) && to_ns > from_ns {
            let (name, kind) = (site.name.clone(), site.kind.clone());
            let share = to_ns / from_ns - 1.0;
            sites.push(SiteGrowth {
                name,
                kind,
                from_ns,
                to_ns,
                share,
            });
        }
    }
    sites.sort_by(|one, other| (other.to_ns - other.from_ns).total_cmp(&(one.to_ns - one.from_ns)));
    Some(Growth {
        from_workers,
        to_workers,
        share: to / from - 1.0,
        sites,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::file::{Interference, Profile, Site};
    use crate::profile::merge::groups;

    fn run(workers: u64, works: [u64; 3], run_delay_ns: u64) -> Profile {
        let sites = works
            .iter()
            .zip(["p::same", "p::more", "p::less"])
            .map(|(&work_ns, name)| Site {
                name: name.to_owned(),
                work_ns,
                ..Site::default()
            });
        Profile {
            workers,
            work_ns: works.iter().sum(),
            sites: sites.collect(),
            interference: Interference {
                run_delay_ns,
                ..Interference::default()
            },
            ..Profile::default()
        }
    }

    fn between(few: Profile, many: Profile) -> Option<Growth> {
        let groups = groups(&[few, many]);
        growth(groups.first()?, groups.last()?)
    }

    #[test]
    fn growth_is_told_for_the_whole_and_by_site() {
        let growth = between(run(1, [40, 50, 10], 0), run(8, [40, 70, 8], 0)).expect("two groups");
        assert_eq!((growth.from_workers, growth.to_workers), (1, 8));
        assert!((growth.share - 0.18).abs() < 1e-9);
        let [site] = growth.sites.as_slice() else {
            panic!("{:?}", growth.sites)
        };
        assert_eq!(site.name, "p::more");
        assert!((site.share - 0.4).abs() < 1e-9);
    }

    #[test]
    fn work_that_waited_for_a_processor_has_not_grown() {
        let growth = between(run(1, [40, 50, 10], 0), run(8, [80, 100, 20], 100)).expect("two");
        assert!(growth.share.abs() < 1e-9, "{growth:?}");
        assert_eq!(growth.sites, []);
    }

    #[test]
    fn one_number_of_workers_shows_no_growth() {
        assert_eq!(between(run(4, [1, 2, 3], 0), run(4, [2, 3, 4], 0)), None);
        assert_eq!(between(run(1, [0, 0, 0], 0), run(4, [2, 3, 4], 0)), None);
    }
}
