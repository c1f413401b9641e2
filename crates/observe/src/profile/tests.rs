//! Reports about made-up runs, from their profiles to text, document and page.

use std::collections::BTreeSet;

use serde_json::{json, Value};

use self::model::model;
use super::*;

mod losses;
mod model;
mod pools;

const MS: u64 = 1_000_000;

/// The profile of a run of a program that counts words.
fn wordstat(workers: u64) -> Value {
    let alone = u64::from(workers > 1) * (workers - 1);
    json!({
        "heist_profile": 1, "heist": "0.1.0", "command": ["/bin/wordstat", "books"], "pid": 7,
        "workers": workers, "pools": 1, "processors": 8,
        "pools_at_once_ns": 0, "workers_at_once_ns": 0,
        "wall_ns": 830 * MS + if workers == 1 { 9840 * MS } else { 1929 * MS },
        "outside_ns": 830 * MS,
        "work_ns": 9840 * MS, "span_ns": 1210 * MS, "burdened_span_ns": 1290 * MS,
        "steal_ns": 4200, "steal_ns_measured": true, "unjoined_work_ns": 200 * MS,
        "strands": 100, "forks": 413, "stolen": 40, "empty_strand_ns": 12.5,
        "grain": grain(),
        "sites": [
            {"name": "wordstat::merge_maps::{{closure}}", "kind": "join", "forks": 1, "stolen": 0,
             "work_ns": 860 * MS, "span_ns": 860 * MS, "longest_ns": 860 * MS, "grain": []},
            {"name": "rayon::iter::helper<X, wordstat::read::{{closure}}>::{{closure}}",
             "kind": "join", "forks": 412, "stolen": 40,
             "work_ns": 8980 * MS, "span_ns": 230 * MS, "longest_ns": 230 * MS, "grain": grain()},
        ],
        "other_sites": 0,
        "idle_ns": {"sequential": alone * 390 * MS, "narrow": alone * 100 * MS,
                    "joins": 13 * MS, "stealing": 9 * MS, "waking": 5 * MS},
        "sequential": [{"before": "wordstat::merge_maps::{{closure}}", "ns": alone * 390 * MS}],
        "interference": {"cpu_ns": 9000 * MS, "run_delay_ns": 30 * MS,
                         "host_steal_ns": 5 * MS, "host_ns": 20_000 * MS},
    })
}

fn grain() -> Value {
    json!([
        {"below_ns": 512, "strands": 31, "work_ns": 12_400},
        {"below_ns": 16384, "strands": 60, "work_ns": 660_000},
        {"below_ns": 1 << 24, "strands": 9, "work_ns": 81 * MS},
    ])
}

/// A profile with some fields replaced.
fn with(mut profile: Value, fields: &[(&str, Value)]) -> Profile {
    for (path, value) in fields {
        *profile.pointer_mut(path).expect("a field") = value.clone();
    }
    Profile::parse(&profile.to_string()).expect("a profile")
}

fn run(workers: u64) -> Profile {
    with(wordstat(workers), &[])
}

fn report(runs: &[Profile]) -> Report {
    analyse(runs).expect("a report")
}

fn advice_about(report: &Report, subject: Subject) -> Option<&Advice> {
    report.advice.iter().find(|advice| advice.about == subject)
}

#[test]
fn a_report_predicts_for_workers_that_it_is_asked_for() {
    let report = report(&[run(1), run(8)]).as_if(&[64]);
    // 830 ms outside, 9.84 s of work, a span of 1.21 s, 1.29 s with its steals.
    let told = "as if with 64 workers: 2.25 s expected, 4.7 times as fast as with one,\n  \
                most of it the span; at best 2.04 s, at worst 3.18 s\n";
    assert!(text(&report).contains(told), "{}", text(&report));
    let page = html(&report);
    assert!(page.contains("as if with 64 workers") && page.contains("Predictions"));
    let disturbed = with(
        wordstat(8),
        &[("/interference/run_delay_ns", json!(9000 * MS))],
    );
    let none = analyse(&[disturbed]).expect("a report").as_if(&[64]);
    assert!(none.as_if.is_empty(), "there are no bounds");
}

#[test]
fn the_verdict_says_how_fast_why_no_faster_and_what_the_limit_is() {
    let report = report(&[run(1), run(8)]);
    assert_eq!(
        report.verdict,
        "8 workers are 3.9 times as fast as one. Most is lost, 30 % of the workers' time, while \
         no pool has a job: 830 ms of 2.76 s. The span allows at most 8.1 times, with however many \
         workers, and 71 % of that span is `wordstat::merge_maps`."
    );
    let inside = with(wordstat(8), &[("/outside_ns", json!(10 * MS))]);
    let alone = analyse(&[inside]).expect("a report").verdict;
    assert!(
        alone.contains("were busy for 45 % of their time"),
        "{alone}"
    );
    let sequential = with(
        wordstat(8),
        &[
            ("/outside_ns", json!(10 * MS)),
            ("/idle_ns/sequential", json!(9_000 * MS)),
        ],
    );
    let verdict = analyse(&[sequential]).expect("a report").verdict;
    assert!(
        verdict.contains("runs alone, above all before `wordstat::merge_maps`"),
        "{verdict}"
    );
}

#[test]
fn advice_names_the_place_and_what_it_would_bring_at_most() {
    let report = report(&[run(1), run(8)]);
    let span = advice_about(&report, Subject::Span).expect("advice");
    assert!(span
        .text
        .starts_with("Of the span, 71 % (860 ms) is `wordstat::merge_maps`"));
    assert!(
        span.text
            .contains("Without it the parallelism would be 28.1"),
        "{}",
        span.text
    );
    // No faster than the work divided by the workers, beside what is outside.
    let saves = span.saves_ns.expect("a number");
    assert!((saves - (1929.0 - 1230.0) * 1e6).abs() < 1.0, "{saves}");
    assert!(
        span.text.contains("would take 2.06 s instead of 2.76 s"),
        "{}",
        span.text
    );
    let outside = advice_about(&report, Subject::Outside).expect("advice");
    assert!(
        outside.text.contains("at most 12.9 times"),
        "{}",
        outside.text
    );
    let sequential = advice_about(&report, Subject::Sequential).expect("advice");
    assert!(sequential
        .text
        .contains("390 ms of it before the fork at `wordstat::merge_maps`"));
    assert!(advice_about(&report, Subject::Coverage)
        .expect("advice")
        .text
        .contains("2.0 %"));
    let saved: Vec<f64> = report
        .advice
        .iter()
        .filter_map(|advice| advice.saves_ns)
        .collect();
    assert!(saved.windows(2).all(|pair| pair[0] >= pair[1]), "{saved:?}");
}

#[test]
fn a_disturbed_program_gets_no_bounds_and_a_little_disturbed_one_a_warning() {
    let disturbed = |delay: u64| {
        let fields = [("/interference/run_delay_ns", json!(delay * MS))];
        report(&[with(wordstat(8), &fields)])
    };
    let little = disturbed(300);
    assert_eq!(
        (little.trust, little.speedups.len()),
        (Trust::Unreliable, 11)
    );
    assert!(
        little
            .verdict
            .starts_with("Unreliable, as for 3.3 % of the time its threads waited for a processor"),
        "{}",
        little.verdict
    );
    assert_eq!(little.advice[0].about, Subject::Interference);
    let much = disturbed(3000);
    assert_eq!((much.trust, much.speedups.len()), (Trust::NoBounds, 0));
    assert_eq!(much.advice.len(), 1);
    assert!(
        much.verdict
            .starts_with("No conclusion: for 25 % of the time its threads waited"),
        "{}",
        much.verdict
    );
    let text = text(&much);
    assert!(
        !text.contains("at most") && !text.contains("parallelism"),
        "{text}"
    );
    assert!(!html(&much).contains(">parallelism<"));
    let crowded = with(
        wordstat(8),
        &[
            ("/processors", json!(2)),
            ("/interference/run_delay_ns", json!(3000 * MS)),
        ],
    );
    let crowded = report(&[crowded]);
    assert_eq!(crowded.advice[0].about, Subject::Oversubscription);
    assert!(crowded.advice[0]
        .text
        .contains("8 workers share 2 processors"));
}

#[test]
fn a_program_with_ample_parallelism_is_told_that_nothing_is_to_gain() {
    let ample = with(
        wordstat(8),
        &[
            ("/outside_ns", json!(0)),
            ("/wall_ns", json!(1235 * MS)),
            ("/span_ns", json!(20 * MS)),
            ("/burdened_span_ns", json!(21 * MS)),
            ("/idle_ns/sequential", json!(0)),
            ("/idle_ns/narrow", json!(0)),
            ("/unjoined_work_ns", json!(0)),
        ],
    );
    let report = report(&[ample]);
    let [advice] = report.advice.as_slice() else {
        panic!("{:?}", report.advice)
    };
    assert_eq!(advice.about, Subject::Ample);
    assert!(
        advice.text.contains("492, where 80 for 8 workers"),
        "{}",
        advice.text
    );
    assert!(
        report.verdict.ends_with("The parallelism of 492 is ample."),
        "{}",
        report.verdict
    );
}

#[test]
fn a_fine_grain_and_growing_work_are_told_with_their_price() {
    let fine = with(wordstat(8), &[("/forks", json!(100_000_000))]);
    let grain = report(&[fine]);
    let grain = advice_about(&grain, Subject::Grain).expect("advice");
    assert!(
        grain.text.contains("a fork for each 98 ns of work"),
        "{}",
        grain.text
    );
    assert!(
        grain.text.contains("forks are 5.1 % of the work"),
        "{}",
        grain.text
    );
    assert!(grain.text.contains("at `wordstat::read`"), "{}", grain.text);
    let grown = with(
        wordstat(8),
        &[
            ("/work_ns", json!(11_611 * MS)),
            ("/sites/1/work_ns", json!(10_751 * MS)),
        ],
    );
    let grown = report(&[run(1), grown]);
    let advice = advice_about(&grown, Subject::Growth).expect("advice");
    assert!(
        advice.text.contains(
            "takes 18 % longer with 8 workers than with 1, most at \
        `wordstat::read`"
        ),
        "{}",
        advice.text
    );
    assert!(grown.part(Cause::Growth).share > 0.05);
}

#[test]
fn one_worker_shows_what_more_could_do() {
    let report = report(&[run(1)]);
    assert_eq!(
        report.verdict,
        "1 worker was busy for 92 % of the time. The span allows at most 8.1 times, with however \
         many workers, and 71 % of that span is `wordstat::merge_maps`."
    );
    assert!(advice_about(&report, Subject::Span).is_some());
    assert!(report.advice.iter().all(|advice| advice.saves_ns.is_none()));
    assert!(!text(&report).contains("instead of"));
}

#[test]
fn what_two_groups_say_together_is_worth_no_more_than_the_worse_one() {
    let disturbed = with(
        wordstat(1),
        &[("/interference/run_delay_ns", json!(3000 * MS))],
    );
    let report = report(&[disturbed, run(8)]);
    assert_eq!(report.trust, Trust::NoBounds);
    assert!(report.runs[1].disturbance.trust() == Trust::Trustworthy);
    assert_eq!((report.measured_speedup, &report.growth), (None, &None));
    assert!(!text(&report).contains("from 1 to 8"), "{}", text(&report));
}

#[test]
fn the_price_of_the_profile_is_told_apart() {
    let fields = [
        ("/strands", json!(80_000_000)),
        ("/empty_strand_ns", json!(25.0)),
    ];
    let watched = report(&[with(wordstat(8), &fields)]);
    let share = watched.part(Cause::Watching).share;
    assert!((share - 2.0 / (8.0 * 2.759)).abs() < 1e-6, "{share}");
    let advice = advice_about(&watched, Subject::Watching).expect("advice");
    assert!(
        advice.text.contains("took 9.1 % of the workers' time"),
        "{}",
        advice.text
    );
    // More than there is cannot have gone there.
    let fields = [
        ("/strands", json!(u64::MAX)),
        ("/empty_strand_ns", json!(25.0)),
    ];
    let absurd = report(&[with(wordstat(8), &fields)]);
    assert_eq!(absurd.part(Cause::NotExplained).ns, 0);
    assert!(advice_about(&report(&[run(8)]), Subject::Watching).is_none());
}

#[test]
fn code_outside_forks_is_no_site_to_name() {
    let outside = with(
        wordstat(8),
        &[
            ("/sites/0/name", json!("(outside any fork)")),
            ("/sequential/0/before", json!("(outside any fork)")),
            ("/outside_ns", json!(10 * MS)),
            ("/idle_ns/sequential", json!(9_000 * MS)),
        ],
    );
    let outside = report(&[outside]);
    let of_span = "71 % of that span is code outside any fork.";
    assert!(outside.verdict.ends_with(of_span), "{}", outside.verdict);
    assert!(
        !outside.verdict.contains("above all before"),
        "{}",
        outside.verdict
    );
    let sequential = advice_about(&outside, Subject::Sequential).expect("advice");
    assert!(
        !sequential.text.contains("before the fork"),
        "{}",
        sequential.text
    );
}

#[test]
fn a_program_whose_pools_did_nothing_is_told_so() {
    let least = r#"{"heist_profile": 1, "workers": 2, "wall_ns": 10, "outside_ns": 10,
        "work_ns": 0, "span_ns": 0, "burdened_span_ns": 0}"#;
    let report = report(&[Profile::parse(least).expect("a profile")]);
    assert!(
        report.verdict.starts_with("No pool ran a job"),
        "{}",
        report.verdict
    );
    assert!(report.speedups.is_empty() && report.advice.is_empty());
    assert!(html(&report).contains("No advice"));
    assert!(text(&report).contains("No pool ran a job"));
}

#[test]
fn profiles_of_different_programs_are_refused() {
    let other = with(wordstat(8), &[("/command", json!(["ls"]))]);
    let error = analyse(&[run(8), other])
        .expect_err("two programs")
        .to_string();
    assert!(error.contains("`/bin/wordstat books` and `ls`"), "{error}");
    assert_eq!(analyse(&[]), Err(AnalysisError::Nothing));
}

#[test]
fn the_text_fits_on_a_screen_and_has_the_figures() {
    let text = text(&report(&[run(1), run(8), run(8), run(8)]));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for figure in [
        "wordstat: 1 run with 1 worker, 3 runs with 8 workers; interference 0.4 %",
        "work T1         9.84 s",
        "span Tinf       1.21 s  parallelism 8.1",
        "burdened span   1.29 s  parallelism 7.6; a steal costs 4.20 us (measured)",
        "outside heist   830 ms  30 % of 2.76 s",
        "workers            1     2     4     8    16    32    64   128   256   512  1024",
        "at most          1.0   2.0   4.0   8.0   8.1   8.1",
        "measured                           3.9",
        "   71 %  wordstat::merge_maps",
        "grain  p1 400 ns  p50 11.0 us  p99 9.00 ms",
        "31 % of them are shorter than 1 us, and carry 0 % of the work",
        "the runs forked alike",
    ] {
        assert!(text.contains(figure), "{figure} is not in\n{text}");
    }
}

#[test]
fn text_fits_whatever_names_and_numbers_come() {
    let long = format!(
        "wordstat::{}::{{{{closure}}}}",
        "very_long_module::".repeat(12)
    );
    let huge = json!(u64::MAX / 2);
    let hostile = with(
        wordstat(8),
        &[
            ("/command", json!(["x".repeat(300)])),
            ("/sites/0/name", json!(long)),
            ("/sequential/0/before", json!(long)),
            ("/workers", json!(1_000_000)),
            ("/work_ns", huge.clone()),
            ("/wall_ns", huge.clone()),
            ("/forks", huge.clone()),
            ("/idle_ns/narrow", huge),
        ],
    );
    let one = with(wordstat(1), &[("/command", json!(["x".repeat(300)]))]);
    for line in text(&report(&[one, hostile])).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// The paths of the leaves of a document, with `[]` for each list.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                paths(value, &format!("{path}{dot}{name}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{path}[]"), found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_schema_describes_each_field_of_the_document_and_no_other() {
    let grown = with(
        wordstat(8),
        &[
            ("/work_ns", json!(11_611 * MS)),
            ("/sites/1/work_ns", json!(10_751 * MS)),
        ],
    );
    let modelled = report(&[run(1), grown]).with_model(Ok(model(8)));
    let document = modelled.as_if(&[64]).json();
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["heist_profile_report"], 1);
    let mut fields = BTreeSet::new();
    paths(&document, "", &mut fields);
    let rows = include_str!("schema.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `"));
    let described = rows
        .filter_map(|row| row.split_once('`'))
        .map(|(field, _)| field.to_owned());
    // That row is about the list, not about a field.
    let described: BTreeSet<String> = described.filter(|field| field != "speedups[]").collect();
    assert_eq!(fields, described);
}

#[test]
fn the_page_shows_what_the_text_says_and_names_cannot_leave_their_place() {
    const HOSTILE: &str = "</script><img src=x onerror=\"alert('&')\"><!--";
    let hostile = with(
        wordstat(8),
        &[
            ("/command", json!([HOSTILE])),
            ("/sites/0/kind", json!(HOSTILE)),
        ],
    );
    let page = html(&report(&[hostile]));
    assert!(
        !page.contains("<img") && !page.contains("<!--"),
        "markup got through"
    );
    let report = report(&[run(1), run(8)]);
    let page = html(&report);
    // Names are code there, and no line ends before a unit.
    let plain = page
        .replace("<code>", "`")
        .replace("</code>", "`")
        .replace("&nbsp;", " ");
    let plain = plain.replace("&#39;", "'");
    assert!(plain.contains(&report.verdict), "{plain}");
    for advice in &report.advice {
        assert!(plain.contains(&advice.text), "{}", advice.text);
    }
    for figure in [
        "8.1",
        "9.84 s",
        "wordstat::merge_maps",
        "71 %",
        "p50 11.0 us",
    ] {
        assert!(plain.contains(figure), "{figure}");
    }
    for reference in ["://", "url(", "@import", "<link", " href", "fetch("] {
        assert!(!page.contains(reference), "found {reference}");
    }
}
