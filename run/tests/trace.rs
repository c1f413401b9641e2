//! Decodes the traces that `heist run --trace` writes.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn output(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist-run"));
    command
        .args(args.split(' '))
        .current_dir(folder)
        .env_remove("HEIST_NUM_THREADS");
    command.output().expect("the program starts")
}

/// The events of the trace that the call writes to `trace.json`.
fn events(folder: &Path, args: &str) -> Vec<Value> {
    let output = output(folder, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = std::fs::read_to_string(folder.join("trace.json")).expect("a trace");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    trace["traceEvents"].as_array().expect("a list").clone()
}

/// The name of each process.
fn processes(events: &[Value]) -> HashMap<u64, &str> {
    let named = events
        .iter()
        .filter(|event| event["name"] == "process_name");
    let pair = |event: &'_ Value| event["pid"].as_u64().expect("a number");
    named
        .map(|event| (pair(event), event["args"]["name"].as_str().expect("a name")))
        .collect()
}

#[test]
fn every_piece_is_in_the_trace_once_under_each_strategy() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = "run loop --size 200 --workers 2 --repeat 1 --trace trace.json";
    let events = events(folder.path(), call);
    let processes = processes(&events);
    let names: HashSet<_> = processes.values().copied().collect();
    assert_eq!(
        names,
        HashSet::from(["serial", "static", "central", "stealing"])
    );
    for (pid, strategy) in processes {
        let pieces: Vec<&str> = events
            .iter()
            .filter(|event| event["pid"] == pid && event["ph"] == "X")
            .filter_map(|event| event["name"].as_str())
            .filter(|name| name.starts_with("iteration"))
            .collect();
        let different: HashSet<_> = pieces.iter().collect();
        assert_eq!((pieces.len(), different.len()), (200, 200), "{strategy}");
    }
}

#[test]
fn the_jobs_of_the_pool_are_around_the_pieces_and_each_steal_is_an_arrow() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = "run loop --size 500 --workers 3 --strategy stealing --repeat 1 --trace trace.json";
    let events = events(folder.path(), call);
    let processes = processes(&events);
    let stealing = |event: &&Value| {
        let pid = event["pid"].as_u64().expect("a number");
        processes[&pid] == "stealing"
    };
    let of_phase = |ph: &str| -> Vec<&Value> {
        let events = events.iter().filter(stealing);
        events.filter(|event| event["ph"] == ph).collect()
    };
    let slices = of_phase("X");
    let ends = |event: &Value| {
        let begin = event["ts"].as_f64().expect("a time");
        (begin, begin + event["dur"].as_f64().expect("a length"))
    };
    let those = |part: fn(&Value) -> bool| -> Vec<&Value> {
        let slices = slices.iter().copied();
        slices.filter(|event| part(event)).collect()
    };
    let jobs = those(|event| !event["args"]["job"].is_null());
    let is_piece = |event: &Value| {
        let name = event["name"].as_str();
        name.is_some_and(|name| name.starts_with("iteration"))
    };
    for piece in those(is_piece) {
        let (begin, end) = ends(piece);
        let around = jobs.iter().any(|job| {
            let (from, to) = ends(job);
            job["tid"] == piece["tid"] && from <= begin && end <= to + 0.001
        });
        assert!(around, "no job around {piece}");
    }
    let ids = |ph| -> HashSet<&str> {
        let events = of_phase(ph);
        let ids: HashSet<_> = events
            .iter()
            .map(|it| it["id"].as_str().expect("an id"))
            .collect();
        assert_eq!(ids.len(), events.len(), "no two steals have one id");
        ids
    };
    assert_eq!(ids("s"), ids("f"));
    let stolen = those(|event| event["args"]["job"] == "stolen").len();
    assert!(ids("f").len() >= stolen, "a stolen job came by a steal");
    for job in jobs {
        let name = job["name"].as_str().expect("a name");
        // The halves of a loop are the library's own.
        let is_understood = name.starts_with("heist_run::") || name.ends_with(" job");
        assert!(is_understood, "neither a closure nor a source: {name}");
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_refused_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    for (call, why) in [
        (
            "run fib --trace .",
            "cannot write .: it is a folder; name a file",
        ),
        (
            "run --trace no/such/trace.json",
            "there is no folder no/such",
        ),
    ] {
        let output = output(folder.path(), call);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
        assert!(output.stdout.is_empty());
    }
}
