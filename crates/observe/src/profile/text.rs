//! The report on a screen of 80 columns.

use std::fmt::Write as _;

use super::as_if::Prediction;
use super::merge::Merging;
use super::report::{Cause, Report, Runs, SiteReport};
use super::trust::Trust;
use crate::replay::Change;
use crate::words::{count, duration, factor, fitted, percent, plural};

/// The columns of a screen.
const COLUMNS: usize = 80;

/// The sites, and the sequential stretches, that are listed.
const LISTED: usize = 6;

/// The report as text.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    wrapped(&mut out, "", &headline(report));
    out.push('\n');
    wrapped(&mut out, "", &report.verdict);
    out.push('\n');
    paths(&mut out, report);
    speedups(&mut out, report);
    as_if(&mut out, report);
    time(&mut out, report);
    sites(&mut out, report);
    model(&mut out, report);
    grain(&mut out, report);
    growth(&mut out, report);
    advice(&mut out, report);
    out
}

/// The program, its runs, and how far they can be trusted.
pub(super) fn headline(report: &Report) -> String {
    let program = report.command.first().map_or("a program", String::as_str);
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let runs = |runs: &Runs| {
        format!(
            "{} with {}",
            plural(runs.runs as u64, "run"),
            plural(runs.workers, "worker")
        )
    };
    let runs: Vec<String> = report.runs.iter().map(runs).collect();
    format!(
        "{name}: {}; interference {} ({})",
        runs.join(", "),
        percent(report.disturbance.share),
        report.trust.word()
    )
}

/// How figures come from several runs, if there are several.
pub(super) fn merging(report: &Report) -> Option<&'static str> {
    match report.runs.last()?.merging {
        Merging::Single => None,
        Merging::Least => Some("the runs forked alike: least work and least span of them"),
        Merging::Median => Some("the runs forked differently: median work and median span"),
    }
}

fn paths(out: &mut String, report: &Report) {
    let ns = |ns: u64| duration(ns as f64);
    let measured = if report.steal_ns_measured {
        "measured"
    } else {
        "assumed"
    };
    // A span that was disturbed says nothing about parallelism.
    let parallelism = |parallelism: f64| match report.trust {
        Trust::NoBounds => String::new(),
        _ => format!("parallelism {}; ", factor(parallelism)),
    };
    let spans = [report.parallelism, report.burdened_parallelism].map(parallelism);
    let steal = format!("a steal costs {} ({measured})", ns(report.steal_ns));
    let outside = percent(report.outside_share);
    let rows = [
        ("work T1", report.work_ns, String::new()),
        ("span Tinf", report.span_ns, spans[0].replace("; ", "")),
        (
            "burdened span",
            report.burdened_span_ns,
            format!("{}{steal}", spans[1]),
        ),
        (
            "outside heist",
            report.outside_ns,
            format!("{outside} of {}", ns(report.wall_ns)),
        ),
    ];
    for (name, time, note) in rows {
        line(out, format!("{name:<13} {:>8}  {note}", ns(time)));
    }
    if let Some(merging) = merging(report) {
        line(out, format!("{:<13} {:>8}  {merging}", "", ""));
    }
    out.push('\n');
}

/// Of which workers the bounds are, if that is not plain.
pub(super) fn whose_bounds(report: &Report) -> Option<String> {
    report.has_pools_at_once().then(|| {
        format!(
            "if one pool had all the work; there were {} at once",
            plural(report.workers_at_once, "worker")
        )
    })
}

fn speedups(out: &mut String, report: &Report) {
    if report.speedups.is_empty() {
        return;
    }
    if let Some(of) = whose_bounds(report) {
        line(out, format!("speed-up {of}"));
    }
    let mut row = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>6}")).collect();
        line(out, format!("{name:<13} {cells}"));
    };
    let all = || report.speedups.iter();
    row(
        "workers",
        all().map(|row| row.workers.to_string()).collect(),
    );
    row("at most", all().map(|row| short(row.at_most)).collect());
    if report.model.is_none() {
        row("expected", all().map(|row| short(row.expected)).collect());
    }
    row("at least", all().map(|row| short(row.at_least)).collect());
    if let Some(model) = &report.model {
        let cell = |workers| model.row(workers).map(|row| short(row.speed_up));
        let cells = all().map(|row| cell(row.workers).unwrap_or_default());
        row("model", cells.collect());
    } else {
        row(
            "whole program",
            all().map(|row| short(row.whole_program)).collect(),
        );
    }
    if let Some(measured) = report.measured_speedup {
        let at = report.workers;
        let exact = all().any(|row| row.workers == at);
        let cells = all().map(|row| {
            if row.workers == at {
                short(measured)
            } else {
                String::new()
            }
        });
        if exact {
            row("measured", cells.collect());
        } else {
            line(
                out,
                format!(
                    "{:<13}  {} with {}",
                    "measured",
                    factor(measured),
                    plural(at, "worker")
                ),
            );
        }
    }
    if report.model.is_some() {
        line(out, OF_THE_MODEL.to_owned());
    }
    out.push('\n');
}

/// Of which part of the program the speed-ups are.
pub(super) const OF_THE_MODEL: &str =
    "bounds are of the part in pools, the model and what was measured of the whole";

fn as_if(out: &mut String, report: &Report) {
    for predicted in &report.as_if {
        let limit = predicted.limit.words();
        let of = plural(predicted.workers, "worker");
        let (time, faster) = as_if_time(report, predicted);
        line(
            out,
            format!("as if with {of}: {time}, {faster} times as fast as with one,"),
        );
        let [best, worst] = [predicted.at_best_ns, predicted.at_worst_ns].map(duration);
        line(out, format!("  {limit}; at best {best}, at worst {worst}"));
    }
    if !report.as_if.is_empty() {
        out.push('\n');
    }
}

/// The time that is predicted for some number of workers, and how many times as fast that is: the
/// model's, or that of a greedy scheduler.
pub(super) fn as_if_time(report: &Report, predicted: &Prediction) -> (String, String) {
    let model = report.model.as_ref();
    match model.and_then(|model| model.row(predicted.workers)) {
        Some(row) => {
            let time = format!("{} in the model", duration(row.time_ns));
            (time, factor(row.speed_up))
        }
        None => {
            let time = format!("{} expected", duration(predicted.expected_ns));
            (time, factor(predicted.speedup))
        }
    }
}

/// A speed-up in five columns.
fn short(speedup: f64) -> String {
    if speedup < 99.95 {
        format!("{speedup:.1}")
    } else {
        format!("{speedup:.0}")
    }
}

fn time(out: &mut String, report: &Report) {
    line(out, whose_time(report));
    for part in report
        .worker_time
        .iter()
        .filter(|part| part.share.abs() >= 0.0005)
    {
        let bar = "█".repeat((part.share * 24.0).round() as usize);
        let (share, time) = (percent(part.share), signed(part.ns));
        line(
            out,
            format!("  {share:>5}  {time:>8}  {:<36} {bar}", part.cause.words()),
        );
        if part.cause == Cause::Sequential {
            let worth = report
                .sequential
                .iter()
                .filter(|stretch| stretch.share >= 0.01);
            for stretch in worth.take(LISTED) {
                let time = match report.has_pools_at_once() {
                    true => duration(stretch.idle_ns as f64),
                    false => duration(stretch.wall_ns),
                };
                let name = fitted(&stretch.before, COLUMNS - 32);
                line(out, format!("           {time:>8} before {name}"));
            }
        }
    }
    let all = signed(report.worker_time_ns);
    line(out, format!("  {:>5}  {all:>8}  together", percent(1.0)));
    out.push('\n');
}

/// A time that may be below nothing.
pub(super) fn signed(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration(ns.unsigned_abs() as f64))
}

/// The workers whose time is told, and how long it is.
pub(super) fn whose_time(report: &Report) -> String {
    let of_the_largest = report.workers as f64 * report.wall_ns as f64;
    let all = report.worker_time_ns as f64;
    if all > of_the_largest * 1.001 {
        // Some ran at once.
        let pools = plural(report.pools, "pool");
        return format!(
            "the time of the workers of {pools}, {} together",
            duration(all)
        );
    }
    let workers = plural(report.workers, "worker");
    format!(
        "the time of {workers}, {} each",
        duration(report.wall_ns as f64)
    )
}

fn sites(out: &mut String, report: &Report) {
    let of_note = report.sites.iter().filter(|site| site.span_share >= 0.005);
    let of_note: Vec<&SiteReport> = of_note.take(LISTED).collect();
    if of_note.is_empty() {
        return;
    }
    line(out, "where the span is".to_owned());
    for site in of_note {
        let name = fitted(&site.name, 70);
        line(out, format!("  {:>5}  {name}", percent(site.span_share)));
        line(out, format!("         {}", about(site)));
    }
    if report.other_sites > 0 {
        let places = plural(report.other_sites, "more place");
        line(
            out,
            format!("         {places} that could not be told apart"),
        );
    }
    out.push('\n');
}

/// The gains from sites that are faster.
fn model(out: &mut String, report: &Report) {
    let Some(model) = &report.model else {
        return;
    };
    line(out, format!("{}:", model.title().replacen('I', "i", 1)));
    line(out, format!("  {:>8} {:>10}", "twice", "four times"));
    let worth = |change: &&Change| change.four_times_as_fast_ns < 0.99 * model.at_ns;
    for change in model.changes.iter().filter(worth) {
        let times = [change.twice_as_fast_ns, change.four_times_as_fast_ns];
        let [twice, four] = times.map(duration);
        let name = fitted(&change.site, COLUMNS - 23);
        line(out, format!("  {twice:>8} {four:>10}  {name}"));
    }
    out.push('\n');
}

/// The figures of a site in a line.
pub(super) fn about(site: &SiteReport) -> String {
    let median = if site.grain.strands > 1 {
        format!(", median {}", duration(site.grain.p50_ns))
    } else {
        String::new()
    };
    format!(
        "{}, {}, longest {}{median}, {} of work",
        site.kind,
        plural(site.forks, "fork"),
        duration(site.longest_ns as f64),
        percent(site.work_share),
    )
}

fn grain(out: &mut String, report: &Report) {
    if report.grain.strands == 0 {
        return;
    }
    let grain = &report.grain;
    let fine = format!(
        "{} of them are shorter than 1 us",
        percent(grain.fine_share)
    );
    let work = format!("and carry {} of the work", percent(grain.fine_work_share));
    let lengths = [grain.p1_ns, grain.p50_ns, grain.p99_ns].map(duration);
    let [p1, p50, p99] = lengths;
    let strands = plural(grain.strands, "strand");
    line(
        out,
        format!("grain  p1 {p1}  p50 {p50}  p99 {p99}, of {strands}"),
    );
    line(out, format!("       {fine}, {work}"));
    let forks = plural(report.forks, "fork");
    let (stolen, each) = (count(report.stolen), duration(report.work_per_fork_ns));
    line(
        out,
        format!("       {forks}, {stolen} stolen; {each} of work for each fork"),
    );
}

fn growth(out: &mut String, report: &Report) {
    let Some(growth) = &report.growth else {
        return;
    };
    let change = match growth.share {
        share if share.abs() < 0.005 => "stays the same".to_owned(),
        share if share < 0.0 => format!("shrinks by {}", percent(-share)),
        share => format!("grows by {}", percent(share)),
    };
    line(
        out,
        format!(
            "work   {change} from {} to {}",
            growth.from_workers,
            plural(growth.to_workers, "worker"),
        ),
    );
    for site in growth.sites.iter().take(3) {
        let name = fitted(&site.name, 38);
        line(
            out,
            format!(
                "  {:>5}  {name}, from {} to {}",
                percent(site.share),
                duration(site.from_ns),
                duration(site.to_ns)
            ),
        );
    }
}

fn advice(out: &mut String, report: &Report) {
    if report.advice.is_empty() {
        return;
    }
    out.push('\n');
    let head = advice_head(report);
    wrapped(out, "", &head);
    for (at, advice) in report.advice.iter().enumerate() {
        wrapped(out, &format!("{:>3}. ", at + 1), &advice.text);
    }
}

/// The words before all advice, and where its numbers come from if there is no model.
pub(super) fn advice_head(report: &Report) -> String {
    match &report.model_missing {
        _ if report.trust == Trust::NoBounds => "before all else".to_owned(),
        Some(why) => format!("advice, by arithmetic and without a model: {why}"),
        None => "advice".to_owned(),
    }
}

fn line(out: &mut String, text: String) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", fitted_end(text.trim_end()));
}

/// The beginning of a line that is too long.
fn fitted_end(text: &str) -> String {
    if text.chars().count() <= COLUMNS {
        return text.to_owned();
    }
    let begin: String = text.chars().take(COLUMNS - 1).collect();
    format!("{begin}…")
}

/// Words on lines of the screen; the first begins with `mark`, the others below what follows it.
fn wrapped(out: &mut String, mark: &str, text: &str) {
    let indent = mark.chars().count();
    let mut column = indent;
    out.push_str(mark);
    let mut is_first = true;
    for word in text.split(' ') {
        for part in broken(word, COLUMNS - indent) {
            let width = part.chars().count();
            if !is_first && column + 1 + width > COLUMNS {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                column = indent;
            } else if !is_first {
                out.push(' ');
                column += 1;
            }
            out.push_str(&part);
            column += width;
            is_first = false;
        }
    }
    out.push('\n');
}

/// A word in parts that fit on a line.
fn broken(word: &str, width: usize) -> Vec<String> {
    let signs: Vec<char> = word.chars().collect();
    let parts = signs.chunks(width).map(|part| part.iter().collect());
    parts.collect()
}
