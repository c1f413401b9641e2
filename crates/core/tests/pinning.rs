//! Pinned pools: each worker on its processor, no external callers, jobs found wherever they are.
#![cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle))))]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::current;

use heist_core::{
    blocking, broadcast, current_thread_index, job, join, pools_per_node, scope, Callers, Pin,
    ThreadPool, ThreadPoolBuilder, Topology, Waiting,
};
use heist_sync::{allowed_processors, usable_processors};

/// The processors that the calling thread may run on.
fn mask() -> Vec<usize> {
    // SAFETY: a set is an array of integers, all of which may be 0.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: it writes the set.
    let done = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
    // SAFETY: it reads the set.
    (0..1024)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

fn pinned(pin: Pin) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().pin(pin)
}

fn masks(pool: &ThreadPool) -> Vec<Vec<usize>> {
    pool.broadcast(|_| mask())
}

/// So many workers on all processors in turn, some of them on the same.
fn crowded(workers: usize) -> ThreadPoolBuilder {
    pinned(Pin::Cpus(
        allowed_processors()
            .into_iter()
            .cycle()
            .take(workers)
            .collect(),
    ))
}

#[test]
fn each_worker_is_bound_to_the_processor_of_its_turn() {
    let all = allowed_processors();
    let backwards: Vec<usize> = all.iter().copied().rev().collect();
    let pool = pinned(Pin::Cpus(backwards.clone()))
        .build()
        .expect("a pool");
    assert_eq!(pool.current_num_threads(), all.len());
    let each: Vec<Vec<usize>> = backwards.iter().map(|&processor| vec![processor]).collect();
    assert_eq!(masks(&pool), each);
    assert_eq!(mask(), all, "the builder's own thread is left alone");

    let fewer = crowded(5).num_threads(2).build().expect("a pool");
    assert_eq!(masks(&fewer), [[all[0]], [all[1 % all.len()]]]);
}

#[test]
fn a_class_and_a_node_have_a_worker_for_each_processor_core_by_core() {
    let (topology, allowed) = (Topology::detect(), allowed_processors());
    let open = |processors: &[usize]| {
        let mut open = topology.core_by_core(processors);
        open.retain(|processor| allowed.contains(processor));
        open.truncate(usable_processors());
        open
    };
    for (class, cores) in topology.classes().iter().enumerate() {
        let Some(_) = open(cores.processors()).first() else {
            continue;
        };
        let pool = pinned(Pin::Class(class)).build().expect("a pool");
        assert_eq!(masks(&pool).concat(), open(cores.processors()));
    }
    let pools = pools_per_node(|_| ThreadPoolBuilder::new()).expect("pools");
    let mut pools = pools.iter();
    for node in topology.nodes() {
        if !open(node.processors()).is_empty() {
            let pool = pools.next().expect("one for each node");
            assert_eq!(masks(pool).concat(), open(node.processors()));
        }
    }
    assert!(pools.next().is_none());
}

#[test]
fn a_pinned_pool_takes_no_guests() {
    let pool = crowded(2).build().expect("a pool");
    let here = current().id();
    let of = |_: &()| current().id();
    assert_ne!(pool.join(|| of(&()), || ()).0, here);
    assert_ne!(pool.participate(|| current().id()), here);
    assert_ne!(pool.scope(|_| current().id()), here);
    let error = crowded(2)
        .callers(Callers::Participate)
        .build()
        .unwrap_err();
    assert!(
        error.to_string().contains("callers that participate"),
        "{error}"
    );
}

#[test]
fn impossible_pins_are_refused_with_what_is_possible() {
    let text = |builder: ThreadPoolBuilder| builder.build().unwrap_err().to_string();
    let none = text(pinned(Pin::Cpus(Vec::new())));
    assert!(none.contains("name one for each worker"), "{none}");
    let unknown = text(pinned(Pin::Cpus(vec![allowed_processors()[0], 60_000])));
    assert!(
        unknown.contains("processor 60000, which does not exist"),
        "{unknown}"
    );
    let huge = text(pinned(Pin::Cpus(vec![usize::MAX])));
    assert!(huge.contains("does not exist"), "{huge}");
    let node = text(pinned(Pin::Node(60_000)));
    assert!(
        node.contains("NUMA node 60000; the nodes with processors are 0"),
        "{node}"
    );
    let class = text(pinned(Pin::Class(60_000)));
    assert!(class.contains("core class 60000; the last"), "{class}");
    let many = text(crowded(2).num_threads(3));
    assert!(
        many.contains("3 workers") && many.contains("at most 2"),
        "{many}"
    );
    let current = text(crowded(1).use_current_thread());
    assert!(current.contains("use_current_thread"), "{current}");
    assert!(text(crowded(1).serial()).contains("pin(Pin::Cpus("));
    assert!(text(ThreadPoolBuilder::new().serial().thread_nice(1)).contains("thread_nice"));
    for nice in [i8::MIN, -21, 20, i8::MAX] {
        let text = text(ThreadPoolBuilder::new().thread_nice(nice));
        assert!(
            text.contains(&format!("{nice}")) && text.contains("-20 to 19"),
            "{text}"
        );
    }
}

#[test]
fn threads_are_as_nice_as_asked_for_and_no_others() {
    let niceness = || {
        // SAFETY: it reads a number.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    };
    let here = niceness();
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .compensation_workers(1);
    let pool = builder.thread_nice(19).build().expect("a pool");
    assert_eq!(pool.broadcast(|_| niceness()), [19, 19]);
    assert_eq!(niceness(), here);
    // It takes a privilege, which the tests may have.
    if let Err(error) = ThreadPoolBuilder::new().thread_nice(-20).build() {
        assert!(error.to_string().contains("niceness -20"), "{error}");
    }
}

#[test]
fn a_compensation_worker_runs_on_the_processors_of_its_pool_and_no_others() {
    let processor = *allowed_processors().last().expect("a processor");
    let builder = pinned(Pin::Cpus(vec![processor])).compensation_workers(1);
    let pool = builder.build().expect("a pool");
    let seen = pool.install(|| {
        let (say, heard) = channel();
        heist_core::spawn(move || {
            say.send((current_thread_index(), mask()))
                .expect("a listener");
        });
        blocking(|| heard.recv().expect("a mask"))
    });
    assert_eq!(seen, (Some(1), vec![processor]));
}

#[test]
fn workers_stand_aside_and_come_back_on_their_processors() {
    let pool = crowded(4).build().expect("a pool");
    let before = masks(&pool);
    for active in [1, 3, 2, 4] {
        assert_eq!(pool.set_active_threads(active), active);
        assert_eq!(pool.install(|| fib(16)), 987);
        assert_eq!(masks(&pool), before, "a broadcast reaches all");
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Worker `from` keeps a job private, and does nothing but wait for it.
fn a_private_job_is_found(pool: &ThreadPool, from: usize) {
    let (say, heard) = channel();
    pool.job().only_on(from).spawn(move || {
        let has_run = std::sync::Arc::new(AtomicBool::new(false));
        let flag = std::sync::Arc::clone(&has_run);
        job().spawn(move || flag.store(true, Ordering::Release));
        while !has_run.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        say.send(()).expect("a listener");
    });
    heard.recv().expect("it is found");
}

#[test]
fn jobs_are_found_wherever_they_are_in_pools_of_all_kinds() {
    for waiting in [Waiting::Any, Waiting::Descendants] {
        let pool = crowded(6).waiting(waiting).build().expect("a pool");
        for round in 0..60 {
            a_private_job_is_found(&pool, round % 6);
        }
        let ran = AtomicUsize::new(0);
        pool.scope(|s| {
            for _ in 0..100 {
                s.spawn(|_| {
                    scope(|s| s.spawn(|_| _ = ran.fetch_add(1, Ordering::Relaxed)));
                });
            }
        });
        assert_eq!(ran.into_inner(), 100);
        assert_eq!(pool.install(|| fib(18)), 2_584);
        assert_eq!(pool.install(|| broadcast(|worker| worker.index())).len(), 6);
        pool.shutdown();
    }
}
