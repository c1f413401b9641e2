//! The figures of a report that are worth a sentence.

use super::report::{Report, SiteReport};
use crate::words::{duration, percent, plural, quoted};

/// A share of the workers' time that is worth a sentence.
pub(super) const LOSS_SHARE: f64 = 0.05;

/// A part of the span that is worth a sentence.
pub(super) const SPAN_SHARE: f64 = 0.2;

/// Parallelism of ten times the workers leaves a scheduler nothing to wish for.
pub(super) const AMPLE: f64 = 10.0;

/// Whether parallelism is more than enough for the workers, or the processors if there are more.
pub(super) fn is_ample(report: &Report) -> bool {
    report.burdened_parallelism >= AMPLE * wanted(report) as f64
}

/// The workers that the program should serve.
pub(super) fn wanted(report: &Report) -> u64 {
    report.workers_at_once.max(report.processors)
}

/// How much of the span is in the strands of a site.
pub(super) fn of_the_span(site: &SiteReport) -> String {
    let longest_share = site.longest_ns as f64 / site.span_ns.max(1) as f64;
    let longest = duration(site.longest_ns as f64);
    let strands = if longest_share >= 0.5 {
        format!("whose longest strand takes {longest}")
    } else {
        format!(
            "with {}, the longest strand {longest}",
            plural(site.forks, "fork")
        )
    };
    format!(
        "Of the span, {} ({}) is {}, {strands}.",
        percent(site.span_share),
        duration(site.span_ns as f64),
        quoted(&site.name),
    )
}
