//! How far the machine disturbed a run, and whether conclusions may be drawn from it.

use serde::Serialize;

use super::file::Interference;

/// Above this share the figures are called unreliable.
const UNRELIABLE_SHARE: f64 = 0.02;

/// Above this share there are no bounds.
const NO_BOUNDS_SHARE: f64 = 0.10;

/// The time that a program lacked a processor, as shares from 0 to 1. Those that have it may be
/// other programs, other machines on the same host, or threads of the program itself, if it has
/// more of them than there are processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Disturbance {
    /// Both together.
    pub share: f64,
    /// Of the time for which its threads could have run, that in which they waited for a
    /// processor.
    pub run_delay_share: f64,
    /// Of the time of all processors, that which the host gave to others.
    pub host_steal_share: f64,
}

/// Whether conclusions may be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trust {
    /// It lacked a processor for at most 2 % of the time.
    Trustworthy,
    /// More than that: the figures are given, and called unreliable.
    Unreliable,
    /// More than 10 %: there are no bounds and no advice.
    NoBounds,
}

impl Disturbance {
    /// That of one run.
    #[must_use]
    pub fn of(run: &Interference) -> Self {
        let share = |part: u64, whole: f64| if part > 0 { part as f64 / whole } else { 0.0 };
        let wanted = run.cpu_ns as f64 + run.run_delay_ns as f64;
        let run_delay_share = share(run.run_delay_ns, wanted);
        let host = (run.host_ns as f64).max(run.host_steal_ns as f64);
        let host_steal_share = share(run.host_steal_ns, host);
        Self {
            share: (run_delay_share + host_steal_share).min(1.0),
            run_delay_share,
            host_steal_share,
        }
    }

    /// The larger one of two.
    pub(super) fn or_worse(self, other: Self) -> Self {
        if other.share > self.share {
            other
        } else {
            self
        }
    }

    /// The conclusions that it leaves.
    #[must_use]
    pub fn trust(&self) -> Trust {
        if self.share > NO_BOUNDS_SHARE {
            Trust::NoBounds
        } else if self.share > UNRELIABLE_SHARE {
            Trust::Unreliable
        } else {
            Trust::Trustworthy
        }
    }
}

impl Trust {
    /// The word for it in texts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Trustworthy => "trustworthy",
            Self::Unreliable => "unreliable",
            Self::NoBounds => "too much to conclude anything",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disturbance(run_delay_ns: u64, host_steal_ns: u64) -> Disturbance {
        let cpu_ns = 1000 - run_delay_ns;
        Disturbance::of(&Interference {
            cpu_ns,
            run_delay_ns,
            host_steal_ns,
            host_ns: 1000,
        })
    }

    #[test]
    fn waiting_threads_and_the_host_both_count() {
        let both = disturbance(30, 40);
        assert!((both.run_delay_share - 0.03).abs() < 1e-9);
        assert!((both.host_steal_share - 0.04).abs() < 1e-9);
        assert!((both.share - 0.07).abs() < 1e-9);
    }

    #[test]
    fn conclusions_end_above_two_and_ten_per_cent() {
        assert_eq!(disturbance(20, 0).trust(), Trust::Trustworthy);
        assert_eq!(disturbance(11, 10).trust(), Trust::Unreliable);
        assert_eq!(disturbance(100, 0).trust(), Trust::Unreliable);
        assert_eq!(disturbance(100, 1).trust(), Trust::NoBounds);
        assert_eq!(disturbance(1000, 1000).trust(), Trust::NoBounds);
    }

    #[test]
    fn a_run_that_measured_nothing_is_not_disturbed() {
        assert_eq!(
            Disturbance::of(&Interference::default()),
            Disturbance::default()
        );
        let odd = Interference {
            host_steal_ns: 5,
            ..Interference::default()
        };
        assert_eq!(Disturbance::of(&odd).share, 1.0);
    }
}
