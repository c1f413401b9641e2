//! Pools under a seccomp filter that refuses membarrier, installed before the pool is built and
//! while it runs.
//!
//! A filter cannot be taken off, so each test runs again in a process of its own.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(any(heist_loom, heist_shuttle))
))]

use std::io::{self, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use heist_core::{BarrierMode, ThreadPool, ThreadPoolBuilder};
use seccompiler::{apply_filter_all_threads, BpfProgram, SeccompAction, SeccompFilter, TargetArch};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().expect("a pool")
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// From now on every call of membarrier in this process fails with EPERM. The error says why that
/// could not be had.
fn refuse_membarrier() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = [(libc::SYS_membarrier, Vec::new())].into();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let program: BpfProgram = filter
        .and_then(TryInto::try_into)
        .map_err(|error| error.to_string())?;
    apply_filter_all_threads(&program).map_err(|error| error.to_string())?;
    // SAFETY: membarrier takes no pointers.
    let asked = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
    assert_eq!(
        asked, -1,
        "the filter is installed and lets membarrier pass"
    );
    assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EPERM));
    Ok(())
}

/// Joins, scopes, jobs that nobody waits for and jobs from outside: all run, once.
fn work(pool: &ThreadPool) {
    for _ in 0..20 {
        assert_eq!(pool.install(|| fib(18)), 2584);
    }
    let ran = AtomicU64::new(0);
    let count = || {
        ran.fetch_add(1, Ordering::Relaxed);
    };
    pool.scope(|scope| {
        for _ in 0..1000 {
            scope.spawn(|scope| {
                scope.spawn(|_| count());
                fib(5);
            });
        }
    });
    assert_eq!(ran.load(Ordering::Relaxed), 1000);
    pool.in_place_scope(|scope| {
        for _ in 0..1000 {
            scope.spawn(|_| count());
        }
    });
    assert_eq!(ran.load(Ordering::Relaxed), 2000);
    let indices = pool.broadcast(|context| context.index());
    assert!(indices.into_iter().eq(0..pool.current_num_threads()));
}

/// Returns when all workers of an idle pool sleep; with one that never does, never.
fn wait_until_all_sleep(pool: &ThreadPool) {
    let sleep_on = || {
        let before = pool.counters();
        std::thread::yield_now();
        let since = pool.counters().since(&before);
        let mut workers = since.workers().iter();
        workers.all(|it| it.working_ns == 0 && it.searching_ns == 0 && it.asleep_ns > 0)
    };
    while !sleep_on() {}
}

/// Runs one of the tests below in a process of its own, with this value of `HEIST_BARRIER`.
fn assert_passes(test: &str, barrier: &str) {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(program)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("HEIST_BARRIER", barrier)
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    for line in text.lines().filter(|line| line.contains("test skipped: ")) {
        // Past the harness, which keeps what a test prints to itself.
        let line = format!("{line}\n");
        io::stderr().write_all(line.as_bytes()).expect("it is open");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn where_membarrier_is_refused_a_pool_runs_on_fences() {
    assert_passes("in_a_process::refused_before", "auto");
}

#[test]
fn where_membarrier_is_refused_a_pool_that_asks_for_it_says_so() {
    assert_passes("in_a_process::asked_for", "membarrier");
}

#[test]
fn a_pool_that_membarrier_is_taken_away_from_goes_on() {
    assert_passes("in_a_process::refused_meanwhile", "auto");
}

/// Only run by the tests above, each in a process of its own.
mod in_a_process {
    use super::*;

    fn skipped(reason: &str) {
        let line = format!("test skipped: {reason}\n");
        io::stderr().write_all(line.as_bytes()).expect("it is open");
    }

    /// Installs the filter, or says why there is nothing to test.
    fn is_refused_or_skipped() -> bool {
        let refused = refuse_membarrier();
        if let Err(reason) = &refused {
            skipped(&format!("no seccomp filter can be installed: {reason}"));
        }
        refused.is_ok()
    }

    #[test]
    #[ignore = "installs a filter; run by another test"]
    fn refused_before() {
        if !is_refused_or_skipped() {
            return;
        }
        let pool = pool(4);
        assert_eq!(pool.diagnostics().barrier_mode, BarrierMode::Fence);
        for _ in 0..10 {
            work(&pool);
            wait_until_all_sleep(&pool);
        }
        pool.shutdown();
    }

    #[test]
    #[ignore = "installs a filter; run by another test"]
    fn asked_for() {
        if !is_refused_or_skipped() {
            return;
        }
        let error = ThreadPoolBuilder::new().build().unwrap_err().to_string();
        assert!(error.contains("does not offer membarrier"), "{error}");
        assert!(error.contains("seccomp"), "{error}");
    }

    #[test]
    #[ignore = "installs a filter; run by another test"]
    fn refused_meanwhile() {
        let running = pool(4);
        if running.diagnostics().barrier_mode != BarrierMode::Membarrier {
            skipped("no membarrier is offered that could be taken away");
            return;
        }
        work(&running);
        let ran = AtomicU64::new(0);
        let refused = running.in_place_scope(|scope| {
            let spawn_some = || {
                for _ in 0..1000 {
                    scope.spawn(|_| {
                        fib(10);
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                }
            };
            spawn_some();
            let refused = is_refused_or_skipped();
            spawn_some();
            refused
        });
        assert_eq!(ran.into_inner(), 2000);
        if !refused {
            // It was said that this is skipped.
            return;
        }
        assert_eq!(running.diagnostics().barrier_mode, BarrierMode::Membarrier);
        for _ in 0..10 {
            work(&running);
            wait_until_all_sleep(&running);
        }
        // The process has learned of the call, and it is gone.
        let new = pool(2);
        assert_eq!(new.diagnostics().barrier_mode, BarrierMode::Fence);
        work(&new);
        running.shutdown();
    }
}
