//! The file of `HEIST_TIMELINE`, however the program ends. Each test is a child process.
#![cfg(all(unix, not(any(heist_loom, heist_shuttle))))]

mod own_folder;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use own_folder::Folder;

fn command(test: &str, name: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("the test"));
    command
        .args(["--ignored", "--exact", "--nocapture"])
        .arg(format!("in_a_child::{test}"))
        .env("HEIST_TIMELINE", name)
        .env_remove("HEIST_NUM_THREADS")
        .env_remove("HEIST_RECORD_EVENTS")
        // A sanitizer would count as leaked what the threads hold that are there at the end.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("LSAN_OPTIONS", "detect_leaks=0");
    command
}

fn child(test: &str, name: &Path, events: Option<&str>) -> Output {
    let mut command = command(test, name);
    if let Some(events) = events {
        command.env("HEIST_RECORD_EVENTS", events);
    }
    command.output().expect("the child runs")
}

/// The timeline of this child, how it ended, and what it said on standard error.
fn timeline_of(test: &str, events: Option<&str>) -> (String, Option<i32>, String) {
    let folder = Folder::new(&format!("{test}-{}", events.unwrap_or_default()));
    let output = child(test, &folder.0.join("out"), events);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let names = folder.names();
    assert_eq!(names, ["out.timeline.json"], "nothing else is left: {said}");
    let file = folder.0.join("out.timeline.json");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it is the user's");
    assert!(said.contains("the timeline is in "), "{said}");
    let text = fs::read_to_string(file).unwrap();
    (text, output.status.code(), said)
}

fn pools(text: &str) -> usize {
    text.matches("\"began_ns\"").count()
}

#[test]
fn however_a_program_ends_its_timeline_is_there() {
    // The harness makes 101 of a panic.
    for (test, code) in [("returns", 0), ("exits_on_a_worker", 7), ("panics", 101)] {
        let (text, ended, said) = timeline_of(test, None);
        assert_eq!(ended, Some(code), "{said}");
        assert!(text.starts_with("{\n  \"heist_timeline\": 1,"), "{text}");
        assert_eq!(pools(&text), 1, "{text}");
        assert!(text.contains(", \"begin\", "), "a job has a name: {text}");
        let (_, names) = text.split_once("\"names\": ").expect("names");
        assert!(
            names.contains("in_a_child::"),
            "one is the program's: {text}"
        );
    }
}

#[test]
fn pools_that_have_ended_are_in_the_timeline() {
    let (text, ended, said) = timeline_of("builds_pools", None);
    assert_eq!(ended, Some(0), "{said}");
    assert_eq!(pools(&text), 3, "{text}");
    assert_eq!(text.matches(", \"submitted\"]").count(), 3, "{text}");
}

#[test]
fn the_number_of_events_is_the_one_that_was_asked_for() {
    let (text, _, _) = timeline_of("returns", Some("2"));
    let dropped: Vec<&str> = text.split("\"dropped\": ").skip(1).collect();
    assert_eq!(dropped.len(), 2, "{text}");
    assert!(!dropped.iter().all(|it| it.starts_with("0,")), "{text}");
    let (text, _, _) = timeline_of("returns", Some("0"));
    assert_eq!(pools(&text), 0, "{text}");
}

/// The thread sanitizer ends a forked child that starts threads.
#[test]
#[cfg(not(heist_tsan))]
fn a_forked_child_leaves_the_timeline_to_its_parent() {
    let (text, ended, said) = timeline_of("forks", None);
    assert_eq!(ended, Some(0), "{said}");
    assert_eq!(pools(&text), 1, "{text}");
    assert_eq!(said.matches("the timeline is in ").count(), 1, "{said}");
}

#[test]
fn a_timeline_that_cannot_be_written_is_an_error_that_says_so() {
    let folder = Folder::new("refused");
    let missing = folder.0.join("missing").join("out");
    for (value, why) in [(Path::new(""), "it is empty"), (&missing, "No such file")] {
        let output = child("returns", value, None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{said}");
        for part in ["HEIST_TIMELINE", why, "accepted is", ".timeline.json"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
    assert!(folder.names().is_empty());
}

#[test]
fn one_file_for_a_profile_and_a_timeline_is_an_error() {
    let folder = Folder::new("both");
    let mut command = command("returns", &folder.0.join("out"));
    let output = command.env("HEIST_PROFILE", folder.0.join("out.timeline"));
    let output = output.output().expect("the child runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    for part in ["HEIST_TIMELINE", "HEIST_PROFILE names the same file"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn a_timeline_that_cannot_be_put_in_its_place_leaves_nothing() {
    let folder = Folder::new("in_the_way");
    let run = |test| {
        let output = child(test, &folder.0.join("out"), None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(folder.names(), ["out.timeline.json"], "{said}");
        (output.status.success(), said)
    };
    let (well, said) = run("puts_a_folder_in_the_way");
    assert!(
        well && said.contains("could not write the timeline"),
        "{said}"
    );
    // The next one is told at its start.
    let (well, said) = run("returns");
    assert!(
        !well && said.contains("out.timeline.json is a folder"),
        "{said}"
    );
}

mod in_a_child {
    use heist_core::{ThreadPool, ThreadPoolBuilder};

    fn pool() -> ThreadPool {
        let pool = ThreadPoolBuilder::new().num_threads(2).build();
        pool.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    #[ignore = "run in a child"]
    fn returns() {
        let pool = pool();
        for _ in 0..3 {
            pool.submit(|| ()).join();
        }
        pool.shutdown();
    }

    #[test]
    #[ignore = "run in a child"]
    fn puts_a_folder_in_the_way() {
        returns();
        let name = std::env::var("HEIST_TIMELINE").expect("the parent sets it");
        std::fs::create_dir(format!("{name}.timeline.json")).expect("a folder");
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_on_a_worker() {
        let pool = pool();
        pool.submit(|| ()).join();
        pool.install(|| std::process::exit(7));
    }

    #[test]
    #[ignore = "run in a child"]
    fn panics() {
        let pool = pool();
        pool.submit(|| ()).join();
        pool.install(|| panic!("as it should"));
    }

    #[test]
    #[ignore = "run in a child"]
    fn builds_pools() {
        for _ in 0..3 {
            let pool = pool();
            pool.install(|| ());
            pool.shutdown();
        }
    }

    #[test]
    #[ignore = "run in a child"]
    #[cfg(not(heist_tsan))]
    fn forks() {
        let pool = pool();
        pool.install(|| ());
        // SAFETY: the child leaves at once.
        match unsafe { libc::fork() } {
            0 => {
                drop(pool);
                std::process::exit(0)
            }
            child => {
                assert!(child > 0, "no child");
                let mut status = 0;
                // SAFETY: it writes to the status, which is ours.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0);
            }
        }
    }
}
