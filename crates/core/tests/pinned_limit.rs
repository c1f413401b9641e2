//! A pinned pool whose process's affinity mask changes. One test in this process.
#![cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle))))]

use std::io;
use std::time::{Duration, Instant};

use heist_core::{join, Pin, ThreadPool, ThreadPoolBuilder};
use heist_sync::{allowed_processors, usable_processors};

/// Works until so many workers are active.
fn work_until(pool: &ThreadPool, active: usize) {
    let began = Instant::now();
    while pool.active_threads() != active {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not follow"
        );
        pool.install(|| join(|| 1, || 2));
    }
}

/// Sets the mask of the process's first thread, which counts.
fn set_mask(processors: &[usize]) {
    // SAFETY: a set is an array of integers, all of which may be 0.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &processor in processors {
        // SAFETY: it writes the set.
        unsafe { libc::CPU_SET(processor, &mut set) };
    }
    // SAFETY: it reads the set.
    let done =
        unsafe { libc::sched_setaffinity(libc::getpid(), size_of_val(&set), &raw const set) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

#[test]
fn a_pinned_pool_follows_the_mask_and_none_is_pinned_outside_of_it() {
    let all = allowed_processors();
    let builder = ThreadPoolBuilder::new().pin(Pin::Cpus(all.clone()));
    let pool = builder.follow_cpu_limit().build().expect("a pool");
    let most = usable_processors().min(all.len());
    assert_eq!(pool.active_threads(), most);
    for _ in 0..2 {
        set_mask(&all[..1]);
        work_until(&pool, 1);
        set_mask(&all);
        work_until(&pool, most);
    }

    set_mask(&all[..1]);
    let narrowed = ThreadPoolBuilder::new().pin(Pin::Class(0)).build();
    if let Ok(pool) = &narrowed {
        assert_eq!(pool.current_num_threads(), 1);
    }
    if let [first, outside, ..] = all[..] {
        let pin = Pin::Cpus(vec![first, outside]);
        let refused = ThreadPoolBuilder::new().pin(pin).build();
        let text = refused.unwrap_err().to_string();
        let why = format!("processor {outside}, which is outside of the affinity mask");
        let accepted = format!("accepted are {first}");
        assert!(text.contains(&why) && text.ends_with(&accepted), "{text}");
    }
    // The pool that was there before works on.
    assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    set_mask(&all);
}
