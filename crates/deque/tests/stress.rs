//! Owner and thieves on real threads: every job runs once, and every result is that of its job,
//! with leaves that take about as long as a forced exposure.
#![cfg(not(any(heist_loom, heist_shuttle)))]

mod items;

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::thread;

use heist_deque::Steal;
use heist_sync::BarrierRequest;

use items::{numbers, read, write, Robber, Stack};

const JOBS: usize = if cfg!(debug_assertions) {
    30_000
} else {
    300_000
};

/// The fate of the jobs: how often each ran, and which a thief has done.
struct Books {
    ran: Vec<AtomicU8>,
    done: Vec<AtomicBool>,
    stolen: AtomicUsize,
    over: AtomicBool,
}

impl Books {
    fn run(&self, job: u64) -> u64 {
        self.ran[job as usize].fetch_add(1, Ordering::Relaxed);
        !job
    }
}

/// A cheap sequence of numbers without a pattern.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Up to some 30 us, mostly much less.
    fn pause(&mut self) {
        let longest = [1, 30, 300, 1000][self.below(4) as usize];
        (0..self.below(longest)).for_each(|_| hint::spin_loop());
    }
}

/// Lends a job, does something else (perhaps lends more), settles it.
fn join(owner: &Stack, books: &Books, next: &mut u64, noise: &mut Noise, depth: u64) {
    let job = *next;
    if job as usize == JOBS {
        return;
    }
    *next += 1;
    let slot = owner.owner().vacant();
    owner.push(job);
    if noise.below(4) == 0 {
        owner.owner().show();
    }
    noise.pause();
    for _ in 0..noise.below(3).min(depth) {
        join(owner, books, next, noise, depth - 1);
    }
    // SAFETY: what was lent since was settled.
    let result = if unsafe { owner.owner().retract(slot) } {
        // SAFETY: taken back.
        books.run(unsafe { read(slot) })
    } else {
        while !books.done[job as usize].load(Ordering::Acquire) {
            thread::yield_now();
        }
        // SAFETY: the thief is done with the slot.
        let result = unsafe { read(slot) };
        // SAFETY: as above.
        unsafe { owner.owner().reclaim(slot) };
        result
    };
    assert_eq!(result, !job);
}

fn rob(thief: &Robber, books: &Books, noise: &mut Noise) {
    while !books.over.load(Ordering::Acquire) {
        // SAFETY: the slot stays in use until the job is done.
        let stolen = unsafe { thief.0.thief().steal(|| true, |_, slot| slot) };
        if let Steal::Success(slot) = stolen {
            books.stolen.fetch_add(1, Ordering::Relaxed);
            // SAFETY: stolen.
            let job = unsafe { read(slot) };
            noise.pause();
            let result = books.run(job);
            // SAFETY: as above.
            unsafe { write(slot, result) };
            books.done[job as usize].store(true, Ordering::Release);
        }
        noise.pause();
    }
}

fn race(request: BarrierRequest, thieves: u64) {
    let (owner, thief) = numbers(64, request);
    let books = Books {
        ran: (0..JOBS).map(|_| AtomicU8::new(0)).collect(),
        done: (0..JOBS).map(|_| AtomicBool::new(false)).collect(),
        stolen: AtomicUsize::new(0),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for seed in 1..=thieves {
            let (thief, books) = (thief.clone(), &books);
            scope.spawn(move || rob(&thief, books, &mut Noise(seed)));
        }
        let (mut next, mut noise) = (0, Noise(99));
        while (next as usize) < JOBS {
            join(&owner, &books, &mut next, &mut noise, 5);
        }
        books.over.store(true, Ordering::Release);
    });
    assert!(thief.is_empty());
    let wrong = |ran: &&AtomicU8| ran.load(Ordering::Relaxed) != 1;
    assert_eq!(books.ran.iter().filter(wrong).count(), 0);
    assert!(
        books.stolen.load(Ordering::Relaxed) > 0,
        "nothing was tested: no thief ever came in time"
    );
}

#[test]
fn every_job_runs_once_beside_one_thief() {
    race(BarrierRequest::Auto, 1);
}

#[test]
fn every_job_runs_once_beside_three_thieves() {
    race(BarrierRequest::Auto, 3);
}

#[test]
fn every_job_runs_once_without_membarrier() {
    race(BarrierRequest::Fence, 2);
}
