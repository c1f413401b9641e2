use std::collections::HashMap;

use heist_event::EventKind::{self, JobBegin, JobEnd, SearchBegin, SearchEnd, Sleep, Wake};
use heist_event::{WorkerEvents, WorkerId};

use super::*;
use crate::{fold, Fact};

/// The events of the trace, as a reader decodes them.
fn events(runs: &[Run]) -> Vec<Value> {
    let mut file = Vec::new();
    write("a title", runs, &mut file).expect("memory takes everything");
    let trace: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(trace["otherData"]["title"], "a title");
    trace["traceEvents"].as_array().expect("a list").clone()
}

fn of_phase<'a>(events: &'a [Value], ph: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == ph).collect()
}

/// The time of a field, in nanoseconds.
fn ns(event: &Value, field: &str) -> u64 {
    (event[field].as_f64().expect("a number") * 1000.0).round() as u64
}

/// The slices as (process, thread, name, begin, end).
fn slices(events: &[Value]) -> Vec<(u64, u64, &str, u64, u64)> {
    of_phase(events, "X")
        .into_iter()
        .map(|event| {
            let begin_ns = ns(event, "ts");
            (
                event["pid"].as_u64().expect("a process"),
                event["tid"].as_u64().expect("a thread"),
                event["name"].as_str().expect("a name"),
                begin_ns,
                begin_ns + ns(event, "dur"),
            )
        })
        .collect()
}

/// Fails unless each two slices of a track are apart or one is inside the other.
fn assert_nested(events: &[Value]) {
    let mut open: HashMap<(u64, u64), Vec<u64>> = HashMap::new();
    for (pid, tid, name, begin_ns, end_ns) in slices(events) {
        let ends = open.entry((pid, tid)).or_default();
        while ends.last().is_some_and(|&end| end <= begin_ns) {
            ends.pop();
        }
        assert!(
            ends.last().is_none_or(|&end| end_ns <= end),
            "{name} sticks out"
        );
        ends.push(end_ns);
    }
}

fn recorded(events: &[(u64, EventKind)]) -> WorkerEvents {
    let event = |&(at_ns, kind)| heist_event::Event { at_ns, kind };
    WorkerEvents {
        events: events.iter().map(event).collect(),
        dropped: 0,
        ..WorkerEvents::default()
    }
}

/// Two workers, the second of which sleeps, steals twice from the first, and steals once more while
/// it waits.
fn two_workers() -> Run {
    let steal = |victim| EventKind::Steal {
        victim: WorkerId::new(victim),
    };
    let victim = [(1_010, JobBegin), (1_900, JobEnd)];
    let thief = [
        (1_000, Sleep),
        (1_100, Wake),
        (1_110, SearchBegin),
        (1_120, steal(0)),
        (1_121, SearchEnd),
        (1_125, JobBegin),
        (1_300, SearchBegin),
        (1_310, steal(0)),
        (1_311, SearchEnd),
        (1_320, JobBegin),
        (1_400, JobEnd),
        (1_500, JobEnd),
    ];
    Run {
        name: "stealing".into(),
        wall_ns: 1_000,
        ..Run::from(fold(&[recorded(&victim), recorded(&thief)], 1_000..2_000))
    }
}

#[test]
fn every_span_is_one_slice_of_its_worker() {
    let events = events(&[two_workers()]);
    assert_eq!(
        slices(&events),
        [
            (1, 1, "own job", 10, 900),
            (1, 2, "asleep", 0, 100),
            (1, 2, "looking for work", 110, 121),
            (1, 2, "stolen job", 125, 500),
            (1, 2, "looking for work", 300, 311),
            (1, 2, "stolen job", 320, 400),
        ]
    );
    assert_nested(&events);
}

#[test]
fn every_worker_is_one_track_with_its_name() {
    let events = events(&[two_workers(), two_workers()]);
    let names: Vec<_> = of_phase(&events, "M")
        .into_iter()
        .filter(|event| event["name"] == "process_name" || event["name"] == "thread_name")
        .map(|event| {
            (
                event["pid"].clone(),
                event["tid"].clone(),
                event["args"]["name"].clone(),
            )
        })
        .collect();
    let expected = |pid: u64| {
        [(0_u64, "stealing"), (1, "worker 0"), (2, "worker 1")]
            .map(|(tid, name)| (json!(pid), json!(tid), json!(name)))
    };
    assert_eq!(names, [expected(1), expected(2)].concat());
}

#[test]
fn every_steal_is_an_arrow_from_the_victim_to_the_job_that_was_stolen() {
    let events = events(&[two_workers()]);
    let ends = |ph| -> Vec<_> {
        of_phase(&events, ph)
            .into_iter()
            .map(|it| {
                (
                    it["id"].clone(),
                    it["tid"].as_u64(),
                    ns(it, "ts"),
                    it["bp"].clone(),
                )
            })
            .collect()
    };
    let (first, second) = (json!("1.0"), json!("1.1"));
    let from = |id: &Value, at_ns| (id.clone(), Some(1), at_ns, Value::Null);
    let to = |id: &Value, at_ns| (id.clone(), Some(2), at_ns, json!("e"));
    assert_eq!(ends("s"), [from(&first, 120), from(&second, 310)]);
    assert_eq!(ends("f"), [to(&first, 125), to(&second, 320)]);
    let stolen: Vec<_> = of_phase(&events, "X")
        .into_iter()
        .filter(|event| event["args"]["stolen_from"] == "worker 0")
        .map(|event| ns(event, "ts"))
        .collect();
    assert_eq!(stolen, [125, 320]);
    let sources: Vec<_> = of_phase(&events, "X")
        .into_iter()
        .filter(|event| event["cat"] == "task")
        .map(|event| event["args"]["job"].clone())
        .collect();
    assert_eq!(sources, ["own", "stolen", "stolen"]);
}

#[test]
fn a_steal_whose_job_is_unknown_is_an_arrow_to_the_moment_of_the_steal() {
    let mut run = two_workers();
    run.steals.push(Steal {
        at_ns: 600,
        thief: 1,
        victim: 0,
    });
    // The thief of the first steals again before it runs anything.
    run.steals[0].at_ns = 105;
    run.steals.push(Steal {
        at_ns: 124,
        thief: 1,
        victim: 0,
    });
    let events = events(&[run]);
    let ends: Vec<_> = of_phase(&events, "f")
        .iter()
        .map(|it| ns(it, "ts"))
        .collect();
    assert_eq!(ends, [105, 320, 600, 125]);
}

#[test]
fn the_number_of_workers_at_work_changes_when_a_worker_begins_or_ends() {
    let events = events(&[two_workers()]);
    let counts: Vec<_> = of_phase(&events, "C")
        .into_iter()
        .map(|event| (ns(event, "ts"), event["args"]["workers"].as_u64()))
        .collect();
    let expected = [(10, 1), (125, 2), (300, 1), (311, 2), (500, 1), (900, 0)];
    assert_eq!(
        counts,
        expected.map(|(at_ns, workers)| (at_ns, Some(workers)))
    );
}

#[test]
fn a_span_that_outlasts_the_one_around_it_is_cut_and_says_so() {
    let span = |begin_ns, end_ns, label: &str| Span {
        begin_ns,
        end_ns,
        kind: SpanKind::Task,
        label: label.to_owned(),
        source: None,
    };
    let lane = Lane {
        spans: vec![
            span(50, 90, "late"),
            span(0, 60, "first"),
            span(60, 60, "empty"),
        ],
        ..Lane::default()
    };
    let run = Run {
        lanes: vec![lane],
        ..Run::default()
    };
    let events = events(&[run]);
    assert_nested(&events);
    assert_eq!(
        slices(&events),
        [
            (1, 1, "first", 0, 60),
            (1, 1, "late", 50, 60),
            (1, 1, "empty", 60, 60)
        ]
    );
    let uncut: Vec<_> = of_phase(&events, "X")
        .iter()
        .map(|it| it["args"]["uncut_us"].clone())
        .collect();
    assert_eq!(uncut, [Value::Null, json!(0.04), Value::Null]);
}

#[test]
fn names_from_outside_stay_strings_and_figures_and_gaps_are_told() {
    let hostile = "\"}]\n\\</script>\u{1b}[2J";
    let run = Run {
        name: hostile.into(),
        lanes: vec![Lane {
            name: hostile.into(),
            unknown_until_ns: 40,
            dropped: 7,
            ..Lane::default()
        }],
        facts: vec![Fact {
            label: "time".into(),
            value: hostile.into(),
        }],
        ..Run::default()
    };
    let events = events(&[run]);
    let args = |name: &str| {
        let event = events.iter().find(|event| event["name"] == name);
        event.expect(name)["args"].clone()
    };
    assert_eq!(args("process_name")["name"], hostile);
    assert_eq!(args("thread_name")["name"], hostile);
    assert_eq!(args("process_labels")["labels"], format!("time: {hostile}"));
    assert_eq!(args("not recorded")["events"], 7);
    assert_eq!(slices(&events), [(1, 1, "not recorded", 0, 40)]);
}
