//! Pauses before a call is run again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// How long a call waits before it is run again: twice as long each time, but for a random part, so
/// that those that were lost together do not come back together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        let longest = longest.min(PAUSE_MAX);
        let first = first.min(longest);
        Self { first, longest }
    }

    /// The pause after so many attempts, from half of its length to all of it.
    pub(super) fn pause(self, attempts: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(attempts.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(doubled).min(self.longest);
        // Hashers of the library are random.
        let part = RandomState::new().hash_one(attempts) as u32;
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
            for _ in 0..100 {
                let pause = backoff.pause(attempts);
                assert!(
                    whole / 2 <= pause && pause <= whole,
                    "{pause:?} after {attempts}"
                );
            }
        }
        assert!(Backoff::new(Duration::MAX, Duration::MAX).pause(u32::MAX) <= PAUSE_MAX);
        let none = Backoff::new(Duration::from_secs(1), Duration::ZERO);
        assert_eq!(none.pause(33), Duration::ZERO);
    }
}
