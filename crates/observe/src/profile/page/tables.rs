//! The tables below the first screen: every figure.

use crate::page::figures::table;
use crate::page::text;
use crate::profile::report::Report;
use crate::profile::text::{as_if_time, merging, signed, whose_time};
use crate::replay::changes;
use crate::words::{count, duration, factor, percent};

/// All of them.
pub(super) fn tables(report: &Report) -> String {
    let mut all = speedups(report);
    all.push_str(&as_if(report));
    all.push_str(&model(report));
    all.push_str(&worker_time(report));
    all.push_str(&sites(report));
    all.push_str(&growth(report));
    all.push_str(&sequential(report));
    all.push_str(&runs(report));
    all
}

fn as_if(report: &Report) -> String {
    let rows = report.as_if.iter().map(|row| {
        let bounds = [
            row.by_work_ns,
            row.by_span_ns,
            row.by_burdened_span_ns,
            row.outside_ns,
            row.at_best_ns,
            row.at_worst_ns,
        ];
        let (time, faster) = as_if_time(report, row);
        let first = [count(row.workers), faster, time];
        first.into_iter().chain(bounds.map(duration)).collect()
    });
    let heads = [
        "as if with workers",
        "speed-up",
        "time",
        "by work",
        "by span",
        "by burdened span",
        "outside",
        "at best",
        "at worst",
    ];
    table("Predictions", &heads, &rows.collect::<Vec<_>>())
}

fn speedups(report: &Report) -> String {
    let modelled = |workers| report.model.as_ref()?.row(workers);
    let rows = report.speedups.iter().map(|row| {
        let mut cells = vec![count(row.workers), factor(row.at_most)];
        match modelled(row.workers) {
            Some(model) => cells.extend([
                factor(row.at_least),
                factor(model.speed_up),
                duration(model.time_ns),
                percent(model.busy),
            ]),
            None => cells.extend([row.at_least, row.expected, row.whole_program].map(factor)),
        }
        cells
    });
    let heads: &[&str] = match report.model {
        Some(_) => &[
            "workers",
            "at most, in pools",
            "at least, in pools",
            "model, whole program",
            "its time",
            "busy",
        ],
        None => &[
            "workers",
            "at most",
            "at least",
            "expected",
            "whole program, expected",
        ],
    };
    table("Speed-up", heads, &rows.collect::<Vec<_>>())
}

/// The parts of the workers' time, and their sum.
fn worker_time(report: &Report) -> String {
    let rows = report.worker_time.iter().map(|part| {
        let cause = part.cause.words().to_owned();
        vec![cause, signed(part.ns), percent(part.share)]
    });
    let all = [
        "together".to_owned(),
        signed(report.worker_time_ns),
        percent(1.0),
    ];
    let rows: Vec<_> = rows.chain([all.to_vec()]).collect();
    let title = whose_time(report).replacen('t', "T", 1);
    table(&title, &["part", "time", "share"], &rows)
}

/// The changes that the model was asked about.
fn model(report: &Report) -> String {
    let Some(model) = &report.model else {
        return String::new();
    };
    changes(&model.title(), &model.changes)
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
