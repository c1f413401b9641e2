//! Completions, manual pages, the chapter about settings and the width of all help, made by the
//! program.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn heist(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_heist"))
        .args(args)
        .env("COLUMNS", "80")
        .output();
    output.expect("the program starts")
}

fn text(args: &[&str]) -> String {
    let output = heist(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_chapter_about_settings_is_what_the_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/settings.md");
    let chapter = fs::read_to_string(&path).expect("the chapter");
    assert!(
        chapter == text(&["doctor", "--settings"]),
        "heist doctor --settings > book/src/settings.md"
    );
}

#[test]
fn the_long_help_names_every_variable_of_the_chapter() {
    let help = text(&["--help"]);
    let chapter = text(&["doctor", "--settings"]);
    let names: Vec<&str> = chapter
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(help.contains(name), "no {name} in {help}");
    }
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = text(&["completions", shell]);
        for command in [
            "run", "doctor", "profile", "plan", "sim", "cluster", "report",
        ] {
            assert!(text.contains(command), "no {command} for {shell}");
        }
    }
}

#[test]
fn a_manual_page_is_printed_or_one_is_written_for_each_command() {
    let page = text(&["man"]);
    assert!(page.contains(".TH heist") && page.contains("HEIST_NUM_THREADS"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(text(&["man", "--folder", path]), "");
    for name in ["heist.1", "heist-run.1", "heist-cluster-run.1"] {
        assert!(folder.path().join(name).is_file(), "no {name}");
    }
    let output = heist(&["man", "--folder", "no/such"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn no_help_is_wider_than_eighty_columns() {
    for command in [
        &[][..],
        &["run"],
        &["doctor"],
        &["profile"],
        &["report"],
        &["plan"],
        &["sim"],
        &["sim", "run"],
        &["sim", "compare"],
        &["sim", "validate"],
        &["cluster"],
        &["cluster", "run"],
        &["cluster", "top"],
        &["cluster", "report"],
        &["completions"],
        &["man"],
    ] {
        for flag in ["-h", "--help"] {
            let help = text(&[command, &[flag]].concat());
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{command:?} {flag}: {line}");
            }
        }
    }
}
