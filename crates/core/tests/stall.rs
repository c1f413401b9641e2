//! The stall watchdog (`HEIST_STALL`). Each test watches a child process, which stands still for
//! ever and is killed when it has been seen to say what it should.
#![cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle))))]

use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The patience that the children have with stalls, in seconds.
const PATIENCE: f64 = 0.5;

/// A test that has not got its line by then has failed.
const DEADLINE: Duration = Duration::from_secs(120);

/// A child, and the lines that it says.
struct Watched {
    child: Child,
    lines: Receiver<String>,
}

/// The report of one stall.
#[derive(Debug)]
struct Report {
    seconds: f64,
    pool: String,
    lines: Vec<String>,
}

impl Watched {
    fn start(test: &str) -> Self {
        let mut child = Command::new(env::current_exe().expect("the test"))
            .args(["--ignored", "--exact", "--nocapture", test])
            .env("HEIST_STALL", PATIENCE.to_string())
            .env_remove("HEIST_NUM_THREADS")
            .env_remove("HEIST_PROFILE")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the child runs");
        let (sender, lines) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The next report, which ends with a hint.
    fn report(&self) -> Report {
        let mut lines = Vec::new();
        loop {
            let line = self.lines.recv_timeout(DEADLINE);
            let line = line.unwrap_or_else(|why| panic!("{why}: there was only {lines:#?}"));
            let is_last = line.trim_start().starts_with("hint: ");
            lines.push(line);
            if is_last {
                break;
            }
        }
        let words = lines[0].strip_prefix("heist: nothing has moved for ");
        let words = words.unwrap_or_else(|| panic!("not a report: {lines:#?}"));
        let (seconds, words) = words.split_once(" s in ").expect("a time");
        let (pool, _) = words.split_once(" (").expect("its workers");
        Report {
            seconds: seconds.parse().expect("a number"),
            pool: pool.to_owned(),
            lines,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.child.kill().expect("it stands still");
        self.child.wait().expect("it has ended");
    }
}

impl Report {
    #[track_caller]
    fn line(&self, parts: &[&str]) -> &str {
        let has_all = |line: &&String| parts.iter().all(|part| line.contains(part));
        let line = self.lines.iter().find(has_all);
        line.unwrap_or_else(|| panic!("no line with {parts:?} in {:#?}", self.lines))
    }

    /// The worker of the line with these parts.
    #[track_caller]
    fn worker(&self, parts: &[&str]) -> String {
        let line = self.line(parts).trim_start();
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        assert_eq!(words[0], "worker", "{line}");
        words.join(" ")
    }
}

/// The report of a lock over a join, whose second half is this.
#[track_caller]
fn check_cycle(report: &Report, half: &str) {
    // By the watchdog's own time, which passes no faster than that of the system.
    assert!(
        (PATIENCE - 0.05..PATIENCE + 1.0).contains(&report.seconds),
        "{report:#?}"
    );
    let waits = report.worker(&["  waits for ", "second half of a join", half]);
    let blocked = report.worker(&["is blocked in futex 0x", "it runs", half]);
    assert_ne!(waits, blocked);
    let runs = format!("which {blocked} runs");
    report.line(&[&waits, &runs]);
    let cycle = report.line(&["cycle: "]);
    let steps = format!("{waits} -> {blocked} -> lock 0x");
    let back = format!("a frame below on {waits} (probably)");
    assert!(cycle.contains(&steps) && cycle.contains(&back), "{cycle}");
    report.line(&["hint: a lock, or a value", "Waiting::Descendants"]);
}

#[test]
fn both_ends_of_a_lock_over_a_join_are_named() {
    let child = Watched::start("in_a_child::lock_over_a_join");
    check_cycle(&child.report(), "in_a_child::update");
}

#[test]
fn both_ends_of_a_value_that_is_made_by_a_join_are_named() {
    let child = Watched::start("in_a_child::value_made_by_a_join");
    check_cycle(&child.report(), "in_a_child::part");
}

#[test]
fn jobs_that_wait_for_a_worker_while_each_is_blocked_are_told() {
    let child = Watched::start("in_a_child::job_that_waits_for_a_spawned_one");
    let report = child.report();
    report.line(&["worker 0", "is blocked in futex"]);
    report.line(&["hint: jobs wait for a worker, and each worker is blocked"]);
}

/// Each child has a pool of which the watchdog must say nothing, and then one that stalls. When
/// that has been said, the first has been as it is for longer.
#[test]
fn pools_that_are_busy_or_idle_are_silent() {
    for test in [
        "long_job",
        "idle_pool",
        "saturated_pool",
        "pieces_of_a_loop",
    ] {
        let child = Watched::start(&format!("in_a_child::{test}"));
        assert_eq!(child.report().pool, "pool 1", "{test}");
    }
}

#[test]
fn a_job_that_waits_for_a_file_has_six_times_as_long() {
    let child = Watched::start("in_a_child::sleeping_job");
    assert_eq!(child.report().pool, "pool 1");
    let report = child.report();
    assert_eq!(report.pool, "pool 0");
    assert!(report.seconds >= 6.0 * PATIENCE - 0.05, "{report:#?}");
    report.line(&["waits in system call read", "it runs"]);
}

#[test]
fn a_stall_is_said_once_and_the_next_one_again() {
    let mut child = Watched::start("in_a_child::two_stalls");
    let first = child.report();
    let second = child.report();
    assert_eq!(
        (first.pool.as_str(), second.pool.as_str()),
        ("pool 1", "pool 0")
    );
    let stdin = child.child.stdin.as_mut().expect("it is piped");
    stdin.write_all(b"!").expect("the child reads");
    // Pool 1, which stands still for ever, is not said again meanwhile.
    let third = child.report();
    assert_eq!(third.pool, "pool 0");
}

mod in_a_child {
    use std::hint;
    use std::io::Read as _;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{mpsc, Mutex, OnceLock};
    use std::time::Duration;

    use heist_core::{join, poll_for_thieves, spawn, ThreadPool, ThreadPoolBuilder};

    fn pool(workers: usize) -> ThreadPool {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build();
        pool.expect("a pool")
    }

    fn spin_until(is_so: impl Fn() -> bool) {
        while !is_so() {
            hint::spin_loop();
        }
    }

    /// Joins, and the second half runs on another worker.
    fn apart(second: impl FnOnce() + Send) {
        let has_begun = AtomicBool::new(false);
        join(
            || spin_until(|| has_begun.load(Ordering::Acquire)),
            || {
                has_begun.store(true, Ordering::Release);
                second();
            },
        );
    }

    fn update(lock: &Mutex<u64>) {
        let _held = lock.lock().unwrap();
        let second = || *lock.lock().unwrap() += 1;
        apart(second);
    }

    fn part(value: &OnceLock<u64>) -> u64 {
        apart(|| {
            value.get_or_init(|| 2);
        });
        1
    }

    /// A pool that stalls, in every test the last one.
    fn stall() {
        pool(2).install(|| update(&Mutex::new(0)));
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn lock_over_a_join() {
        stall();
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn value_made_by_a_join() {
        let value = OnceLock::new();
        pool(2).install(|| *value.get_or_init(|| part(&value)));
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn job_that_waits_for_a_spawned_one() {
        pool(1).install(|| {
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(()).unwrap());
            receiver.recv().unwrap();
        });
    }

    /// Begins a job in a pool of its own, and comes back when it has begun.
    fn begin(job: impl FnOnce() + Send + 'static) {
        let (sender, receiver) = mpsc::channel();
        static POOL: OnceLock<ThreadPool> = OnceLock::new();
        POOL.get_or_init(|| pool(2)).spawn(move || {
            apart(move || {
                sender.send(()).unwrap();
                job();
            });
        });
        receiver.recv().unwrap();
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn long_job() {
        begin(|| spin_until(|| false));
        stall();
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn idle_pool() {
        let idle = pool(2);
        idle.install(|| apart(|| ()));
        stall();
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn saturated_pool() {
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return n.into();
            }
            let (a, b) = join(|| fib(n - 1), || fib(n - 2));
            a + b
        }
        begin(|| loop {
            hint::black_box(fib(20));
        });
        stall();
    }

    /// Pieces that take no processor time to speak of: each waits for another thread.
    #[test]
    #[ignore = "a child of other tests"]
    fn pieces_of_a_loop() {
        begin(|| {
            let (sender, receiver) = mpsc::channel();
            let (_end, never) = mpsc::channel::<()>();
            std::thread::spawn(move || {
                while never.recv_timeout(Duration::from_millis(20)).is_err() {
                    sender.send(()).unwrap();
                }
            });
            loop {
                receiver.recv().unwrap();
                hint::black_box(poll_for_thieves());
            }
        });
        stall();
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn sleeping_job() {
        begin(|| {
            // The other end says nothing, and stays open.
            let _ = std::io::stdin().read(&mut [0]);
        });
        stall();
    }

    /// Pool 0 goes on for a moment with each byte that comes.
    #[test]
    #[ignore = "a child of other tests"]
    fn two_stalls() {
        begin(|| loop {
            let _ = std::io::stdin().read(&mut [0]);
            join(|| (), || ());
        });
        stall();
    }
}
