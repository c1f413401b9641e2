//! Reports about programs with several pools.

use super::*;

#[test]
fn pools_that_ran_at_once_have_more_workers_than_the_largest_and_shares_of_all_their_time() {
    let wall = 2759 * MS;
    let pools = with(
        wordstat(2),
        &[
            ("/pools", json!(4)),
            ("/idle_ns/sequential", json!(3 * wall)),
            ("/sequential/0/ns", json!(3 * wall)),
        ],
    );
    let report = report(&[pools]);
    let shares: f64 = report.worker_time.iter().map(|part| part.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    let stretch = &report.sequential[0];
    let part = report.part(Cause::Sequential);
    assert!(
        (stretch.share - part.share).abs() < 1e-9,
        "{stretch:?} {part:?}"
    );
    assert!(text(&report).contains("the time of the workers of 4 pools, 19.9 s together"));
    let one = analyse(&[run(8)]).expect("a report");
    assert!(!text(&one).contains("the workers of"));
}

#[test]
fn pools_at_once_are_named_and_their_workers_share_what_is_to_be_saved() {
    let of = |workers, processors| {
        let pools = with(
            wordstat(workers),
            &[
                ("/pools", json!(2)),
                ("/processors", json!(processors)),
                ("/pools_at_once_ns", json!(1000 * MS)),
                ("/workers_at_once_ns", json!(1000 * MS * 2 * workers)),
            ],
        );
        report(&[pools])
    };
    let report = of(4, 16);
    assert_eq!(report.workers_at_once, 8);
    for part in [
        "Several pools ran at once, for 1.00 s",
        "with 8 workers together",
        "if one pool had all the work; there were 8 workers at once",
    ] {
        assert!(
            text(&report).replace('\n', " ").contains(part),
            "{}",
            text(&report)
        );
    }
    assert!(html(&report).contains("there were 8 workers at once"));
    let alone = advice_about(&report, Subject::Sequential).expect("sections");
    let lost = report.part(Cause::Sequential).ns;
    assert_eq!(alone.saves_ns, Some(lost as f64 / 8.0));
    let crowded = of(4, 4);
    let advice = advice_about(&crowded, Subject::Oversubscription).expect("too many at once");
    assert!(
        advice.text.contains("8 workers on 4 processors"),
        "{}",
        advice.text
    );
    let brief = with(
        wordstat(4),
        &[
            ("/pools_at_once_ns", json!(MS)),
            ("/workers_at_once_ns", json!(8 * MS)),
        ],
    );
    let brief = analyse(&[brief]).expect("a report");
    assert!(
        !brief.has_pools_at_once(),
        "a short overlap is not worth a word"
    );
}
