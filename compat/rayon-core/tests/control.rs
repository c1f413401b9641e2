//! Pools, threads and yields: promises of rayon that its own tests do not hold.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use rayon_core::{join, yield_local, yield_now, ThreadBuilder, ThreadPoolBuilder, Yield};

#[test]
fn more_workers_than_there_can_be_are_as_many_as_there_can_be() {
    let builder = ThreadPoolBuilder::new().num_threads(usize::MAX);
    let refused = builder.spawn_handler(|_| Err(io::Error::other("no thread today")));
    // Or the limit of the system, of which there is no rayon to know.
    let text = refused.build().unwrap_err().to_string();
    assert!(
        text == "no thread today" || text.contains("65535 workers was asked for"),
        "{text}"
    );
}

#[test]
fn a_function_for_names_is_asked_for_that_of_the_calling_thread_too() {
    let (say, heard) = channel();
    let name = move |index| {
        say.send(index).unwrap();
        String::new()
    };
    let build = || {
        ThreadPoolBuilder::new()
            .num_threads(3)
            .use_current_thread()
            .thread_name(name)
            .build()
            .map(drop)
    };
    thread::spawn(build).join().unwrap().unwrap();
    assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn threads_that_come_when_their_pool_has_ended_do_not_wait_for_each_other() {
    let mut threads = Vec::new();
    let keep = |thread| {
        threads.push(thread);
        Ok(())
    };
    let builder = ThreadPoolBuilder::new().num_threads(3);
    let pool = builder.spawn_handler(keep).build().unwrap();
    let (say, heard) = channel();
    pool.spawn(move || say.send(()).unwrap());
    drop(pool);
    threads.into_iter().for_each(ThreadBuilder::run);
    assert_eq!(heard.iter().count(), 1);
}

#[test]
fn the_first_half_of_a_join_polls_for_the_second_with_either_yield() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for yields in [yield_now, yield_local] {
        let is_done = AtomicBool::new(false);
        let poll = || {
            while !is_done.load(Ordering::Relaxed) {
                assert_eq!(yields(), Some(Yield::Executed));
            }
        };
        pool.join(poll, || is_done.store(true, Ordering::Relaxed));
    }
    pool.install(|| join(|| (), || ()));
}
