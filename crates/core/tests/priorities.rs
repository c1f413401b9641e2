//! Priorities: the order in which jobs start, which calls may run one, and how long a lane that is
//! passed over stands still.
// The address sanitizer keeps locals away from the stack, so that every frame seems deep.
#![cfg(not(any(heist_loom, heist_shuttle, heist_asan)))]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread;

use heist_core::{
    join, with_waiting, Injected, Priority, Strand, TaskGroup, ThreadPool, ThreadPoolBuilder,
    Waiting,
};

fn one_worker(injected: Injected) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(1).injected(injected);
    builder.build().expect("a pool")
}

/// Queues a job with a priority from a thread that is no worker.
fn from_outside(pool: &ThreadPool, priority: Priority, job: impl FnOnce() + Send + 'static) {
    thread::scope(|threads| {
        let submit = || pool.job().priority(priority).spawn(job);
        threads.spawn(submit).join().expect("it only submits");
    });
}

/// A job that nobody has run yet.
fn flag(pool: &ThreadPool, priority: Priority) -> Arc<AtomicBool> {
    let has_run = Arc::new(AtomicBool::new(false));
    let job = Arc::clone(&has_run);
    from_outside(pool, priority, move || job.store(true, Ordering::Relaxed));
    has_run
}

/// Keeps the only worker in a job until the sender is dropped.
fn hold(pool: &ThreadPool) -> Sender<()> {
    let (release, released) = channel();
    let (begin, has_begun) = channel();
    pool.spawn(move || {
        begin.send(()).expect("somebody waits");
        _ = released.recv();
    });
    has_begun.recv().expect("it begins");
    release
}

const MIXED: [Priority; 7] = [
    Priority::Low,
    Priority::Normal,
    Priority::High,
    Priority::Low,
    Priority::High,
    Priority::Normal,
    Priority::High,
];

/// Each of [`MIXED`] with its number, in the order in which jobs are to start.
fn in_order() -> Vec<(Priority, usize)> {
    let mut jobs: Vec<_> = MIXED.into_iter().zip(0..).collect();
    jobs.sort_by_key(|&(priority, _)| priority as usize);
    jobs
}

#[test]
fn jobs_start_by_their_priorities_and_those_of_one_in_their_order() {
    for injected in [Injected::InTurn, Injected::Prompt] {
        let pool = one_worker(injected);
        let held = hold(&pool);
        let (say, heard) = channel();
        for (priority, number) in MIXED.into_iter().zip(0..) {
            let say = say.clone();
            let job = move || say.send((priority, number)).expect("somebody listens");
            pool.job().priority(priority).spawn(job);
        }
        drop((held, say));
        assert_eq!(heard.iter().collect::<Vec<_>>(), in_order(), "{injected:?}");
    }
}

#[test]
fn an_urgent_job_comes_before_what_a_worker_has_spawned_itself_and_a_low_one_after() {
    let pool = one_worker(Injected::InTurn);
    let (say, heard) = channel();
    pool.install(|| {
        for priority in [Priority::Low, Priority::Normal, Priority::High] {
            let say = say.clone();
            let job = move || say.send(priority as u8).expect("somebody listens");
            heist_core::job().priority(priority).spawn(job);
        }
    });
    drop(say);
    assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_handle_and_a_group_have_priorities_too() {
    for priority in [Priority::High, Priority::Normal, Priority::Low] {
        let pool = one_worker(Injected::InTurn);
        assert_eq!(pool.job().priority(priority).submit(|| 7).join(), 7);
        // The only worker waits for jobs that are in no deque.
        let inside = pool.install(|| {
            let group = TaskGroup::new().with_priority(priority);
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..10 {
                let ran = Arc::clone(&ran);
                group.run(move || _ = ran.fetch_add(1, Ordering::Relaxed));
            }
            group.wait();
            let handle = heist_core::job().priority(priority).submit(|| 8);
            ran.load(Ordering::Relaxed) + handle.join()
        });
        assert_eq!(inside, 18);
    }
}

#[test]
fn a_join_serves_an_urgent_job_in_a_prompt_pool_and_in_no_other_and_a_low_one_never() {
    for injected in [Injected::InTurn, Injected::Prompt] {
        let pool = one_worker(injected);
        pool.install(|| {
            let low = flag(&pool, Priority::Low);
            join(|| (), || ());
            let high = flag(&pool, Priority::High);
            heist_core::spawn(|| ());
            assert!(!high.load(Ordering::Relaxed), "no spawn runs it");
            join(|| (), || ());
            let is_prompt = injected == Injected::Prompt;
            assert_eq!(high.load(Ordering::Relaxed), is_prompt);
            let between = flag(&pool, Priority::High);
            let _ = heist_core::poll_for_thieves();
            assert_eq!(between.load(Ordering::Relaxed), is_prompt);
            assert!(!low.load(Ordering::Relaxed));
        });
    }
}

#[test]
fn a_frame_that_waits_for_descendants_serves_nobody() {
    let pool = one_worker(Injected::Prompt);
    pool.install(|| {
        let high = flag(&pool, Priority::High);
        with_waiting(Waiting::Descendants, || join(|| (), || ()));
        assert!(!high.load(Ordering::Relaxed));
        join(|| (), || ());
        assert!(high.load(Ordering::Relaxed));
    });
}

/// Each job has one of each priority queued from outside, and joins.
#[test]
fn ln_2_two_foreign_frames_at_most_lie_on_top_of_a_job_each_more_urgent_than_the_one_below() {
    thread_local! { static SERVED: std::cell::RefCell<Vec<Priority>> = const { std::cell::RefCell::new(Vec::new()) } }
    /// Runs as a job of this priority, and sees to it that others come while it runs.
    fn serve(pool: &Arc<ThreadPool>, priority: Priority, rounds: usize, most: &Arc<AtomicUsize>) {
        let below = SERVED.with(|served| {
            let mut served = served.borrow_mut();
            // On top of a job that is not in the middle of another there may be any that is urgent.
            let counts_as = match (priority, served.last()) {
                (Priority::Normal, None) => Priority::Low,
                _ => priority,
            };
            if let Some(&below) = served.last() {
                assert!(priority.is_above(below), "{priority:?} on top of {below:?}");
            }
            served.push(counts_as);
            served.len()
        });
        most.fetch_max(below, Ordering::Relaxed);
        if rounds > 0 {
            for priority in [Priority::Low, Priority::Normal, Priority::High] {
                let (inner, most) = (Arc::clone(pool), Arc::clone(most));
                from_outside(pool, priority, move || {
                    serve(&inner, priority, rounds - 1, &most);
                });
            }
            (0..5).for_each(|_| _ = join(|| (), || ()));
        }
        SERVED.with(|served| served.borrow_mut().pop());
    }
    let pool = Arc::new(one_worker(Injected::Prompt));
    let most = Arc::new(AtomicUsize::new(0));
    serve_all(&pool, |pool| serve(pool, Priority::Low, 3, &most));
    // The low one at the bottom, and two on top of it.
    assert_eq!(most.load(Ordering::Relaxed), 3);
}

/// Runs `op` as the job of the only worker, and then all that it has queued.
fn serve_all(pool: &Arc<ThreadPool>, op: impl FnOnce(&Arc<ThreadPool>) + Send) {
    pool.install(|| op(pool));
    // Behind all others: a low job finds the other lanes empty.
    while Arc::strong_count(pool) > 1 {
        pool.job().priority(Priority::Low).submit(|| ()).join();
    }
}

/// A chain of jobs of one priority, each of which queues the next, until a job of another priority
/// has run.
fn serves_among(flood: Priority, other: Priority) {
    fn link(pool: &Arc<ThreadPool>, flood: Priority, links: usize, has_run: &Arc<AtomicBool>) {
        assert!(links < 100_000_000, "it starves");
        if !has_run.load(Ordering::Relaxed) {
            let (next, has_run) = (Arc::clone(pool), Arc::clone(has_run));
            let job = move || link(&next, flood, links + 1, &has_run);
            pool.job().priority(flood).spawn(job);
        }
    }
    for injected in [Injected::InTurn, Injected::Prompt] {
        let pool = Arc::new(one_worker(injected));
        let held = hold(&pool);
        let has_run = flag(&pool, other);
        link(&pool, flood, 0, &has_run);
        link(&pool, flood, 0, &has_run);
        drop(held);
        while !has_run.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }
}

#[test]
fn ln_1_a_lane_moves_whatever_floods_the_others() {
    serves_among(Priority::High, Priority::Low);
    serves_among(Priority::High, Priority::Normal);
    // Those that a worker spawns itself lie in its deque.
    serves_among(Priority::Normal, Priority::Low);
    serves_among(Priority::Low, Priority::Normal);
}

/// A chain of jobs from outside of this priority, or near the only worker, each of which ends with
/// `op` and the next one, until all is over.
fn endless(
    pool: &Arc<ThreadPool>,
    priority: Option<Priority>,
    is_over: &Arc<AtomicBool>,
    op: fn(),
) {
    if is_over.load(Ordering::Relaxed) {
        return;
    }
    let (next, is_over) = (Arc::clone(pool), Arc::clone(is_over));
    let job = move || {
        op();
        endless(&next, priority, &is_over, op);
    };
    match priority {
        Some(priority) => pool.job().priority(priority).spawn(job),
        None => pool.job().near(0).spawn(job),
    }
}

/// Each of the others counted as one of the worker's own.
#[test]
fn ln_1_a_worker_s_own_job_runs_beside_urgent_ones_and_near_ones_and_what_they_do() {
    for op in [|| (), || heist_core::scope(|scope| scope.spawn(|_| ()))] {
        for injected in [Injected::InTurn, Injected::Prompt] {
            let pool = Arc::new(one_worker(injected));
            let is_over = Arc::new(AtomicBool::new(false));
            let held = hold(&pool);
            let (inner, over) = (Arc::clone(&pool), Arc::clone(&is_over));
            let own = pool.submit(move || {
                endless(&inner, Some(Priority::High), &over, op);
                endless(&inner, None, &over, op);
                let has_run = Arc::new(AtomicBool::new(false));
                let runs = Arc::clone(&has_run);
                heist_core::spawn(move || runs.store(true, Ordering::Relaxed));
                has_run
            });
            drop(held);
            let has_run = own.join();
            while !has_run.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// As above, while the only worker waits for a scope that goes on until the job has run.
#[test]
fn ln_1_a_lane_moves_on_a_worker_that_waits_among_jobs_of_its_own() {
    fn link<'s>(scope: &heist_core::Scope<'s>, links: usize, has_run: &'s AtomicBool) {
        assert!(links < 100_000_000, "it starves");
        if !has_run.load(Ordering::Relaxed) {
            scope.spawn(move |scope| link(scope, links + 1, has_run));
        }
    }
    let pool = one_worker(Injected::InTurn);
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        pool.install(|| {
            let has_run = flag(&pool, priority);
            heist_core::scope(|scope| link(scope, 0, &has_run));
        });
    }
}

/// Joins without an end in sight, which are counted.
fn joins(levels: u32, begun: &AtomicUsize, is_over: &AtomicBool) {
    if levels > 0 && !is_over.load(Ordering::Relaxed) {
        begun.fetch_add(1, Ordering::Relaxed);
        let half = || joins(levels - 1, begun, is_over);
        join(half, half);
    }
}

/// Counted in joins and not in time: a system that leaves the worker no processor makes it no
/// later.
#[test]
fn an_urgent_job_begins_at_one_of_the_next_joins_of_the_only_worker() {
    let pool = one_worker(Injected::Prompt);
    let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
    let tree = Arc::clone(&shared);
    let low = pool.job().priority(Priority::Low);
    low.spawn(move || joins(60, &tree.0, &tree.1));
    let (begun, is_over) = &*shared;
    while begun.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    for _ in 0..200 {
        let (say, heard) = channel();
        let at_start = Arc::clone(&shared);
        from_outside(&pool, Priority::High, move || {
            say.send(at_start.0.load(Ordering::Relaxed)).unwrap();
        });
        let submitted = begun.load(Ordering::Relaxed);
        let later = heard.recv().unwrap().saturating_sub(submitted);
        assert!(later < 1_000, "after {later} joins");
    }
    is_over.store(true, Ordering::Relaxed);
}

/// Queues an urgent job, which queues the next one, until all is over.
fn flood(pool: &Arc<ThreadPool>, is_over: &Arc<AtomicBool>) {
    if !is_over.load(Ordering::Relaxed) {
        let (next, over) = (Arc::clone(pool), Arc::clone(is_over));
        let job = move || flood(&next, &over);
        pool.job().priority(Priority::High).spawn(job);
    }
}

/// As [`flood`], of jobs of a strand, which come from outside.
fn flood_strand(strand: Strand, is_over: Arc<AtomicBool>) {
    if !is_over.load(Ordering::Relaxed) {
        let next = strand.clone();
        strand.spawn(move || flood_strand(next, is_over));
    }
}

/// LN-1, for what lies in no lane: urgent jobs without an end, or in a prompt pool any from
/// outside, kept the worker from its own jobs for ever.
#[test]
fn a_worker_s_own_jobs_run_whatever_floods_a_lane_that_comes_before_them() {
    for (injected, is_strand) in [
        (Injected::InTurn, false),
        (Injected::Prompt, false),
        (Injected::Prompt, true),
    ] {
        let pool = Arc::new(one_worker(injected));
        let is_over = Arc::new(AtomicBool::new(false));
        let (says, hears) = channel();
        let (spawned, only) = (says.clone(), says);
        let release = hold(&pool);
        match is_strand {
            true => flood_strand(Strand::new_in(&pool), Arc::clone(&is_over)),
            false => flood(&pool, &is_over),
        }
        pool.job().only_on(0).spawn(move || {
            only.send("only here").expect("it is waited for");
            let own = move || spawned.send("its own").expect("it is waited for");
            heist_core::spawn(own);
        });
        drop(release);
        let heard = hears.iter().take(2).collect::<Vec<_>>();
        assert_eq!(heard, ["only here", "its own"]);
        is_over.store(true, Ordering::Relaxed);
    }
}
