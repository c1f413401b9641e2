//! Paths: how long it takes at least to come to a point in a program.

use crate::insight::dag::{NodeId, BEGINNING};
use crate::insight::site::{SiteId, NONE};
use crate::insight::tally::Tick;

/// How many sites a path tells apart: those with the largest parts of it.
pub(crate) const HEAVY: usize = 4;

/// The longest path of strands to a point in the program, in ticks. Single strands may count as
/// negative, because the price of the measurement is taken off, so that it is right on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The length of the path.
    pub(crate) span: i64,
    /// The length of the path, perhaps another one, that is longest if each fork costs a steal.
    pub(crate) burdened: i64,
    /// The parts of the former in strands of some sites.
    pub(crate) parts: [i64; HEAVY],
    /// The numbers of those, the first in the lowest bits.
    pub(crate) packed: u64,
    /// The node that it has come to, if the DAG is recorded.
    pub(crate) node: NodeId,
}

impl Path {
    pub(crate) const START: Self = Self {
        span: 0,
        burdened: 0,
        parts: [0; HEAVY],
        packed: u64::MAX,
        node: BEGINNING,
    };

    /// The sites of the parts.
    pub(crate) fn sites(&self) -> [SiteId; HEAVY] {
        std::array::from_fn(|n| nth(self.packed, n))
    }

    /// The path to a point that is reached when both have been.
    #[inline]
    pub(crate) fn later(self, other: Self) -> Self {
        let mut later = self;
        later.advance(&other);
        later
    }

    /// As [`later`](Self::later), in the place of this path.
    #[inline]
    pub(crate) fn advance(&mut self, other: &Self) {
        let burdened = self.burdened.max(other.burdened);
        if self.span < other.span {
            *self = *other;
        }
        self.burdened = burdened;
    }
}

/// The path of a thread, which alone writes it. Any other may read it, and gets each number as it
/// was at some recent moment: relaxed throughout.
#[derive(Debug)]
pub(crate) struct Progress {
    span: Tick,
    burdened: Tick,
    parts: [Tick; HEAVY],
    packed: Tick,
    node: Tick,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let start = Path::START;
        Self {
            span: Tick::new(start.span as u64),
            burdened: Tick::new(start.burdened as u64),
            parts: start.parts.map(|part| Tick::new(part as u64)),
            packed: Tick::new(start.packed),
            node: Tick::new(start.node),
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> Path {
        Path {
            span: self.span.get() as i64,
            burdened: self.burdened.get() as i64,
            parts: std::array::from_fn(|n| self.parts[n].get() as i64),
            packed: self.packed.get(),
            node: self.node.get(),
        }
    }

    #[inline(always)]
    pub(crate) fn set(&self, path: &Path) {
        self.burdened.set(path.burdened as u64);
        self.node.set(path.node);
        self.set_span(path);
    }

    #[inline(always)]
    pub(crate) fn node(&self) -> NodeId {
        self.node.get()
    }

    #[inline(always)]
    pub(crate) fn set_node(&self, node: NodeId) {
        self.node.set(node);
    }

    #[inline(always)]
    fn set_span(&self, path: &Path) {
        self.span.set(path.span as u64);
        for (part, &of) in self.parts.iter().zip(&path.parts) {
            part.set(of as u64);
        }
        self.packed.set(path.packed);
    }

    /// As [`Path::advance`], but that the node stays.
    #[inline(always)]
    pub(crate) fn advance(&self, other: &Path) {
        if (self.span.get() as i64) < other.span {
            self.set_span(other);
        }
        let burdened = (self.burdened.get() as i64).max(other.burdened);
        self.burdened.set(burdened as u64);
    }

    /// Adds another strand, which is of this site.
    #[inline(always)]
    pub(crate) fn extend(&self, site: SiteId, took: i64) {
        self.span.add(took as u64);
        self.burdened.add(took as u64);
        let packed = self.packed.get();
        for (n, part) in self.parts.iter().enumerate() {
            if nth(packed, n) == site {
                part.add(took as u64);
                return;
            }
        }
        self.replace_the_least(site, took);
    }

    /// Takes note of a site in the place of the one with the least part.
    #[cold]
    #[inline(never)]
    fn replace_the_least(&self, site: SiteId, took: i64) {
        let path = self.get();
        let (parts, sites) = (path.parts, path.sites());
        let least = (0..HEAVY).min_by_key(|&n| match sites[n] {
            NONE => i64::MIN,
            _ => parts[n],
        });
        let least = least.expect("there are some");
        if sites[least] == NONE || parts[least] < took {
            let place = least as u32 * SiteId::BITS;
            let others = path.packed & !(u64::from(SiteId::MAX) << place);
            self.packed.set(others | u64::from(site) << place);
            self.parts[least].set(took as u64);
        }
    }
}

/// The site in this place.
#[inline(always)]
fn nth(packed: u64, n: usize) -> SiteId {
    (packed >> (n as u32 * SiteId::BITS)) as SiteId
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_later_of_two_paths_has_the_longer_span_with_its_parts_and_the_longer_burdened_span() {
        let (one, other) = (Progress::new(), Progress::new());
        one.extend(3, 10);
        other.extend(4, 7);
        let (one, mut other) = (one.get(), other.get());
        other.burdened += 100;
        let advanced = Progress::new();
        advanced.advance(&other);
        advanced.advance(&one);
        for later in [one.later(other), other.later(one), advanced.get()] {
            assert_eq!((later.span, later.burdened), (10, 107));
            assert_eq!((later.sites()[0], later.parts[0]), (3, 10));
        }
    }

    #[test]
    fn a_path_tells_the_heavy_sites_apart_and_loses_light_ones() {
        let progress = Progress::new();
        for round in 0..10 {
            for site in 0..20 {
                progress.extend(site, if site < 4 { 100 } else { 1 });
            }
            assert_eq!(progress.get().span, (round + 1) * 416);
        }
        let path = progress.get();
        for site in 0..4 {
            let at = path.sites().iter().position(|&of| of == site);
            assert_eq!(path.parts[at.expect("it is heavy")], 1000);
        }
    }
}
