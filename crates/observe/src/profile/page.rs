//! The report as one page that needs nothing but a browser.
//!
//! The first screen answers "why": verdict, advice, curve, span, the workers' time, and grain. The
//! tables below have every figure. Only the curve is drawn by a script.

use serde_json::{json, Value};

use self::tables::tables;
use super::bounds::Speedup;
use super::grain::Octave;
use super::report::{Cause, Part, Report};
use super::text::{about, advice_head, as_if_time, headline, whose_bounds, whose_time};
use super::trust::Trust;
use crate::page::figures::{self, bar, curve_data, section, sentences, Line, CURVE, STYLE};
use crate::page::{page, text};
use crate::words::{count, duration, factor, percent, plural};

mod tables;

/// The sites, and the sequential stretches, on the first screen.
const LISTED: usize = 5;

/// The page.
///
/// All texts are escaped, so that they may come from outside.
#[must_use]
pub fn html(report: &Report) -> String {
    let body = format!(
        "<p class=\"verdict\">{}</p>\n{}<div class=\"why\">\n{}{}{}{}{}</div>\n{}",
        sentences(&report.verdict),
        facts(report),
        advice(report),
        curve(report),
        span(report),
        time(report),
        grain(report),
        tables(report),
    );
    page(&headline(report), STYLE, &body, &data(report), CURVE)
}

/// The input of the script: the bounds at enough numbers of workers to look smooth, and between
/// them the model, or without one what is expected.
fn data(report: &Report) -> Value {
    let strands = report.strands();
    let mut workers: Vec<u64> = (0..=80)
        .map(|step| 2_f64.powf(f64::from(step) / 8.0) as u64)
        .collect();
    workers.dedup();
    let points = |value: fn(Speedup) -> f64| match report.speedups.is_empty() {
        true => Vec::new(),
        false => {
            let point = |&workers| (workers, value(strands.speedup(workers)));
            workers.iter().map(point).collect()
        }
    };
    let line = |name, look, points| Line { name, look, points };
    let mut lines = vec![
        line("at most", "bound", points(|of| of.at_most)),
        line("at least", "least", points(|of| of.at_least)),
    ];
    match &report.model {
        Some(model) => {
            let rows = model.rows.iter().filter(|row| row.workers <= 1024);
            let rows = rows.map(|row| (row.workers, row.speed_up)).collect();
            lines.push(line("model, whole program", "whole", rows));
        }
        None => {
            lines.push(line("expected", "expected", points(|of| of.expected)));
            let whole = points(|of| of.whole_program);
            lines.push(line("whole program", "whole", whole));
        }
    }
    let measured = report.measured_speedup;
    let measured = measured.map(|speedup| (report.workers, speedup));
    json!({"curve": curve_data(&lines, Some([0, 1]), measured)})
}

fn facts(report: &Report) -> String {
    let measured = report.measured_speedup;
    let speedup = measured.map(|speedup| {
        let label = format!("speed-up with {}", plural(report.workers, "worker"));
        (label, factor(speedup))
    });
    let ns = |ns: u64| duration(ns as f64);
    let outside = format!(
        "{} ({})",
        ns(report.outside_ns),
        percent(report.outside_share)
    );
    let others = [
        ("parallelism".to_owned(), factor(report.parallelism)),
        ("work T1".to_owned(), ns(report.work_ns)),
        ("span Tinf".to_owned(), ns(report.span_ns)),
        ("burdened span".to_owned(), ns(report.burdened_span_ns)),
        ("wall time".to_owned(), ns(report.wall_ns)),
        ("of it outside any pool".to_owned(), outside),
        ("interference".to_owned(), percent(report.disturbance.share)),
    ];
    let others = others
        .into_iter()
        .filter(|(label, _)| report.trust != Trust::NoBounds || label != "parallelism");
    let predicted = report.as_if.iter().map(|predicted| {
        let label = format!("as if with {}", plural(predicted.workers, "worker"));
        (label, as_if_time(report, predicted).0)
    });
    figures::facts(speedup.into_iter().chain(predicted).chain(others))
}

fn advice(report: &Report) -> String {
    if report.advice.is_empty() {
        return section("advice", "Advice", "<p class=\"note\">No advice.</p>\n");
    }
    let items = report
        .advice
        .iter()
        .map(|advice| format!("<li>{}</li>\n", sentences(&advice.text)));
    let head = text(&advice_head(report));
    let head = format!("{}{}", head[..1].to_uppercase(), &head[1..]);
    section(
        "advice",
        &head,
        &format!("<ol>\n{}</ol>\n", items.collect::<String>()),
    )
}

fn curve(report: &Report) -> String {
    let of = whose_bounds(report).map(|of| format!(", {of}"));
    let title = format!("Speed-up by workers{}", of.unwrap_or_default());
    figures::curve(&title, report.trust != Trust::NoBounds)
}

fn span(report: &Report) -> String {
    let sites = report
        .sites
        .iter()
        .filter(|site| site.span_share >= 0.005)
        .take(LISTED);
    let bars: String = sites
        .map(|site| bar("span", site.span_share, &site.name, &about(site)))
        .collect();
    let body = match bars.is_empty() {
        true => "<p class=\"note\">No site has a part of the span.</p>\n".to_owned(),
        false => format!("<ul class=\"bars\">\n{bars}</ul>\n"),
    };
    section("spans", "Where the span is", &body)
}

fn time(report: &Report) -> String {
    let is_seen = |part: &&Part| part.share.abs() >= 0.005;
    let parts = report.worker_time.iter().filter(is_seen);
    let bars: String = parts
        .map(|part| {
            let longest = report
                .sequential
                .first()
                .filter(|_| part.cause == Cause::Sequential);
            let note = longest.map_or(String::new(), |stretch| {
                format!(
                    "{} before {} forks",
                    duration(stretch.wall_ns),
                    stretch.before
                )
            });
            let class = match part.cause {
                Cause::Work => "work",
                Cause::Growth | Cause::Forks => "growth",
                _ => "idle",
            };
            bar(class, part.share, part.cause.words(), &note)
        })
        .collect();
    let whose = whose_time(report);
    section(
        "time",
        &format!("T{}", &whose[1..]),
        &format!("<ul class=\"bars\">\n{bars}</ul>\n"),
    )
}

fn grain(report: &Report) -> String {
    let grain = &report.grain;
    let note = format!(
        "{}, p1 {}, p50 {}, p99 {}. {} are shorter than 1 us and carry {} of the work. {}, {} \
         stolen.",
        plural(grain.strands, "strand"),
        duration(grain.p1_ns),
        duration(grain.p50_ns),
        duration(grain.p99_ns),
        percent(grain.fine_share),
        percent(grain.fine_work_share),
        plural(report.forks, "fork"),
        count(report.stolen),
    );
    let body = format!(
        "<ul class=\"columns\">\n{}</ul>\n<p class=\"note\"><i class=\"number\"></i> their \
         number <i class=\"work\"></i> their work, by length. {}</p>\n",
        columns(&grain.octaves),
        sentences(&note)
    );
    section("grain", "Grain: how long strands are", &body)
}

/// Two columns for each octave between the shortest and the longest strand.
fn columns(octaves: &[Octave]) -> String {
    let (Some(first), Some(last)) = (octaves.first(), octaves.last()) else {
        return String::new();
    };
    let most = octaves.iter().map(|octave| octave.strands).max();
    let heaviest = octaves.iter().map(|octave| octave.work_ns).max();
    let of = |part: u64, whole: Option<u64>| part as f64 / whole.unwrap_or(0).max(1) as f64 * 100.0;
    let shortest = first.below_ns as f64;
    let steps = |octave: &Octave| (octave.below_ns as f64 / shortest).log2().round() as i32;
    let column = |step: i32| {
        let octave = octaves.iter().find(|octave| steps(octave) == step);
        let octave = octave.copied().unwrap_or_default();
        let below = shortest * 2_f64.powi(step);
        let tip = format!(
            "below {}: {}, {} of work",
            duration(below),
            plural(octave.strands, "strand"),
            duration(octave.work_ns as f64)
        );
        let label = if step % 4 == 0 {
            rounded(below)
        } else {
            String::new()
        };
        format!(
            "<li title=\"{}\"><i class=\"number\" style=\"--share:{:.2}%\"></i>\
             <i class=\"work\" style=\"--share:{:.2}%\"></i><small>{label}</small></li>\n",
            text(&tip),
            of(octave.strands, most),
            of(octave.work_ns, heaviest),
        )
    };
    (0..=steps(last)).map(column).collect()
}

/// A time without decimals.
fn rounded(ns: f64) -> String {
    let time = duration(ns);
    let (number, unit) = time.split_once(' ').unwrap_or((&time, ""));
    let whole = number.split('.').next().unwrap_or(number);
    format!("{whole} {unit}")
}
