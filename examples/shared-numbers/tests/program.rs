//! The program runs on worker processes of this machine, and the book shows it as it is.

use std::process::Command;

#[test]
fn calls_and_job_agree() {
    let output = Command::new(env!("CARGO_BIN_EXE_shared-numbers"))
        .output()
        .expect("the program starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let said = "1000000 numbers, 499999500000 in all\n";
    let expected = format!("calls: {said}job: {said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn the_book_shows_the_program() {
    let page = include_str!("../../../book/src/cluster.md");
    for file in [
        include_str!("../src/lib.rs"),
        include_str!("../src/main.rs"),
    ] {
        assert!(page.contains(file), "the page lacks, as it is now:\n{file}");
    }
}
