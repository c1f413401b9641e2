//! From the profiles of runs to the report.

use std::error::Error;
use std::fmt;

use super::advice::advice;
use super::bounds::{ratio, WORKERS};
use super::file::Profile;
use super::grain::GrainSummary;
use super::growth::{growth, Growth};
use super::losses::{stretches, worker_time};
use super::merge::{groups, Group, SiteTotal};
use super::report::{Report, Runs, SiteReport, VERSION};
use super::trust::{Disturbance, Trust};
use super::verdict::verdict;
use crate::words::harmless;

/// Pools that ran at once for a smaller share of the wall time are not worth a word.
const AT_ONCE_SHARE: f64 = 0.01;

/// Puts together what the profiles of one program say.
///
/// # Errors
///
/// Fails if there is no profile, or if they are of different programs.
///
/// # Examples
///
/// ```
/// use heist_observe::profile::{analyse, Profile};
///
/// let profile = Profile::parse(
///     r#"{"heist_profile": 1, "workers": 2, "wall_ns": 60, "outside_ns": 10, "work_ns": 90,
///         "span_ns": 30, "burdened_span_ns": 31}"#,
/// )?;
/// let report = analyse(&[profile])?;
/// assert_eq!(report.parallelism, 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn analyse(profiles: &[Profile]) -> Result<Report, AnalysisError> {
    let first = profiles.first().ok_or(AnalysisError::Nothing)?;
    if let Some(other) = profiles.iter().find(|other| other.command != first.command) {
        let name = |profile: &Profile| harmless(&profile.command.join(" "));
        return Err(AnalysisError::Different(name(first), name(other)));
    }
    let groups = groups(profiles);
    let (Some(few), Some(many)) = (groups.first(), groups.last()) else {
        return Err(AnalysisError::Nothing);
    };
    // A comparison of two groups is worth no more than the worse of them.
    let disturbance = few.disturbance.or_worse(many.disturbance);
    let growth = growth(few, many).filter(|_| disturbance.trust() != Trust::NoBounds);
    let mut report = figures(&groups, disturbance, growth);
    report.advice = advice(&report);
    report.verdict = verdict(&report);
    Ok(report)
}

/// Profiles that give no report.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnalysisError {
    /// There is none.
    Nothing,
    /// They are of two programs.
    Different(String, String),
}

impl fmt::Display for AnalysisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "there is no profile; a report needs at least one"),
            Self::Different(one, other) => write!(
                f,
                "the profiles are of different programs, `{one}` and `{other}`; a report is about \
                 runs of one command"
            ),
        }
    }
}

impl Error for AnalysisError {}

/// The report without its sentences.
fn figures(groups: &[Group], disturbance: Disturbance, growth: Option<Growth>) -> Report {
    let (few, many) = (&groups[0], &groups[groups.len() - 1]);
    let run = &many.profile;
    let trust = disturbance.trust();
    let worker_time = worker_time(&many.median, growth.as_ref());
    let worker_time_ns = worker_time.iter().map(|part| part.ns).sum();
    let one = Some(&few.profile).filter(|few| few.workers == 1 && run.workers > 1);
    let one = one.filter(|_| trust != Trust::NoBounds);
    let mut report = Report {
        heist_profile_report: VERSION,
        command: run.command.iter().map(|word| harmless(word)).collect(),
        heist: harmless(&run.heist),
        verdict: String::new(),
        trust,
        disturbance,
        runs: groups.iter().map(runs).collect(),
        workers: run.workers,
        processors: run.processors,
        pools: run.pools,
        pools_at_once_ns: run.pools_at_once_ns,
        workers_at_once: workers_at_once(run),
        wall_ns: run.wall_ns,
        outside_ns: run.outside_ns,
        outside_share: share(run.outside_ns, run.wall_ns),
        work_ns: run.work_ns,
        span_ns: run.span_ns,
        burdened_span_ns: run.burdened_span_ns,
        steal_ns: run.steal_ns,
        steal_ns_measured: run.steal_ns_measured,
        parallelism: 1.0,
        burdened_parallelism: 1.0,
        unjoined_work_ns: run.unjoined_work_ns,
        measured_speedup: one.map(|one| ratio(one.wall_ns as f64, run.wall_ns as f64)),
        speedups: Vec::new(),
        as_if: Vec::new(),
        model: None,
        model_missing: None,
        worker_time,
        worker_time_ns,
        sequential: stretches(run, worker_time_ns),
        sites: many.sites.iter().map(|total| site(run, total)).collect(),
        other_sites: run.other_sites,
        forks: run.forks,
        stolen: run.stolen,
        work_per_fork_ns: run.work_ns as f64 / run.forks.max(1) as f64,
        grain: GrainSummary::new(&run.grain),
        growth,
        advice: Vec::new(),
    };
    let strands = report.strands();
    report.parallelism = strands.parallelism();
    report.burdened_parallelism = strands.burdened_parallelism();
    if report.wants_model() {
        report.speedups = WORKERS.map(|workers| strands.speedup(workers)).to_vec();
    }
    report
}

/// The workers that were there at once: a short overlap of two pools says nothing.
fn workers_at_once(run: &Profile) -> u64 {
    if share(run.pools_at_once_ns, run.wall_ns) < AT_ONCE_SHARE {
        return run.workers;
    }
    let together = run.workers_at_once_ns as f64 / run.pools_at_once_ns as f64;
    run.workers.max(together.round() as u64)
}

fn runs(group: &Group) -> Runs {
    let Profile {
        workers,
        wall_ns,
        outside_ns,
        work_ns,
        span_ns,
        ..
    } = group.profile;
    let Group {
        runs,
        merging,
        disturbance,
        ..
    } = *group;
    Runs {
        workers,
        runs,
        merging,
        wall_ns,
        outside_ns,
        work_ns,
        span_ns,
        disturbance,
    }
}

fn site(run: &Profile, total: &SiteTotal) -> SiteReport {
    SiteReport {
        name: harmless(&total.name),
        kind: harmless(&total.kind),
        forks: total.forks,
        stolen: total.stolen,
        work_ns: total.work_ns,
        work_share: share(total.work_ns, run.work_ns),
        span_ns: total.span_ns,
        span_share: share(total.span_ns, run.span_ns),
        longest_ns: total.longest_ns,
        grain: GrainSummary::new(&total.grain),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 {
        part as f64 / whole as f64
    } else {
        0.0
    }
}
