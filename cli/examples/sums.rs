//! A program for `heist cluster run`: a function, and a job that can move.
//!
//! `heist cluster run --help` has a job file for it.

use std::io::Write as _;
use std::time::Duration;

use heist_cluster::{job, remote, Job, JobContext, Stop};
use serde::{Deserialize, Serialize};

/// The square of a number.
#[remote]
fn square(x: u64) -> Result<u64, String> {
    x.checked_mul(x)
        .ok_or_else(|| format!("the square of {x} is too large"))
}

/// Waits, as work does that somebody else is busy with.
#[remote]
fn wait(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Adds up the whole numbers from `next` to the one before `end`, in steps.
#[derive(Serialize, Deserialize)]
struct Sum {
    next: u64,
    end: u64,
    /// The sum so far.
    sum: u64,
    /// How many numbers a step has.
    step: u64,
    /// How long it waits after a step.
    wait_ms: u64,
}

#[job]
impl Job for Sum {
    type Out = u64;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<u64, Stop> {
        if self.step == 0 {
            return Err(Stop::fail("steps of no numbers never end"));
        }
        let first = self.next;
        while self.next < self.end {
            context.safe_point(self)?;
            context.set_progress((self.next - first) as f64 / (self.end - first) as f64);
            let until = self.end.min(self.next.saturating_add(self.step));
            for number in self.next..until {
                self.sum = self.sum.wrapping_add(std::hint::black_box(number));
            }
            self.next = until;
            std::thread::sleep(Duration::from_millis(self.wait_ms));
        }
        Ok(self.sum)
    }
}

fn main() -> std::io::Result<()> {
    heist_cluster::init();
    writeln!(
        std::io::stdout(),
        "This program has functions and jobs for other machines; see heist cluster run --help."
    )
}
