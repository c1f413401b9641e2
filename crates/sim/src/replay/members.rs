//! A set of workers that finds the next one of them without a look at those between.

/// How many members a word has.
const BITS: usize = u64::BITS as usize;

/// Some of so many workers.
pub(crate) struct Members {
    /// A bit for each worker, and above that for each word of the level below that is not empty, up
    /// to a single word.
    levels: Vec<Vec<u64>>,
}

impl Members {
    /// The empty set of workers below this number.
    pub(crate) fn none_of(workers: usize) -> Self {
        let mut levels = vec![vec![0; workers.div_ceil(BITS).max(1)]];
        while let Some(words) = levels.last().map(Vec::len).filter(|&words| words > 1) {
            levels.push(vec![0; words.div_ceil(BITS)]);
        }
        Self { levels }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.levels.last().is_none_or(|top| top[0] == 0)
    }

    pub(crate) fn contains(&self, worker: usize) -> bool {
        self.levels[0][worker / BITS] >> (worker % BITS) & 1 == 1
    }

    pub(crate) fn insert(&mut self, worker: usize) {
        let mut at = worker;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            let was_empty = *word == 0;
            *word |= 1 << (at % BITS);
            if !was_empty {
                return;
            }
            at /= BITS;
        }
    }

    pub(crate) fn remove(&mut self, worker: usize) {
        let mut at = worker;
        for level in &mut self.levels {
            let word = &mut level[at / BITS];
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                return;
            }
            at /= BITS;
        }
    }

    /// The next member behind this worker, and after the last one the first.
    pub(crate) fn next_after(&self, worker: usize) -> Option<usize> {
        self.first_at(worker + 1).or_else(|| self.first_at(0))
    }

    /// The first member from this one on.
    fn first_at(&self, worker: usize) -> Option<usize> {
        let mut at = worker;
        for height in 0..self.levels.len() {
            let word = self.levels[height].get(at / BITS)? >> (at % BITS);
            if word != 0 {
                return Some(self.lowest(height, at + word.trailing_zeros() as usize));
            }
            at = at / BITS + 1;
        }
        None
    }

    /// The first member below this bit, which is set.
    fn lowest(&self, height: usize, at: usize) -> usize {
        let below = self.levels[..height].iter().rev();
        below.fold(at, |at, level| {
            at * BITS + level[at].trailing_zeros() as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use heist_core::policy::Rng;

    use super::*;

    #[test]
    fn it_is_the_set_that_an_ordered_one_is() {
        let mut rng = Rng::new(3);
        for workers in [1, 2, 64, 65, 4_096, 4_097, 300_000] {
            let (mut members, mut model) = (Members::none_of(workers), BTreeSet::new());
            for _ in 0..5_000 {
                let worker = rng.below(workers);
                match rng.below(3) {
                    0 => {
                        members.insert(worker);
                        model.insert(worker);
                    }
                    1 => {
                        let member = members.next_after(worker).unwrap_or(worker);
                        members.remove(member);
                        model.remove(&member);
                    }
                    _ => {}
                }
                let next = model.range(worker + 1..).next().or(model.iter().next());
                assert_eq!(members.next_after(worker), next.copied());
                assert_eq!(members.contains(worker), model.contains(&worker));
                assert_eq!(members.is_empty(), model.is_empty());
            }
        }
    }
}
