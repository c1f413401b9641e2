//! Every operation without a second thread: the caller is the only worker, and runs everything in
//! place. So it is in WebAssembly, where `cargo xtask targets` runs this; elsewhere a pool of that
//! kind is built here.

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use heist::ThreadPoolBuilder;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = heist::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    let two_threads = ThreadPoolBuilder::new().num_threads(2).build();
    match two_threads {
        Err(error) => assert!(error.is_unsupported(), "{error}"),
        Ok(_) => ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build_global()
            .expect("nobody has used the global pool yet"),
    }
    let sum = Arc::new(AtomicU64::new(0));
    let add = |n: u64| {
        sum.fetch_add(n, Ordering::Relaxed);
    };
    let adds = |n: u64| {
        let sum = Arc::clone(&sum);
        move || {
            sum.fetch_add(n, Ordering::Relaxed);
        }
    };

    assert_eq!(fib(20), 6765);
    assert_eq!(heist::current_num_threads(), 1);
    assert_eq!(heist::current_thread_index(), Some(0));

    heist::scope(|scope| {
        for n in 1..=100 {
            scope.spawn(move |scope| scope.spawn(move |_| add(n)));
        }
    });
    assert_eq!(sum.swap(0, Ordering::Relaxed), 5050);

    heist::parallel_for(1..101, |part| part.for_each(|n| add(n as u64)));
    assert_eq!(sum.swap(0, Ordering::Relaxed), 5050);

    let group = heist::TaskGroup::new();
    (1..=100).for_each(|n| group.run(adds(n)));
    group.wait();
    assert_eq!(sum.swap(0, Ordering::Relaxed), 5050);

    assert_eq!(heist::submit(|| fib(10)).join(), 55);
    assert_eq!(heist::broadcast(|context| context.index()), [0]);

    // No frame waits for this job, so that it runs when the caller lets it.
    heist::spawn(adds(1));
    while heist::yield_now() == Some(heist::Yield::Executed) {}
    assert_eq!(sum.load(Ordering::Relaxed), 1);

    println!("every operation ran in place");
}
