//! Several runs of one program as one.
//!
//! Runs with equally many workers are a group. No figure of a group is an average: it is that of
//! one of the runs, so that parts still add up to their whole.
//!
//! - Where all runs forked equally often at each site, their strands are the same, and what makes
//!   one longer is the machine: so work, with its sites and its grain, is that of the run with the
//!   least work, and the span, with its sites, that of the run with the least span.
//! - Where they did not (loops that split when a thief comes), it is the run with the median.
//! - Wall time, idle time and steals are those of the run with the median wall time.
//!
//! Of an even number of runs, the median is the lower one. The disturbance of a group is the
//! largest of the runs from which a figure comes.

use std::collections::BTreeMap;

use heist_event::short_name;
use serde::Serialize;

use super::file::{Grain, Profile, Site};
use super::trust::Disturbance;

/// How the figures of a group come from its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Merging {
    /// There was one run.
    Single,
    /// The runs forked alike: least work and least span.
    Least,
    /// They did not: the medians.
    Median,
}

/// The runs with equally many workers.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) runs: usize,
    pub(super) merging: Merging,
    /// The run with the median wall time, in which work, span and their like are replaced.
    pub(super) profile: Profile,
    /// That run, as it was.
    pub(super) median: Profile,
    pub(super) sites: Vec<SiteTotal>,
    pub(super) disturbance: Disturbance,
    /// The work of all strands less the time for which they waited for a processor, by site too:
    /// the factor that is left.
    pub(super) undelayed: f64,
}

/// All sites of one name and kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SiteTotal {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) forks: u64,
    pub(super) stolen: u64,
    pub(super) work_ns: u64,
    pub(super) span_ns: u64,
    pub(super) longest_ns: u64,
    pub(super) grain: Vec<Grain>,
}

/// The groups of the runs, fewest workers first.
pub(super) fn groups(runs: &[Profile]) -> Vec<Group> {
    let mut by_workers: BTreeMap<u64, Vec<&Profile>> = BTreeMap::new();
    for run in runs {
        by_workers.entry(run.workers).or_default().push(run);
    }
    by_workers.into_values().map(|runs| group(&runs)).collect()
}

fn group(runs: &[&Profile]) -> Group {
    let alike = runs.windows(2).all(|pair| shape(pair[0]) == shape(pair[1]));
    let merging = match runs.len() {
        1 => Merging::Single,
        _ if alike => Merging::Least,
        _ => Merging::Median,
    };
    let work = pick(runs, merging, |run| run.work_ns);
    let span = pick(runs, merging, |run| run.span_ns);
    let wall = pick(runs, Merging::Median, |run| run.wall_ns);
    let mut profile = wall.clone();
    profile.work_ns = work.work_ns;
    profile.unjoined_work_ns = work.unjoined_work_ns;
    profile.strands = work.strands;
    profile.forks = work.forks;
    profile.grain.clone_from(&work.grain);
    profile.other_sites = work.other_sites;
    profile.span_ns = span.span_ns;
    profile.burdened_span_ns = span.burdened_span_ns.max(span.span_ns);
    profile.steal_ns = span.steal_ns;
    profile.steal_ns_measured = span.steal_ns_measured;
    let sources = [work, span, wall].map(|run| Disturbance::of(&run.interference));
    let largest = sources.into_iter().reduce(Disturbance::or_worse);
    let delay = work.interference.run_delay_ns as f64 / work.work_ns.max(1) as f64;
    Group {
        runs: runs.len(),
        merging,
        sites: sites(work, span),
        disturbance: largest.unwrap_or_default(),
        undelayed: (1.0 - delay).max(0.0),
        profile,
        median: wall.clone(),
    }
}

/// The run from which a figure comes.
fn pick<'a>(runs: &[&'a Profile], how: Merging, figure: fn(&Profile) -> u64) -> &'a Profile {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| figure(run));
    match how {
        Merging::Single | Merging::Least => runs[0],
        Merging::Median => runs[(runs.len() - 1) / 2],
    }
}

/// How often a run forked at each site. Runs of one shape have the same strands.
fn shape(run: &Profile) -> Vec<(&str, &str, u64)> {
    let sites = run
        .sites
        .iter()
        .map(|site| (&*site.name, &*site.kind, site.forks));
    let mut shape: Vec<_> = sites.chain([("", "", run.forks)]).collect();
    shape.sort_unstable();
    shape
}

/// The sites of a group: the time on the span from one run, all else from another.
fn sites(work: &Profile, span: &Profile) -> Vec<SiteTotal> {
    let mut totals: BTreeMap<(String, String), SiteTotal> = BTreeMap::new();
    let key = |site: &Site| (short_name(&site.name), site.kind.clone());
    for site in &work.sites {
        let total = totals.entry(key(site)).or_default();
        total.forks += site.forks;
        total.stolen += site.stolen;
        total.work_ns = total.work_ns.saturating_add(site.work_ns);
        total.longest_ns = total.longest_ns.max(site.longest_ns);
        total.grain.extend_from_slice(&site.grain);
    }
    for site in &span.sites {
        let total = totals.entry(key(site)).or_default();
        total.span_ns = total.span_ns.saturating_add(site.span_ns);
    }
    let named = totals.into_iter().map(|((name, kind), total)| SiteTotal {
        name,
        kind,
        ..total
    });
    let mut sites: Vec<_> = named.collect();
    sites.sort_by_key(|site| std::cmp::Reverse((site.span_ns, site.work_ns)));
    sites
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::file::Interference;

    fn site(name: &str, forks: u64, work_ns: u64, span_ns: u64) -> Site {
        let name = name.to_owned();
        Site {
            name,
            kind: "join".to_owned(),
            forks,
            work_ns,
            span_ns,
            ..Site::default()
        }
    }

    /// A run with two sites, whose work and span are `work` and `span`.
    fn run(workers: u64, wall: u64, work: u64, span: u64, forks: u64) -> Profile {
        Profile {
            workers,
            wall_ns: wall,
            work_ns: work,
            span_ns: span,
            burdened_span_ns: span + 1,
            forks: forks + 1,
            sites: vec![
                site("p::a::{{closure}}", forks, work - 1, span - 1),
                site("p::b::{{closure}}", 1, 1, 1),
            ],
            ..Profile::default()
        }
    }

    fn only(runs: &[Profile]) -> Group {
        let mut groups = groups(runs);
        assert_eq!(groups.len(), 1);
        groups.remove(0)
    }

    #[test]
    fn runs_that_forked_alike_give_the_least_work_and_the_least_span() {
        let group = only(&[
            run(2, 70, 100, 40, 5),
            run(2, 50, 110, 20, 5),
            run(2, 60, 120, 30, 5),
        ]);
        assert_eq!((group.runs, group.merging), (3, Merging::Least));
        let Profile {
            wall_ns,
            work_ns,
            span_ns,
            burdened_span_ns,
            ..
        } = group.profile;
        assert_eq!(
            (wall_ns, work_ns, span_ns, burdened_span_ns),
            (60, 100, 20, 21)
        );
        let work: u64 = group.sites.iter().map(|site| site.work_ns).sum();
        let span: u64 = group.sites.iter().map(|site| site.span_ns).sum();
        assert_eq!((work, span), (100, 20), "the parts add up to their wholes");
    }

    #[test]
    fn runs_that_forked_differently_give_medians() {
        let group = only(&[
            run(2, 70, 100, 40, 5),
            run(2, 50, 110, 20, 6),
            run(2, 60, 120, 30, 5),
        ]);
        assert_eq!(group.merging, Merging::Median);
        assert_eq!((group.profile.work_ns, group.profile.span_ns), (110, 30));
        assert_eq!(group.profile.forks, 7);
        let even = only(&[run(2, 70, 100, 40, 5), run(2, 50, 110, 20, 6)]);
        assert_eq!((even.profile.work_ns, even.profile.span_ns), (100, 20));
    }

    #[test]
    fn groups_are_by_workers_and_the_fewest_come_first() {
        let groups = groups(&[run(8, 1, 9, 3, 1), run(1, 8, 9, 3, 1), run(8, 1, 9, 3, 1)]);
        let workers = groups
            .iter()
            .map(|group| (group.profile.workers, group.runs));
        assert_eq!(workers.collect::<Vec<_>>(), [(1, 1), (8, 2)]);
        assert_eq!(groups[0].merging, Merging::Single);
    }

    #[test]
    fn sites_with_one_short_name_are_one_and_the_longest_on_the_span_comes_first() {
        let mut one = run(1, 9, 50, 10, 2);
        one.sites = vec![
            site("p::a::{{closure}}", 1, 10, 2),
            site("p::b", 4, 10, 5),
            site("rayon::join<p::a::{{closure}}>::{{closure}}", 2, 30, 3),
            Site {
                kind: "scope".to_owned(),
                ..site("p::b", 1, 1, 0)
            },
        ];
        let sites = only(&[one]).sites;
        let sites: Vec<_> = sites
            .iter()
            .map(|site| {
                (
                    &*site.name,
                    &*site.kind,
                    site.forks,
                    site.work_ns,
                    site.span_ns,
                )
            })
            .collect();
        assert_eq!(
            sites,
            [
                ("p::a", "join", 3, 40, 5),
                ("p::b", "join", 4, 10, 5),
                ("p::b", "scope", 1, 1, 0)
            ]
        );
    }

    #[test]
    fn only_runs_that_figures_come_from_disturb_a_group() {
        let disturbed = |run: Profile, run_delay_ns| Profile {
            interference: Interference {
                cpu_ns: 100,
                run_delay_ns,
                ..Interference::default()
            },
            ..run
        };
        let calm = only(&[
            disturbed(run(2, 50, 100, 20, 5), 1),
            disturbed(run(2, 40, 105, 25, 5), 3),
            disturbed(run(2, 99, 150, 90, 5), 900),
        ]);
        assert!(calm.disturbance.share < 0.05, "{:?}", calm.disturbance);
        let stormy = only(&[disturbed(run(2, 50, 100, 20, 5), 900)]);
        assert!(stormy.disturbance.share > 0.85);
    }
}
