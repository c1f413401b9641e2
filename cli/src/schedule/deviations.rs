//! A schedule as a list of deviations from the default one, and the search for a shorter list.

use std::fs;
use std::path::Path;

use heist_event::schedule::{self, Deviation, HEAD};
use heist_run::limited;
use heist_run::usage::Usage;

/// A schedule has a line of some bytes for each choice that was not the default.
pub(super) const BYTES_MAX: u64 = 1 << 28;

/// A schedule in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) deviations: Vec<Deviation>,
    /// All the text if it is as it was recorded: that also says where threads block.
    recorded: Option<String>,
}

impl Schedule {
    /// One of these deviations, which does not say where threads block.
    pub(super) fn new(deviations: Vec<Deviation>) -> Self {
        Self {
            deviations,
            recorded: None,
        }
    }

    /// Reads a file.
    pub(super) fn read(file: &Path) -> Result<Self, Usage> {
        let cannot = |why: String| {
            Usage(format!(
                "cannot use {}: {why}; accepted is a schedule as HEIST_SCHEDULE_FILE, `heist \
                 schedule search` and `shrink` write it",
                file.display()
            ))
        };
        let text = limited::read_text(file, BYTES_MAX).map_err(|why| cannot(why.to_string()))?;
        Self::parse(&text).map_err(cannot)
    }

    /// Reads the text of a file.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let schedule::Schedule { deviations, .. } = schedule::Schedule::parse(text)?;
        Ok(Self {
            deviations,
            recorded: Some(text.to_owned()),
        })
    }

    /// The text of its file.
    pub(super) fn text(&self) -> String {
        self.recorded.clone().unwrap_or_else(|| {
            let lines = self.deviations.iter();
            let lines = lines.map(|deviation| format!("{deviation}\n"));
            format!("{HEAD}\n{}", lines.collect::<String>())
        })
    }

    /// How many of its deviations a run by it did not take, which recorded `taken`.
    pub(super) fn left_out(&self, taken: &Self) -> usize {
        let is_left_out = |wanted: &&Deviation| {
            let at = |taken: &Deviation| taken.choice;
            let at = taken.deviations.binary_search_by_key(&wanted.choice, at);
            !at.is_ok_and(|at| taken.deviations[at] == **wanted)
        };
        self.deviations.iter().filter(is_left_out).count()
    }

    /// Writes it to a file.
    pub(super) fn save(&self, file: &Path) -> anyhow::Result<()> {
        use anyhow::Context as _;
        fs::write(file, self.text())
            .with_context(|| format!("cannot write the schedule to {}", file.display()))
    }
}

/// Looks for a part of the items that is good as well, from which nothing can be left out: first
/// halves are tried, then quarters, down to single items.
///
/// `try_with` says whether these are good, and with which of them it had to do.
pub(super) fn shrink<T: Clone>(
    items: Vec<T>,
    mut try_with: impl FnMut(&[T]) -> anyhow::Result<Option<Vec<T>>>,
) -> anyhow::Result<Vec<T>> {
    let mut items = items;
    let mut len = items.len().div_ceil(2);
    while len > 0 {
        let before = items.len();
        // The last ones first: without them all goes as before up to there.
        let mut end = items.len();
        while end > 0 {
            let begin = end.saturating_sub(len);
            let rest = [&items[..begin], &items[end..]].concat();
            end = begin;
            if let Some(used) = try_with(&rest)? {
                items = if used.len() < rest.len() { used } else { rest };
                end = end.min(items.len());
            }
        }
        let has_shrunk = items.len() < before;
        if !(has_shrunk && len == 1) {
            len /= 2;
        }
        len = len.min(items.len().div_ceil(2));
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_and_written_as_it_was_recorded() {
        let text =
            "heist schedule 1\n# HEIST_SCHEDULE=random:3\nrecorded\n17 1\nblocked 24\n40 2\n";
        let schedule = Schedule::parse(text).unwrap();
        assert_eq!(schedule.deviations.len(), 2);
        assert_eq!(schedule.text(), text);
        let plain = Schedule::new(schedule.deviations).text();
        assert_eq!(plain, "heist schedule 1\n17 1\n40 2\n");
    }

    /// All that are needed are left, and nothing else, wherever they are.
    #[test]
    fn a_list_shrinks_to_the_items_that_are_needed() {
        for needed in [&[][..], &[0], &[99], &[3, 4, 70], &[0, 33, 66, 99]] {
            let mut tries = 0;
            let left = shrink((0..100).collect(), |items| {
                tries += 1;
                let is_good = needed.iter().all(|item| items.contains(item));
                Ok(is_good.then(|| items.to_vec()))
            });
            assert_eq!(left.unwrap(), needed);
            assert!(tries < 120, "{tries} tries");
        }
    }

    #[test]
    fn items_that_were_not_reached_are_left_out_at_once() {
        let left = shrink((0..100).collect(), |items| {
            let used = items.iter().copied().filter(|&item| item < 5);
            Ok(items.contains(&2).then(|| used.collect()))
        });
        assert_eq!(left.unwrap(), [2]);
    }

    /// One of two will do, but not neither.
    #[test]
    fn nothing_can_be_left_out_of_the_result() {
        let left = shrink(vec![1, 2, 3, 4], |items| {
            let is_good = items.contains(&1) || items.contains(&4);
            Ok(is_good.then(|| items.to_vec()))
        });
        assert_eq!(left.unwrap().len(), 1);
    }
}
