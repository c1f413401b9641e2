//! Jobs from outside: which of a worker's calls may run one, and how long one waits.
// The address sanitizer keeps locals away from the stack, so that every frame seems deep.
#![cfg(not(any(heist_loom, heist_shuttle, heist_asan)))]

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use heist_core::policy::Turns;
use heist_core::{join, with_waiting, Injected, ThreadPool, ThreadPoolBuilder, Waiting};

fn one_worker(injected: Injected) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(1).injected(injected);
    builder.build().expect("a pool")
}

/// Submits a job from a thread that is no worker, and comes back when it is queued.
fn from_outside(pool: &ThreadPool, job: impl FnOnce() + Send + 'static) {
    thread::scope(|threads| {
        let outside = threads.spawn(|| pool.spawn(job));
        outside.join().expect("it only submits");
    });
}

/// A job that nobody has run yet.
fn flag(pool: &ThreadPool) -> Arc<AtomicBool> {
    let has_run = Arc::new(AtomicBool::new(false));
    let job = Arc::clone(&has_run);
    from_outside(pool, move || job.store(true, Ordering::Relaxed));
    has_run
}

#[test]
fn no_spawn_of_any_kind_runs_anything_but_its_own_job() {
    thread_local! { static BORROWED: RefCell<u64> = const { RefCell::new(0) } }
    for injected in [Injected::InTurn, Injected::Prompt] {
        let pool = one_worker(injected);
        pool.install(|| {
            let has_run = flag(&pool);
            from_outside(&pool, || BORROWED.with(|cell| *cell.borrow_mut() += 1));
            BORROWED.with(|cell| {
                let borrow = cell.borrow_mut();
                for _ in 0..3_000 {
                    heist_core::spawn(|| ());
                    heist_core::spawn_fifo(|| ());
                    pool.spawn_broadcast(|_| ());
                }
                let group = heist_core::TaskGroup::new();
                group.run(|| ());
                drop(heist_core::submit(|| ()));
                assert!(!has_run.load(Ordering::Relaxed), "{injected:?}");
                drop(borrow);
            });
        });
        // Jobs that wait at the end of the process look like leaks.
        pool.shutdown();
    }
}

#[test]
fn a_join_serves_a_job_from_outside_in_a_prompt_pool_and_in_no_other() {
    for injected in [Injected::InTurn, Injected::Prompt] {
        let pool = one_worker(injected);
        pool.install(|| {
            let has_run = flag(&pool);
            // A spawn hears the signal first, and leaves it to the join.
            heist_core::spawn(|| ());
            join(|| (), || ());
            assert_eq!(
                has_run.load(Ordering::Relaxed),
                injected == Injected::Prompt
            );
            while heist_core::yield_now() == Some(heist_core::Yield::Executed) {}
            assert!(
                has_run.load(Ordering::Relaxed),
                "to yield is a wish for any job"
            );
        });
    }
}

#[test]
fn to_yield_for_own_jobs_serves_one_from_outside_in_a_prompt_pool_and_in_no_other() {
    for injected in [Injected::InTurn, Injected::Prompt] {
        let pool = one_worker(injected);
        pool.install(|| {
            let has_run = flag(&pool);
            heist_core::yield_local();
            assert_eq!(
                has_run.load(Ordering::Relaxed),
                injected == Injected::Prompt
            );
        });
    }
}

/// A compensation worker that is parked is no worker that would come for a job.
#[test]
fn a_prompt_pool_with_compensation_serves_jobs_from_outside_too() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(1)
        .injected(Injected::Prompt);
    let pool = builder.waiting(Waiting::Descendants).build();
    let pool = pool.expect("a pool");
    pool.install(|| {
        with_waiting(Waiting::Any, || {
            let has_run = flag(&pool);
            join(|| (), || ());
            assert!(has_run.load(Ordering::Relaxed));
        });
        let has_run = flag(&pool);
        join(|| (), || ());
        assert!(
            !has_run.load(Ordering::Relaxed),
            "only descendants run here"
        );
    });
}

/// Calls `op` so many KiB further down the stack, whatever a frame takes.
fn deep(kib: usize, mut op: impl FnMut()) {
    let top = 0_u8;
    let bottom = (&raw const top as usize) - (kib << 10);
    sink(bottom, &mut op);
}

#[inline(never)]
fn sink(bottom: usize, call: &mut dyn FnMut()) {
    let room = std::hint::black_box([0_u8; 1024]);
    if (&raw const room as usize) < bottom {
        call();
    } else {
        sink(bottom, call);
    }
    std::hint::black_box(&room);
}

/// With a stack of a megabyte, three quarters are kept for the job; of two, where the system reuses
/// that of a thread that has ended.
#[test]
fn deep_in_its_stack_a_prompt_worker_serves_nobody() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(1)
        .injected(Injected::Prompt);
    let pool = builder.stack_size(1 << 20).build().expect("a pool");
    pool.install(|| {
        let has_run = flag(&pool);
        deep(700, || _ = join(|| (), || ()));
        assert!(!has_run.load(Ordering::Relaxed), "700 KiB are in use");
        deep(50, || _ = join(|| (), || ()));
        assert!(has_run.load(Ordering::Relaxed), "50 KiB are in use");
    });
}

type Spawn = fn(&ThreadPool, Box<dyn FnOnce() + Send>);

/// A chain of jobs, each of which spawns the next, so that the worker never runs dry. In the middle
/// a job comes from outside; returns how many of the chain came before it.
fn passed_over(pool: &Arc<ThreadPool>, spawn: Spawn) -> usize {
    struct Chain {
        pool: Arc<ThreadPool>,
        spawn: Spawn,
        links: AtomicUsize,
        submitted: AtomicUsize,
        served: AtomicUsize,
    }
    fn link(chain: &Arc<Chain>) {
        let links = chain.links.fetch_add(1, Ordering::Relaxed);
        if links == 100 {
            let served = Arc::clone(chain);
            chain.submitted.store(links, Ordering::Relaxed);
            from_outside(&chain.pool, move || {
                let links = served.links.load(Ordering::Relaxed);
                served.served.store(links, Ordering::Relaxed);
            });
        }
        if chain.served.load(Ordering::Relaxed) == 0 && links < 1_000_000 {
            let next = Arc::clone(chain);
            (chain.spawn)(&chain.pool, Box::new(move || link(&next)));
        }
    }
    let chain = Arc::new(Chain {
        pool: Arc::clone(pool),
        spawn,
        links: AtomicUsize::new(0),
        submitted: AtomicUsize::new(0),
        served: AtomicUsize::new(0),
    });
    link(&chain);
    while chain.served.load(Ordering::Relaxed) == 0 {
        assert_ne!(chain.links.load(Ordering::Relaxed), 1_000_001, "it starves");
        thread::yield_now();
    }
    chain.served.load(Ordering::Relaxed) - chain.submitted.load(Ordering::Relaxed)
}

#[test]
fn a_worker_that_never_runs_dry_comes_for_a_job_from_outside_after_a_bounded_number() {
    let spawns: [Spawn; 2] = [
        |pool, job| pool.spawn(job),
        |pool, job| pool.spawn_fifo(job),
    ];
    for spawn in spawns {
        for injected in [Injected::InTurn, Injected::Prompt] {
            let pool = Arc::new(one_worker(injected));
            let before = passed_over(&pool, spawn);
            assert!(
                before <= Turns::JOBS_MAX as usize + 1,
                "{before} came first"
            );
        }
    }
}

/// As above, while the worker waits for a scope that goes on as long as the chain does.
#[test]
fn a_worker_that_waits_among_jobs_of_its_own_comes_for_one_from_outside() {
    let pool = one_worker(Injected::InTurn);
    pool.install(|| {
        let has_run = AtomicBool::new(false);
        let links = AtomicUsize::new(0);
        fn link<'s>(scope: &heist_core::Scope<'s>, served: &'s Served<'s>) {
            let is_over = served.flag.load(Ordering::Relaxed);
            if !is_over && served.links.fetch_add(1, Ordering::Relaxed) < 1_000_000 {
                scope.spawn(move |scope| link(scope, served));
            }
        }
        struct Served<'s> {
            flag: &'s AtomicBool,
            links: &'s AtomicUsize,
        }
        let served = Served {
            flag: &has_run,
            links: &links,
        };
        thread::scope(|threads| {
            // Queued before the chain begins.
            let (queued, is_queued) = std::sync::mpsc::channel();
            let (pool, flag) = (&pool, &has_run);
            threads.spawn(move || {
                pool.in_place_scope(|scope| {
                    scope.spawn(|_| flag.store(true, Ordering::Relaxed));
                    queued.send(()).expect("the worker waits for it");
                });
            });
            is_queued.recv().expect("it is sent");
            heist_core::scope(|scope| link(scope, &served));
            let before = links.load(Ordering::Relaxed);
            assert!(
                before <= Turns::JOBS_MAX as usize + 2,
                "{before} came first"
            );
        });
    });
}
