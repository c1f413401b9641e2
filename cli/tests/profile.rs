//! Drives `heist profile` and `heist report` as a user does.
//!
//! The profiled programs are `heist` itself, shells that write a profile as a program on heist
//! would, and programs that write none.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

mod signals;

/// Writes the profile of a run that takes 900 ms of work and 100 ms outside, whose span is 300 ms.
const WRITES: &str = r#"
    wall=$((100000000 + 900000000 / HEIST_NUM_THREADS))
    printf '{"heist_profile": 1, "command": ["prog"], "workers": %s, "wall_ns": %s,
        "outside_ns": 100000000, "work_ns": 900000000, "span_ns": 300000000,
        "burdened_span_ns": 301000000}' "$HEIST_NUM_THREADS" "$wall" > "$HEIST_PROFILE.json"
"#;

fn heist(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("HEIST_NUM_THREADS");
    command.output().expect("the program starts")
}

/// `heist profile` of a shell that runs a script.
fn profile(folder: &Path, flags: &[&str], script: &str) -> Output {
    let mut args = vec!["profile"];
    args.extend(flags);
    args.extend(["--", "sh", "-c", script]);
    heist(folder, &args)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn document(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("no JSON ({error}): {}\n{}", stdout(output), stderr(output)))
}

/// Writes a profile, or, in the run for the model, a DAG of 900 ms in a strand and 100 ms outside.
fn writes_both() -> String {
    let dag = r#"{"heist_dag": 1, "command": ["prog"], "workers": 3, "wall_ns": 1000000000,
        "outside_ns": 100000000, "dropped_ns": 0, "sites": [{"name": "app::merge", "kind": "join"}],
        "nodes": [[0, 900000000, 900000000]], "edges": []}"#;
    format!(
        r#"echo run >> log
        if [ -n "$HEIST_DAG" ]; then printf '%s' '{dag}' > "$HEIST_DAG.dag.json"
        else {WRITES} fi"#
    )
}

#[test]
fn one_more_run_says_what_faster_functions_would_bring() {
    let folder = folder();
    let runs = || {
        let log = fs::read_to_string(folder.path().join("log")).expect("the log");
        fs::remove_file(folder.path().join("log")).expect("it is there");
        log.lines().count()
    };
    let flags = ["--runs", "1", "--workers", "1,3"];
    let script = writes_both();
    let output = profile(folder.path(), &flags, &script);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for part in [
        "in the model, with 3 workers, instead of 1.00 s, if a site were faster:",
        "    550 ms     325 ms  app::merge",
        "Were it twice as fast, 3 workers",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert_eq!(runs(), 3);
    let json = [&flags[..], &["--json", "--as-if", "48"]].concat();
    let document = document(&profile(folder.path(), &json, &script));
    assert_eq!(document["model"]["at_workers"], 3);
    let rows = document["model"]["rows"].as_array().expect("a list");
    assert!(rows.iter().any(|row| row["workers"] == 48), "{document}");
    runs();
    let without = [&flags[..], &["--no-model"]].concat();
    let output = profile(folder.path(), &without, &script);
    assert!(!stdout(&output).contains("model"), "{}", stdout(&output));
    assert_eq!(runs(), 2);
}

#[test]
fn without_a_dag_the_report_is_arithmetic_and_says_why() {
    let folder = folder();
    let flags = ["--runs", "1", "--workers", "1,3"];
    let full = writes_both().replace("\"dropped_ns\": 0", "\"dropped_ns\": 7000");
    let fails = WRITES.replacen(
        "wall=",
        "if [ -n \"$HEIST_DAG\" ]; then exit 9; fi; wall=",
        1,
    );
    for (script, why, code) in [
        (
            WRITES,
            "the run that was to record its DAG ended with exit code 0 and",
            0,
        ),
        (&*full, "there was no room for strands of 7.00 us", 0),
        (
            &*fails,
            "the run that was to record its DAG ended with exit code 9 and",
            9,
        ),
    ] {
        let output = profile(folder.path(), &flags, script);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let said = stdout(&output).replace('\n', " ");
        let head = format!("advice, by arithmetic and without a model: {why}");
        assert!(said.contains(&head), "{head} is not in {said}");
    }
}

#[test]
fn a_command_that_runs_several_programs_is_told_whose_figures_these_are() {
    let folder = folder();
    let flags = ["--runs", "2", "--workers", "2", "--no-model"];
    let output = profile(folder.path(), &flags, WRITES);
    assert!(!stderr(&output).contains("several"), "{}", stderr(&output));
    let second = WRITES.replace("\"workers\"", "\"has_replaced\": true, \"workers\"");
    let output = profile(folder.path(), &flags, &second);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output);
    let note = "the figures are those of the one that ended last, `prog`, alone";
    assert_eq!(said.matches(note).count(), 1, "{said}");
}

#[test]
fn a_dag_that_was_to_be_kept_and_is_not_is_missed() {
    let folder = folder();
    let flags = ["--runs", "1", "--workers", "3", "--out", "kept"];
    let disturbed = WRITES.replace(
        "\"workers\"",
        "\"interference\": {\"cpu_ns\": 100000000, \"run_delay_ns\": 90000000}, \"workers\"",
    );
    let output = profile(folder.path(), &flags, &disturbed);
    assert!(
        stdout(&output).contains("No conclusion"),
        "{}",
        stdout(&output)
    );
    let said = stderr(&output);
    assert!(
        said.contains("no DAG is recorded, and so none is kept"),
        "{said}"
    );
    assert!(folder.path().join("kept-3-1.json").exists());
}

#[test]
fn a_disk_without_room_is_not_the_programs_fault() {
    let folder = folder();
    let flags = ["--runs", "1", "--workers", "3"];
    let output = profile(folder.path(), &flags, "rm -r \"${HEIST_PROFILE%/*}\"");
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("no profile can be kept in ") && said.contains("TMPDIR"),
        "{said}"
    );
    let full = "echo 'heist: could not write the DAG to x: No space left on device' >&2";
    let script = format!("if [ -n \"$HEIST_DAG\" ]; then {full}; else {WRITES} fi");
    let output = profile(folder.path(), &flags, &script);
    let said = stdout(&output).replace('\n', " ");
    assert!(
        said.contains("wrote none: it could not write the DAG to x: No space left on device"),
        "{said}"
    );
}

#[test]
fn runs_with_each_number_of_workers_give_one_report() {
    let folder = folder();
    let script = format!("echo run >> log; {WRITES}");
    let flags = [
        "--runs",
        "2",
        "--workers",
        "1,3",
        "--json",
        "--as-if",
        "64,128",
        "--html",
        "page.html",
    ];
    let output = profile(folder.path(), &flags, &script);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = document(&output);
    assert_eq!(report["heist_profile_report"], 1);
    assert_eq!(report["workers"], 3);
    assert_eq!(report["runs"][0]["workers"], 1);
    assert_eq!(report["runs"][0]["runs"], 2);
    assert_eq!(report["parallelism"], 3.0);
    assert_eq!(report["measured_speedup"], 2.5);
    assert_eq!(report["as_if"][1]["workers"], 128);
    let log = fs::read_to_string(folder.path().join("log")).expect("the log");
    assert_eq!(log.lines().count(), 5, "one of them for the model");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("the page");
    assert!(
        page.contains("3 workers are 2.5 times as fast as one"),
        "{page}"
    );
}

#[test]
fn a_program_on_heist_is_measured_with_one_worker_and_with_two() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_heist");
    let args = "profile --runs 1 --workers 1,2 --out run --json --";
    let mut args: Vec<&str> = args.split(' ').collect();
    args.push(program);
    args.extend("run fib --size 15 --strategy stealing --repeat 1".split(' '));
    let output = heist(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = document(&output);
    assert_eq!(report["workers"], 2);
    assert_eq!(report["command"][0], program);
    for workers in [1, 2] {
        let run = format!("run-{workers}-1.json");
        let output = heist(folder.path(), &["report", "--json", &run]);
        let report = document(&output);
        assert_eq!(report["workers"], workers);
        // Joins this small may take less than their measurement.
        let [span, work] =
            ["span_ns", "work_ns"].map(|key| report[key].as_u64().expect("a number"));
        assert!(span <= work, "{report}");
        let sites = report["sites"].as_array().expect("a list");
        let fib = sites
            .iter()
            .find(|site| site["name"] == "heist_workloads::fib::fib");
        let fib = fib.unwrap_or_else(|| panic!("no site of fib: {report}"));
        assert_eq!(fib["kind"], "join");
        // A warm-up and a round, of as many joins as the 16th number of Fibonacci less one.
        assert_eq!(fib["forks"], 2 * 986);
    }
}

#[test]
fn kept_profiles_and_the_dag_give_the_same_report_again() {
    let folder = folder();
    let flags = ["--runs", "1", "--workers", "1,2", "--out", "kept"];
    let output = profile(folder.path(), &flags, &writes_both());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("2 workers are 1.8 times as fast as one"));
    let files = ["kept-1-1.json", "kept-2-1.json", "kept-2.dag.json"];
    let again = heist(folder.path(), &[&["report"], &files[..]].concat());
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert_eq!(stdout(&again), stdout(&output));
    let without = heist(folder.path(), &["report", files[0], files[1]]);
    assert!(!stdout(&without).contains("model"), "{}", stdout(&without));
}

#[test]
fn a_dag_that_fits_no_profile_is_refused() {
    let folder = folder();
    let flags = ["--runs", "1", "--workers", "1", "--out", "kept"];
    profile(folder.path(), &flags, &writes_both());
    let path = folder.path();
    let dag = fs::read_to_string(path.join("kept-1.dag.json")).expect("it was kept");
    fs::write(path.join("again.dag.json"), &dag).expect("a file");
    fs::write(path.join("other.dag.json"), dag.replace("prog", "ls")).expect("a file");
    fs::write(path.join("cut.dag.json"), &dag[..90]).expect("a file");
    for (files, says) in [
        (&["kept-1.dag.json"][..], "there is no profile beside it"),
        (
            &["kept-1-1.json", "kept-1.dag.json", "again.dag.json"],
            "is a second DAG",
        ),
        (
            &["kept-1-1.json", "other.dag.json"],
            "is the DAG of `ls`, and the profiles are of `prog`",
        ),
        (&["kept-1-1.json", "cut.dag.json"], "it is cut off"),
    ] {
        let output = heist(path, &[&["report"], files].concat());
        assert_eq!(output.status.code(), Some(2), "{files:?}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

#[test]
fn the_program_gets_its_input_in_each_run_and_its_output_stays_out_of_the_report() {
    let folder = folder();
    fs::write(folder.path().join("input"), "some words\n").expect("a file");
    let script = format!("cat >> seen; echo loud; {WRITES}");
    let flags = [
        "--runs",
        "2",
        "--workers",
        "1",
        "--json",
        "--stdin",
        "input",
    ];
    let output = profile(folder.path(), &flags, &script);
    document(&output);
    assert!(!stderr(&output).contains("loud"));
    let seen = fs::read_to_string(folder.path().join("seen")).expect("what it read");
    assert_eq!(seen, "some words\n".repeat(3), "one run is for the model");
    let shown = profile(
        folder.path(),
        &["--runs=1", "--json", "--show-output"],
        &script,
    );
    document(&shown);
    assert!(stderr(&shown).contains("loud"));
}

#[test]
fn a_program_that_chooses_its_workers_itself_is_told_apart() {
    let folder = folder();
    let script = format!("HEIST_NUM_THREADS=5; {WRITES}");
    let output = profile(folder.path(), &["--runs", "1", "--workers", "2"], &script);
    assert!(stderr(&output).contains("asked for 2 workers, the program had 5"));
    assert!(
        stdout(&output).contains("1 run with 5 workers"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_failure_is_passed_on_and_the_report_is_given_all_the_same() {
    let folder = folder();
    let script = format!("{WRITES} exit 7");
    let output = profile(folder.path(), &["--runs", "2", "--workers", "2"], &script);
    assert_eq!(output.status.code(), Some(7));
    let told = stderr(&output);
    assert_eq!(
        told.matches("a run with 2 workers ended with exit code 7")
            .count(),
        1,
        "{told}"
    );
    assert!(
        stdout(&output).contains("parallelism 3.0"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_program_that_is_not_on_heist_is_told_how_to_get_there() {
    let folder = folder();
    let path = folder.path().join("on-rayon");
    let mut program = fs::read("/bin/true").expect("a program");
    program.extend(b"RAYON_NUM_THREADS");
    fs::write(&path, program).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its owner");
    for (program, says) in [
        ("./on-rayon", "on rayon itself"),
        ("true", "no sign of heist"),
    ] {
        let output = heist(folder.path(), &["profile", "--", program]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        for part in [says, "[patch.crates-io]", "heist doctor --manifest"] {
            assert!(
                stderr(&output).contains(part),
                "no `{part}` in {}",
                stderr(&output)
            );
        }
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_program_without_parallel_work_is_told_so() {
    let folder = folder();
    let output = heist(
        folder.path(),
        &["profile", "--", env!("CARGO_BIN_EXE_heist"), "--version"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("none of its pools had a job"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_program_that_dies_is_told_with_its_signal_and_its_last_words() {
    let folder = folder();
    let output = profile(folder.path(), &[], "echo out of luck >&2; kill -9 $$");
    assert_eq!(output.status.code(), Some(128 + 9));
    assert!(
        stderr(&output).contains("killed by signal 9 (SIGKILL)"),
        "{}",
        stderr(&output)
    );
    assert!(
        stderr(&output).contains("out of luck"),
        "{}",
        stderr(&output)
    );
    let failed = profile(folder.path(), &[], "exit 3");
    assert_eq!(failed.status.code(), Some(3));
    assert!(
        stderr(&failed).contains("exit code 3, and wrote no profile"),
        "{}",
        stderr(&failed)
    );
}

#[test]
fn ctrl_c_ends_the_runs_and_leaves_nothing_behind() {
    if signals::skipped_as_they_are_ignored() {
        return;
    }
    let (folder, temporary) = (folder(), folder());
    // As on a terminal, where both processes get the signal.
    let script = format!("echo run >> log; {WRITES} kill -INT $PPID; kill -INT $$");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.args(["profile", "--workers", "1", "--", "sh", "-c", &script]);
    command
        .current_dir(folder.path())
        .env("TMPDIR", temporary.path());
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let log = fs::read_to_string(folder.path().join("log")).expect("the log");
    assert_eq!(log, "run\n");
    assert_eq!(
        fs::read_dir(temporary.path()).expect("the folder").count(),
        0
    );
}

/// A supervisor, or a user of `kill`, speaks to this process alone.
#[test]
fn a_signal_to_end_ends_the_program_too_and_leaves_nothing_behind() {
    if signals::skipped_as_they_are_ignored() {
        return;
    }
    for (to_itself, codes) in [
        ("kill -TERM $PPID", &[143][..]),
        ("kill -INT $PPID", &[130]),
        ("kill -HUP $PPID", &[129]),
        // It does not obey, so that a second one kills it. Both may come at once.
        (
            "trap '' TERM INT; kill -TERM $PPID; kill -INT $PPID",
            &[143, 130],
        ),
    ] {
        let (folder, temporary) = (folder(), folder());
        let script = format!("echo $$ > program; {to_itself}; exec sleep 1000");
        let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
        command.args(["profile", "--", "sh", "-c", &script]);
        command
            .current_dir(folder.path())
            .env("TMPDIR", temporary.path());
        let output = command.output().expect("the program starts");
        let said = stderr(&output);
        let ended = output.status.code().expect("it ended by itself");
        assert!(codes.contains(&ended), "{to_itself}: {ended}, {said}");
        let program = fs::read_to_string(folder.path().join("program")).expect("its number");
        let is_there = Command::new("kill").args(["-0", program.trim()]).output();
        let is_there = is_there.expect("kill starts").status.success();
        assert!(!is_there, "{to_itself}: the program goes on");
        let left = fs::read_dir(temporary.path()).expect("the folder").count();
        assert_eq!(left, 0, "{to_itself}");
    }
}

#[test]
fn a_signal_that_was_to_be_ignored_is_ignored() {
    let folder = folder();
    let script = format!("kill -HUP $PPID; {WRITES}");
    let ours = "trap '' HUP; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", ours, env!("CARGO_BIN_EXE_heist")]);
    command.args(["profile", "--runs", "1", "--", "sh", "-c", &script]);
    let output = command.current_dir(folder.path()).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_profile_that_cannot_be_used_is_refused_with_the_field() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("other.json"), r#"{"heist_profile": 2}"#).expect("a file");
    fs::write(path.join("text.json"), "none").expect("a file");
    for (file, says) in [
        ("other.json", "version 2, and this heist reads version 1"),
        ("text.json", "no profile of heist"),
        ("missing.json", "No such file"),
    ] {
        let output = heist(path, &["report", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert!(stderr(&output).contains(file), "{}", stderr(&output));
    }
    let unusable = profile(
        path,
        &[],
        "echo '{\"heist_profile\": 1}' > \"$HEIST_PROFILE.json\"",
    );
    assert_eq!(unusable.status.code(), Some(2), "{}", stderr(&unusable));
    assert!(
        stderr(&unusable).contains("missing field `workers`"),
        "{}",
        stderr(&unusable)
    );
}
