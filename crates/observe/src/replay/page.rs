//! The page of a recorded program in the model: one file that needs nothing but a browser.
//!
//! The first screen says how fast it would be and which sites are in the way; the tables below have
//! every figure.

use serde_json::json;

use super::Replay;
use crate::page::figures::{
    bar, curve, curve_data, facts, section, sentences, table, Line, CURVE, STYLE,
};
use crate::page::page;
use crate::words::{count, duration, factor, percent, plural};

/// The page.
///
/// All texts are escaped, so that they may come from outside.
///
/// # Examples
///
/// ```
/// use heist_observe::replay::{html, Replay};
///
/// let command = vec!["bin/app".to_owned()];
/// let page = html(&Replay { command, at_workers: 2, ..Replay::default() });
/// assert!(page.contains("app in the model"));
/// ```
#[must_use]
pub fn html(replay: &Replay) -> String {
    let replay = replay.clone().harmless();
    let program = replay.command.first().map_or("a program", String::as_str);
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let body = format!(
        "<p class=\"verdict\">{}</p>\n{}<div class=\"why replay\">\n{}{}</div>\n{}{}\
         <p class=\"note\">{}</p>\n",
        sentences(&verdict(&replay)),
        facts(of(&replay)),
        curve("Speed-up by workers (model)", true),
        path(&replay),
        rows(&replay),
        changes(&replay.title(), &replay.changes),
        sentences(&note(&replay)),
    );
    let line = |name, look, points| Line { name, look, points };
    let points = |value: fn(&super::Row) -> f64| {
        let mut points: Vec<_> = replay
            .rows
            .iter()
            .map(|row| (row.workers, value(row)))
            .collect();
        points.sort_by_key(|(workers, _)| *workers);
        points
    };
    let lines = [
        line("bound", "bound", points(|row| row.bound)),
        line("model", "whole", points(|row| row.speed_up)),
    ];
    let data = json!({"curve": curve_data(&lines, None, None)});
    page(&format!("{name} in the model"), STYLE, &body, &data, CURVE)
}

/// The gains from sites that are faster, as a table.
pub(crate) fn changes(title: &str, changes: &[super::Change]) -> String {
    let rows = changes.iter().map(|change| {
        vec![
            change.site.clone(),
            percent(change.of_longest_path),
            percent(change.of_work),
            duration(change.twice_as_fast_ns),
            duration(change.four_times_as_fast_ns),
        ]
    });
    let heads = [
        "site",
        "of the longest path",
        "of the work",
        "twice as fast",
        "four times",
    ];
    table(title, &heads, &rows.collect::<Vec<_>>())
}

/// How fast it would be, and by what that is bounded.
fn verdict(replay: &Replay) -> String {
    let at = plural(replay.at_workers, "worker");
    let mut verdict = match replay.at_workers {
        1 => format!("In the model, {at} would take {}.", duration(replay.at_ns)),
        _ => format!(
            "In the model, {at} would be {} times as fast as one.",
            factor(replay.at_speed_up)
        ),
    };
    let best = replay.rows.iter().max_by_key(|row| row.workers);
    if let Some(row) = best.filter(|row| row.workers > replay.at_workers) {
        verdict.push_str(&format!(
            " {} would be {} times as fast, of at most {}.",
            plural(row.workers, "worker"),
            factor(row.speed_up),
            factor(row.bound)
        ));
    }
    let gain = |change: &&super::Change| replay.at_ns - change.four_times_as_fast_ns;
    let best = replay
        .changes
        .iter()
        .max_by(|one, other| gain(one).total_cmp(&gain(other)));
    if let Some(change) = best.filter(|change| gain(change) > 0.0) {
        verdict.push_str(&format!(
            " Were `{}` four times as fast, {at} would take {} instead of {}.",
            change.site,
            duration(change.four_times_as_fast_ns),
            duration(replay.at_ns)
        ));
    }
    verdict
}

/// The figures of the recorded run.
fn of(replay: &Replay) -> Vec<(String, String)> {
    let (work, span) = (replay.work_ns as f64, replay.span_ns as f64);
    let outside = replay.outside_ns as f64;
    let facts = [
        ("work T1", duration(work)),
        ("span Tinf", duration(span)),
        ("parallelism", factor(work / span.max(1.0))),
        ("outside any pool", duration(outside)),
    ];
    facts
        .map(|(label, value)| (label.to_owned(), value))
        .to_vec()
}

/// The sites on the longest path, as bars.
fn path(replay: &Replay) -> String {
    let bars = replay
        .changes
        .iter()
        .filter(|change| change.of_longest_path >= 0.005);
    let bars: String = bars
        .map(|change| {
            let note = format!(
                "{} of the work; {} if four times as fast",
                percent(change.of_work),
                duration(change.four_times_as_fast_ns)
            );
            bar("span", change.of_longest_path, &change.site, &note)
        })
        .collect();
    let body = match bars.is_empty() {
        true => "<p class=\"note\">No site has a part of it.</p>\n".to_owned(),
        false => format!("<ul class=\"bars\">\n{bars}</ul>\n"),
    };
    section("spans", "The longest path, by sites", &body)
}

/// The program on each number of workers.
fn rows(replay: &Replay) -> String {
    let rows = replay.rows.iter().map(|row| {
        vec![
            count(row.workers),
            duration(row.time_ns),
            factor(row.speed_up),
            factor(row.bound),
            percent(row.busy),
            count(row.steals.round() as u64),
        ]
    });
    let heads = ["workers", "time", "speed-up", "at most", "busy", "steals"];
    let rows = rows.collect::<Vec<_>>();
    table("On any number of workers (model)", &heads, &rows)
}

/// The limits of the model.
fn note(replay: &Replay) -> String {
    format!(
        "All of this is a model: the recorded strands run again, as long as they were where they \
         were recorded, and with the time outside of any pool. Memory, caches and locks are not in \
         it. The bound is min(P, T1 / Tinf), for the program with its part outside. Program: {}",
        replay.command.join(" ").replace('`', "'")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Change, Row};

    fn app() -> Replay {
        let row = |(workers, time_ns, bound)| Row {
            workers,
            time_ns,
            speed_up: 11e6 / time_ns,
            bound,
            busy: 0.5,
            steals: 3.4,
        };
        let change = |site: &str, of_longest_path| Change {
            site: site.to_owned(),
            of_longest_path,
            of_work: 0.4,
            twice_as_fast_ns: 7e6,
            four_times_as_fast_ns: 6e6,
        };
        Replay {
            command: vec![
                "bin/app".to_owned(),
                "</script><img onerror=\"x\">".to_owned(),
            ],
            work_ns: 10_000_000,
            span_ns: 7_000_000,
            outside_ns: 1_000_000,
            rows: [(1, 11e6, 1.0), (2, 8e6, 1.4), (1024, 8e6, 1.4)]
                .map(row)
                .to_vec(),
            at_workers: 2,
            at_ns: 8e6,
            at_speed_up: 11.0 / 8.0,
            changes: vec![
                change("app::merge<'_>", 0.8),
                change("app::\u{1b}[m", 0.001),
            ],
        }
    }

    #[test]
    fn the_page_has_the_figures_and_says_that_they_are_a_models() {
        let page = html(&app());
        for part in [
            "<title>app in the model</title>",
            "In the model, 2 workers would be 1.4 times as fast as one. 1,024 workers would be \
             1.4 times as fast, of at most 1.4.",
            "Speed-up by workers (model)",
            "<dd>7.00 ms</dd>",
            "<b>80 %</b><span>app::merge&lt;&#39;_&gt;</span>",
            "<tr><th>2</th><td>8.00 ms</td><td>1.4</td><td>1.4</td><td>50 %</td><td>3</td></tr>",
            "<td>7.00 ms</td><td>6.00 ms</td>",
            "[1024,1.375]",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
    }

    #[test]
    fn nothing_in_a_name_leaves_its_place_and_nothing_is_loaded() {
        let page = html(&app());
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        for reference in ["://", "url(", "@import", "<link", " href", "fetch("] {
            assert!(!page.contains(reference), "found {reference}");
        }
    }

    #[test]
    fn one_worker_and_nothing_at_all_have_a_page() {
        let alone = Replay {
            at_workers: 1,
            rows: Vec::new(),
            ..app()
        };
        assert!(html(&alone).contains("In the model, 1 worker would take 8.00&nbsp;ms."));
        assert!(html(&Replay::default()).contains("No site has a part of it"));
    }
}
