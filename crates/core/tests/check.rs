//! Checks under one schedule after another: a fault is found, told, and repeated.
#![cfg(target_os = "linux")]

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use heist_core::join;
use heist_core::schedule::{check, Check};

/// A folder for temporary files, which is gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let nth = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("heist-checked-{}-{nth}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a new folder");
        Self(folder)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        let names = entries.map(|entry| entry.expect("it is read").file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs an ignored test of this file, which checks something, with these variables.
fn run(test: &str, folder: &Folder, variables: &[(&str, &str)]) -> Output {
    run_on("2", test, folder, variables)
}

/// As `run`, by a harness that runs so many tests at once.
fn run_on(threads: &str, test: &str, folder: &Folder, variables: &[(&str, &str)]) -> Output {
    let mut child = Command::new(env::current_exe().expect("the path of this test"));
    child
        .args(["--exact", test, "--ignored", "--nocapture"])
        .args(["--test-threads", threads])
        .env("TMPDIR", &folder.0)
        .env_remove("HEIST_SCHEDULE")
        .env_remove("HEIST_SCHEDULE_SEEDS")
        .env_remove("HEIST_NUM_THREADS")
        .envs(variables.iter().copied());
    child.output().expect("the test runs")
}

/// The panic of a check that fails.
fn failure(test: &str, folder: &Folder, variables: &[(&str, &str)]) -> String {
    let output = run(test, folder, variables);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(101), "{text}");
    text
}

/// Notes the schedule under which it runs.
fn note() {
    let file = env::temp_dir().join("notes");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .expect("a file in a folder of the test's own");
    let schedule = env::var("HEIST_SCHEDULE").expect("a run has a schedule");
    writeln!(file, "{schedule}").expect("it is written");
}

#[test]
#[ignore = "run by other tests, in a child"]
fn notes() {
    Check::new().first_seed(5).seeds(4).run(|| {
        note();
        join(|| (), || ());
    });
}

#[test]
#[ignore = "run by another test, in a child"]
fn notes_by_priorities() {
    Check::new().seeds(2).depth(3).run(|| {
        note();
        join(|| (), || ());
    });
}

/// Each seed is one run, whichever thread the harness has for the test, and nothing is left behind.
#[test]
fn a_test_runs_once_under_each_seed() {
    for threads in ["1", "2"] {
        let folder = Folder::new();
        let output = run_on(threads, "notes", &folder, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        let notes = fs::read_to_string(folder.0.join("notes")).expect("it has run");
        assert_eq!(notes, "default\nrandom:5\nrandom:6\nrandom:7\nrandom:8\n");
        assert_eq!(folder.names(), ["notes"]);
    }
    let folder = Folder::new();
    assert!(run("notes_by_priorities", &folder, &[]).status.success());
    let notes = fs::read_to_string(folder.0.join("notes")).expect("it has run");
    assert_eq!(notes, "default\npct:0:d=3\npct:1:d=3\n");
}

#[test]
fn a_variable_says_how_many_seeds_are_tried() {
    let folder = Folder::new();
    let output = run("notes", &folder, &[("HEIST_SCHEDULE_SEEDS", "2")]);
    assert!(output.status.success());
    let notes = fs::read_to_string(folder.0.join("notes")).expect("it has run");
    assert_eq!(notes, "default\nrandom:5\nrandom:6\n");
    let text = failure("notes", &folder, &[("HEIST_SCHEDULE_SEEDS", "some")]);
    let told = "HEIST_SCHEDULE_SEEDS is set to \"some\"; accepted is a whole number from 1";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_test_that_has_a_schedule_runs_once_and_in_place() {
    let folder = Folder::new();
    let output = run("notes", &folder, &[("HEIST_SCHEDULE", "random:17")]);
    assert!(output.status.success());
    let notes = fs::read_to_string(folder.0.join("notes")).expect("it has run");
    assert_eq!(notes, "random:17\n");
}

/// rayon#592: a worker that holds the lock waits for its thief, and runs another job meanwhile that
/// wants the lock.
#[test]
#[ignore = "deadlocks under some schedules; run by another test, in a child"]
fn a_lock_over_a_join() {
    check(|| {
        let total = Mutex::new(0);
        let add = || {
            let mut total = total.lock().expect("no job panics");
            let (one, two) = join(|| 1, || 2);
            *total += one + two;
        };
        join(add, || join(add, add));
        assert_eq!(total.into_inner().expect("no job panics"), 9);
    });
}

#[test]
fn a_deadlock_is_told_with_its_seed_and_the_command_that_repeats_it() {
    let folder = Folder::new();
    let text = failure("a_lock_over_a_join", &folder, &[]);
    for part in [
        "`a_lock_over_a_join` fails under HEIST_SCHEDULE=random:",
        ": a deadlock, exit status: 86\n",
        "  heist: HEIST_SCHEDULE=random:",
        "is blocked in futex 0x",
        "  hint: a lock",
        "Its schedule is in ",
        "  heist schedule shrink --workers 3 ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let mut lines = text.lines().map(str::trim);
    let again = lines.find(|line| line.starts_with("HEIST_NUM_THREADS=3 HEIST_SCHEDULE=replay:"));
    let again = again.expect("it says the command");
    for _ in 0..5 {
        let mut shell = Command::new("sh");
        shell.args(["-c", again]).env_remove("HEIST_SCHEDULE_FILE");
        let output = shell.output().expect("there is a shell");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(86), "{text}");
    }
}

/// A thief may take the second half.
#[test]
#[ignore = "panics under some schedules; run by another test, in a child"]
fn both_halves_on_one_thread() {
    check(|| {
        let here = || thread::current().id();
        let (left, right) = heist_core::broadcast(|_| join(here, here))[0];
        assert_eq!(left, right, "a thief was there");
    });
}

#[test]
fn a_panic_under_one_schedule_is_told_with_its_words() {
    let folder = Folder::new();
    let text = failure("both_halves_on_one_thread", &folder, &[]);
    for part in [
        "`both_halves_on_one_thread` fails under HEIST_SCHEDULE=random:",
        ": exit status: 101\n",
        "  assertion `left == right` failed: a thief was there",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
#[ignore = "never ends; run by another test, in a child"]
fn a_job_without_an_end() {
    let check = Check::new().limit(Duration::from_millis(200));
    check.run(|| {
        join(|| thread::sleep(Duration::MAX), || ());
    });
}

#[test]
fn a_run_that_takes_too_long_is_killed() {
    let text = failure("a_job_without_an_end", &Folder::new(), &[]);
    let told = "HEIST_SCHEDULE=default: it went on for 0.2 s, and was killed\n";
    assert!(text.contains(told), "{text}");
}

#[test]
#[ignore = "is refused; run by another test, in a child"]
fn nothing_of_heist() {
    check(|| ());
}

#[test]
fn a_check_that_would_check_nothing_fails() {
    let folder = Folder::new();
    let text = failure("nothing_of_heist", &folder, &[]);
    let told = "a run of the test `nothing_of_heist` had no schedule, so that nothing was checked";
    assert!(text.contains(told), "{text}");
    assert_eq!(folder.names(), Vec::<String>::new());
}

/// A processor without a heavy barrier has a sleeper look for jobs now and then: that is no thread
/// that may end the deadlock.
#[test]
fn a_deadlock_is_told_where_a_sleeper_looks_for_jobs() {
    let text = failure(
        "a_lock_over_a_join",
        &Folder::new(),
        &[("HEIST_BARRIER", "fence")],
    );
    assert!(text.contains(": a deadlock, exit status: 86\n"), "{text}");
}

#[test]
#[ignore = "ends its process; run by another test, in a child"]
fn an_exit() {
    check(|| {
        join(|| std::process::exit(0), || ());
    });
}

#[test]
fn a_process_that_ends_well_before_the_closure_returns_has_not_passed() {
    let text = failure("an_exit", &Folder::new(), &[]);
    let told = "HEIST_SCHEDULE=default: it ended with exit status: 0 before its closure had \
                returned";
    assert!(text.contains(told), "{text}");
}

/// It passes if the check panics, so that the processes pass if their closure does.
#[test]
#[ignore = "run by another test, in a child"]
#[should_panic(expected = "a lock over a join")]
fn one_that_should_panic() {
    let schedule = env::var("HEIST_SCHEDULE");
    Check::new().seeds(5).run(|| {
        join(|| (), || ());
        let is_it = schedule.is_ok_and(|schedule| schedule == "random:3");
        assert!(!is_it, "a lock over a join");
    });
}

#[test]
fn a_test_that_should_panic_does_so_by_the_first_schedule_that_makes_its_closure_panic() {
    let folder = Folder::new();
    let output = run("one_that_should_panic", &folder, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let told = "fails under HEIST_SCHEDULE=random:3: it ended with exit status: 0 before its \
                closure had returned, by a panic that the test expects, or by `exit`";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("  a lock over a join"), "{text}");
    let output = run(
        "one_that_should_panic",
        &folder,
        &[("HEIST_SCHEDULE_SEEDS", "3")],
    );
    assert_eq!(
        output.status.code(),
        Some(101),
        "no seed below 3 makes it panic"
    );
}

/// Backtraces are longer than that of which a check shows the end.
#[test]
fn the_words_of_a_panic_are_told_above_its_backtrace() {
    let variables = [("RUST_BACKTRACE", "full")];
    let text = failure("both_halves_on_one_thread", &Folder::new(), &variables);
    let told = "  assertion `left == right` failed: a thief was there";
    assert!(text.contains(told), "{text}");
}

fn in_a_function() {
    join(|| (), || ());
}

#[test]
#[ignore = "is refused; run by another test, in a child"]
fn on_another_thread() {
    let other = thread::spawn(|| check(in_a_function));
    let _ = other.join();
}

#[test]
fn a_check_that_is_not_called_by_a_test_says_so() {
    let output = run("on_another_thread", &Folder::new(), &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    let told = "has no test `in_a_function` that comes to the check at ";
    assert!(text.contains(told), "{text}");
}

#[test]
#[ignore = "panics before it has a pool; run by another test, in a child"]
fn a_panic_without_a_pool() {
    Check::new().workers(2).run(|| panic!("too early"));
}

#[test]
fn a_failure_without_a_schedule_is_repeated_by_its_seed() {
    let folder = Folder::new();
    let text = failure("a_panic_without_a_pool", &folder, &[]);
    let told = "The same again:\n  HEIST_NUM_THREADS=2 HEIST_SCHEDULE=default ";
    assert!(text.contains(told), "{text}");
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
#[ignore = "never ends; run by another test, in a child"]
fn notes_itself_and_never_ends() {
    check(|| {
        note();
        join(|| thread::sleep(Duration::MAX), || ());
    });
}

/// As by Ctrl-C: whoever waits for the runs is gone, and nothing is left of them.
#[test]
fn a_run_ends_with_the_test_that_has_made_it() {
    let folder = Folder::new();
    let mut child = Command::new(env::current_exe().expect("the path of this test"));
    child
        .args(["--exact", "notes_itself_and_never_ends", "--ignored"])
        .env("TMPDIR", &folder.0)
        .env_remove("HEIST_SCHEDULE")
        .stdout(std::process::Stdio::null());
    let mut child = child.spawn().expect("the test runs");
    let wait_until = |is: &dyn Fn() -> bool| {
        while !is() {
            thread::sleep(Duration::from_millis(5));
        }
    };
    wait_until(&|| folder.names().contains(&"notes".to_owned()));
    child.kill().expect("it has not ended");
    child.wait().expect("it was killed");
    wait_until(&|| folder.names() == ["notes"]);
}

/// In a container each process may have the number of one whose files are still there.
#[test]
fn the_folder_of_an_earlier_process_with_the_same_number_is_no_failure() {
    let folder = Folder::new();
    let mut child = Command::new("sh");
    child
        .args([
            "-c",
            "mkdir \"$TMPDIR/heist-check-$$-1\"; exec \"$0\" \"$@\"",
        ])
        .arg(env::current_exe().expect("the path of this test"))
        .args(["--exact", "notes", "--ignored", "--nocapture"])
        .env("TMPDIR", &folder.0)
        .env_remove("HEIST_SCHEDULE");
    let output = child.output().expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(folder.names().contains(&"notes".to_owned()), "{text}");
}

/// `#[should_panic]` takes any panic for the one that it waits for.
#[test]
fn a_test_that_should_panic_has_failed_if_it_cannot_be_checked() {
    let folder = Folder::new();
    fs::remove_dir(&folder.0).expect("it is empty");
    let text = failure("one_that_should_panic", &folder, &[]);
    let told = "`one_that_should_panic` was not checked: cannot make the folder ";
    assert!(text.contains(told), "{text}");
}

/// By the default schedule a job is not stolen while its worker has others; by nearly all seeds it
/// is, at one of the joins.
#[test]
#[ignore = "panics by the default schedule; run by another test, in a child"]
fn a_job_that_is_stolen_in_time() {
    check(|| {
        let has_run = AtomicBool::new(false);
        heist_core::scope(|scope| {
            scope.spawn(|_| has_run.store(true, Ordering::Relaxed));
            for _ in 0..8 {
                join(|| (), || ());
            }
            assert!(has_run.load(Ordering::Relaxed), "nobody has come");
        });
    });
}

#[test]
fn a_test_that_fails_by_the_default_schedule_fails() {
    let text = failure("a_job_that_is_stolen_in_time", &Folder::new(), &[]);
    assert!(
        text.contains("fails under HEIST_SCHEDULE=default: "),
        "{text}"
    );
}

#[test]
#[ignore = "has no last seed; run by another test, in a child"]
fn seeds_beyond_the_last() {
    let check = Check::new().first_seed(u64::MAX - 1).seeds(5);
    check.run(|| _ = join(|| (), || ()));
}

#[test]
fn seeds_that_are_not_there_are_refused() {
    let text = failure("seeds_beyond_the_last", &Folder::new(), &[]);
    assert!(
        text.contains("a check of 5 seeds from 18446744073709551614 on"),
        "{text}"
    );
}

#[test]
#[ignore = "never ends without a schedule; run by another test, in a child"]
fn parks_for_ever() {
    join(
        || loop {
            thread::park();
        },
        || (),
    );
}

/// The watchdog's own thread wakes every now and then: that is no thread that may end the deadlock.
#[test]
fn a_deadlock_is_told_beside_the_stall_watchdog() {
    for patience in ["0.1", "0.5", "10"] {
        let variables = [("HEIST_SCHEDULE", "random:3"), ("HEIST_STALL", patience)];
        let folder = Folder::new();
        let mut child = Command::new(env::current_exe().expect("the path of this test"));
        child
            .args(["--exact", "parks_for_ever", "--ignored", "--nocapture"])
            .args(["--test-threads", "1"])
            .env("TMPDIR", &folder.0)
            .env("HEIST_NUM_THREADS", "3")
            .envs(variables);
        let output = child.output().expect("the test runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(86), "{text}");
    }
}
