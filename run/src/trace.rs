//! Which worker ran which piece when, for the report.

use std::sync::Mutex;
use std::time::Instant;

use heist_observe::{Span, SpanKind};

/// Collects the spans of the pieces of one run, a list per worker.
pub(crate) struct Tracer {
    origin: Instant,
    lanes: Vec<Mutex<Vec<Span>>>,
}

impl Tracer {
    /// A tracer whose times count from `origin`.
    pub(crate) fn new(workers: usize, origin: Instant) -> Self {
        Self {
            origin,
            lanes: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// The spans of each worker.
    pub(crate) fn into_lanes(self) -> Vec<Vec<Span>> {
        let lane = |spans: Mutex<Vec<Span>>| spans.into_inner().expect("a push cannot panic");
        self.lanes.into_iter().map(lane).collect()
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A tracer, or none: measured rounds are not traced.
#[derive(Clone, Copy)]
pub(crate) struct Trace<'a>(Option<&'a Tracer>);

impl<'a> Trace<'a> {
    pub(crate) const OFF: Self = Self(None);

    pub(crate) fn on(tracer: &'a Tracer) -> Self {
        Self(Some(tracer))
    }

    pub(crate) fn is_on(self) -> bool {
        self.0.is_some()
    }

    /// Does `work`, and notes who did it when.
    pub(crate) fn item<R>(
        self,
        worker: usize,
        label: impl FnOnce() -> String,
        work: impl FnOnce() -> R,
    ) -> R {
        let Some(tracer) = self.0 else {
            return work();
        };
        let label = label();
        let begin_ns = tracer.now_ns();
        let result = work();
        let span = Span {
            begin_ns,
            end_ns: tracer.now_ns(),
            kind: SpanKind::Task,
            label,
            source: None,
        };
        tracer.lanes[worker]
            .lock()
            .expect("a push cannot panic")
            .push(span);
        result
    }

    /// [`item`](Self::item) for a task that names itself and is used up.
    pub(crate) fn task<T, R>(
        self,
        worker: usize,
        label: impl FnOnce(&T) -> String,
        task: T,
        step: impl FnOnce(T) -> R,
    ) -> R {
        let name = if self.is_on() {
            label(&task)
        } else {
            String::new()
        };
        self.item(worker, || name, || step(task))
    }
}
