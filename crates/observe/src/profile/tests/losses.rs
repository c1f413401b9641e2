//! Reports say where the time of the workers went, and their parts add up.

use super::*;

/// The sum of the parts and the whole, which are the same to the nanosecond.
fn adds_up(report: &Report) -> i128 {
    let sum: i128 = report.worker_time.iter().map(|part| part.ns).sum();
    assert_eq!(sum, report.worker_time_ns, "{:?}", report.worker_time);
    sum
}

#[test]
fn all_parts_together_are_the_workers_times_the_wall_time() {
    for (runs, workers) in [
        (vec![run(8)], 8),
        (vec![run(1), run(8)], 8),
        (vec![run(1)], 1),
    ] {
        let report = report(&runs);
        let wall = i128::from(report.wall_ns);
        assert_eq!(adds_up(&report), workers * wall);
    }
}

#[test]
fn the_sum_is_that_of_the_run_with_the_median_wall_time() {
    let of = |wall: u64, work: u64| {
        let fields = [
            ("/wall_ns", json!(wall * MS)),
            ("/work_ns", json!(work * MS)),
        ];
        with(wordstat(8), &fields)
    };
    // All forked alike, so that the work of the report is the least.
    let report = report(&[of(2000, 9900), of(2100, 9950), of(2200, 9850)]);
    assert_eq!(report.work_ns, 9850 * MS);
    assert_eq!(adds_up(&report), i128::from(8 * 2100 * MS));
    let strands = [Cause::Work, Cause::Forks].map(|cause| report.part(cause).ns);
    assert_eq!(strands.iter().sum::<i128>(), i128::from(9950 * MS));
}

#[test]
fn work_its_growth_and_forks_are_the_strands() {
    let grown = with(
        wordstat(8),
        &[
            ("/work_ns", json!(11_611 * MS)),
            ("/sites/1/work_ns", json!(10_751 * MS)),
            ("/forks", json!(1_000_000)),
        ],
    );
    let report = report(&[run(1), grown]);
    let [work, growth, forks] =
        [Cause::Work, Cause::Growth, Cause::Forks].map(|cause| report.part(cause).ns);
    assert_eq!(forks, 5_000_000);
    assert_eq!(work + growth + forks, i128::from(11_611 * MS));
    let share = growth as f64 / work as f64;
    let told = report.growth.as_ref().expect("it grows").share;
    assert!((share - told).abs() < 1e-6, "{share} {told}");
    adds_up(&report);
}

#[test]
fn a_rest_is_shown_as_not_explained_even_below_nothing() {
    for (wall, rest) in [(2759, "9.7 %"), (1400, "-78 %")] {
        let report = report(&[with(wordstat(8), &[("/wall_ns", json!(wall * MS))])]);
        adds_up(&report);
        let text = text(&report);
        let line = text.lines().find(|line| line.contains("not explained"));
        let line = line.unwrap_or_else(|| panic!("no rest in\n{text}"));
        assert!(line.trim_start().starts_with(rest), "{line}");
        let page = html(&report);
        let row = page.lines().find(|line| line.contains("<th>not explained"));
        assert!(row.is_some_and(|row| row.contains(rest)), "{row:?}");
    }
}

#[test]
fn the_text_and_the_page_have_the_sum() {
    let report = report(&[run(8)]);
    assert!(text(&report).contains("  100 %    22.1 s  together\n"));
    assert!(html(&report).contains("<th>together</th><td>22.1 s</td><td>100 %</td>"));
    let document: Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(document["worker_time_ns"], 8 * 2759 * MS);
}
