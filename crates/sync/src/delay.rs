//! Delays at the instants that protocols stand on, so that a soak meets interleavings which are
//! rare otherwise.
//!
//! Built with `--cfg heist_soak`, each named ordering and fence and each light barrier calls
//! [`at`]. Mostly that costs some nanoseconds; sometimes the thread spins, yields or sleeps there.
//! A program built without it calls nothing.
//!
//! Each thread draws from a generator of its own, seeded with its number and the environment
//! variable `HEIST_SOAK_SEED`. For some thousand instants at a time it aims at the names of one
//! class out of eight, so that one instant is slow while the others are fast.

use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use crate::atomic::{AtomicU64, Ordering};

/// The number of instants for which a thread aims at the same class of names.
const PHASE: u32 = 4096;
const CLASSES: u64 = 8;
/// One out of so many instants of the targeted class is delayed.
const AIMED: u64 = 1 << 6;
/// One out of so many of all others.
const OTHERS: u64 = 1 << 12;
/// Of so many delays...
const DELAYS: u64 = 64;
/// ... as many yield,
const YIELDS: u64 = 15;
/// and as many sleep; the others spin.
const SLEEPS: u64 = 1;
const SPIN_MAX: u64 = 1000;
const SLEEP_MAX_NS: u64 = 1_000_000;

/// The source of a thread's delays.
#[derive(Clone, Copy)]
struct Dice {
    /// 0: not seeded.
    random: u64,
    /// How many instants the phase still lasts.
    left: u32,
    aim: u64,
}

impl Dice {
    fn seeded() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let seed = SEED.get_or_init(|| match std::env::var("HEIST_SOAK_SEED") {
            Ok(text) => text.parse().unwrap_or_else(|_| {
                panic!("the environment variable HEIST_SOAK_SEED is set to {text:?}; accepted is a whole number below 2^64")
            }),
            Err(_) => 0,
        });
        let thread = THREADS.fetch_add(1, Ordering::Relaxed);
        let random = mixed(seed ^ mixed(thread)) | 1;
        Self {
            random,
            left: 0,
            aim: 0,
        }
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// The delay at an instant of that name.
    fn cast(&mut self, name: &str) -> Option<Delay> {
        if self.left == 0 {
            self.left = PHASE;
            self.aim = self.draw() % CLASSES;
        }
        self.left -= 1;
        let odds = if class(name) == self.aim {
            AIMED
        } else {
            OTHERS
        };
        if self.draw() % odds != 0 {
            return None;
        }
        Some(match self.draw() % DELAYS {
            kind if kind < SLEEPS => Delay::Sleep(self.draw() % SLEEP_MAX_NS),
            kind if kind < SLEEPS + YIELDS => Delay::Yield,
            _ => Delay::Spin(self.draw() % SPIN_MAX),
        })
    }
}

enum Delay {
    Spin(u64),
    Yield,
    Sleep(u64),
}

std::thread_local! {
    static DICE: Cell<Dice> = const { Cell::new(Dice { random: 0, left: 0, aim: 0 }) };
}

static SPINS: AtomicU64 = AtomicU64::new(0);
static YIELDED: AtomicU64 = AtomicU64::new(0);
static SLEPT: AtomicU64 = AtomicU64::new(0);

/// The instant of that name, at which the calling thread may be held up.
pub fn at(name: &'static str) {
    let mut dice = DICE.get();
    if dice.random == 0 {
        dice = Dice::seeded();
    }
    let delay = dice.cast(name);
    DICE.set(dice);
    match delay {
        None => {}
        Some(Delay::Spin(times)) => {
            SPINS.fetch_add(1, Ordering::Relaxed);
            (0..times).for_each(|_| crate::hint::spin_loop());
        }
        Some(Delay::Yield) => {
            YIELDED.fetch_add(1, Ordering::Relaxed);
            crate::thread::yield_now();
        }
        Some(Delay::Sleep(ns)) => {
            SLEPT.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_nanos(ns));
        }
    }
}

/// As [`fault::ordering`](crate::fault::ordering) in a program, after [`at`].
#[must_use]
pub fn ordering(name: &'static str, order: Ordering) -> Ordering {
    at(name);
    order
}

/// As [`fault::fence`](crate::fault::fence) in a program, after [`at`].
pub fn fence(name: &'static str, order: Ordering) {
    at(name);
    crate::atomic::fence(order);
}

/// How many delays all threads have had so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Those that spun.
    pub spins: u64,
    /// Those that yielded.
    pub yields: u64,
    /// Those that slept.
    pub sleeps: u64,
}

/// Counts the delays of all threads.
#[must_use]
pub fn tally() -> Tally {
    Tally {
        spins: SPINS.load(Ordering::Relaxed),
        yields: YIELDED.load(Ordering::Relaxed),
        sleeps: SLEPT.load(Ordering::Relaxed),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            spins,
            yields,
            sleeps,
        } = self;
        write!(f, "{spins} spins, {yields} yields, {sleeps} sleeps")
    }
}

/// The share of each kind of delay.
#[must_use]
pub fn rates() -> String {
    let spins = DELAYS - YIELDS - SLEEPS;
    format!(
        "1 of {AIMED} instants of the class of names that a thread aims at for {PHASE} \
         instants, 1 of {OTHERS} of the others; of {DELAYS} delays {spins} spin up to \
         {SPIN_MAX} times, {YIELDS} yield, {SLEEPS} sleeps up to {} us",
        SLEEP_MAX_NS / 1000
    )
}

fn class(name: &str) -> u64 {
    // Names differ in few letters, which any hash tells apart.
    let hash = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    (name.bytes().fold(0xCBF2_9CE4_8422_2325, hash) >> 32) % CLASSES
}

/// Spreads the bits of a small number.
fn mixed(number: u64) -> u64 {
    let number = (number.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ (number >> 30))
        .wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_rare_but_of_each_kind_and_threads_differ() {
        let (mut one, mut other) = (Dice::seeded(), Dice::seeded());
        assert_ne!(one.draw(), other.draw());
        let (mut spins, mut yields, mut sleeps) = (0, 0, 0);
        let instants = 1_000_000;
        for _ in 0..instants {
            match one.cast("some.name") {
                Some(Delay::Spin(_)) => spins += 1,
                Some(Delay::Yield) => yields += 1,
                Some(Delay::Sleep(_)) => sleeps += 1,
                None => {}
            }
        }
        assert!(sleeps > 0 && yields > sleeps && spins > yields);
        assert!(spins + yields + sleeps < instants / 50);
    }
}
