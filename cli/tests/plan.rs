//! Drives the program `heist plan` as a user does.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const FLEET: &str = r#"{
    "nodes": [
        {"id": "a", "cpus": 8, "utilisation": 0.92},
        {"id": "b", "cpus": 8, "utilisation": 0.45},
        {"id": "c", "cpus": 8, "utilisation": 0.5, "age_s": 9}
    ],
    "jobs": [
        {"id": "batch", "node": "a", "cpus": 1, "used_cpus": 0.8, "state_bytes": 67108864},
        {"id": "billing", "node": "a", "cpus": 1, "used_cpus": 1, "priority": "P1"},
        {"id": "db", "node": "a", "cpus": 2, "used_cpus": 2, "mobility": "warm-state"}
    ]
}"#;

const TABLE: &str = "\
# The same fleet.
kind, id,      node, cpus, utilisation, age_s, used_cpus, state_bytes, priority, mobility
node, a,       ,     8,    0.92,        ,      ,          ,            ,
node, b,       ,     8,    0.45,        ,      ,          ,            ,
node, c,       ,     8,    0.5,         9,     ,          ,            ,
job,  batch,   a,    1,    ,            ,      0.8,       67108864,    ,
job,  billing, a,    1,    ,            ,      1,         ,            1,
job,  db,      a,    2,    ,            ,      2,         ,            ,         warm-state
";

fn folder(name: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join(name), text).expect("a new file");
    folder
}

fn heist(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.arg("plan").args(args).current_dir(folder);
    command
}

/// The output of `heist plan` on this snapshot, with these further arguments.
fn plan(name: &str, text: &str, args: &[&str]) -> Output {
    let folder = folder(name, text);
    let all = [&[name], args].concat();
    let output = heist(folder.path(), &all).output();
    output.expect("the program starts")
}

fn stdout(output: &Output) -> String {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn document(name: &str, text: &str, args: &[&str]) -> Value {
    let output = plan(name, text, &[args, &["--json"]].concat());
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

fn refusal(name: &str, text: &str, args: &[&str]) -> String {
    let output = plan(name, text, args);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(output.stdout.is_empty(), "an error prints nothing else");
    err
}

#[test]
fn the_text_shows_the_fleet_the_decision_and_every_reason() {
    let text = stdout(&plan("fleet.json", FLEET, &[]));
    for expected in [
        "a     ██████████████████████░░  92 %",
        "job batch moves from a to b: a falls from 92 % to 82 %, b rises from 45 % to 55 %",
        "the sample of node c does not count: it is 9.0 s old, at most 5.0 s count",
        "b keeps its jobs: it is at 45 %, hot is 80 %",
        "job billing on a stays: priority P1 moves only from 98 % on, a is at 92 %",
        "job db on a stays: it is bound to warm state there",
    ] {
        assert!(text.contains(expected), "no '{expected}' in:\n{text}");
    }
}

#[test]
fn the_document_has_the_decision_as_data_and_as_sentences() {
    let document = document("fleet.json", FLEET, &[]);
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["outcome"]["kind"], "move");
    assert_eq!(document["outcome"]["job"], "batch");
    assert_eq!(document["outcome"]["to"], "b");
    let reasons = document["reasons"].as_array().expect("reasons");
    let protected = reasons.iter().find(|reason| reason["kind"] == "protected");
    let protected = protected.expect("billing is protected");
    assert_eq!(protected["emergency"], 0.98);
    let text = protected["text"].as_str().expect("a sentence");
    assert!(text.starts_with("job billing on a stays"), "{text}");
}

#[test]
fn a_table_says_the_same_as_a_document() {
    let json = document("fleet.json", FLEET, &[]);
    assert_eq!(document("fleet.csv", TABLE, &[]), json);
    assert_eq!(document("fleet", TABLE, &[]), json);
    assert_eq!(document("fleet", FLEET, &[]), json);
}

#[test]
fn a_snapshot_can_come_from_stdin() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = heist(folder.path(), &["-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(TABLE.as_bytes()).expect("it is read");
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    assert!(stdout(&output).contains("job batch moves from a to b"));
}

#[test]
fn a_history_that_was_hot_for_a_moment_only_moves_nothing() {
    let since = |history: &str| {
        let fleet = FLEET.replace("0.92", history);
        document("fleet.json", &fleet, &[])["outcome"]["kind"].clone()
    };
    assert_eq!(since("[0.5, 0.5, 0.5, 1.0]"), "stay");
    assert_eq!(since("[0.5, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95]"), "move");
}

#[test]
fn flags_change_the_thresholds() {
    let outcome = |args: &[&str]| document("fleet.json", FLEET, args)["outcome"].clone();
    assert_eq!(outcome(&["--hot", "95"])["kind"], "stay");
    assert_eq!(outcome(&["--spread", "50"])["kind"], "stay");
    assert_eq!(outcome(&["--low-water", "50"])["kind"], "stay");
    assert_eq!(outcome(&["--horizon", "1"])["kind"], "stay");
    assert_eq!(outcome(&["--bandwidth", "1"])["kind"], "stay");
    // Now billing could move, but is spared for batch.
    let emergency = document("fleet.json", FLEET, &["--emergency", "90"]);
    assert_eq!(emergency["outcome"]["job"], "batch");
    let reasons = emergency["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().any(|reason| reason["kind"] == "spared"));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let err = refusal("fleet.json", FLEET, &["--hot", "60"]);
    assert!(
        err.contains("low_water = 0.7; accepted is up to hot_level, 0.6"),
        "{err}"
    );
    let err = refusal("fleet.json", FLEET, &["--horizon=-1"]);
    assert!(err.contains("'-1' for '--horizon"), "{err}");
    assert!(err.contains("seconds from 0"), "{err}");
}

#[test]
fn a_wrong_document_is_refused_with_field_and_line() {
    for (from, to, expected) in [
        (
            "0.45",
            "\"much\"",
            "nodes[1].utilisation: expected a number or a list of numbers",
        ),
        ("0.45", "[]", "the utilisation of node b is an empty list"),
        (
            "\"used_cpus\"",
            "\"used\"",
            "jobs[0].used: unknown field `used`",
        ),
        (
            "67108864",
            "-1",
            "jobs[0].state_bytes: invalid value: integer `-1`",
        ),
        (
            "\"P1\"",
            "\"high\"",
            "jobs[1].priority: invalid priority 'high'",
        ),
        (
            "warm-state",
            "lukewarm",
            "jobs[2].mobility: unknown variant `lukewarm`",
        ),
        (
            "\"age_s\": 9",
            "\"age_s\": -9",
            "nodes[2].age_s: -9 s is no time",
        ),
        (
            "\"node\": \"a\", \"cpus\": 2",
            "\"node\": \"z\", \"cpus\": 2",
            "job db is on node 'z'",
        ),
        (
            "\"cpus\": 8, \"utilisation\": 0.5,",
            "\"cpus\": 8,",
            "missing field `utilisation`",
        ),
    ] {
        let err = refusal("fleet.json", &FLEET.replacen(from, to, 1), &[]);
        assert!(err.contains(expected), "{err}");
    }
    let err = refusal("fleet.json", &FLEET.replace("\"P1\"", "x"), &[]);
    assert!(err.contains("at line 9"), "{err}");
    let err = refusal("fleet.json", &format!("{FLEET} and more"), &[]);
    assert!(err.contains("after the document"), "{err}");
}

#[test]
fn a_wrong_table_is_refused_with_line_and_column() {
    for (from, to, expected) in [
        (
            "0.45",
            "NaN",
            "line 4: column utilisation: 'NaN' is no finite number",
        ),
        (
            "67108864",
            "64M",
            "line 6: column state_bytes: '64M' is no whole number of bytes",
        ),
        (
            "job,  db",
            "pod,  db",
            "line 8: column kind: 'pod' is neither node nor job",
        ),
        (
            "node, b,       ,",
            "node, b,      a,",
            "line 4: column node: unknown field `node`",
        ),
        (
            "used_cpus",
            "used",
            "the heads of the columns: unknown column 'used', known are",
        ),
        (
            "age_s",
            "cpus",
            "the heads of the columns: the column 'cpus' occurs twice",
        ),
        (
            "kind",
            "speed",
            "the heads of the columns: there is no column 'kind'",
        ),
        (
            "node, b,       ,     8, ",
            "node, b,       ,      , ",
            "missing field `cpus`",
        ),
    ] {
        let table = TABLE.replacen(from, to, 1);
        let err = refusal("fleet.csv", &table, &[]);
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = heist(folder.path(), &["nowhere.json"]).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("cannot read the snapshot nowhere.json"),
        "{err}"
    );
}

#[test]
fn resources_have_a_column_each() {
    let table = "kind,id,node,cpus,utilisation,used_cpus,resources.gpu\n\
                 node,a,,8,0.95,,1\nnode,b,,8,0.1,,\njob,j,a,2,,2,1\n";
    let text = stdout(&plan("fleet.csv", table, &[]));
    let expected = "job j on a does not fit b: it needs 1 of gpu, 0 is free";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_help_has_the_format() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = heist(folder.path(), &["--help"]).output();
    let text = stdout(&output.expect("the program starts"));
    for field in [
        "utilisation",
        "used_cpus",
        "resources.gpu",
        "latency-critical",
    ] {
        assert!(text.contains(field), "no {field} in:\n{text}");
    }
}

/// The events of a run in which n1 is crowded, one measurement a second.
fn crowded_run(seconds: u64) -> String {
    let mut lines = vec![
        r#"{"at_ms":1000,"event":"connected","backend":"local","pid":7}"#.to_owned(),
        r#"{"at_ms":1000,"event":"submitted","job":"batch","kind":"K","priority":3,"mobility":"movable","cpus":1.0,"resumed_after_ms":null}"#.to_owned(),
        r#"{"at_ms":1000,"event":"running","job":"batch","epoch":0,"node":"n1"}"#.to_owned(),
    ];
    for second in 1..=seconds {
        let at_ms = 1000 + 1000 * second;
        let progress = second as f64 / 1000.0;
        lines.push(format!(
            r#"{{"at_ms":{at_ms},"event":"usage","nodes":[{{"node":"n1","cpus":8.0,"utilisation":0.95,"unknown":null}},{{"node":"n2","cpus":8.0,"utilisation":0.1,"unknown":null}}],"jobs":[{{"job":"batch","node":"n1","cpus":1.0,"progress":{progress}}}],"calls":{{"open":0,"done":0,"lost":0}}}}"#
        ));
    }
    lines.push(r#"{"at_ms":99000,"event":"ended"}"#.to_owned());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn watching_says_what_the_planner_would_do_whenever_that_changes() {
    let folder = folder("events.jsonl", &crowded_run(10));
    let path = folder.path().to_str().expect("a path in UTF-8");
    let output = heist(folder.path(), &["--watch", path]).output();
    let text = stdout(&output.expect("the program starts"));
    assert!(text.contains("job batch moves from n1 to n2"), "{text}");
    let decisions = text.matches("\ndecision\n").count();
    assert!(
        (2..10).contains(&decisions),
        "not one for each second: {text}"
    );
    let output = heist(folder.path(), &["--watch", path, "--json"]).output();
    let text = stdout(&output.expect("the program starts"));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a document a line"))
        .collect();
    assert_eq!(lines.len(), 10, "{text}");
    assert_eq!(lines[0]["outcome"]["kind"], "stay");
    assert_eq!(lines[9]["outcome"]["kind"], "move");
    assert_eq!(lines[9]["at_s"], 10.0);
}

#[test]
fn watching_a_folder_that_is_no_run_says_so() {
    let folder = folder("other", "");
    let path = folder.path().to_str().expect("a path in UTF-8");
    let output = heist(folder.path(), &["--watch", path]).output();
    let output = output.expect("the program starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(err.contains("events.jsonl") || err.contains("run"), "{err}");
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let text = FLEET.replace("\"batch\"", r#""\u001b[31mbatch\u0007""#);
    let text = text.replace("\"a\"", r#""\u001b]0;a""#);
    let output = plan("fleet.json", &text, &[]);
    assert!(output.status.success());
    let shown = stdout(&output);
    assert!(shown.contains("batch"), "{shown}");
    let strange = shown
        .chars()
        .find(|sign| sign.is_control() && *sign != '\n');
    assert_eq!(strange, None, "{shown:?}");
}
