//! A pool and a process that calls `fork`: in the child, which has one thread, every call that
//! would wait for a worker is refused; a pool of its own works.
// The thread sanitizer starts no thread in the child of a process that had several.
#![cfg(all(unix, not(any(heist_loom, heist_shuttle, heist_tsan))))]

mod in_fork;

use std::future::Future;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use heist_core::{
    with_context, JoinError, Once, Priority, Strand, TaskGroup, ThreadPool, ThreadPoolBuilder,
};

use in_fork::{alone, assert_passes, assert_refused, in_fork, FINE};

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

#[test]
fn a_child_is_refused_every_call_that_would_wait_for_a_worker_of_its_parent() {
    assert_passes("in_a_process::the_calls");
}

#[test]
fn a_child_aborts_a_job_that_its_parent_goes_on_to_run() {
    assert_passes("in_a_process::an_abort");
}

#[test]
fn a_child_is_refused_the_global_pool_of_its_parent() {
    assert_passes("in_a_process::the_global_pool");
}

#[test]
fn a_child_can_drop_what_it_inherited_and_build_a_pool_of_its_own() {
    assert_passes("in_a_process::a_new_pool");
}

#[test]
fn a_child_is_refused_a_value_that_its_parent_was_making() {
    assert_passes("in_a_process::a_value");
}

#[test]
fn a_job_that_forks_is_no_worker_in_the_child() {
    assert_passes("in_a_process::a_job");
}

#[test]
fn a_child_is_refused_a_pool_without_threads_too_and_can_build_one() {
    assert_passes("in_a_process::a_serial_pool");
}

#[test]
fn a_thread_that_was_a_worker_can_be_one_again_in_the_child() {
    assert_passes("in_a_process::an_adopted_thread");
}

#[test]
fn a_child_that_comes_back_into_its_parents_pool_is_stopped_with_a_word() {
    for test in [
        "returning_job",
        "panicking_job",
        "stolen_half",
        "open_scope",
        "blocked_job",
        "job_without_threads",
    ] {
        let output = alone(&format!("in_a_process::{test}"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test}: {text}");
        let says = "call exec or exit in the child";
        assert_eq!(text.matches(says).count(), 1, "{test}: {text}");
    }
}

/// Only run by the tests above, each in a process of its own.
mod in_a_process {
    use super::*;

    #[test]
    #[ignore = "forks; run by another test"]
    fn the_calls() {
        let pool = pool(2);
        let group = TaskGroup::new_in(&pool);
        let done = pool.submit(|| 1);
        while !done.is_finished() {
            std::thread::yield_now();
        }
        let release = Arc::new(AtomicBool::new(false));
        let pending = pool.submit({
            let release = Arc::clone(&release);
            move || until(&release)
        });
        let (idle, busy) = (Strand::new_in(&pool), Strand::new_in(&pool));
        busy.spawn({
            let release = Arc::clone(&release);
            move || until(&release)
        });
        let end = in_fork(|| {
            assert_eq!(done.join(), 1, "what is done is done");
            assert_refused("wait for a job of", || pending.join());
            assert_refused("wait for a job of", || busy.wait());
            idle.wait(); // it has no jobs
            assert_refused("move a call into", || pool.install(|| ()));
            let participate = "participate in";
            assert_refused(participate, || pool.join(|| (), || ()));
            assert_refused(participate, || pool.scope(|_| ()));
            let post = "post a job to each worker of";
            assert_refused(post, || pool.broadcast(|_| ()));
            assert_refused(post, || pool.spawn_broadcast(|_| ()));
            let submit = "submit a job to";
            assert_refused(submit, || pool.spawn(|| ()));
            assert_refused(submit, || pool.spawn_fifo(|| ()));
            assert_refused(submit, || pool.spawn_on(0, || ()));
            let urgent = || pool.job().priority(Priority::High);
            assert_refused(submit, || urgent().spawn(|| ()));
            assert_refused(submit, || pool.job().only_on(0).submit(|| ()));
            assert_refused(submit, || pool.submit(|| ()));
            assert_refused(submit, || group.run(|| ()));
            assert_refused(submit, || idle.spawn(|| ()));
            assert_refused(submit, || busy.submit(|| ()));
            assert_refused(submit, || pool.in_place_scope(|scope| scope.spawn(|_| ())));
            group.wait(); // it has no jobs
            assert!(group.wait_until(std::time::Instant::now()));
            assert_refused("read the counters of", || pool.counters());
            assert_eq!(pool.current_num_threads(), 2);
            assert_eq!(pool.current_thread_index(), None);
            assert_refused("wait for the end of", || pool.shutdown());
        });
        release.store(true, Ordering::Relaxed);
        assert_eq!(end, FINE);
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn an_abort() {
        struct Nothing;
        impl Wake for Nothing {
            fn wake(self: Arc<Self>) {}
        }
        let pool = pool(1);
        let (begun, release) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let mut running = pool.submit({
            let (begun, release) = (Arc::clone(&begun), Arc::clone(&release));
            move || {
                begun.store(true, Ordering::Relaxed);
                until(&release);
            }
        });
        until(&begun);
        let (say, heard) = channel();
        let queued = pool.submit(move || say.send(1));
        let end = in_fork(|| {
            assert!(!running.abort(), "it runs, in the parent");
            assert!(queued.abort());
            assert!(matches!(queued.try_join(), Err(JoinError::Cancelled)));
            let waker = Waker::from(Arc::new(Nothing));
            let wait = "wait for a job of";
            assert_refused(wait, || {
                Pin::new(&mut running).poll(&mut Context::from_waker(&waker))
            });
            assert_refused(wait, || running.try_join());
        });
        release.store(true, Ordering::Relaxed);
        assert_eq!(end, FINE);
        assert_eq!(heard.recv(), Ok(1), "the parent goes on");
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn the_global_pool() {
        assert_eq!(heist_core::join(|| 1, || 2), (1, 2));
        let end = in_fork(|| {
            assert_refused("participate in", || heist_core::join(|| 1, || 2));
            assert_refused("submit a job to", || heist_core::spawn(|| ()));
            let again = ThreadPoolBuilder::new().build_global();
            assert!(again.unwrap_err().is_already_initialized());
        });
        assert_eq!(end, FINE);
        assert_eq!(heist_core::join(|| 1, || 2), (1, 2), "the parent goes on");
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn a_value() {
        let (pool, begun) = (pool(2), std::sync::Barrier::new(2));
        let (once, release) = (Once::new(), AtomicBool::new(false));
        let value = || {
            begun.wait();
            until(&release);
            7
        };
        let end = std::thread::scope(|threads| {
            threads.spawn(|| pool.install(|| assert_eq!(once.get_or_init(value), &7)));
            begun.wait();
            let end = in_fork(|| {
                assert_eq!(once.get(), None);
                let calls: [fn(&Once<i32>); 2] =
                    [|once| _ = once.get_or_init(|| 8), |once| _ = once.set(8)];
                for call in calls {
                    let refused = catch_unwind(AssertUnwindSafe(|| call(&once))).unwrap_err();
                    let text: &&str = refused.downcast_ref().expect("a message");
                    assert!(
                        text.contains("began before this process was forked"),
                        "{text}"
                    );
                }
            });
            release.store(true, Ordering::Relaxed);
            end
        });
        assert_eq!(end, FINE);
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn a_new_pool() {
        let mut inherited = Some(pool(2));
        let end = in_fork(|| {
            drop(inherited.take());
            let own = pool(2);
            assert_eq!(own.install(|| fib(15)), 610);
            assert_eq!(
                in_fork(|| assert_refused("move a call into", || own.install(|| ()))),
                FINE
            );
            own.shutdown();
            // The first that this program builds, so that it is the child's.
            assert_eq!(fib(15), 610);
        });
        assert_eq!(end, FINE);
        let inherited = inherited.expect("only the child has dropped it");
        assert_eq!(inherited.install(|| fib(15)), 610, "the parent goes on");
        inherited.shutdown();
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn a_job() {
        let pool = pool(2);
        let fork = || {
            in_fork(|| {
                assert_eq!(heist_core::current_thread_index(), None);
                assert_eq!(heist_core::yield_now(), None);
                assert_refused("move a call into", || pool.install(|| ()));
                assert_eq!(super::pool(2).install(|| fib(15)), 610);
            })
        };
        assert_eq!(pool.install(fork), FINE);
        let in_context = || with_context(|mut cx| cx.join(|_| fork(), |_| ()).0);
        assert_eq!(pool.install(in_context), FINE);
        assert_eq!(pool.install(|| fib(15)), 610, "the parent goes on");
    }

    fn serial() -> ThreadPool {
        let builder = ThreadPoolBuilder::new().serial();
        builder.build().expect("a pool without threads")
    }

    /// Another thread may have been in the middle of a call.
    #[test]
    #[ignore = "forks; run by another test"]
    fn a_serial_pool() {
        let pool = serial();
        let fork = || {
            in_fork(|| {
                assert_eq!(heist_core::current_thread_index(), None);
                assert_refused("move a call into", || pool.install(|| ()));
                assert_refused("submit a job to", || pool.spawn(|| ()));
                assert_refused("post a job to each worker of", || pool.broadcast(|_| ()));
                assert_eq!(serial().install(|| fib(15)), 610);
                assert_eq!(super::pool(1).install(|| serial().install(|| fib(15))), 610);
            })
        };
        assert_eq!(fork(), FINE);
        assert_eq!(pool.install(fork), FINE);
        assert_eq!(pool.install(|| fib(15)), 610, "the parent goes on");
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn job_without_threads() {
        let pool = serial();
        assert_child_stays(|child| pool.install(|| *child = fork()));
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn an_adopted_thread() {
        let adopt = || ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let inherited = adopt().build().expect("a pool");
        let (end, _) = inherited.join(
            || {
                in_fork(|| {
                    assert_refused("move a call into", || inherited.install(|| ()));
                    let own = adopt().build().expect("the thread is no worker here");
                    assert_eq!(own.current_thread_index(), Some(0));
                    assert_eq!(own.install(|| fib(15)), 610);
                })
            },
            || (),
        );
        assert_eq!(end, FINE);
        assert_eq!(inherited.install(|| fib(15)), 610, "the parent goes on");
    }

    fn until(release: &AtomicBool) {
        while !release.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    }

    /// Calls `f`, which forks and goes on in both processes; the child must not come out of it.
    /// Returns how it ended.
    fn assert_child_stays(f: impl FnOnce(&mut Option<libc::pid_t>)) {
        let mut child = None;
        f(&mut child);
        let child = child.expect("a child");
        if child == 0 {
            // SAFETY: as in `in_fork`.
            unsafe { libc::_exit(1) };
        }
        let mut status = 0;
        // SAFETY: the place for the status is ours.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFSIGNALED(status), "{status}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGABRT);
    }

    fn fork() -> Option<libc::pid_t> {
        // SAFETY: as in `in_fork`.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "{}", io::Error::last_os_error());
        // SAFETY: as in `in_fork`.
        unsafe { libc::alarm(60) };
        Some(child)
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn returning_job() {
        let pool = pool(1);
        assert_child_stays(|child| pool.install(|| *child = fork()));
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn blocked_job() {
        let pool = pool(1);
        assert_child_stays(|child| pool.install(|| heist_core::blocking(|| *child = fork())));
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn panicking_job() {
        let pool = pool(1);
        assert_child_stays(|child| {
            pool.install(|| {
                *child = fork();
                assert_ne!(*child, Some(0), "the child panics");
            });
        });
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn stolen_half() {
        let pool = pool(2);
        let both = std::sync::Barrier::new(2);
        let release = AtomicBool::new(false);
        assert_child_stays(|child| {
            pool.join(
                || {
                    both.wait();
                    *child = fork();
                    release.store(*child != Some(0), Ordering::Relaxed);
                },
                || {
                    both.wait();
                    until(&release);
                },
            );
        });
    }

    #[test]
    #[ignore = "forks; run by another test"]
    fn open_scope() {
        let pool = pool(1);
        let release = AtomicBool::new(false);
        assert_child_stays(|child| {
            pool.in_place_scope(|scope| {
                scope.spawn(|_| until(&release));
                *child = fork();
                release.store(*child != Some(0), Ordering::Relaxed);
            });
        });
    }
}
