//! A program that hangs under some schedules, for `heist schedule`: a lock is held over a join.
//!
//! A worker that holds the lock, and waits for the second half of its join, which another worker
//! runs, may take up another job meanwhile. That job wants the lock. With the argument `strict` it
//! runs its own jobs only there, and no schedule hangs.

use std::env;
use std::sync::Mutex;

use heist::{join, with_waiting, Waiting};

fn add(sum: &Mutex<u32>, waiting: Option<Waiting>) {
    let mut held = sum.lock().expect("nothing panics here");
    let both = || join(|| 1, || 2);
    let (one, two) = match waiting {
        Some(waiting) => with_waiting(waiting, both),
        None => both(),
    };
    *held += one + two;
}

fn main() {
    let is_strict = env::args().nth(1).is_some_and(|word| word == "strict");
    let waiting = is_strict.then_some(Waiting::Descendants);
    let sum = Mutex::new(0);
    let add = || add(&sum, waiting);
    join(add, || join(add, add));
    assert_eq!(*sum.lock().expect("nothing panics here"), 9);
}
