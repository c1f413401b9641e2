//! Tests of the live view, with snapshots as the runtime writes them.

use heist_event::live::{self, Metered, Pool, Site, Worker};
use heist_event::profile::Idle;
use heist_event::WorkerCounters;
use serde_json::Value;

use super::{lines, Reading, Snapshot};

const SECOND_NS: u64 = 1_000_000_000;

fn counters(jobs: u64, working_ns: u64) -> WorkerCounters {
    let mut counters = WorkerCounters::default();
    (counters.jobs, counters.steals, counters.steals_lost) = (jobs, jobs / 100, 3);
    counters.working_ns = working_ns;
    counters.searching_ns = SECOND_NS / 2;
    counters.asleep_ns = 4 * SECOND_NS - SECOND_NS / 2 - working_ns;
    counters
}

/// A program whose only pool has had 3 of 4 workers at work.
fn written() -> live::Snapshot {
    let worker = |(index, state)| Worker {
        index,
        state,
        for_ns: 17,
        total: counters(1, 1),
    };
    let states = ["working", "asleep", "searching", "working"];
    live::Snapshot {
        heist: "0.2.0".to_owned(),
        command: vec!["wordstat".to_owned(), "--all".to_owned()],
        pid: 4711,
        began_unix_ms: 1_000,
        written_unix_ms: 13_300,
        processors: 4,
        pools: vec![Pool {
            number: 2,
            age_ns: 9,
            len: 4,
            has_a_job: true,
            total: counters(123_456, 0),
            last: counters(5_000, 3 * SECOND_NS),
            last_ns: SECOND_NS,
            workers: states.into_iter().enumerate().map(worker).collect(),
            other_workers: 5,
            stall: Some("heist: nothing has moved\n  cycle: 0 -> 1\n".to_owned()),
        }],
        other_pools: 7,
        metered: Some(Metered {
            work_ns: 8 * SECOND_NS,
            span_ns: SECOND_NS,
            last_ns: SECOND_NS,
            idle: Idle::default(),
            last_idle: Idle {
                sequential_ns: SECOND_NS,
                ..Idle::default()
            },
            sites: vec![Site {
                name: "wordstat::merge".to_owned(),
                kind: "join",
                work_ns: 5,
                last_work_ns: 5,
                span_ns: 1,
                forks: 12,
                stolen: 3,
            }],
        }),
    }
}

fn read() -> Snapshot {
    Snapshot::parse(&written().to_json()).expect("it is read as it is written")
}

fn text(snapshot: &Snapshot, is_alive: bool, age_ns: u64, columns: usize) -> String {
    lines(snapshot, Reading::new(is_alive, age_ns, columns)).join("\n")
}

/// The names of all fields in it, and below.
fn fields(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Array(items) if items.iter().any(Value::is_object) => {}
                    _ => found.push(name.clone()),
                }
                fields(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, found)),
        _ => {}
    }
}

#[test]
fn the_document_that_is_read_is_the_one_that_was_written() {
    let written: Value = serde_json::from_str(&written().to_json()).expect("JSON");
    let read = serde_json::to_value(read()).expect("JSON");
    assert_eq!(read, written, "no field gets lost");
    let schema = include_str!("schema.md");
    let mut names = Vec::new();
    fields(&written, &mut names);
    assert!(names.len() > 40);
    for name in names {
        let is_described =
            schema.contains(&format!("{name}`")) || schema.contains(&format!("{name}[]`"));
        assert!(is_described, "{name} is not in the schema");
    }
}

#[test]
fn a_view_says_what_ran_in_the_last_second_and_who_was_idle_why() {
    let text = text(&read(), true, 90_000_000, 80);
    for part in [
        "wordstat --all",
        "process 4711, heist 0.2.0, looked at for 12.3 s; parallelism 3.0 of 4 workers",
        "pool 2: 4 workers, parallelism 3.0 in the last second, a job waits",
        "  at work    ██████████████████████████████████████░░░░░░░░░░░░   75 %",
        "5,000 jobs/s, 50 steals/s, 3 failed/s; 123,456 jobs and 1,234 steals in all",
        "  workers    #.+#",
        "5 more",
        "  ! heist: nothing has moved",
        "  !   cycle: 0 -> 1",
        "and 7 more pools",
        "  sequential █████████████░",
        "work 8.00 s, span 1.00 s: parallelism 8.0 up to now",
        "   100 %  wordstat::merge (join), 12 forks, 3 stolen",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("DEAD") && !text.contains("SILENT"));
}

#[test]
fn a_dead_program_and_a_silent_one_are_said_to_be_so() {
    let dead = text(&read(), false, 5 * SECOND_NS, 80);
    assert!(dead.contains("DEAD: it was like this 5.00 s ago"), "{dead}");
    let silent = text(&read(), true, 5 * SECOND_NS, 80);
    assert!(silent.contains("SILENT: this is 5.00 s old"), "{silent}");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_names_cannot_move_the_cursor() {
    let mut hostile = written();
    hostile.command = vec!["\u{1b}[2J".repeat(100)];
    hostile.pools[0].stall = Some("\u{1b}[2J".repeat(100));
    hostile.pools[0].workers = vec![hostile.pools[0].workers[0].clone(); 1000];
    let metered = hostile.metered.as_mut().expect("it is metered");
    metered.sites[0].name = "a::\u{1b}[2J".repeat(50);
    let hostile = Snapshot::parse(&hostile.to_json()).expect("it is a snapshot");
    for columns in [0, 50, 80, 200, usize::MAX] {
        let width = columns.clamp(50, 160);
        for line in lines(&hostile, Reading::new(false, u64::MAX, columns)) {
            assert!(line.chars().count() <= width, "{columns}: {line}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}

#[test]
fn numbers_beyond_all_measure_do_no_harm() {
    let huge = written()
        .to_json()
        .replace(": 5,", &format!(": {},", u64::MAX));
    let huge = huge.replace("\"len\": 4", &format!("\"len\": {}", u64::MAX));
    let snapshot = Snapshot::parse(&huge).expect("it is a snapshot");
    assert!(!text(&snapshot, true, u64::MAX, 80).is_empty());
    let nothing =
        r#"{"heist_live": 1, "pid": 1, "began_unix_ms": 9, "written_unix_ms": 1, "pools": []}"#;
    let nothing = Snapshot::parse(nothing).expect("it is a snapshot");
    assert!(text(&nothing, true, 0, 80).contains("no pool"));
}

#[test]
fn a_text_that_is_no_snapshot_is_refused_with_the_reason() {
    for (json, part) in [
        ("", "no snapshot"),
        ("[]", "no snapshot"),
        ("{}", "heist_live"),
        (r#"{"heist_live": 2, "pools": 3}"#, "version 2"),
        (r#"{"heist_live": 1, "pid": -1}"#, "pid"),
        (
            r#"{"heist_live": 1, "pid": 1, "began_unix_ms": 1, "written_unix_ms": 1, "pools": [{"number": "x"}]}"#,
            "pools[0].number",
        ),
    ] {
        let why = Snapshot::parse(json).unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    }
}
