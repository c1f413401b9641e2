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
