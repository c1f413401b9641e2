//! Drives `heist report` on the timelines that programs write when `HEIST_TIMELINE` is set.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn heist(folder: &Path, line: &str, timeline: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command
        .args(line.split(' '))
        .current_dir(folder)
        .env_remove("HEIST_NUM_THREADS")
        .env_remove("HEIST_RECORD_EVENTS");
    if let Some(name) = timeline {
        command.env("HEIST_TIMELINE", name);
    }
    command.output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the timeline of a program that has joined in two pools, one after the other.
fn recorded() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let run = "run fib --size 15 --strategy stealing --workers 2 --repeat 2 --trace own.json";
    let output = heist(folder.path(), run, Some("run"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    folder
}

#[test]
fn the_timeline_of_a_program_becomes_a_page_and_a_trace() {
    let folder = recorded();
    let report = "report run.timeline.json --html page.html --trace trace.json";
    let output = heist(folder.path(), report, None);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("pool 0, 2 workers: "), "{said}");
    assert!(said.contains("pool 1, 2 workers: "), "{said}");
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("pool 0, 2 workers"));
    let trace = fs::read_to_string(folder.path().join("trace.json")).expect("a trace");
    let trace: Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    // The program's closures are named only in jobs that were stolen, which none need be.
    let jobs = events
        .iter()
        .filter(|event| !event["args"]["job"].is_null());
    let names: Vec<&str> = jobs.filter_map(|event| event["name"].as_str()).collect();
    assert!(!names.is_empty());
    for name in names {
        let is_understood = name.starts_with("heist_") || name.ends_with(" job");
        assert!(is_understood, "neither a closure nor a source: {name}");
    }
    let begin = |pid: u64| {
        let slices = events
            .iter()
            .filter(|it| it["ph"] == "X" && it["pid"] == pid);
        slices
            .filter_map(|it| it["ts"].as_f64())
            .fold(f64::MAX, f64::min)
    };
    assert!(begin(1) < begin(2), "both pools have one clock");
}

#[test]
fn a_call_that_makes_nothing_of_its_files_is_refused() {
    let folder = recorded();
    let path = folder.path();
    let profile = r#"{"heist_profile": 1, "workers": 2, "wall_ns": 60, "outside_ns": 10,
        "work_ns": 90, "span_ns": 30, "burdened_span_ns": 31}"#;
    fs::write(path.join("profile.json"), profile).expect("a file");
    fs::write(path.join("newer.json"), r#"{"heist_timeline": 2}"#).expect("a file");
    for (call, why) in [
        (
            "report run.timeline.json --json",
            "--json means nothing to timelines",
        ),
        (
            "report run.timeline.json --as-if 64",
            "--as-if means nothing",
        ),
        (
            "report profile.json --trace t.json",
            "profile.json is no timeline",
        ),
        (
            "report run.timeline.json profile.json",
            "name files of one kind",
        ),
        (
            "report newer.json",
            "version 2, and this heist reads version 1",
        ),
        (
            "report run.timeline.json --trace a --html a",
            "--html and --trace are both a",
        ),
    ] {
        let output = heist(path, call, None);
        assert_eq!(output.status.code(), Some(2), "{call}");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert!(output.stdout.is_empty(), "{call}");
    }
}

#[test]
fn a_file_may_be_a_pipe_that_can_be_read_once() {
    let folder = recorded();
    let timeline = fs::read_to_string(folder.path().join("run.timeline.json")).expect("it");
    let profile = r#"{"heist_profile": 1, "workers": 2, "wall_ns": 60, "outside_ns": 10,
        "work_ns": 90, "span_ns": 30, "burdened_span_ns": 31}"#;
    for (text, says) in [
        (&*timeline, "pool 0, 2 workers"),
        (profile, "1 run with 2 workers"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
        command.args(["report", "/dev/stdin"]).stdin(Stdio::piped());
        let mut report = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut pipe = report.stdin.take().expect("a pipe");
        pipe.write_all(text.as_bytes()).expect("it reads");
        drop(pipe);
        let output = report.wait_with_output().expect("its end");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(says), "{said}");
    }
}
