//! The order in which a thief tries its victims.

use super::{Rng, RANDOM_PROBES_MAX};

/// The order in which one thief tries its victims in one round: some at random, each uniformly
/// among all other workers, then every one once.
///
/// Random choice spreads thieves over victims and is what the bounds of Blumofe and Leiserson
/// (1999) rest on. But random probes alone miss: after 2P of them the only loaded victim among 64
/// workers is overlooked once in eight rounds. So a round ends with a sweep over all others from a
/// random start, and a thief that gives up has looked everywhere.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::{Rng, Victims};
///
/// let mut rng = Rng::new(3);
/// let mut tried: Vec<usize> = Victims::new(&mut rng, 1, 4).collect();
/// assert!(!tried.contains(&1), "nobody steals from itself");
/// tried.sort_unstable();
/// tried.dedup();
/// assert_eq!(tried, [0, 2, 3]);
/// assert_eq!(Victims::new(&mut rng, 0, 1).count(), 0);
/// ```
#[derive(Debug)]
pub struct Victims<'a> {
    rng: &'a mut Rng,
    thief: usize,
    others: usize,
    random_left: usize,
    sweep: usize,
    sweep_left: usize,
}

impl<'a> Victims<'a> {
    /// A round of `thief` among `workers` workers.
    ///
    /// # Panics
    ///
    /// Panics if `thief` is not one of the workers.
    #[inline]
    pub fn new(rng: &'a mut Rng, thief: usize, workers: usize) -> Self {
        assert!(thief < workers);
        let others = workers - 1;
        let sweep = if others > 1 { rng.below(others) } else { 0 };
        Self {
            rng,
            thief,
            others,
            // With one victim, or two, the sweep is as good.
            random_left: others.saturating_sub(2).min(RANDOM_PROBES_MAX),
            sweep,
            sweep_left: others,
        }
    }

    /// The index of the `nth` worker other than the thief.
    fn other(&self, nth: usize) -> usize {
        if nth < self.thief {
            nth
        } else {
            nth + 1
        }
    }
}

impl Iterator for Victims<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.random_left > 0 {
            self.random_left -= 1;
            let nth = self.rng.below(self.others);
            return Some(self.other(nth));
        }
        if self.sweep_left == 0 {
            return None;
        }
        self.sweep_left -= 1;
        let nth = self.sweep;
        self.sweep = if nth + 1 == self.others { 0 } else { nth + 1 };
        Some(self.other(nth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A28 and A29 of the errata: a single worker that looks for another for ever, and random
    /// probes that miss the only loaded victim.
    #[test]
    fn a28_a29_every_round_reaches_every_other_worker_and_never_the_thief() {
        for workers in 1..20 {
            for thief in 0..workers {
                for seed in 0..20 {
                    let mut rng = Rng::new(seed);
                    let tried: Vec<_> = Victims::new(&mut rng, thief, workers).collect();
                    assert!(!tried.contains(&thief));
                    let all = (0..workers).filter(|&w| w != thief);
                    assert!(all.into_iter().all(|w| tried.contains(&w)));
                    assert!(tried.len() <= workers - 1 + RANDOM_PROBES_MAX);
                }
            }
        }
    }

    #[test]
    fn the_first_victim_is_uniform_among_the_others() {
        let mut hits = [0_u32; 8];
        let mut rng = Rng::new(5);
        for _ in 0..70_000 {
            hits[Victims::new(&mut rng, 3, 8).next().expect("seven others")] += 1;
        }
        assert_eq!(hits[3], 0);
        let others = hits.iter().enumerate().filter(|&(w, _)| w != 3);
        assert!(
            others
                .into_iter()
                .all(|(_, &n)| (9_500..10_500).contains(&n)),
            "{hits:?}"
        );
    }

    #[test]
    fn two_workers_seeds_give_different_orders() {
        let order = |seed| {
            let mut rng = Rng::new(seed);
            (0..8)
                .map(|_| Victims::new(&mut rng, 0, 64).next())
                .collect::<Vec<_>>()
        };
        assert_ne!(order(0), order(1));
    }
}
