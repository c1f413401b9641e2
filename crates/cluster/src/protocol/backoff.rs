//! Pauses before a call or a job is run again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// How long a call or a job waits before it is run again: twice as long each time, but for a part
/// that looks random, so that those that were lost together do not come back together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        let longest = longest.min(PAUSE_MAX);
        let first = first.min(longest);
        Self { first, longest }
    }

    /// From the first pause and the longest one, in milliseconds.
    pub(crate) fn from_ms([first, longest]: [u64; 2]) -> Self {
        Self::new(Duration::from_millis(first), Duration::from_millis(longest))
    }

    /// The pause after so many attempts at the call or job of this number, from half of its length
    /// to all of it.
    pub(crate) fn pause(self, attempts: u32, number: u64) -> Duration {
        let doubled = 1_u32
            .checked_shl(attempts.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(doubled).min(self.longest);
        let mut hasher = DefaultHasher::new();
        (attempts, number).hash(&mut hasher);
        let part = hasher.finish() as u32;
        whole / 2 + (whole / 2).mul_f64(f64::from(part) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_whatever_the_figures_are() {
        let backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        for (attempts, whole_ms) in [
            (0, 10),
            (1, 10),
            (2, 20),
            (7, 640),
            (8, 1000),
            (u32::MAX, 1000),
        ] {
            let whole = Duration::from_millis(whole_ms);
            for number in 0..100 {
                let pause = backoff.pause(attempts, number);
                assert!(
                    whole / 2 <= pause && pause <= whole,
                    "{pause:?} after {attempts}"
                );
            }
        }
        assert!(Backoff::from_ms([u64::MAX; 2]).pause(u32::MAX, 1) <= PAUSE_MAX);
        let none = Backoff::new(Duration::from_secs(1), Duration::ZERO);
        assert_eq!(none.pause(33, 1), Duration::ZERO);
    }
}
