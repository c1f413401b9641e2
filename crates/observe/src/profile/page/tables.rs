//! The tables below the first screen: every figure.

use crate::page::text;
use crate::profile::report::Report;
use crate::profile::text::merging;
use crate::words::{count, duration, factor, percent};

/// All of them.
pub(super) fn tables(report: &Report) -> String {
    let mut all = speedups(report);
    all.push_str(&as_if(report));
    all.push_str(&sites(report));
    all.push_str(&growth(report));
    all.push_str(&sequential(report));
    all.push_str(&runs(report));
    all
}

/// A table, which scrolls if it is too wide.
fn table(title: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: String = heads
        .iter()
        .map(|head| format!("<th>{}</th>", text(head)))
        .collect();
    let rows: String = rows
        .iter()
        .map(|cells| {
            let (first, others) = cells.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
            let others = others.iter().map(|cell| format!("<td>{}</td>", text(cell)));
            format!(
                "<tr><th>{}</th>{}</tr>\n",
                text(first),
                others.collect::<String>()
            )
        })
        .collect();
    format!(
        "<h2>{title}</h2>\n\
         <div class=\"wide\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\"><table>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

fn as_if(report: &Report) -> String {
    let rows = report.as_if.iter().map(|row| {
        let bounds = [
            row.by_work_ns,
            row.by_span_ns,
            row.by_burdened_span_ns,
            row.outside_ns,
        ];
        let times = [row.at_best_ns, row.expected_ns, row.at_worst_ns];
        let times = bounds.into_iter().chain(times).map(duration);
        let first = [count(row.workers), factor(row.speedup)];
        first.into_iter().chain(times).collect()
    });
    let heads = [
        "as if with workers",
        "speed-up",
        "by work",
        "by span",
        "by burdened span",
        "outside",
        "at best",
        "expected",
        "at worst",
    ];
    table("Predictions", &heads, &rows.collect::<Vec<_>>())
}

fn speedups(report: &Report) -> String {
    let rows = report.speedups.iter().map(|row| {
        let factors = [row.at_most, row.expected, row.at_least, row.whole_program].map(factor);
        [vec![count(row.workers)], factors.to_vec()].concat()
    });
    table(
        "Speed-up",
        &[
            "workers",
            "at most",
            "expected",
            "at least",
            "whole program, expected",
        ],
        &rows.collect::<Vec<_>>(),
    )
}

fn sites(report: &Report) -> String {
    let rows = report.sites.iter().map(|site| {
        vec![
            site.name.clone(),
            site.kind.clone(),
            percent(site.span_share),
            duration(site.span_ns as f64),
            percent(site.work_share),
            duration(site.work_ns as f64),
            count(site.forks),
            count(site.stolen),
            duration(site.grain.p50_ns),
            duration(site.longest_ns as f64),
        ]
    });
    let heads = [
        "site",
        "kind",
        "of the span",
        "span",
        "of the work",
        "work",
        "forks",
        "stolen",
        "median strand",
        "longest strand",
    ];
    table("Sites", &heads, &rows.collect::<Vec<_>>())
}

fn growth(report: &Report) -> String {
    let Some(growth) = &report.growth else {
        return String::new();
    };
    let rows = growth.sites.iter().map(|site| {
        let times = [site.from_ns, site.to_ns].map(duration);
        [
            vec![site.name.clone()],
            times.to_vec(),
            vec![percent(site.share)],
        ]
        .concat()
    });
    let title = format!(
        "Growth of the work: {} from {} to {} workers",
        percent(growth.share),
        growth.from_workers,
        growth.to_workers
    );
    let heads = ["site", "work with the fewest", "with the most", "growth"];
    table(&title, &heads, &rows.collect::<Vec<_>>())
}

fn sequential(report: &Report) -> String {
    let rows = report.sequential.iter().map(|stretch| {
        vec![
            stretch.before.clone(),
            duration(stretch.wall_ns),
            percent(stretch.share),
        ]
    });
    let heads = ["before the fork at", "wall time", "of the workers' time"];
    table("Sequential sections", &heads, &rows.collect::<Vec<_>>())
}

fn runs(report: &Report) -> String {
    let rows = report.runs.iter().map(|runs| {
        vec![
            count(runs.workers),
            runs.runs.to_string(),
            duration(runs.wall_ns as f64),
            duration(runs.outside_ns as f64),
            duration(runs.work_ns as f64),
            duration(runs.span_ns as f64),
            percent(runs.disturbance.run_delay_share),
            percent(runs.disturbance.host_steal_share),
        ]
    });
    let heads = [
        "workers",
        "runs",
        "wall time",
        "outside",
        "work",
        "span",
        "waited for a processor",
        "taken by the host",
    ];
    let mut all = table("Runs", &heads, &rows.collect::<Vec<_>>());
    let merged = merging(report).map_or(String::new(), |how| format!("Of several runs, {how}. "));
    let note = format!(
        "{merged}Expected is what a greedy scheduler makes of work and burdened span; no bound \
         knows memory, caches or locks. Program: {}",
        report.command.join(" ")
    );
    all.push_str(&format!("<p class=\"note\">{}</p>\n", text(&note)));
    all
}
