//! Paths: how long it takes at least to come to a point in a program.

use crate::insight::site::{SiteId, NONE};

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
    /// The parts of the former in strands of the sites with these numbers.
    pub(crate) parts: [i64; HEAVY],
    pub(crate) sites: [SiteId; HEAVY],
}

impl Path {
    pub(crate) const START: Self = Self {
        span: 0,
        burdened: 0,
        parts: [0; HEAVY],
        sites: [NONE; HEAVY],
    };

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

    /// Adds another strand, which is of this site.
    #[inline]
    pub(crate) fn extend(&mut self, site: SiteId, took: i64) {
        self.span += took;
        self.burdened += took;
        for (part, &of) in self.parts.iter_mut().zip(&self.sites) {
            if of == site {
                *part += took;
                return;
            }
        }
        self.replace_the_least(site, took);
    }

    /// Takes note of a site in the place of the one with the least part.
    #[cold]
    #[inline(never)]
    fn replace_the_least(&mut self, site: SiteId, took: i64) {
        let least = (0..HEAVY).min_by_key(|&n| match self.sites[n] {
            NONE => i64::MIN,
            _ => self.parts[n],
        });
        let least = least.expect("there are some");
        if self.sites[least] == NONE || self.parts[least] < took {
            (self.sites[least], self.parts[least]) = (site, took);
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_later_of_two_paths_has_the_longer_span_with_its_parts_and_the_longer_burdened_span() {
        let (mut one, mut other) = (Path::START, Path::START);
        one.extend(3, 10);
        other.extend(4, 7);
        other.burdened += 100;
        for later in [one.later(other), other.later(one)] {
            assert_eq!((later.span, later.burdened), (10, 107));
            assert_eq!((later.sites[0], later.parts[0]), (3, 10));
        }
    }

    #[test]
    fn a_path_tells_the_heavy_sites_apart_and_loses_light_ones() {
        let mut path = Path::START;
        for round in 0..10 {
            for site in 0..20 {
                path.extend(site, if site < 4 { 100 } else { 1 });
            }
            assert_eq!(path.span, (round + 1) * 416);
        }
        for site in 0..4 {
            let at = path.sites.iter().position(|&of| of == site);
            assert_eq!(path.parts[at.expect("it is heavy")], 1000);
        }
    }
}
