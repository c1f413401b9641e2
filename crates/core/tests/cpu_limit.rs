//! A pool that follows the system's limit. One test in this process, whose affinity mask changes.
#![cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle))))]

use std::io;
use std::time::{Duration, Instant};

use heist_core::{join, spawn, ThreadPool, ThreadPoolBuilder};

/// The processors that the process's first thread may use.
fn mask() -> libc::cpu_set_t {
    // SAFETY: a set is an array of integers, all of which may be 0.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it writes the set.
    let done = unsafe { libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &raw mut set) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
    set
}

fn set_mask(set: &libc::cpu_set_t) {
    // SAFETY: it reads the set.
    let done = unsafe { libc::sched_setaffinity(libc::getpid(), size_of_val(set), set) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// The first processor of a set.
fn first_of(set: &libc::cpu_set_t) -> libc::cpu_set_t {
    // SAFETY: as in `mask`.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it reads the set.
    let first = (0..1024).find(|&cpu| unsafe { libc::CPU_ISSET(cpu, set) });
    // SAFETY: it writes the set.
    unsafe { libc::CPU_SET(first.expect("a processor"), &mut one) };
    one
}

/// Works until so many workers are active.
fn work_until(pool: &ThreadPool, active: usize, work: impl Fn()) {
    let began = Instant::now();
    while pool.active_threads() != active {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not follow"
        );
        work();
    }
}

#[test]
fn a_pool_follows_the_affinity_mask_down_and_up_and_with_one_worker_in_a_long_job() {
    let all = mask();
    let processors = heist_sync::usable_processors();
    let builder = ThreadPoolBuilder::new().num_threads(4);
    let pool = builder.follow_cpu_limit().build().expect("a pool");
    let most = processors.min(4);
    assert_eq!(pool.active_threads(), most);

    for _ in 0..2 {
        set_mask(&first_of(&all));
        // Callers that come and go.
        work_until(&pool, 1, || _ = pool.install(|| join(|| 1, || 2)));
        set_mask(&all);
        work_until(&pool, most, || _ = pool.join(|| 1, || 2));
    }

    set_mask(&first_of(&all));
    pool.install(|| {
        work_until(&pool, 1, || spawn(|| ()));
        set_mask(&all);
        // Nothing but this job, which never calls the pool.
        work_until(&pool, most, std::hint::spin_loop);
    });

    // The program's number and the system's: the lower counts.
    assert_eq!(pool.set_active_threads(1), 1);
    assert_eq!(pool.set_active_threads(4), most);
}
