//! The link that all transfers share evenly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::setup::SECOND;

/// The transfers under way. Each gets the same part of the bandwidth, so that one number says how
/// many bytes each has had since the first.
#[derive(Debug)]
pub(super) struct Link {
    bandwidth: u64,
    /// Bytes that a transfer would have had that was always there, times a second in nanoseconds.
    had: u128,
    at_ns: u64,
    ends: BinaryHeap<Reverse<(u128, u32, u32)>>,
    pub(super) transfers: u64,
}

impl Link {
    pub(super) fn new(bandwidth: u64) -> Self {
        Self {
            bandwidth: bandwidth.max(1),
            had: 0,
            at_ns: 0,
            ends: BinaryHeap::new(),
            transfers: 0,
        }
    }

    /// Goes on to a time.
    pub(super) fn advance(&mut self, now_ns: u64) {
        let passed = u128::from(now_ns - self.at_ns);
        self.at_ns = now_ns;
        if self.transfers > 0 {
            self.had += passed * u128::from(self.bandwidth) / u128::from(self.transfers);
        }
    }

    /// A transfer begins, of a job in this epoch.
    pub(super) fn begin(&mut self, job: u32, epoch: u32, bytes: u64) {
        let end = self.had + u128::from(bytes) * u128::from(SECOND);
        self.ends.push(Reverse((end, job, epoch)));
        self.transfers += 1;
    }

    /// The next transfer that has ended by now, if it was not given up.
    pub(super) fn ended(&mut self, is_live: impl Fn(u32, u32) -> bool) -> Option<u32> {
        while let Some(&Reverse((end, job, epoch))) = self.ends.peek() {
            let is_live = is_live(job, epoch);
            if is_live && end > self.had {
                return None;
            }
            self.ends.pop();
            if is_live {
                self.transfers -= 1;
                return Some(job);
            }
        }
        None
    }

    /// When the first one ends if none begins before.
    pub(super) fn next_ns(&mut self, is_live: impl Fn(u32, u32) -> bool) -> Option<u64> {
        while let Some(&Reverse((end, job, epoch))) = self.ends.peek() {
            if is_live(job, epoch) {
                let left = end.saturating_sub(self.had) * u128::from(self.transfers);
                let wait = left.div_ceil(u128::from(self.bandwidth));
                return Some(self.at_ns.saturating_add(clamped(wait)));
            }
            self.ends.pop();
        }
        None
    }
}

/// The number, or the largest there is.
pub(super) fn clamped(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
