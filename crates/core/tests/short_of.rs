//! Pools in a process that is short of memory, addresses or threads. A limit cannot be taken back,
//! so each test runs again in a process of its own.
// The sanitizers have memory and addresses of their own.
#![cfg(all(
    target_os = "linux",
    not(any(heist_loom, heist_shuttle, heist_asan, heist_lsan, heist_tsan))
))]

use std::io::{self, Write as _};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use heist_core::{
    join, with_context, JoinContext, ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder,
};

const MIB: u64 = 1 << 20;

/// Runs an ignored test of this file in a process of its own.
fn in_a_child(test: &str) {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        // Few arenas of the allocator, each of which reserves 64 MiB.
        .env("MALLOC_ARENA_MAX", "2")
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}: {text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stderr);
    for line in text.lines().filter(|line| line.contains("test skipped: ")) {
        // Past the harness, which keeps what a test prints to itself.
        let line = format!("{line}\n");
        io::stderr().write_all(line.as_bytes()).expect("it is open");
    }
}

fn skipped(reason: &str) {
    let line = format!("test skipped: {reason}\n");
    io::stderr().write_all(line.as_bytes()).expect("it is open");
}

fn set_limit(resource: libc::__rlimit_resource_t, value: u64) {
    let limit = libc::rlimit {
        rlim_cur: value,
        rlim_max: value,
    };
    // SAFETY: it reads the struct.
    let failure = unsafe { libc::setrlimit(resource, &raw const limit) };
    assert_eq!(failure, 0, "limits can be lowered");
}

/// The kilobytes that the line of this name in the process's status tells of.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.expect("a number")
}

fn build(workers: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(workers).build()
}

fn sum(from: u64, to: u64) -> u64 {
    if to - from <= 10 {
        return (from..to).sum();
    }
    let middle = from + (to - from) / 2;
    let (a, b) = join(|| sum(from, middle), || sum(middle, to));
    a + b
}

#[test]
fn a_pool_of_256_workers_has_room_in_four_gibibytes_of_addresses() {
    in_a_child("in_a_child_four_gibibytes");
}

#[test]
#[ignore = "sets a limit; run by another test"]
fn in_a_child_four_gibibytes() {
    set_limit(libc::RLIMIT_AS, 4096 * MIB);
    let pool = build(256).expect("there is room");
    assert_eq!(pool.install(|| sum(0, 100_000)), 4_999_950_000);
}

/// Strict overcommit counts what is private and writable, as this limit does.
#[test]
fn a_pool_of_256_workers_is_promised_little_memory() {
    in_a_child("in_a_child_little_memory");
}

#[test]
#[ignore = "sets a limit; run by another test"]
fn in_a_child_little_memory() {
    // A stack each, and 64 MiB for all else.
    set_limit(libc::RLIMIT_DATA, (256 * 2 + 64) * MIB);
    let pool = build(256).expect("there is memory");
    assert_eq!(pool.install(|| sum(0, 100_000)), 4_999_950_000);
}

#[test]
fn a_pool_whose_memory_is_locked_takes_what_it_uses_and_no_more() {
    in_a_child("in_a_child_locked");
}

#[test]
#[ignore = "locks memory; run by another test"]
fn in_a_child_locked() {
    // SAFETY: it takes no pointers.
    if unsafe { libc::mlockall(libc::MCL_FUTURE) } != 0 {
        return skipped("the system locks no memory for this user");
    }
    let before = status("VmRSS");
    let pool = ThreadPoolBuilder::new().num_threads(4).stack_size(1 << 18);
    let pool = pool.build().expect("a pool");
    assert_eq!(pool.install(|| sum(0, 100_000)), 4_999_950_000);
    let taken = status("VmRSS") - before;
    assert!(taken < 32 << 10, "{taken} KiB");
}

#[test]
fn a_pool_for_which_there_are_no_addresses_is_an_error_that_leaves_nothing() {
    in_a_child("in_a_child_no_addresses");
}

#[test]
#[ignore = "sets a limit; run by another test"]
fn in_a_child_no_addresses() {
    let threads = status("Threads");
    set_limit(libc::RLIMIT_AS, status("VmSize") * 1024 + 64 * MIB);
    let text = build(250)
        .expect_err("64 MiB hold no 250 stacks")
        .to_string();
    assert!(text.contains("of 250"), "{text}");
    assert!(text.contains("worker"), "{text}");
    // The threads that were started have ended, and their memory is there again.
    assert_eq!(status("Threads"), threads);
    let pool = build(2).expect("there is room for two");
    assert_eq!(pool.install(|| sum(0, 1_000)), 499_500);
}

#[test]
fn a_worker_whose_thread_may_not_be_started_is_named_in_the_error() {
    in_a_child("in_a_child_no_threads");
}

#[test]
#[ignore = "gives up being root; run by another test"]
fn in_a_child_no_threads() {
    let threads = status("Threads");
    // Root is not bound; a user that runs nothing else is.
    // SAFETY: it takes no pointers.
    let is_nobody = unsafe { libc::setuid(54_321) == 0 };
    let user = if is_nobody { 0 } else { threads };
    set_limit(libc::RLIMIT_NPROC, user + 5);
    let text = match build(100) {
        Err(error) => error.to_string(),
        Ok(_) if !is_nobody => return skipped("no limit of threads binds this user"),
        Ok(_) => panic!("a hundred threads were started under a limit of five"),
    };
    assert!(text.contains("of 100"), "{text}");
    assert!(text.contains("thread") && text.contains("limits"), "{text}");
    assert_eq!(status("Threads"), threads);
    // More than are ever allowed are refused before one is started.
    let text = build(1_000).map(drop).unwrap_err().to_string();
    if is_nobody {
        assert!(
            text.contains("1000 workers") && text.contains("ulimit -u"),
            "{text}"
        );
    }
}

#[test]
fn more_joins_than_slots_run_in_place() {
    in_a_child("in_a_child_few_slots");
}

#[test]
#[ignore = "sets a limit; run by another test"]
fn in_a_child_few_slots() {
    fn nest(depth: u64, ran: &AtomicUsize) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (a, b) = join(
            || nest(depth - 1, ran),
            || {
                ran.fetch_add(1, Ordering::Relaxed);
                1
            },
        );
        a + b
    }
    fn nest_in(mut cx: JoinContext<'_>, depth: u64, ran: &AtomicUsize) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (a, b) = cx.join(
            |cx| nest_in(cx, depth - 1, ran),
            |mut cx| {
                ran.fetch_add(1, Ordering::Relaxed);
                cx.join(|_| 1, |_| 0).0
            },
        );
        a + b
    }
    set_limit(libc::RLIMIT_AS, 4096 * MIB);
    // So that each deque has some 8,000 slots.
    let builder = ThreadPoolBuilder::new()
        .num_threads(256)
        .stack_size(1 << 18);
    let pool = builder
        .callers(heist_core::Callers::Participate)
        .build()
        .expect("a pool");
    let ran = AtomicUsize::new(0);
    let deep = thread::Builder::new().stack_size(512 << 20);
    thread::scope(|threads| {
        let caller = deep.spawn_scoped(threads, || {
            let nested = pool.participate(|| nest(50_000, &ran));
            let in_context = pool.participate(|| with_context(|cx| nest_in(cx, 50_000, &ran)));
            assert_eq!(in_context, nested);
            // A panic at the bottom runs all second closures on its way.
            let payload = catch_unwind(AssertUnwindSafe(|| {
                pool.participate(|| join(|| nest(20_000, &ran), || panic!("at the bottom")))
            }));
            assert!(payload.is_err());
            nested
        });
        let caller = caller.expect("a thread").join();
        assert_eq!(caller.expect("it does not panic"), 50_000);
    });
    assert_eq!(ran.into_inner(), 120_000);
}

#[test]
fn an_idle_pool_gives_back_the_memory_of_a_burst() {
    in_a_child("in_a_child_burst");
}

#[test]
#[ignore = "measures the process; run by another test"]
fn in_a_child_burst() {
    const MOST_KIB: u64 = 4 << 10;
    let pool = Arc::new(build(2).expect("a pool"));
    let settles = |limit: u64, after: &str| {
        // Until the workers have gone to sleep.
        let mut rss = u64::MAX;
        for _ in 0..1_000_000 {
            rss = status("VmRSS");
            if rss <= limit {
                return;
            }
            thread::yield_now();
        }
        panic!("{rss} KiB are resident after {after}; {limit} may be");
    };
    // The memory that the first jobs of all touch.
    pool.install(|| sum(0, 100_000));
    let fresh = status("VmRSS");

    const JOBS: usize = 500_000;
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |jobs: usize| {
        while ran.load(Ordering::Relaxed) < jobs {
            thread::yield_now();
        }
    };
    let job = |ran: &Arc<AtomicUsize>| {
        let ran = Arc::clone(ran);
        move || {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    };
    for _ in 0..JOBS {
        pool.spawn(job(&ran));
    }
    count(JOBS);
    settles(fresh + MOST_KIB, "a burst from outside");

    pool.install(|| (0..JOBS).for_each(|_| heist_core::spawn(job(&ran))));
    count(2 * JOBS);
    settles(fresh + MOST_KIB, "a burst of a worker");

    pool.scope(|scope| (0..JOBS).for_each(|_| scope.spawn(|_| job(&ran)())));
    count(3 * JOBS);
    settles(fresh + MOST_KIB, "a burst of a caller");

    pool.install(|| (0..JOBS).for_each(|_| heist_core::spawn_fifo(job(&ran))));
    count(4 * JOBS);
    settles(fresh + MOST_KIB, "a burst in order");
}

/// A producer whose jobs others take never pops, and must begin anew by itself.
#[test]
fn a_producer_with_few_jobs_waiting_stays_in_a_small_place() {
    in_a_child("in_a_child_producer");
}

#[test]
#[ignore = "measures the process; run by another test"]
fn in_a_child_producer() {
    let pool = build(2).expect("a pool");
    let ran = Arc::new(AtomicUsize::new(0));
    let before = status("VmRSS");
    pool.install(|| {
        for made in 0..300_000 {
            let done = Arc::clone(&ran);
            heist_core::spawn(move || {
                done.fetch_add(1, Ordering::Relaxed);
            });
            while made > ran.load(Ordering::Relaxed) + 64 {
                thread::yield_now();
            }
        }
    });
    let taken = status("VmRSS").saturating_sub(before);
    assert!(taken < 4 << 10, "{taken} KiB");
}
