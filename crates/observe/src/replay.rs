//! How a program that was recorded would run on other machines, as a model says: the figures.
//!
//! The model is not here: whoever has one fills these in. [`html`] shows them on a page, and
//! [`profile`](crate::profile) beside what was measured.

mod page;

use serde::Serialize;

use crate::words::{duration, harmless, plural};

pub(crate) use self::page::changes;
pub use self::page::html;

/// All that a model says of one recorded run. Times are nanoseconds, shares go from 0 to 1.
///
/// # Examples
///
/// ```
/// use heist_observe::replay::{Replay, Row};
///
/// let rows = vec![Row { workers: 2, time_ns: 60.0, speed_up: 1.5, ..Row::default() }];
/// let replay = Replay { rows, ..Replay::default() };
/// assert_eq!(replay.row(2).map(|row| row.speed_up), Some(1.5));
/// assert_eq!(replay.row(3), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replay {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The sum of all strands: T1.
    pub work_ns: i64,
    /// The longest path: Tinf.
    pub span_ns: i64,
    /// The time outside any pool, which is added to each time as it was.
    pub outside_ns: u64,
    /// The program on some numbers of workers.
    pub rows: Vec<Row>,
    /// The workers with which the changes below are made.
    pub at_workers: u64,
    /// The time with so many, if nothing changes.
    pub at_ns: f64,
    /// Its speed-up.
    pub at_speed_up: f64,
    /// The sites that have most of the longest path or of the work, and what it would bring if
    /// their strands were faster.
    pub changes: Vec<Change>,
}

/// The program on one number of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Their number.
    pub workers: u64,
    /// From the start to the end.
    pub time_ns: f64,
    /// The time of one worker by that.
    pub speed_up: f64,
    /// The most that work and longest path allow.
    pub bound: f64,
    /// The share of the workers' time that was work.
    pub busy: f64,
    /// How many steals were made.
    pub steals: f64,
}

/// The time if the strands of one site were faster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Change {
    /// The short name of the site.
    pub site: String,
    /// The part of the longest path that is in its strands.
    pub of_longest_path: f64,
    /// The part of the work.
    pub of_work: f64,
    /// The time if they took half as long.
    pub twice_as_fast_ns: f64,
    /// The time if they took a quarter.
    pub four_times_as_fast_ns: f64,
}

impl Replay {
    /// The program on so many workers, if that was asked for.
    #[must_use]
    pub fn row(&self, workers: u64) -> Option<&Row> {
        self.rows.iter().find(|row| row.workers == workers)
    }

    /// The words before the changes.
    pub(crate) fn title(&self) -> String {
        format!(
            "In the model, with {}, instead of {}, if a site were faster",
            plural(self.at_workers, "worker"),
            duration(self.at_ns)
        )
    }

    /// The same, with the control characters in texts spelt out.
    pub(crate) fn harmless(mut self) -> Self {
        let texts = self.command.iter_mut();
        let texts = texts.chain(self.changes.iter_mut().map(|change| &mut change.site));
        texts.for_each(|text| *text = harmless(text));
        self
    }

    /// The speed-up over one worker that a time with `at_workers` stands for.
    #[must_use]
    pub fn speed_up(&self, time_ns: f64) -> f64 {
        self.at_ns * self.at_speed_up / time_ns.max(1.0)
    }
}
