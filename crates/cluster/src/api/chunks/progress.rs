//! The progress of chunks, and an estimate of the time left.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// Told after each chunk.
pub(super) type Listener<'a> = Box<dyn FnMut(&Progress) + Send + 'a>;

/// The progress of chunks; [`Chunks::on_progress`](crate::Chunks::on_progress) has an example.
/// Displays as a line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Items whose results have come.
    pub items_done: u64,
    /// All items.
    pub items: u64,
    /// Chunks whose results have come.
    pub chunks_done: u64,
    /// Chunks that run, or wait for their turn.
    pub chunks_open: u64,
    /// The time since the first one was called.
    pub elapsed: Duration,
    /// The estimated time left, from the rate in the later half of the time so far; none until a
    /// chunk is done.
    pub remaining: Option<Duration>,
}

impl Progress {
    /// The share that is done, from 0 to 1; [`Chunks::on_progress`](crate::Chunks::on_progress) has
    /// an example.
    #[must_use]
    pub fn part(&self) -> f64 {
        match self.items {
            0 => 1.0,
            items => self.items_done as f64 / items as f64,
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} % of {} items, {} chunks done, {} open, after {:.1} s",
            // So that what is not through is never called so.
            (self.part() * 100.0).floor(),
            self.items,
            self.chunks_done,
            self.chunks_open,
            self.elapsed.as_secs_f64(),
        )?;
        match self.remaining {
            Some(rest) => write!(f, ", {:.1} s left", rest.as_secs_f64()),
            None => Ok(()),
        }
    }
}

/// The listener, and the figures for it.
pub(super) struct Telling<'a> {
    listener: Option<Listener<'a>>,
    began: Instant,
    items: u64,
    items_done: u64,
    chunks_done: u64,
    pace: Pace,
}

impl<'a> Telling<'a> {
    pub(super) fn new(listener: Option<Listener<'a>>, items: u64) -> Self {
        Self {
            listener,
            began: Instant::now(),
            items,
            items_done: 0,
            chunks_done: 0,
            pace: Pace::default(),
        }
    }

    /// A chunk of so many items is done, and so many chunks are left open.
    pub(super) fn done(&mut self, items: u64, open: usize) {
        let Some(listener) = &mut self.listener else {
            return;
        };
        self.items_done += items;
        self.chunks_done += 1;
        let elapsed = self.began.elapsed();
        self.pace.note(elapsed, self.items_done);
        listener(&Progress {
            items_done: self.items_done,
            items: self.items,
            chunks_done: self.chunks_done,
            chunks_open: open as u64,
            elapsed,
            remaining: self.pace.rest(self.items.saturating_sub(self.items_done)),
        });
    }
}

/// The rate in the later half of the time so far: the beginning, in which workers start, says
/// little about the rest.
#[derive(Debug, Default)]
struct Pace {
    /// When so many were done, of the later half and the last one before it.
    seen: VecDeque<(Duration, u64)>,
}

/// The time so far is noted in so many parts at most.
const PARTS: u32 = 64;

impl Pace {
    fn note(&mut self, at: Duration, done: u64) {
        if self.seen.is_empty() {
            self.seen.push_back((Duration::ZERO, 0));
        }
        // The newest replaces one that is next to that before it, so that they are few.
        let [.., before, last] = self.seen.make_contiguous() else {
            return self.seen.push_back((at, done));
        };
        if last.0.saturating_sub(before.0) < at / PARTS {
            *last = (at, done);
        } else {
            self.seen.push_back((at, done));
        }
        while self.seen.get(1).is_some_and(|second| second.0 <= at / 2) {
            self.seen.pop_front();
        }
    }

    /// How long `left` items take, if that can be said.
    fn rest(&self, left: u64) -> Option<Duration> {
        let (first, last) = (self.seen.front()?, self.seen.back()?);
        let (took, done) = (last.0.saturating_sub(first.0), last.1 - first.1);
        let rest = took.as_secs_f64() * (left as f64 / done as f64);
        // Of nothing done nothing follows.
        Duration::try_from_secs_f64(rest).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_pace_says_how_long_the_rest_takes() {
        let mut pace = Pace::default();
        assert_eq!(pace.rest(1), None, "nothing is known");
        for second in 1..=100_u64 {
            pace.note(Duration::from_secs(second), 10 * second);
            assert_eq!(pace.rest(50), Some(Duration::from_secs(5)));
        }
        assert_eq!(pace.rest(0), Some(Duration::ZERO));
        assert!(pace.seen.len() <= PARTS as usize + 2);
    }

    #[test]
    fn a_slow_start_is_forgotten() {
        let mut pace = Pace::default();
        pace.note(Duration::from_secs(10), 1);
        for second in 11..=40_u64 {
            pace.note(Duration::from_secs(second), second);
        }
        let rest = pace.rest(10).expect("it is known").as_secs_f64();
        assert!((9.0..11.0).contains(&rest), "{rest}");
    }

    #[test]
    fn a_million_chunks_take_little_memory_and_absurd_figures_do_no_harm() {
        let mut pace = Pace::default();
        for chunk in 1..=1_000_000 {
            pace.note(Duration::from_micros(chunk), chunk);
        }
        assert!(pace.seen.len() <= 4 * PARTS as usize, "{}", pace.seen.len());
        let mut pace = Pace::default();
        pace.note(Duration::ZERO, 0);
        assert_eq!(pace.rest(u64::MAX), None);
        pace.note(Duration::MAX, 1);
        assert_eq!(
            pace.rest(u64::MAX),
            None,
            "it would be longer than any time"
        );
    }

    #[test]
    fn progress_is_a_line_for_people() {
        let progress = Progress {
            items_done: 999,
            items: 1000,
            chunks_done: 7,
            chunks_open: 2,
            elapsed: Duration::from_millis(1500),
            remaining: None,
        };
        let text = "99 % of 1000 items, 7 chunks done, 2 open, after 1.5 s";
        assert_eq!(progress.to_string(), text);
        let remaining = Some(Duration::from_millis(250));
        let known = Progress {
            remaining,
            ..progress
        };
        assert_eq!(known.to_string(), format!("{text}, 0.2 s left"));
    }
}
