//! Drives the program `heist sim` as a user does.

use std::process::{Command, Output};

use serde_json::Value;

fn sim(args: &[&str]) -> Output {
    let mut heist = Command::new(env!("CARGO_BIN_EXE_heist"));
    heist
        .arg("sim")
        .args(args)
        .output()
        .expect("the program starts")
}

fn stdout(args: &[&str]) -> String {
    let output = sim(args);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_run_tells_work_span_and_what_workers_make_of_them() {
    let text = stdout(&[
        "run",
        "fib:24",
        "--workers",
        "1,64",
        "--policy",
        "child,central",
    ]);
    assert!(text.contains("work T1 300097, span Tinf 48"), "{text}");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(3)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert_eq!(rows[0][..3], ["child", "1", "300097"]);
    assert_eq!(rows[2][..3], ["central", "1", "300097"]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_run_as_a_document_has_the_numbers() {
    let text = stdout(&[
        "run",
        "skewed:1000",
        "--workers",
        "8",
        "--seeds",
        "3",
        "--json",
    ]);
    let rows: Value = serde_json::from_str(&text).expect("a document");
    let row = &rows[0];
    assert_eq!(row["work"], 999 + 1000 + 999 * 3);
    assert_eq!(row["workers"], 8);
    let steps = row["steps"].as_f64().expect("a number");
    assert!(steps >= row["span"].as_f64().expect("a number"));
}

/// Which scheme wins is for the reader; that each ran the same work, and within bounds, is not.
#[test]
fn a_comparison_has_all_schemes_within_the_bounds() {
    let args = [
        "--workers",
        "8",
        "--grain",
        "1,500",
        "--tasks",
        "50",
        "--tick",
        "100",
    ];
    let text = stdout(&[&["compare", "--json"], &args[..]].concat());
    let rows: Vec<Value> = serde_json::from_str(&text).expect("a document");
    assert_eq!(rows.len(), 3 * 2, "{text}");
    for row in &rows {
        let schemes = row["schemes"].as_array().expect("a list");
        assert_eq!(schemes.len(), 7);
        for scheme in schemes {
            let over = scheme["over_ideal"].as_f64().expect("a number");
            assert!((1.0..=8.5).contains(&over), "{row}");
        }
    }
    let table = stdout(&[&["compare"], &args[..]].concat());
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(table.contains("500 us"), "{table}");
}

/// Two strands of 3 and 4 ms behind one of 1 ms, and one of 2 ms behind both.
const RECORDED: &str = r#"{"heist_dag": 1, "workers": 2, "wall_ns": 11000000,
    "outside_ns": 1000000, "dropped_ns": 0, "command": ["bin/app"], "sites": [
    {"name": "app::read", "kind": "root"}, {"name": "app::merge::{{closure}}", "kind": "join"}],
    "nodes": [[0, 1000000, 1000000], [0, 3000000, 3000000, 1], [1, 4000000, 4000000, 1],
    [0, 2000000, 2000000, 2, 3]], "edges": []}"#;

#[test]
fn a_recorded_program_runs_again_on_other_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.dag.json");
    std::fs::write(&file, RECORDED).expect("it can be written");
    let file = file.to_str().expect("text");
    let document = |args: &[&str]| -> Value {
        let text = stdout(&[&["replay", file, "--json"], args].concat());
        serde_json::from_str(&text).expect("a document")
    };
    let ms = |of: &Value| of.as_f64().expect("a number") / 1e6;
    let plain = document(&["--workers", "1,2"]);
    assert_eq!(
        (&plain["work_ns"], &plain["span_ns"]),
        (&10_000_000.into(), &7_000_000.into())
    );
    let times: Vec<f64> = (0..2).map(|n| ms(&plain["rows"][n]["time_ns"])).collect();
    assert_eq!(times[0], 11.0, "with the part outside");
    // A steal, and a worker that wakes.
    assert!((8.0..8.1).contains(&times[1]), "{plain}");
    assert_eq!(plain["at_workers"], 2);
    let merge = &plain["changes"][0];
    assert_eq!(merge["site"], "app::merge");
    assert!(
        (7.0..7.1).contains(&ms(&merge["twice_as_fast_ns"])),
        "then the other one is longer"
    );
    let one =
        |args: &[&str]| ms(&document(&[&["--workers", "2"], args].concat())["rows"][0]["time_ns"]);
    assert!((7.0..7.1).contains(&one(&["--site", "merge=/4"])));
    assert_eq!(one(&["--serial", "app::"]), 11.0);
    let slow = one(&["--slow", "0=0.5", "--slow", "1=0.5"]);
    assert!((15.0..15.1).contains(&slow), "{slow}");
    let text = stdout(&["replay", file]);
    assert!(
        text.contains("app: work T1 10.0 ms, span Tinf 7.00 ms, parallelism 1.4"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_replay_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, page] = ["run.dag.json", "page.html"].map(|name| folder.path().join(name));
    std::fs::write(&file, RECORDED).expect("it can be written");
    let [file, page] = [&file, &page].map(|path| path.to_str().expect("text"));
    let text = stdout(&["replay", file, "--html", page]);
    assert!(text.contains("work T1 10.0 ms"), "{text}");
    let html = std::fs::read_to_string(page).expect("the page");
    for part in [
        "app in the model",
        "app::merge",
        "Speed-up by workers (model)",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    let output = sim(&[
        "replay",
        file,
        "--html",
        folder.path().to_str().expect("text"),
    ]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("it is a folder; name a file"), "{err}");
}

#[test]
fn a_program_records_itself_and_the_file_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = "run fib --size 18 --strategy stealing --workers 2 --repeat 1";
    let output = Command::new(env!("CARGO_BIN_EXE_heist"))
        .args(run.split(' '))
        .current_dir(folder.path())
        .env("HEIST_DAG", "run")
        .env_remove("HEIST_NUM_THREADS")
        .output()
        .expect("the program starts");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && err.contains("run.dag.json"),
        "{err}"
    );
    let file = folder.path().join("run.dag.json");
    let text = stdout(&["replay", file.to_str().expect("text"), "--json"]);
    let document: Value = serde_json::from_str(&text).expect("a document");
    let (work, span) = (&document["work_ns"], &document["span_ns"]);
    assert!(
        span.as_i64() > Some(0) && span.as_i64() <= work.as_i64(),
        "{text}"
    );
    let named = |change: &Value| {
        change["site"]
            .as_str()
            .is_some_and(|site| site.contains("fib"))
    };
    let changes = document["changes"].as_array().expect("a list");
    assert!(changes.iter().any(named), "{text}");
}

#[test]
fn a_file_that_cannot_be_replayed_is_told_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.dag.json");
    let refused = |text: &str, args: &[&str]| {
        std::fs::write(&file, text).expect("it can be written");
        let output = sim(&[&["replay", file.to_str().expect("text")], args].concat());
        assert_eq!(output.status.code(), Some(2), "{text} {args:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (text, why) in [
        ("", "it is empty"),
        ("{}", "HEIST_DAG"),
        (
            &RECORDED.replace("[1, 4000000", "[9, 4000000"),
            "nodes[2]: site 9 of 2",
        ),
        (
            &RECORDED.replace("\"dropped_ns\": 0", "\"dropped_ns\": 7000"),
            "no room for strands of 7.00 us",
        ),
        (
            &RECORDED.replace("\"workers\": 2", "\"workers\": 1000000000"),
            "accepted is at most 1048576",
        ),
        (
            &RECORDED.replace("[1, 4000000", "[1, 9000000000000000000"),
            "work for 104167 days; accepted is what makes at most 100",
        ),
        (&RECORDED[..300], "cut off"),
        (
            &RECORDED.replace("\"sites\"", "\"places\""),
            "cannot use FILE: missing field `sites`",
        ),
        (
            &RECORDED.replace("\"edges\": []", "\"edges\": [[2, 2]]"),
            "comes before itself",
        ),
    ] {
        let err = refused(text, &[]).replace(file.to_str().expect("text"), "FILE");
        assert!(err.contains(why), "{text}: {err}");
    }
    for (args, why) in [
        (["--site", "marge=/4"], "`app::merge`"),
        (["--serial", "x"], "not in the file"),
        (["--site", "merge"], "as in merge=/4"),
        (["--slow", "0=0"], "as in 3=0.5"),
        (["--at", "0"], "1 to 1048576"),
        (["--slow", "1024=2"], "at most 1024, numbered from 0"),
    ] {
        let err = refused(RECORDED, &args);
        assert!(err.contains(why), "{args:?}: {err}");
    }
}

#[test]
fn runs_of_different_programs_are_not_one_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = ["one", "other"].map(|name| {
        let file = folder.path().join(name);
        file.to_str().expect("text").to_owned()
    });
    let write = |file: &str, text: &str| std::fs::write(file, text).expect("it can be written");
    write(&one, RECORDED);
    // Of two runs that with the least work is taken, wherever it stands.
    write(
        &other,
        &RECORDED.replace("[1, 4000000, 4000000", "[1, 3000000, 3000000"),
    );
    for files in [[&one, &other], [&other, &one]] {
        let text = stdout(&["replay", files[0], files[1]]);
        assert!(text.contains("work T1 9.00 ms"), "{text}");
        let told = format!("of 2 runs that with the least work, {other}\n");
        assert!(text.starts_with(&told), "{text}");
    }
    write(
        &other,
        &RECORDED.replace("bin/app", "bin/app\", \"\\u001b[31m"),
    );
    let output = sim(&["replay", &one, &other]);
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr);
    let why = "is a run of `bin/app`, and ";
    assert!(err.contains(why) && err.contains("same arguments"), "{err}");
    assert!(!err.contains('\u{1b}'), "{err:?}");
}

#[test]
fn nothing_in_a_file_reaches_the_terminal_as_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.dag.json");
    let hostile = "\\u001b]0;x\\u0007\\u009b31m\u{9b}5n\u{7f}";
    let text = RECORDED.replace("bin/app", &format!("bin/app{hostile}"));
    let text = text.replace("app::merge", &format!("app::{hostile}::merge"));
    std::fs::write(&file, &text).expect("it can be written");
    let file = file.to_str().expect("text");
    for (args, code) in [
        (&["--workers", "1"][..], 0),
        (&["--json"], 0),
        (&["--site", "\u{9b}31m=/4"], 0),
        (&["--site", "\u{1b}none=/4"], 2),
    ] {
        let output = sim(&[&["replay", file], args].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        let shown = [output.stdout, output.stderr].concat();
        let shown = String::from_utf8(shown).expect("text");
        let obeyed = |sign: char| sign.is_control() && sign != '\n';
        assert!(!shown.contains(obeyed), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_site_is_found_by_the_name_that_the_table_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.dag.json");
    let name = "<app::Sort<alloc::vec::Vec<u8>> as app::Step>::run::{{closure}}";
    let text = RECORDED.replace("app::merge::{{closure}}", name);
    std::fs::write(&file, text).expect("it can be written");
    let file = file.to_str().expect("text");
    let table = stdout(&["replay", file, "--json"]);
    let document: Value = serde_json::from_str(&table).expect("a document");
    let shown = document["changes"][0]["site"].as_str().expect("a name");
    assert_ne!(shown, name);
    for part in [shown, name] {
        stdout(&["replay", file, "--site", &format!("{part}=/2")]);
    }
}

/// Each look at one of so many workers would take longer than all else.
#[test]
fn a_program_is_replayed_on_a_million_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.dag.json");
    let leaves = (0..2_000).map(|_| ", [1, 90000, 90000, 1]".to_owned());
    let leaves = leaves.collect::<String>();
    let text = RECORDED.replace(
        "[0, 2000000, 2000000, 2, 3]",
        "[0, 2000000, 2000000, 2, 3]@",
    );
    std::fs::write(&file, text.replace('@', &leaves)).expect("it can be written");
    let file = file.to_str().expect("text");
    let args = ["replay", file, "--workers", "1048576", "--json"];
    let document: Value = serde_json::from_str(&stdout(&args)).expect("a document");
    assert!(document["rows"][0]["steals"].as_f64() > Some(1.0));
}

#[test]
fn theory_holds() {
    let text = stdout(&["validate"]);
    assert!(text.ends_with("promises are kept\n"), "{text}");
    assert!(!text.contains("BROKEN"), "{text}");
}

#[test]
fn wrong_calls_are_told_what_is_accepted() {
    for (args, accepted) in [
        (["run", "fib:99"], "1 to 50"),
        (["run", "sort:9"], "fib:N, loop:N, skewed:N, bag:N, uts:N"),
        (["run", "--policy=best"], "round-robin"),
        (["run", "--workers=0"], "1 to 1048576"),
        (["compare", "--grain=0"], "us from 0.01"),
    ] {
        let output = sim(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains(accepted), "{args:?}: {err}");
    }
}
