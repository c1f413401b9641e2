//! A program that hangs under some schedules, for `heist schedule`: a lock is held over a join.
//!
//! A worker that holds the lock, and waits for the second half of its join, which another worker
//! runs, may take up another job meanwhile. That job wants the lock.

use std::sync::Mutex;

use heist::join;

fn add(sum: &Mutex<u32>) {
    let mut held = sum.lock().expect("nothing panics here");
    let (one, two) = join(|| 1, || 2);
    *held += one + two;
}

fn main() {
    let sum = Mutex::new(0);
    let right = || join(|| add(&sum), || add(&sum));
    join(|| add(&sum), right);
    assert_eq!(*sum.lock().expect("nothing panics here"), 9);
}
