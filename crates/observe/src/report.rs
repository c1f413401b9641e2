//! One self-contained HTML page that shows the jobs of each worker over time.
//!
//! The script draws on canvases, and finds what is in view by search, so that a million spans stay
//! usable.

use std::collections::HashMap;

use serde_json::{json, Value};

use self::merge::{Levels, Piece};
use crate::page::{page, text, DRAWN};
use crate::{Run, Source};

mod diagnosis;
mod idle;
mod merge;

pub use self::diagnosis::diagnosis;

const STYLE: &str = include_str!("report/page.css");
const SCRIPT: &str = concat!(
    include_str!("report/spans.js"),
    include_str!("report/page.js")
);

/// The most spans of a page: it has some 15 MB then. Beyond that, neighbours too thin to be seen
/// apart are merged, and the page says how many.
const SPANS_MAX: usize = 1_000_000;

/// The page that shows `runs` one below the other, on one time axis.
///
/// All texts are escaped, so that they may come from outside.
///
/// # Examples
///
/// ```
/// use heist_observe::{report, Run};
///
/// let run = Run { name: "<serial>".into(), wall_ns: 1_000, ..Run::default() };
/// let page = report::html("a & b", &[run]);
/// assert!(page.contains("<title>a &amp; b</title>"));
/// assert!(!page.contains("<serial>"));
/// ```
#[must_use]
pub fn html(title: &str, runs: &[Run]) -> String {
    html_within(SPANS_MAX, title, runs)
}

fn html_within(spans_max: usize, title: &str, runs: &[Run]) -> String {
    let body = format!("{}{}{DRAWN}", diagnoses(runs), figures(runs));
    page(title, STYLE, &body, &data(spans_max, runs), SCRIPT)
}

/// A sentence for each run that had several workers.
fn diagnoses(runs: &[Run]) -> String {
    let mut list = String::new();
    for run in runs {
        if let Some(sentence) = diagnosis(run) {
            let (name, sentence) = (text(&run.name), text(&sentence));
            list.push_str(&format!("<dt>{name}</dt><dd>{sentence}</dd>\n"));
        }
    }
    match list.is_empty() {
        true => list,
        false => format!(
            "<h2>Idle time, and what was lacking</h2>\n<dl class=\"diagnosis\">\n{list}</dl>\n"
        ),
    }
}

/// The table of figures: a row per run, a column per label, in the order in
/// which the labels first appear.
fn figures(runs: &[Run]) -> String {
    let mut labels: Vec<&str> = Vec::new();
    for fact in runs.iter().flat_map(|run| &run.facts) {
        if !labels.contains(&fact.label.as_str()) {
            labels.push(&fact.label);
        }
    }
    if labels.is_empty() {
        return String::new();
    }
    let mut table = String::from(
        "<div class=\"wide\" role=\"region\" aria-label=\"figures\" tabindex=\"0\">\n\
         <table>\n<thead><tr><td></td>",
    );
    for label in &labels {
        table.push_str(&format!("<th>{}</th>", text(label)));
    }
    table.push_str("</tr></thead>\n<tbody>\n");
    for run in runs {
        table.push_str(&format!("<tr><th>{}</th>", text(&run.name)));
        for label in &labels {
            let fact = run.facts.iter().find(|fact| fact.label == *label);
            let value = fact.map_or("–", |fact| &fact.value);
            table.push_str(&format!("<td>{}</td>", text(value)));
        }
        table.push_str("</tr>\n");
    }
    table.push_str("</tbody>\n</table>\n</div>\n");
    table
}

/// The input of the script. Spans are columns of numbers, because a page with a million small
/// objects would be several times as large.
fn data(spans_max: usize, runs: &[Run]) -> Value {
    let mut labels = Labels::default();
    let levels = merge::levels_within(spans_max, runs);
    let shown: usize = levels.iter().flatten().map(Levels::len).sum();
    let total: usize = runs
        .iter()
        .flat_map(|run| &run.lanes)
        .map(|lane| lane.spans.len())
        .sum();
    let runs: Vec<Value> = runs
        .iter()
        .zip(&levels)
        .map(|(run, levels)| run_data(run, levels, &mut labels))
        .collect();
    json!({
        "runs": runs,
        "labels": labels.names,
        "sources": Source::ALL.map(Source::word),
        "spans": total,
        "spans_shown": shown,
    })
}

fn run_data(run: &Run, levels: &[Levels<'_>], labels: &mut Labels) -> Value {
    let lanes: Vec<Value> = run
        .lanes
        .iter()
        .zip(levels)
        .map(|(lane, levels)| {
            let tasks = levels.tasks.iter();
            json!({
                "name": lane.name,
                "busy_ns": lane.busy_ns(),
                "dropped": lane.dropped,
                "unknown_until_ns": lane.unknown_until_ns,
                "tasks": tasks.map(|level| columns(level, labels)).collect::<Vec<_>>(),
                "search": columns(&levels.search, labels),
                "sleep": columns(&levels.sleep, labels),
            })
        })
        .collect();
    json!({
        "name": run.name,
        "wall_ns": run.wall_ns,
        "lanes": lanes,
        "steals": {
            "at_ns": run.steals.iter().map(|steal| steal.at_ns).collect::<Vec<_>>(),
            "thief": run.steals.iter().map(|steal| steal.thief).collect::<Vec<_>>(),
            "victim": run.steals.iter().map(|steal| steal.victim).collect::<Vec<_>>(),
        },
    })
}

/// The pieces as columns. Begins are told as steps from one to the next, which have fewer digits;
/// how many spans a piece stands for is left out where each stands for one, and where they came
/// from (counted from 1) where none is a pool's job.
fn columns(pieces: &[Piece<'_>], labels: &mut Labels) -> Value {
    let mut last_ns = 0;
    let step = |piece: &Piece<'_>| piece.begin_ns - std::mem::replace(&mut last_ns, piece.begin_ns);
    let merged = match pieces.iter().all(|piece| piece.merged == 1) {
        true => Vec::new(),
        false => pieces.iter().map(|piece| piece.merged).collect(),
    };
    let code = |source| Source::ALL.iter().position(|&it| it == source);
    let sources = pieces.iter().map(|piece| {
        let code = piece.source.and_then(code);
        code.map_or(0, |code| code + 1)
    });
    let sources: Vec<usize> = match pieces.iter().all(|piece| piece.source.is_none()) {
        true => Vec::new(),
        false => sources.collect(),
    };
    json!({
        "step_ns": pieces.iter().map(step).collect::<Vec<_>>(),
        "length_ns": pieces.iter().map(|piece| piece.end_ns - piece.begin_ns).collect::<Vec<_>>(),
        "label": pieces.iter().map(|piece| labels.index(piece.label)).collect::<Vec<_>>(),
        "merged": merged,
        "source": sources,
    })
}

/// Every label once, in the order of first use: its index stands for it, and
/// for its colour in all runs.
#[derive(Default)]
struct Labels {
    names: Vec<String>,
    index: HashMap<String, usize>,
}

impl Labels {
    fn index(&mut self, name: &str) -> usize {
        if let Some(&index) = self.index.get(name) {
            return index;
        }
        let index = self.names.len();
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fact, Lane, Span, SpanKind, Steal};

    const HOSTILE: &str = "</script><img src=x onerror=\"alert('&')\"><!--";

    fn task(begin_ns: u64, end_ns: u64, label: &str) -> Span {
        Span {
            begin_ns,
            end_ns,
            kind: SpanKind::Task,
            label: label.to_owned(),
            source: None,
        }
    }

    fn hostile_run() -> Run {
        Run {
            name: HOSTILE.to_owned(),
            wall_ns: 100,
            lanes: vec![Lane {
                name: HOSTILE.to_owned(),
                spans: vec![task(0, 90, HOSTILE)],
                ..Lane::default()
            }],
            steals: vec![Steal {
                at_ns: 5,
                thief: 0,
                victim: 0,
            }],
            facts: vec![Fact {
                label: HOSTILE.to_owned(),
                value: HOSTILE.to_owned(),
            }],
        }
    }

    /// The text of the data element, as a browser would cut it out.
    fn data_of(page: &str) -> Value {
        let (_, after) = page.split_once("id=\"data\">").expect("a data element");
        let (data, _) = after.split_once("</script").expect("its end");
        serde_json::from_str(data).expect("JSON")
    }

    #[test]
    fn names_from_outside_cannot_leave_their_place() {
        let page = html(HOSTILE, &[hostile_run()]);
        assert!(!page.contains("<img"), "markup got through");
        assert!(!page.contains("<!--"), "a comment got through");
        let own_scripts = html("", &[]).matches("</script").count();
        assert_eq!(page.matches("</script").count(), own_scripts);
    }

    #[test]
    fn names_from_outside_arrive_unchanged_in_the_data() {
        let data = data_of(&html("", &[hostile_run()]));
        assert_eq!(data["labels"][0], HOSTILE);
        assert_eq!(data["runs"][0]["name"], HOSTILE);
        assert_eq!(data["runs"][0]["lanes"][0]["name"], HOSTILE);
    }

    #[test]
    fn the_page_begins_with_a_diagnosis_of_each_run_that_had_several_workers() {
        let mut run = hostile_run();
        run.lanes.push(Lane {
            name: "idler".to_owned(),
            ..Lane::default()
        });
        let page = html("", &[run, hostile_run()]);
        assert_eq!(page.matches("<dd>").count(), 1);
        let (_, sentence) = page.split_once("<dd>").expect("a diagnosis");
        assert!(
            sentence.starts_with("idler idled for 100 % of the time"),
            "{sentence}"
        );
        assert!(!page.contains("<img"), "markup got through");
    }

    #[test]
    fn the_page_refers_to_nothing_outside_itself() {
        let page = html("a title", &[hostile_run()]);
        for reference in ["://", "url(", "@import", "<link", " href", "fetch("] {
            assert!(!page.contains(reference), "found {reference}");
        }
    }

    #[test]
    fn the_table_has_a_column_per_label_and_a_dash_where_a_run_has_no_figure() {
        let fact = |label: &str, value: &str| Fact {
            label: label.to_owned(),
            value: value.to_owned(),
        };
        let run = |name: &str, facts| Run {
            name: name.to_owned(),
            facts,
            ..Run::default()
        };
        let page = html(
            "",
            &[
                run("serial", vec![fact("time", "2 s")]),
                run("stealing", vec![fact("time", "1 s"), fact("steals", "7")]),
            ],
        );
        assert!(page.contains("<td></td><th>time</th><th>steals</th>"));
        assert!(page.contains("<th>serial</th><td>2 s</td><td>–</td>"));
        assert!(page.contains("<th>stealing</th><td>1 s</td><td>7</td>"));
    }

    #[test]
    fn a_job_tells_where_it_came_from_and_a_lane_without_jobs_has_no_column_for_it() {
        let job = |begin_ns, source| Span {
            source,
            ..task(begin_ns, begin_ns + 5, "count")
        };
        let lane = |spans| Lane {
            spans,
            ..Lane::default()
        };
        let run = Run {
            wall_ns: 20,
            lanes: vec![
                lane(vec![job(0, Some(Source::Stolen)), job(5, None)]),
                lane(vec![job(0, None)]),
            ],
            ..Run::default()
        };
        let data = data(usize::MAX, &[run]);
        assert_eq!(data["sources"], json!(["own", "stolen", "submitted"]));
        let column = |lane: usize| &data["runs"][0]["lanes"][lane]["tasks"][0]["source"];
        assert_eq!((column(0), column(1)), (&json!([2, 0]), &json!([])));
    }

    #[test]
    fn equal_labels_share_an_index_across_runs() {
        let run = |label: &str| Run {
            wall_ns: 10,
            lanes: vec![Lane {
                spans: vec![task(0, 5, "first"), task(5, 10, label)],
                ..Lane::default()
            }],
            ..Run::default()
        };
        let data = data_of(&html("", &[run("second"), run("first")]));
        let labels_of = |run: usize| &data["runs"][run]["lanes"][0]["tasks"][0]["label"];
        assert_eq!(data["labels"], json!(["first", "second"]));
        assert_eq!(labels_of(0), &json!([0, 1]));
        assert_eq!(labels_of(1), &json!([0, 0]));
    }

    #[test]
    fn begins_are_steps_from_one_span_to_the_next() {
        let lane = Lane {
            spans: vec![task(40, 50, "b"), task(10, 15, "a"), task(15, 20, "a")],
            ..Lane::default()
        };
        let run = Run {
            wall_ns: 100,
            lanes: vec![lane],
            ..Run::default()
        };
        let data = data_of(&html("", &[run]));
        let tasks = &data["runs"][0]["lanes"][0]["tasks"][0];
        assert_eq!(tasks["step_ns"], json!([10, 5, 25]));
        assert_eq!(tasks["length_ns"], json!([5, 5, 10]));
        assert_eq!(tasks["merged"], json!([]), "each piece stands for one span");
    }

    #[test]
    fn a_page_with_too_many_spans_merges_thin_neighbours_and_says_so() {
        let spans: Vec<Span> = (0..10_000).map(|at| task(at, at + 1, "tiny")).collect();
        let run = Run {
            wall_ns: 1_000_000,
            lanes: vec![Lane {
                spans,
                ..Lane::default()
            }],
            ..Run::default()
        };
        let data = data_of(&html_within(500, "", &[run]));
        let shown = data["spans_shown"].as_u64().expect("a number");
        assert_eq!(data["spans"], 10_000);
        assert!(shown <= 500, "{shown} spans shown");
        let merged = &data["runs"][0]["lanes"][0]["tasks"][0]["merged"];
        let all: u64 = merged
            .as_array()
            .expect("a column")
            .iter()
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(all, 10_000, "every span is counted in some piece");
    }
}
