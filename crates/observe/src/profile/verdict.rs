//! The answer in a sentence or two: how fast the program is on its workers, and why no faster.

use super::report::{Cause, Part, Report};
use super::trust::Trust;
use super::worth::is_ample;
use crate::words::{duration, factor, percent, plural, quoted};

/// Losses below this share of the workers' time explain nothing.
const LOSS_SHARE: f64 = 0.03;

/// The verdict.
pub(super) fn verdict(report: &Report) -> String {
    if report.work_ns == 0 && report.grain.strands > 0 {
        return "The jobs took no more time than it takes to measure them, so nothing can be said \
                of them."
            .to_owned();
    }
    if report.work_ns == 0 {
        return "No pool ran a job: all of the program lies outside, and no number of workers \
                changes its time."
            .to_owned();
    }
    if report.trust == Trust::NoBounds {
        return format!(
            "No conclusion: {}, and above 10 % bounds would mislead.",
            lacked(report)
        );
    }
    let mut verdict = match report.trust {
        Trust::Unreliable => {
            format!("Unreliable, as {}: ", lacked(report))
        }
        _ => String::new(),
    };
    verdict.push_str(&speed(report));
    if report.workers_at_once > 1 {
        verdict.push_str(&loss(report));
    }
    verdict.push_str(&limit(report));
    verdict
}

/// For how long the program lacked processors. Its own threads may have had them.
fn lacked(report: &Report) -> String {
    format!(
        "for {} of the time its threads waited for a processor or the host took it",
        percent(report.disturbance.share)
    )
}

/// How fast it is.
fn speed(report: &Report) -> String {
    let workers = plural(report.workers, "worker");
    if report.has_pools_at_once() {
        return at_once(report);
    }
    match report.measured_speedup {
        Some(speedup) => format!("{workers} are {} times as fast as one.", factor(speedup)),
        None if report.workers > 1 => {
            let busy = percent(report.busy_share());
            format!("{workers} were busy for {busy} of their time.")
        }
        None => {
            let share = report.work_ns as f64 / report.wall_ns.max(1) as f64;
            format!(
                "1 worker was busy for {} of the time.",
                percent(share.min(1.0))
            )
        }
    }
}

/// How fast it is, if several pools ran at once.
fn at_once(report: &Report) -> String {
    let workers = plural(report.workers_at_once, "worker");
    let speedup = report.measured_speedup.map(|speedup| {
        format!(
            ", and {} times as fast as with 1 worker in each",
            factor(speedup)
        )
    });
    format!(
        "Several pools ran at once, for {} of {}, with {workers} together: they were busy for {} \
         of their time{}.",
        duration(report.pools_at_once_ns as f64),
        duration(report.wall_ns as f64),
        percent(report.busy_share()),
        speedup.unwrap_or_default(),
    )
}

/// The largest loss.
fn loss(report: &Report) -> String {
    let losses = report
        .worker_time
        .iter()
        .filter(|part| part.cause != Cause::Work);
    let largest = losses.max_by(|one, other| one.share.total_cmp(&other.share));
    let Some(&Part { cause, share, .. }) = largest.filter(|part| part.share >= LOSS_SHARE) else {
        return " No loss is worth a word.".to_owned();
    };
    let share = percent(share);
    match cause {
        Cause::Outside => format!(
            " Most is lost, {share} of the workers' time, while no pool has a job: {} of {}.",
            duration(report.outside_ns as f64),
            duration(report.wall_ns as f64)
        ),
        Cause::Sequential => {
            let place = report.sequential.first();
            let place = place
                .filter(|stretch| !stretch.before.starts_with('('))
                .map(|stretch| format!(", above all before `{}` forks", stretch.before));
            format!(
                " Most is lost, {share} of the workers' time, while one of them runs alone{}.",
                place.unwrap_or_default()
            )
        }
        Cause::Growth => {
            format!(" Most is lost, {share} of the workers' time, because the work itself grows.")
        }
        Cause::Watching => format!(
            " Most is lost, {share} of the workers' time, to the profile itself: without it the \
             program is faster."
        ),
        Cause::Forks => format!(
            " Most is lost, {share} of the workers' time, to forks, at some 5 ns each: the grain \
             is fine."
        ),
        Cause::NotExplained => format!(
            " Most is lost, {share} of the workers' time, to what is not explained: other \
             programs, and what is not measured exactly."
        ),
        cause => format!(
            " Most is lost, {share} of the workers' time: {}.",
            cause.words()
        ),
    }
}

/// The limit for more workers.
fn limit(report: &Report) -> String {
    if is_ample(report) {
        let parallelism = factor(report.parallelism);
        return format!(" The parallelism of {parallelism} is ample.");
    }
    let place = report.sites.first().filter(|site| site.span_share >= 0.2);
    let place = place.map(|site| {
        let share = percent(site.span_share);
        format!(", and {share} of that span is {}", quoted(&site.name))
    });
    format!(
        " The span allows at most {} times, with however many workers{}.",
        factor(report.parallelism),
        place.unwrap_or_default()
    )
}
