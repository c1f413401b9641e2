//! The levels of a lane: its spans stacked, and thinned out when there are too many.

use std::cmp::Reverse;

use crate::{Lane, Run, Source, Span, SpanKind};

/// Spans of one lane as the page draws them.
pub(super) struct Levels<'a> {
    /// Tasks, outermost first: a piece of a level began inside the piece that covers it on the
    /// level before. Each level is ordered by begin.
    pub(super) tasks: Vec<Vec<Piece<'a>>>,
    /// Searches, ordered by begin.
    pub(super) search: Vec<Piece<'a>>,
    /// Sleeps, ordered by begin.
    pub(super) sleep: Vec<Piece<'a>>,
}

impl Levels<'_> {
    /// The number of pieces on all levels.
    pub(super) fn len(&self) -> usize {
        let tasks: usize = self.tasks.iter().map(Vec::len).sum();
        tasks + self.search.len() + self.sleep.len()
    }

    fn merge(&mut self, thin_ns: u64) {
        let tasks = self.tasks.iter_mut();
        for level in tasks.chain([&mut self.search, &mut self.sleep]) {
            merge(level, thin_ns);
        }
    }
}

/// One span, or several thin neighbours that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// The label of the longest span in it.
    pub(super) label: &'a str,
    /// Where that came from.
    pub(super) source: Option<Source>,
    /// The number of spans that it stands for.
    pub(super) merged: u32,
    longest_ns: u64,
}

/// Stacks the spans of every lane of every run, and merges neighbours until at
/// most about `spans_max` pieces are left.
///
/// It stops early when all pieces are wide enough to be seen.
pub(super) fn levels_within(spans_max: usize, runs: &[Run]) -> Vec<Vec<Levels<'_>>> {
    let mut all: Vec<Vec<Levels<'_>>> = runs
        .iter()
        .map(|run| run.lanes.iter().map(levels).collect())
        .collect();
    let axis_ns = runs.iter().map(|run| run.wall_ns).max().unwrap_or(0);
    // From a size that is thin even on a wide screen after zooming in, up to a
    // pixel of a narrow one.
    let mut thin_ns = axis_ns / 65_536 + 1;
    while all.iter().flatten().map(Levels::len).sum::<usize>() > spans_max
        && thin_ns <= axis_ns / 512 + 1
    {
        for levels in all.iter_mut().flatten() {
            levels.merge(thin_ns);
        }
        thin_ns *= 2;
    }
    all
}

fn levels(lane: &Lane) -> Levels<'_> {
    let of_kind = |kind| {
        let mut spans: Vec<&Span> = lane.spans.iter().filter(|span| span.kind == kind).collect();
        spans.sort_by_key(|span| (span.begin_ns, Reverse(span.end_ns)));
        spans
    };
    let flat = |kind| of_kind(kind).into_iter().map(piece).collect();
    let mut tasks: Vec<Vec<Piece<'_>>> = Vec::new();
    // The ends of the tasks around the present one, outermost first.
    let mut around: Vec<u64> = Vec::new();
    for span in of_kind(SpanKind::Task) {
        while around.last().is_some_and(|&end_ns| end_ns <= span.begin_ns) {
            around.pop();
        }
        if tasks.len() == around.len() {
            tasks.push(Vec::new());
        }
        tasks[around.len()].push(piece(span));
        around.push(span.end_ns);
    }
    Levels {
        tasks,
        search: flat(SpanKind::Search),
        sleep: flat(SpanKind::Sleep),
    }
}

fn piece(span: &Span) -> Piece<'_> {
    // A span that ends before it begins has no length anywhere in the report.
    let end_ns = span.end_ns.max(span.begin_ns);
    Piece {
        begin_ns: span.begin_ns,
        end_ns,
        label: &span.label,
        source: span.source,
        merged: 1,
        longest_ns: end_ns - span.begin_ns,
    }
}

/// Merges neighbours that are both thinner than `thin_ns`, and closer than that.
fn merge(level: &mut Vec<Piece<'_>>, thin_ns: u64) {
    level.dedup_by(|next, kept| {
        let thin = |piece: &Piece<'_>| piece.end_ns - piece.begin_ns < thin_ns;
        let close = next.begin_ns.saturating_sub(kept.end_ns) < thin_ns;
        let merges = thin(next) && thin(kept) && close;
        if merges {
            kept.end_ns = kept.end_ns.max(next.end_ns);
            kept.merged += next.merged;
            if next.longest_ns > kept.longest_ns {
                kept.longest_ns = next.longest_ns;
                kept.label = next.label;
                kept.source = next.source;
            }
        }
        merges
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(tasks: &[(u64, u64)]) -> Lane {
        let span = |&(begin_ns, end_ns): &(u64, u64)| Span {
            begin_ns,
            end_ns,
            kind: SpanKind::Task,
            label: format!("{begin_ns}"),
            source: None,
        };
        Lane {
            spans: tasks.iter().map(span).collect(),
            ..Lane::default()
        }
    }

    fn shape(levels: &Levels<'_>) -> Vec<Vec<(u64, u64, u32)>> {
        let tuple = |piece: &Piece<'_>| (piece.begin_ns, piece.end_ns, piece.merged);
        let level = |level: &Vec<Piece<'_>>| level.iter().map(tuple).collect();
        levels.tasks.iter().map(level).collect()
    }

    #[test]
    fn a_task_inside_another_is_one_level_deeper_whatever_the_order_of_the_spans() {
        let lane = lane(&[(60, 70), (10, 20), (0, 50), (12, 15), (20, 30)]);
        assert_eq!(
            shape(&levels(&lane)),
            [
                vec![(0, 50, 1), (60, 70, 1)],
                vec![(10, 20, 1), (20, 30, 1)],
                vec![(12, 15, 1)],
            ]
        );
    }

    #[test]
    fn only_thin_close_neighbours_merge_and_the_longest_gives_its_name() {
        let lane = lane(&[(0, 2), (3, 7), (8, 9), (40, 42), (43, 90)]);
        let mut levels = levels(&lane);
        levels.merge(10);
        assert_eq!(shape(&levels), [[(0, 9, 3), (40, 42, 1), (43, 90, 1)]]);
        assert_eq!(levels.tasks[0][0].label, "3");
    }

    #[test]
    fn nothing_merges_while_the_page_has_room() {
        let run = Run {
            wall_ns: 1_000_000,
            lanes: vec![lane(&[(0, 1), (1, 2), (2, 3)])],
            ..Run::default()
        };
        let levels = levels_within(3, std::slice::from_ref(&run));
        assert_eq!(levels[0][0].len(), 3);
    }
}
