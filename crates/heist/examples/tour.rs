//! Every operation once, on one small problem: how many primes are there below a number?
//! `cargo run --release -p heist --example tour`

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

const LIMIT: usize = 200_000;

fn is_prime(n: usize) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

fn count(range: Range<usize>) -> usize {
    range.filter(|&n| is_prime(n)).count()
}

/// Two halves, both needed: `join`.
fn with_join(range: Range<usize>) -> usize {
    if range.len() <= 1_000 {
        return count(range);
    }
    let middle = range.start + range.len() / 2;
    let (low, high) = (range.start..middle, middle..range.end);
    let (low, high) = heist::join(|| with_join(low), || with_join(high));
    low + high
}

/// The same with a context, which a recursion down to single numbers can afford: `with_context`.
fn with_context(range: Range<usize>) -> usize {
    fn below(mut cx: heist::JoinContext<'_>, range: Range<usize>) -> usize {
        if range.len() <= 1 {
            return count(range);
        }
        let middle = range.start + range.len() / 2;
        let (low, high) = (range.start..middle, middle..range.end);
        let (low, high) = cx.join(move |cx| below(cx, low), move |cx| below(cx, high));
        low + high
    }
    heist::with_context(|cx| below(cx, range))
}

/// A loop over indices: `parallel_for`. Larger numbers take longer; nothing has to be said about
/// that.
fn with_parallel_for(range: Range<usize>) -> usize {
    let sum = AtomicUsize::new(0);
    heist::parallel_for(range, |part| {
        sum.fetch_add(count(part), Ordering::Relaxed);
    });
    sum.into_inner()
}

/// Jobs that borrow: `scope`.
fn with_scope(range: Range<usize>) -> usize {
    let sum = AtomicUsize::new(0);
    heist::scope(|scope| {
        for start in range.clone().step_by(10_000) {
            let (sum, end) = (&sum, range.end.min(start + 10_000));
            scope.spawn(move |_| {
                sum.fetch_add(count(start..end), Ordering::Relaxed);
            });
        }
    });
    sum.into_inner()
}

/// Jobs that come one by one: `TaskGroup`.
fn with_group(range: Range<usize>) -> usize {
    let sum = Arc::new(AtomicUsize::new(0));
    let group = heist::TaskGroup::new();
    for start in range.clone().step_by(10_000) {
        let (sum, end) = (Arc::clone(&sum), range.end.min(start + 10_000));
        group.run(move || {
            sum.fetch_add(count(start..end), Ordering::Relaxed);
        });
    }
    group.wait();
    sum.load(Ordering::Relaxed)
}

/// Values that are needed later: `submit`.
fn with_handle(range: Range<usize>) -> usize {
    let parts = range.clone().step_by(10_000);
    let handles: Vec<_> = parts
        .map(|start| {
            let end = range.end.min(start + 10_000);
            heist::submit(move || count(start..end))
        })
        .collect();
    handles.into_iter().map(heist::JoinHandle::join).sum()
}

/// The same on every worker: `broadcast`. Each takes numbers until none is left.
fn with_broadcast(range: Range<usize>) -> usize {
    let next = AtomicUsize::new(range.start);
    let counts = heist::broadcast(|_| {
        let mine = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        mine.take_while(|&n| n < range.end)
            .filter(|&n| is_prime(n))
            .count()
    });
    counts.into_iter().sum()
}

fn main() -> Result<(), heist::ThreadPoolBuildError> {
    let pool = heist::ThreadPoolBuilder::new().build()?;
    type Operation = fn(Range<usize>) -> usize;
    let operations: [(&str, Operation); 7] = [
        ("join", with_join),
        ("with_context", with_context),
        ("parallel_for", with_parallel_for),
        ("scope", with_scope),
        ("TaskGroup", with_group),
        ("submit", with_handle),
        ("broadcast", with_broadcast),
    ];
    let expected = count(0..LIMIT);
    for (name, operation) in operations {
        let primes = pool.install(|| operation(0..LIMIT));
        assert_eq!(primes, expected);
        println!("{primes} primes below {LIMIT}, says {name}");
    }
    println!("\n{}", pool.counters());
    pool.shutdown();
    Ok(())
}
