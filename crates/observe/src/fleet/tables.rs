//! The text of the page: figures and tables.

use super::run::{AttemptEnd, Decision, Expected, Fleet};
use crate::page::text;
use crate::Fact;

/// The figures above the charts.
pub(super) fn figures(facts: &[Fact]) -> String {
    let facts = facts.iter().map(|fact| {
        let (label, value) = (text(&fact.label), text(&fact.value));
        format!("<div><dt>{label}</dt><dd>{value}</dd></div>\n")
    });
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.collect::<String>())
}

/// The table of moves, each with its forecast and its result.
pub(super) fn moves(fleet: &Fleet) -> String {
    if fleet.moves.is_empty() {
        return "<h2>Moves</h2>\n<p class=\"note\">No job moved.</p>\n".to_owned();
    }
    let rows = fleet.moves.iter().map(|moved| {
        let machine = |at: usize| fleet.machines[at].name.as_str();
        let way = format!(
            "{} → {}",
            moved.from.map_or("?", machine),
            machine(moved.to)
        );
        let expected = moved.expected;
        let figure = |value: fn(&Expected) -> f64| {
            expected.map_or("–".to_owned(), |expected| {
                format!("{:.1}", value(&expected))
            })
        };
        let forecast = expected.map(|expected| milliseconds(expected.standstill_ms));
        let (standstill, pausing, bytes, outcome) = match &moved.outcome {
            Some(Ok(came)) => (
                milliseconds(came.standstill_ms),
                milliseconds(came.pausing_ms),
                kilobytes(came.bytes),
                "moved".to_owned(),
            ),
            Some(Err(why)) => (dash(), dash(), dash(), format!("failed: {why}")),
            None => (dash(), dash(), dash(), "the run ended first".to_owned()),
        };
        row(&[
            seconds(moved.began_ms),
            fleet.jobs[moved.job].name.clone(),
            way,
            figure(|expected| expected.benefit_cpu_s),
            figure(|expected| expected.cost_cpu_s),
            forecast.unwrap_or_else(dash),
            standstill,
            pausing,
            bytes,
            outcome,
        ])
    });
    let rows: String = rows.collect();
    format!(
        "<h2>Moves<small>benefit and cost in CPU-seconds, as the rebalancer expected them; a \
         dash where a person asked for the move</small></h2>\n\
         <div class=\"wide\" role=\"region\" aria-label=\"moves\" tabindex=\"0\">\
         <table class=\"list\"><thead><tr><th>at</th><th>job</th><th>way</th>\
         <th>benefit</th><th>cost</th><th>standstill expected</th><th>standstill</th>\
         <th>until the safe point</th><th>state</th><th>outcome</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// The table of jobs.
pub(super) fn jobs(fleet: &Fleet) -> String {
    let rows = fleet.jobs.iter().enumerate().map(|(at, job)| {
        let own = fleet.moves.iter().filter(|moved| moved.job == at);
        let came = own.filter_map(|moved| moved.outcome.as_ref()?.as_ref().ok());
        let (moves, standstill_ms) = came.fold((0, 0), |(count, sum), moved| {
            (count + 1, sum + moved.standstill_ms)
        });
        let lost = job.attempts.iter();
        let lost = lost
            .filter(|attempt| attempt.end == AttemptEnd::Lost)
            .count();
        let checkpoints: usize = job
            .attempts
            .iter()
            .map(|attempt| attempt.checkpoints.len())
            .sum();
        row(&[
            job.name.clone(),
            job.note.clone(),
            job.attempts.len().to_string(),
            moves.to_string(),
            milliseconds(standstill_ms),
            lost.to_string(),
            checkpoints.to_string(),
            job.outcome.clone(),
        ])
    });
    let rows: String = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h2>Jobs</h2>\n<div class=\"wide\" role=\"region\" aria-label=\"jobs\" tabindex=\"0\">\
         <table class=\"list\"><thead><tr><th>job</th>\
         <th>what</th><th>attempts</th><th>moves</th><th>standstill</th><th>lost</th>\
         <th>checkpoints</th><th>outcome</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// The decisions, with their reasons to unfold.
pub(super) fn decisions(decisions: &[Decision]) -> String {
    if decisions.is_empty() {
        return String::new();
    }
    let entries = decisions.iter().map(|decision| {
        let reasons = decision.reasons.iter();
        let reasons: String = reasons
            .map(|reason| format!("<li>{}</li>\n", text(reason)))
            .collect();
        // A decision to move speaks for itself, another one by its first reason.
        let (open, first) = match decision.reasons.first() {
            Some(reason) if !decision.is_move => ("", format!(": {}", text(reason))),
            _ => (" open", String::new()),
        };
        format!(
            "<details{open}><summary><span>{}</span> {}{first}</summary>\n\
             <ul>\n{reasons}</ul></details>\n",
            seconds(decision.at_ms),
            text(&decision.what)
        )
    });
    format!(
        "<h2>Decisions<small>each that differs from the one before, with the refused moves \
         and the reasons</small></h2>\n<div class=\"decisions\">\n{}</div>\n",
        entries.collect::<String>()
    )
}

fn row(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| format!("<td>{}</td>", text(cell)));
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

fn dash() -> String {
    "–".to_owned()
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1e3)
}

fn milliseconds(ms: u64) -> String {
    match ms {
        ms if ms < 10_000 => format!("{ms} ms"),
        ms => seconds(ms),
    }
}

fn kilobytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes < 10_000 => format!("{bytes} B"),
        bytes if bytes < 10_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        bytes => format!("{:.0} MB", bytes as f64 / 1e6),
    }
}
