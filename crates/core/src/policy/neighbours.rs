//! The order of victims that are not all equally near, and which of them a thief may disturb.

use super::Rng;

/// The other workers from one thief's point of view: in classes of the same distance, the nearest
/// first.
///
/// A round has some random probes, each in the nearest class with a chance of one half, in the next
/// with a quarter, and so on, uniformly within the class; the last class has the rest. Then it
/// sweeps over all classes, the nearest first, each from a random start. So each round reaches
/// every other worker, and none starves because it is far away. With a single class this is the
/// order of [`Victims`](super::Victims), number for number.
///
/// So jobs and their data stay near if they can. Near victims with the greater chance are the
/// probabilistic work stealing of Quintin and Wagner ("Hierarchical work-stealing", Euro-Par 2010).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::{Neighbours, Rng};
///
/// // Worker 0 of six: the even ones are near, the odd ones far away.
/// let neighbours = Neighbours::new(0, 6, |worker| worker % 2);
/// assert_eq!(neighbours.classes(), 2);
/// let mut rng = Rng::new(7);
/// let round: Vec<usize> = neighbours.victims(&mut rng).map(|victim| victim.worker).collect();
/// let sweep = &round[round.len() - 5..];
/// assert!(sweep[..2].iter().all(|worker| worker % 2 == 0), "the near ones first");
/// assert!(sweep[2..].iter().all(|worker| worker % 2 == 1), "then the others");
/// ```
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// All workers but the thief, by class, ascending within each.
    workers: Box<[u32]>,
    /// Where each class ends.
    ends: Box<[u32]>,
}

/// A worker to be tried, and its class: 0 is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Its index.
    pub worker: usize,
    /// Its class.
    pub class: usize,
}

impl Neighbours {
    /// The neighbours of `thief` among so many workers, each at this distance.
    ///
    /// # Panics
    ///
    /// Panics if there are 2^32 workers or more.
    #[must_use]
    pub fn new<D: Ord>(thief: usize, workers: usize, distance: impl Fn(usize) -> D) -> Self {
        let number = |n: usize| u32::try_from(n).expect("fewer workers than 2^32");
        let others = (0..workers).filter(|&worker| worker != thief);
        let mut others: Vec<(D, u32)> = others.map(|to| (distance(to), number(to))).collect();
        others.sort_unstable();
        let mut end = 0;
        let classes = others.chunk_by(|(a, _), (b, _)| a == b);
        let ends = classes.map(|class| {
            end += class.len();
            number(end)
        });
        Self {
            ends: ends.collect(),
            workers: others.into_iter().map(|(_, worker)| worker).collect(),
        }
    }

    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.ends.len()
    }

    /// The victims of one round.
    #[inline]
    #[must_use]
    pub fn victims<'a>(&'a self, rng: &'a mut Rng) -> NearestFirst<'a> {
        let mut round = NearestFirst {
            neighbours: self,
            // With one victim, or two, the sweep is as good.
            random_left: self
                .workers
                .len()
                .saturating_sub(2)
                .min(super::RANDOM_PROBES_MAX),
            rng,
            class: 0,
            sweep: 0,
            sweep_left: 0,
        };
        round.begin_class();
        round
    }

    /// The workers of a class.
    fn class(&self, class: usize) -> &[u32] {
        let begin = class.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = self.ends.get(class).copied().unwrap_or(begin);
        &self.workers[begin as usize..end as usize]
    }
}

/// One round of a thief: see [`Neighbours`].
#[derive(Debug)]
pub struct NearestFirst<'a> {
    neighbours: &'a Neighbours,
    rng: &'a mut Rng,
    random_left: usize,
    /// The class that the sweep is in, the next worker in it, and the number left of it.
    class: usize,
    sweep: usize,
    sweep_left: usize,
}

impl NearestFirst<'_> {
    fn begin_class(&mut self) {
        let len = self.neighbours.class(self.class).len();
        self.sweep = if len > 1 { self.rng.below(len) } else { 0 };
        self.sweep_left = len;
    }

    fn victim(&self, class: usize, nth: usize) -> Victim {
        let worker = self.neighbours.class(class)[nth] as usize;
        Victim { worker, class }
    }
}

impl Iterator for NearestFirst<'_> {
    type Item = Victim;

    #[inline]
    fn next(&mut self) -> Option<Victim> {
        if self.random_left > 0 {
            self.random_left -= 1;
            let class = match self.neighbours.classes() - 1 {
                0 => 0,
                last => last.min(self.rng.next_u64().leading_zeros() as usize),
            };
            let nth = self.rng.below(self.neighbours.class(class).len());
            return Some(self.victim(class, nth));
        }
        while self.sweep_left == 0 {
            if self.class + 1 >= self.neighbours.classes() {
                return None;
            }
            self.class += 1;
            self.begin_class();
        }
        self.sweep_left -= 1;
        let nth = self.sweep;
        self.sweep = if nth + 1 == self.neighbours.class(self.class).len() {
            0
        } else {
            nth + 1
        };
        Some(self.victim(self.class, nth))
    }
}

/// The distance up to which a thief may ask owners for private jobs.
///
/// A public job is taken wherever it is. To ask for private ones costs the owner a detour, and the
/// job then moves as far as the thief is away: so a thief first asks the nearest only, and one
/// class more after each round that found nothing. After as many rounds as there are classes it may
/// ask every owner.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::policy::Reach;
///
/// let mut reach = Reach::new();
/// assert!(reach.covers(0) && !reach.covers(1));
/// reach.count_round(false, 2);
/// assert!(reach.covers(1));
/// reach.count_round(true, 2);
/// assert!(!reach.covers(1));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach(usize);

impl Reach {
    /// The nearest class only.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// True if owners of this class may be disturbed.
    #[must_use]
    pub fn covers(&self, class: usize) -> bool {
        class <= self.0
    }

    /// Notes whether a round over so many classes has found a job.
    pub fn count_round(&mut self, found: bool, classes: usize) {
        self.0 = if found { 0 } else { (self.0 + 1).min(classes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Victims;

    #[test]
    fn one_class_is_the_order_of_victims_number_for_number() {
        for workers in 1..40 {
            for thief in 0..workers {
                let neighbours = Neighbours::new(thief, workers, |_| ());
                let (mut a, mut b) = (Rng::new(thief as u64), Rng::new(thief as u64));
                for round in 0..20 {
                    let today: Vec<_> = Victims::new(&mut a, thief, workers).collect();
                    let near: Vec<_> = neighbours.victims(&mut b).collect();
                    assert!(near.iter().all(|victim| victim.class == 0));
                    let near: Vec<_> = near.iter().map(|victim| victim.worker).collect();
                    assert_eq!(near, today, "thief {thief} of {workers}, round {round}");
                    assert_eq!(a, b, "the next round begins with the same numbers");
                }
            }
        }
    }

    #[test]
    fn every_round_sweeps_over_every_other_worker_once_and_the_nearest_first() {
        for workers in 1..20 {
            for thief in 0..workers {
                for classes in 1..5 {
                    let distance = |worker: usize| worker.abs_diff(thief) % classes;
                    let neighbours = Neighbours::new(thief, workers, distance);
                    let mut rng = Rng::new(workers as u64);
                    let round: Vec<_> = neighbours.victims(&mut rng).collect();
                    assert!(round.iter().all(|victim| victim.worker != thief));
                    let sweep = &round[round.len() + 1 - workers..];
                    assert!(sweep.is_sorted_by_key(|victim| distance(victim.worker)));
                    assert!(sweep.is_sorted_by_key(|victim| victim.class));
                    let mut swept: Vec<_> = sweep.iter().map(|victim| victim.worker).collect();
                    swept.sort_unstable();
                    let all: Vec<_> = (0..workers).filter(|&other| other != thief).collect();
                    assert_eq!(swept, all, "nobody is left out, and nobody is tried twice");
                }
            }
        }
    }

    #[test]
    fn the_first_victim_is_of_each_class_with_half_the_chance_of_the_one_before() {
        // Classes of 1, 14 and 16, as on two sockets with SMT.
        let class = |worker: usize| usize::from(worker > 1) + usize::from(worker > 15);
        let neighbours = Neighbours::new(0, 32, class);
        let (mut rng, mut hits, mut last) = (Rng::new(9), [0; 3], [0_u32; 32]);
        for _ in 0..64_000 {
            let first = neighbours.victims(&mut rng).next().expect("31 others");
            hits[first.class] += 1;
            last[first.worker] += 1;
        }
        for (hits, share) in hits.iter().zip([32_000, 16_000, 16_000]) {
            assert!(
                (share - 800..share + 800).contains(hits),
                "{hits} of {share}"
            );
        }
        let far = &last[16..];
        assert!(
            far.iter().all(|hits| (850..1_150).contains(hits)),
            "{far:?}"
        );
    }

    /// A worker whose private jobs nobody near wants is asked after some rounds, wherever it is.
    #[test]
    fn after_as_many_fruitless_rounds_as_there_are_classes_everybody_may_be_disturbed() {
        for classes in 1..6 {
            let mut reach = Reach::new();
            for round in 0..classes {
                assert!(reach.covers(round) && !reach.covers(round + 1));
                reach.count_round(false, classes);
            }
            (0..100).for_each(|_| reach.count_round(false, classes));
            assert!(reach.covers(classes - 1));
            reach.count_round(true, classes);
            assert!(reach.covers(0) && !reach.covers(1));
        }
    }
}
