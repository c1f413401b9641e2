//! Reports that a model adds to.

use super::*;
use crate::replay::{Change, Replay, Row};

/// The program on some workers, of which it takes 2.6 s, and 1.9 s or 1.6 s if `merge_maps` is two
/// or four times as fast.
pub(super) fn model(at_workers: u64) -> Replay {
    let row = |(workers, time_ns): (u64, f64)| Row {
        workers,
        time_ns,
        speed_up: 10.67e9 / time_ns,
        bound: 8.1,
        busy: 0.5,
        steals: 9.0,
    };
    let change = |site: &str, of_longest_path, twice, four| Change {
        site: site.to_owned(),
        of_longest_path,
        of_work: 0.1,
        twice_as_fast_ns: twice,
        four_times_as_fast_ns: four,
    };
    Replay {
        command: vec!["/bin/wordstat".to_owned()],
        work_ns: 9_840_000_000,
        span_ns: 1_210_000_000,
        outside_ns: 830_000_000,
        rows: [(1, 10.67e9), (2, 6.0e9), (8, 2.6e9), (64, 2.1e9)]
            .map(row)
            .to_vec(),
        at_workers,
        at_ns: 2.6e9,
        at_speed_up: 4.1,
        changes: vec![
            change("wordstat::merge_maps", 0.7, 1.9e9, 1.6e9),
            change("wordstat::read", 0.2, 2.3e9, 2.2e9),
            change("wordstat::\u{1b}[31m", 0.01, 2.59e9, 2.58e9),
        ],
    }
}

fn modelled() -> Report {
    report(&[run(1), run(8)]).with_model(Ok(model(8)))
}

#[test]
fn advice_about_sites_has_the_numbers_of_the_model() {
    let report = modelled();
    let simulated = report.advice.iter().filter(|advice| advice.simulated);
    let simulated: Vec<&Advice> = simulated.collect();
    let [merge, read] = simulated[..] else {
        panic!("a site that brings next to nothing is left out: {simulated:?}");
    };
    assert_eq!(
        merge.text,
        "Of the span, 71 % (860 ms) is `wordstat::merge_maps`, whose longest strand takes 860 ms. \
         Were it twice as fast, 8 workers would reach a speed-up of 5.6 instead of 4.1 (1.90 s \
         instead of 2.60 s), and were it four times as fast 6.7 (1.60 s): simulated."
    );
    assert_eq!(
        (merge.saves_ns, merge.predicted_wall_ns),
        (Some(1.0e9), Some(1.6e9))
    );
    assert!(read.text.starts_with(
        "In the model `wordstat::read` has 20 % of the longest path and 10 % of the work. Were it"
    ));
    let by_arithmetic = |advice: &&Advice| advice.text.contains("by arithmetic");
    assert!(!report.advice.iter().any(|advice| by_arithmetic(&advice)));
}

#[test]
fn without_a_model_advice_is_arithmetic_and_says_so() {
    let why = "there was no room for strands of 3 s".to_owned();
    let report = report(&[run(1), run(8)]).with_model(Err(why));
    let span = advice_about(&report, Subject::Span).expect("advice");
    assert!(!span.simulated);
    assert!(
        span.text
            .contains("would take 2.06 s instead of 2.76 s by arithmetic"),
        "{}",
        span.text
    );
    let head = "advice, by arithmetic and without a model: there was no room for strands of 3 s\n";
    assert!(text(&report).contains(head), "{}", text(&report));
    let page = html(&report);
    assert!(
        page.contains("Advice, by arithmetic and without a model"),
        "{page}"
    );
}

#[test]
fn the_text_has_the_speed_ups_of_the_model_in_the_place_of_what_is_expected() {
    let text = text(&modelled().as_if(&[64]));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for figure in [
        "model            1.0   1.8         4.1               5.1\n",
        "measured                           3.9\n",
        "as if with 64 workers: 2.10 s in the model, 5.1 times as fast as with one,",
        "in the model, with 8 workers, instead of 2.60 s, if a site were faster:\n",
        "    1.90 s     1.60 s  wordstat::merge_maps\n",
    ] {
        assert!(text.contains(figure), "{figure} is not in\n{text}");
    }
    assert!(
        !text.contains("expected") && !text.contains("whole program"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn the_page_draws_the_model_and_has_its_table() {
    let page = html(&modelled().as_if(&[64]));
    for part in [
        "model, whole program",
        "In the model, with 8 workers, instead of 2.60 s, if a site were faster",
        "<td>1.90 s</td><td>1.60 s</td>",
        "2.10 s in the model",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    assert!(!page.contains('\u{1b}'));
}

#[test]
fn one_worker_is_told_in_times() {
    let alone = report(&[run(1)]).with_model(Ok(model(1)));
    let span = advice_about(&alone, Subject::Span).expect("advice");
    let told = "Were it twice as fast, 1 worker would take 1.90 s instead of 2.60 s, and were it \
                four times as fast 1.60 s (simulated).";
    assert!(span.text.ends_with(told), "{}", span.text);
}

#[test]
fn what_allows_no_bounds_allows_no_model() {
    let disturbed = with(
        wordstat(8),
        &[("/interference/run_delay_ns", json!(9000 * MS))],
    );
    let none = report(&[disturbed]).with_model(Ok(model(8)));
    assert_eq!((&none.model, none.wants_model()), (&None, false));
    assert_eq!(none.advice.len(), 1);
}

#[test]
fn a_recorded_run_with_another_amount_of_work_is_not_shown() {
    for (work_ns, fits) in [
        (9_840, true),
        (8_000, true),
        (12_400, false),
        (5_000, false),
    ] {
        let model = Replay {
            work_ns: work_ns * 1_000_000,
            ..model(8)
        };
        let report = report(&[run(1), run(8)]).with_model(Ok(model));
        assert_eq!(report.model.is_some(), fits, "{work_ns} ms");
        let why = "of work, and the measured ones 9.84 s: strands are too short";
        let told = text(&report).replace('\n', " ").contains(why);
        assert_eq!(told, !fits, "{work_ns} ms");
    }
}
