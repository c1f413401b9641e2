//! A run as plain data: the lanes of its workers, and the steals between them.

/// One execution of a program under one strategy.
///
/// All times count from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Its name in the report, for instance a strategy.
    pub name: String,
    /// The length of the run.
    pub wall_ns: u64,
    /// A lane for each worker, in the order of their indices.
    pub lanes: Vec<Lane>,
    /// The jobs that changed workers.
    pub steals: Vec<Steal>,
    /// Figures to print in the table, in their order.
    pub facts: Vec<Fact>,
}

/// One figure about a run, ready to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// The head of its column.
    pub label: String,
    /// The cell.
    pub value: String,
}

/// The spans of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// The name of the worker in the report.
    pub name: String,
    /// Its spans, in any order. Tasks may nest: a worker that waits inside one task may run
    /// another.
    pub spans: Vec<Span>,
    /// The time before which events are missing, because the recorder overwrote them.
    pub unknown_until_ns: u64,
    /// The number of events of the worker that the recorder has overwritten.
    pub dropped: u64,
}

impl Lane {
    /// The time that the worker was inside a task and neither searched nor slept.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy().iter().map(|(begin, end)| end - begin).sum()
    }

    /// The disjoint stretches of that time, in order.
    pub(crate) fn busy(&self) -> Vec<(u64, u64)> {
        let tasks = self.union(|kind| kind == SpanKind::Task);
        let idle = self.union(|kind| kind != SpanKind::Task);
        without(&tasks, &idle)
    }

    /// The disjoint stretches, in order, that spans of the wanted kinds cover.
    fn union(&self, wanted: impl Fn(SpanKind) -> bool) -> Vec<(u64, u64)> {
        let mut parts: Vec<(u64, u64)> = self
            .spans
            .iter()
            .filter(|span| wanted(span.kind) && span.begin_ns < span.end_ns)
            .map(|span| (span.begin_ns, span.end_ns))
            .collect();
        parts.sort_unstable();
        let mut union: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in parts {
            match union.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => union.push((begin, end)),
            }
        }
        union
    }
}

/// A stretch of time that a worker spent on one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The begin.
    pub begin_ns: u64,
    /// The end.
    pub end_ns: u64,
    /// The use of the time.
    pub kind: SpanKind,
    /// The name in the report. Spans with the same label get the same colour.
    pub label: String,
    /// Where a task came from, if it is the job of a pool.
    pub source: Option<Source>,
}

/// The place from which a worker took a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Its own deque.
    Own,
    /// Another worker's.
    Stolen,
    /// The queue of those from outside the pool.
    Submitted,
}

impl Source {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Own, Self::Stolen, Self::Submitted];

    /// As the report says it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Stolen => "stolen",
            Self::Submitted => "submitted",
        }
    }
}

/// The use that a worker makes of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// It ran a task.
    Task,
    /// It looked for work.
    Search,
    /// It slept.
    Sleep,
}

/// A job that one worker took from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steal {
    /// The time of the steal.
    pub at_ns: u64,
    /// The index of the worker that took it.
    pub thief: usize,
    /// The index of the worker that it was taken from.
    pub victim: usize,
}

/// The parts of ordered, disjoint stretches that `others`, which are so too, leave over.
fn without(stretches: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut left = Vec::with_capacity(stretches.len());
    let mut first = 0;
    for &(mut begin, end) in stretches {
        while first < others.len() && others[first].1 <= begin {
            first += 1;
        }
        for &(other_begin, other_end) in &others[first..] {
            if other_begin >= end {
                break;
            }
            if begin < other_begin {
                left.push((begin, other_begin));
            }
            begin = other_end;
        }
        if begin < end {
            left.push((begin, end));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin_ns: u64, end_ns: u64, kind: SpanKind) -> Span {
        Span {
            begin_ns,
            end_ns,
            kind,
            label: String::new(),
            source: None,
        }
    }

    fn busy_ns(spans: &[Span]) -> u64 {
        let lane = Lane {
            spans: spans.to_vec(),
            ..Lane::default()
        };
        lane.busy_ns()
    }

    #[test]
    fn nested_tasks_count_once() {
        use SpanKind::Task;
        assert_eq!(
            busy_ns(&[span(0, 100, Task), span(20, 50, Task), span(90, 120, Task)]),
            120
        );
    }

    #[test]
    fn search_and_sleep_inside_a_task_are_not_busy() {
        use SpanKind::{Search, Sleep, Task};
        let spans = [
            span(0, 100, Task),
            span(10, 30, Search),
            span(20, 40, Sleep),
            span(95, 200, Search),
        ];
        assert_eq!(busy_ns(&spans), 100 - 30 - 5);
    }

    #[test]
    fn sleep_across_several_tasks_cuts_each_of_them() {
        use SpanKind::{Sleep, Task};
        let lane = Lane {
            spans: vec![
                span(0, 20, Task),
                span(30, 40, Task),
                span(50, 90, Task),
                span(10, 60, Sleep),
                span(70, 80, Sleep),
            ],
            ..Lane::default()
        };
        assert_eq!(lane.busy(), [(0, 10), (60, 70), (80, 90)]);
    }

    #[test]
    fn a_lane_without_spans_was_never_busy() {
        assert_eq!(busy_ns(&[]), 0);
    }
}
