//! Deterministic mode in a program on rayon that can deadlock: a seed finds it, and finds it again.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::join;

/// The code of a deadlock.
const DEADLOCK: i32 = 86;

/// How often a run is repeated.
const TIMES: usize = if cfg!(debug_assertions) { 10 } else { 100 };

/// How often a seed is tried.
const TIMES_OF_A_SEED: usize = if cfg!(debug_assertions) { 20 } else { 1000 };

/// A test of this file, run in a child on three workers, under this schedule, which it records.
fn run(test: &str, schedule: &str) -> (Output, String) {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let nth = RUNS.fetch_add(1, Ordering::Relaxed);
    let name = format!("heist-schedule-{}-{nth}", std::process::id());
    let file = env::temp_dir().join(name);
    let mut child = Command::new(env::current_exe().expect("the path of this test"));
    child
        .args([
            test,
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("HEIST_SCHEDULE", schedule)
        .env("HEIST_SCHEDULE_FILE", &file)
        .env("HEIST_NUM_THREADS", "3")
        .env_remove("HEIST_PROFILE")
        .env_remove("HEIST_STALL");
    let output = child.output().expect("the test runs again");
    let recorded = fs::read_to_string(&file).expect("it has recorded its schedule");
    fs::remove_file(&file).expect("it is there");
    let lines = recorded.lines().filter(|line| !line.starts_with('#'));
    let recorded = lines.map(|line| format!("{line}\n")).collect();
    (output, recorded)
}

/// A schedule in a file, which is removed in the end.
struct File(PathBuf);

impl File {
    fn new(test: &str, schedule: &str) -> Self {
        let name = format!("heist-replay-{}-{test}", std::process::id());
        let file = env::temp_dir().join(name);
        fs::write(&file, schedule).expect("the file can be written");
        Self(file)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A tree of joins with this many levels.
fn tree(depth: u32, leaf: &(impl Fn() + Sync)) {
    if depth == 0 {
        leaf();
    } else {
        join(|| tree(depth - 1, leaf), || tree(depth - 1, leaf));
    }
}

/// rayon#592: a leaf holds a lock over a join, and waits there for its thief. It runs another leaf
/// meanwhile, which wants the lock.
#[test]
#[ignore = "deadlocks under some schedules; run by the other tests"]
fn a_lock_over_a_join() {
    let lock = Mutex::new(0);
    tree(6, &|| {
        let mut held = lock.lock().expect("no leaf panics");
        let sum = || join(|| 1, || 2);
        let (left, right) = join(sum, sum);
        *held += left.0 + left.1 + right.0 + right.1;
    });
    assert_eq!(lock.into_inner().expect("no leaf panics"), 384);
}

/// rayon#1251: a worker makes a value, and waits for a part of that on another worker. It runs a
/// job meanwhile that wants the value.
#[test]
#[ignore = "deadlocks under some schedules; run by the other tests"]
fn a_value_made_by_joins() {
    let value = OnceLock::new();
    let wants = || {
        let value = value.get_or_init(|| join(|| 1, || 2));
        assert_eq!(*value, (1, 2));
    };
    join(wants, || join(wants, wants));
}

/// Under one of so many seeds a test deadlocks. Its report says this, and its schedule leads to the
/// same end again.
fn found_and_replayed(test: &str, seeds: u64, says: &[&str]) {
    let found = (0..seeds).find_map(|seed| {
        let (output, recorded) = run(test, &format!("random:{seed}"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => None,
            Some(DEADLOCK) => Some((seed, text, recorded)),
            code => panic!("{code:?}: {text}"),
        }
    });
    let (seed, text, recorded) = found.expect("a seed finds it");
    let head = "deadlock: nothing can run any more, at point";
    assert!(
        text.contains(&format!("heist: HEIST_SCHEDULE=random:{seed}: {head}")),
        "{text}"
    );
    for part in says {
        assert!(text.contains(part), "{part} in {text}");
    }
    let file = File::new(test, &recorded);
    for _ in 0..TIMES {
        let (output, again) = run(test, &format!("replay:{}", file.0.display()));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(DEADLOCK), "{text}");
        assert_eq!(again, recorded);
    }
}

#[test]
fn one_of_twenty_seeds_finds_the_lock_over_a_join_and_is_replayed() {
    let says = [
        "it waits for 0.0 s for the second half of a join, `schedule::a_lock_over_a_join`",
        "is blocked in futex 0x",
        "hint: a lock",
        "deviations from the default schedule: ",
    ];
    found_and_replayed("a_lock_over_a_join", 20, &says);
}

#[test]
fn one_of_two_hundred_seeds_finds_the_value_made_by_joins_and_is_replayed() {
    let says = [
        "is blocked in futex 0x",
        "or a value that is made once, is held over a join",
    ];
    found_and_replayed("a_value_made_by_joins", 200, &says);
}

/// A seed that is known to lead a test into its deadlock does so each time, and so does the
/// schedule that it led to once, shrunk by `heist schedule shrink`. A change to the points at which
/// the baton changes hands gives each seed another schedule: then take one that the tests above
/// find.
fn known(test: &str, seed: u64, shrunk: &str) {
    let mut recorded = None;
    // The tests above repeat a schedule more often.
    for _ in 0..TIMES.min(20) {
        let (output, again) = run(test, &format!("random:{seed}"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(DEADLOCK), "{seed}: {text}");
        assert_eq!(*recorded.get_or_insert(again.clone()), again);
    }
    let deviations = |schedule: &str| {
        let is_deviation = |line: &&str| line.starts_with(|sign: char| sign.is_ascii_digit());
        schedule.lines().filter(is_deviation).count()
    };
    let recorded = recorded.expect("it ran");
    assert!(deviations(shrunk) < deviations(&recorded));
    let file = File::new(&format!("{test}-shrunk"), shrunk);
    for _ in 0..TIMES.min(20) {
        let (output, again) = run(test, &format!("replay:{}", file.0.display()));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(DEADLOCK), "{text}");
        assert_eq!(deviations(&again), deviations(shrunk), "each was taken");
    }
}

#[test]
fn seed_3_is_the_deadlock_of_the_lock_over_a_join_and_so_is_its_shrunk_schedule() {
    let shrunk = include_str!("schedules/a_lock_over_a_join.schedule");
    known("a_lock_over_a_join", 3, shrunk);
}

#[test]
fn seed_1_is_the_deadlock_of_the_value_made_by_joins_and_so_is_its_shrunk_schedule() {
    let shrunk = include_str!("schedules/a_value_made_by_joins.schedule");
    known("a_value_made_by_joins", 1, shrunk);
}

/// Blocks nowhere, so that nothing is left to the time.
#[test]
#[ignore = "run by another test, in a child"]
fn a_tree_of_joins() {
    tree(7, &|| ());
}

/// The schedule of a test under this seed, which is the same each time.
fn one_schedule(test: &str, seed: &str) -> String {
    let (_, first) = run(test, seed);
    for _ in 1..TIMES_OF_A_SEED {
        assert_eq!(run(test, seed).1, first);
    }
    first
}

#[test]
fn a_seed_is_one_schedule_and_another_seed_another() {
    let test = "a_tree_of_joins";
    let first = one_schedule(test, "random:1");
    assert_ne!(run(test, "random:2").1, first);
}

/// No worker but the first runs while that one has work.
#[test]
fn without_deviations_nothing_is_stolen() {
    let test = "a_tree_of_joins";
    let file = File::new("nothing", "heist schedule 1\n");
    let (output, recorded) = run(test, &format!("replay:{}", file.0.display()));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(recorded, "heist schedule 1\nrecorded\n");
}

/// A runner that waits for a thread which computes keeps the baton: whether that one is fast must
/// not make another schedule.
#[test]
fn who_waits_for_a_thread_that_runs_is_not_blocked() {
    let file = File::new("beside", "heist schedule 1\n");
    let replay = format!("replay:{}", file.0.display());
    let (output, recorded) = run("a_join_beside_a_thread", &replay);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(recorded, "heist schedule 1\nrecorded\n");
}

#[test]
#[ignore = "run by another test, in a child"]
fn a_join_beside_a_thread() {
    join(
        || {
            let computes = || {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(50) {}
            };
            thread::spawn(computes).join().expect("it does not panic");
        },
        || (),
    );
}

/// Between two of these threads the workers search in vain, for a time that differs. A replay that
/// does not find the points behind which a thread has blocked takes a second for each.
#[test]
fn a_seed_is_one_schedule_of_threads_that_come_one_after_the_other() {
    let test = "threads_one_after_the_other";
    let first = one_schedule(test, "random:5");
    let file = File::new(test, &first);
    let replay = format!("replay:{}", file.0.display());
    assert_eq!(one_schedule(test, &replay), first);
}

/// Their thread-local values outlive what heist has of them.
#[test]
fn a_seed_is_one_schedule_of_threads_whose_values_come_back_at_the_end() {
    one_schedule("threads_whose_values_come_back", "random:3");
}

#[test]
#[ignore = "run by another test, in a child"]
fn threads_whose_values_come_back() {
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            tree(3, &|| ());
        }
    }
    thread_local! {
        static LAST: Last = const { Last };
    }
    for _ in 0..5 {
        let comes = || {
            LAST.with(|_| ());
            tree(3, &|| ());
        };
        thread::spawn(comes).join().expect("no panic");
    }
}

/// A yield is a point outside of the pool, too.
#[test]
fn a_thread_may_yield_until_a_job_has_run() {
    let (output, _) = run("a_thread_yields", "random:1");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!text.contains("without a point"), "{text}");
}

#[test]
#[ignore = "run by another test, in a child"]
fn a_thread_yields() {
    static HAS_RUN: AtomicUsize = AtomicUsize::new(0);
    rayon_core::spawn(|| HAS_RUN.store(1, Ordering::Relaxed));
    while HAS_RUN.load(Ordering::Relaxed) == 0 {
        rayon_core::yield_now();
    }
}

#[test]
#[ignore = "run by another test, in a child"]
fn threads_one_after_the_other() {
    for _ in 0..4 {
        thread::spawn(|| tree(3, &|| ())).join().expect("no panic");
    }
    tree(4, &|| ());
}
