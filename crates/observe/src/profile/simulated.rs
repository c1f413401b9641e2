//! Advice whose numbers come from the model: what it would bring if a site were faster.

use super::report::{Advice, Report, Subject};
use super::worth::{is_ample, of_the_span, LOSS_SHARE, SPAN_SHARE};
use crate::replay::{Change, Replay};
use crate::words::{duration, factor, percent, plural, quoted};

/// The most sites that advice is about.
const SITES: usize = 3;

/// The advice about the sites that would bring most, unless a faster one brings little.
pub(super) fn advice(report: &Report, model: &Replay) -> Vec<Advice> {
    if is_ample(report) {
        return Vec::new();
    }
    let mut changes: Vec<&Change> = model.changes.iter().collect();
    changes.retain(|change| saves_ns(model, change) >= LOSS_SHARE * model.at_ns);
    changes.sort_by(|one, other| {
        let [one, other] = [one, other].map(|change| saves_ns(model, change));
        other.total_cmp(&one)
    });
    changes.truncate(SITES);
    let advice = changes.into_iter().map(|change| Advice {
        about: Subject::Span,
        text: format!(
            "{} {}",
            place(report, change),
            were_it_faster(model, change)
        ),
        saves_ns: Some(saves_ns(model, change)),
        predicted_wall_ns: Some(change.four_times_as_fast_ns),
        simulated: true,
    });
    advice.collect()
}

/// A sentence about the site that would bring most, if one would bring anything.
pub(super) fn best(model: &Replay) -> Option<String> {
    let best = model.changes.iter().max_by(|one, other| {
        let [one, other] = [one, other].map(|change| saves_ns(model, change));
        one.total_cmp(&other)
    })?;
    if saves_ns(model, best) < LOSS_SHARE * model.at_ns {
        return None;
    }
    let sentence = were_it_faster(model, best);
    let site = quoted(&best.site);
    Some(sentence.replacen("Were it", &format!("Were {site}"), 1))
}

/// The time that it saves if the site is four times as fast.
fn saves_ns(model: &Replay, change: &Change) -> f64 {
    model.at_ns - change.four_times_as_fast_ns
}

/// The site, and how much it has of the span, by the profile if that is much.
fn place(report: &Report, change: &Change) -> String {
    let known = report.sites.iter().find(|site| site.name == change.site);
    match known.filter(|site| site.span_share >= SPAN_SHARE) {
        Some(site) => of_the_span(site),
        None => format!(
            "In the model {} has {} of the longest path and {} of the work.",
            quoted(&change.site),
            percent(change.of_longest_path),
            percent(change.of_work),
        ),
    }
}

fn were_it_faster(model: &Replay, change: &Change) -> String {
    let workers = plural(model.at_workers, "worker");
    let (twice, four) = (change.twice_as_fast_ns, change.four_times_as_fast_ns);
    if model.at_workers == 1 {
        return format!(
            "Were it twice as fast, {workers} would take {} instead of {}, and were it four times \
             as fast {} (simulated).",
            duration(twice),
            duration(model.at_ns),
            duration(four),
        );
    }
    format!(
        "Were it twice as fast, {workers} would reach a speed-up of {} instead of {} ({} instead \
         of {}), and were it four times as fast {} ({}): simulated.",
        factor(model.speed_up(twice)),
        factor(model.at_speed_up),
        duration(twice),
        duration(model.at_ns),
        factor(model.speed_up(four)),
        duration(four),
    )
}
