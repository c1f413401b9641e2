//! A merge that can be split, so that its halves run in parallel.

use crate::Join;

/// Two sorted runs, and the place for the merged one, which is as long as both.
#[derive(Debug)]
pub struct Merge<'a> {
    /// The run whose numbers go first among equal ones.
    pub left: &'a [u64],
    /// The other run.
    pub right: &'a [u64],
    /// The place.
    pub to: &'a mut [u64],
}

impl Merge<'_> {
    /// Merges without a join.
    pub fn run(self) {
        let (mut left, mut right) = (self.left, self.right);
        for to in self.to {
            let from = match (left.first(), right.first()) {
                (Some(l), Some(r)) if r < l => &mut right,
                (Some(_), _) => &mut left,
                (None, _) => &mut right,
            };
            *to = from[0];
            *from = &from[1..];
        }
    }

    /// Merges with a join of the halves while the result is longer than `leaf`.
    pub fn run_joined<J: Join>(self, leaf: usize) {
        if self.to.len() <= leaf {
            return self.run();
        }
        let (low, high) = self.split();
        J::join(|| low.run_joined::<J>(leaf), || high.run_joined::<J>(leaf));
    }

    /// Two merges: of the numbers below the middle of the longer run, and of the rest.
    pub fn split(self) -> (Self, Self) {
        let (l, r) = if self.left.len() >= self.right.len() {
            let l = self.left.len() / 2;
            let middle = self.left[l];
            (l, self.right.partition_point(|&number| number < middle))
        } else {
            let r = self.right.len() / 2;
            let middle = self.right[r];
            (self.left.partition_point(|&number| number <= middle), r)
        };
        let (left_low, left_high) = self.left.split_at(l);
        let (right_low, right_high) = self.right.split_at(r);
        let (to_low, to_high) = self.to.split_at_mut(l + r);
        let low = Self {
            left: left_low,
            right: right_low,
            to: to_low,
        };
        let high = Self {
            left: left_high,
            right: right_high,
            to: to_high,
        };
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequential;

    fn run(random: &mut fastrand::Rng, length: usize) -> Vec<u64> {
        let mut run: Vec<u64> = (0..length).map(|_| random.u64(0..50)).collect();
        run.sort_unstable();
        run
    }

    #[test]
    fn a_split_merge_gives_what_the_whole_gives() {
        let mut random = fastrand::Rng::with_seed(3);
        for (l, r) in [(1, 1), (0, 9), (9, 0), (40, 3), (3, 40), (33, 33)] {
            let (left, right) = (run(&mut random, l), run(&mut random, r));
            let merged = |run: fn(Merge<'_>)| {
                let mut to = vec![0; l + r];
                run(Merge {
                    left: &left,
                    right: &right,
                    to: &mut to,
                });
                to
            };
            let whole = merged(|merge| merge.run_joined::<Sequential>(usize::MAX));
            assert!(whole.is_sorted());
            if l + r > 2 {
                let halves = merged(|merge| {
                    let (low, high) = merge.split();
                    low.run();
                    high.run();
                });
                assert_eq!(halves, whole);
                assert_eq!(merged(|merge| merge.run_joined::<Sequential>(2)), whole);
            }
        }
    }
}
