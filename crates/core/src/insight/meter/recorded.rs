//! The part of a meter that records the DAG, if one is recorded.

use heist_event::dag::Dag;

use super::{lock, Ended, Meter, Start, UnderWay, METERS};
use crate::insight::dag::{self, Mark, NodeId, Recorder};
use crate::insight::latest::Latest;
use crate::insight::path::Path;
use crate::insight::settings::Settings;

impl Meter {
    /// True if the DAG is recorded.
    #[inline(always)]
    pub(super) fn is_recorded(&self) -> bool {
        self.settings.get().floor != 0
    }

    /// Records the strand that has ended, and whatever is behind it. The next strand begins then.
    #[cold]
    #[inline(never)]
    pub(super) fn record<R>(&self, ended: Ended, behind: impl FnOnce(&mut Recorder) -> R) -> R {
        let mut dag = lock(&self.dag);
        if let Some((site, took)) = ended {
            let floor = self.settings.get().floor;
            let node = dag.strand(self.path.node(), site, (took, took), floor);
            self.path.set_node(node);
        }
        let behind = behind(&mut dag);
        if !self.is_paused() {
            self.since.set(self.now());
        }
        behind
    }

    /// The point that the thread has come to is one from which others may go on.
    #[inline(always)]
    pub(crate) fn tell(&self) {
        if self.is_recorded() {
            lock(&self.dag).tell();
        }
    }

    /// The node behind both.
    pub(super) fn behind(&self, one: NodeId, other: NodeId) -> NodeId {
        match self.is_recorded() {
            true => lock(&self.dag).behind(one, other, self.tally.get().site),
            false => one,
        }
    }

    /// A job has come to this point before whoever waits goes on at `latest`.
    pub(crate) fn reach(&self, latest: &Latest, path: &Path) {
        let site = || self.tally.get().site;
        latest.reach(path, |point, at| lock(&self.dag).reach(point, at, site()));
    }

    /// As [`cut`](Self::cut), and does this behind the strand, if the DAG is recorded.
    #[inline(always)]
    pub(super) fn cut_and<R: Default>(&self, behind: impl FnOnce(&mut Recorder) -> R) -> R {
        let ended = self.count();
        match self.is_recorded() {
            true => self.record(ended, behind),
            false => R::default(),
        }
    }

    /// A fork has ended, whose first closure came to this point. If `is_in_place` both of them ran
    /// here, one after the other.
    #[inline(always)]
    pub(crate) fn join(&self, first: &Path, start: &Start, mark: &Mark, is_in_place: bool) {
        let ended = self.count();
        self.path.advance(first);
        if self.is_recorded() {
            self.record_join(ended, first.node, &start.path, mark, is_in_place);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_join(
        &self,
        ended: Ended,
        first: NodeId,
        start: &Path,
        mark: &Mark,
        is_in_place: bool,
    ) {
        self.record(ended, |dag| {
            let (floor, site) = (self.settings.get().floor, self.tally.get().site);
            let span = self.path.get().span - start.span;
            let whole = is_in_place.then(|| dag.collapse(mark, start.node, span, floor));
            let node = whole.flatten();
            let node = node.unwrap_or_else(|| dag.behind(first, self.path.node(), site));
            self.path.set_node(node);
        });
    }
}

/// The DAG up to this moment, in ticks, or all work if there was no room for it. It begins anew. If
/// the time is given, strands that other threads are in the midst of are there as far as they are.
pub(crate) fn take_dag(now: Option<u64>) -> (Dag, Option<i64>) {
    if let Some(meter) = Meter::here() {
        meter.cut();
    }
    let meters = lock(&METERS);
    let mut recorders: Vec<_> = meters.0.iter().map(|meter| lock(&meter.dag)).collect();
    // With all locks held: a thread whose strand ends meanwhile waits, and has begun its next one.
    for (meter, recorder) in meters.0.iter().zip(&mut recorders) {
        let under_way = now.and_then(|now| meter.under_way(now));
        let settings = Settings::get().copied().unwrap_or_default();
        let took = |of: &UnderWay| of.ticks as i64 - settings.empty;
        if let Some(strand) = under_way.filter(|strand| took(strand) > 0) {
            let (node, took) = (strand.path.node, took(&strand));
            recorder.strand(node, strand.site, (took, took), settings.floor);
        }
    }
    dag::take(&mut recorders)
}
