//! The chooser: picks one of several options, by a seed or by a list.
//!
//! Option 0 is the default: the same runner goes on, and thieves look where they would look first.
//! A schedule is the list of the *deviations*, the choices of another option, by the number of the
//! choice.

use std::collections::VecDeque;

use heist_event::schedule::Deviation;

use super::pct::Pct;
use crate::policy::Rng;

/// The rule by which a chooser picks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Each option is as likely as the others.
    Random { seed: u64 },
    /// The runner with the highest priority, with so many changes of that, less one.
    Pct { seed: u64, depth: usize },
    /// These deviations, by the numbers of their choices, and defaults elsewhere.
    Replay(Vec<Deviation>),
}

#[derive(Debug)]
enum State {
    Random(Rng),
    Pct(Pct),
    Replay(VecDeque<Deviation>),
}

/// Picks one of several options again and again.
#[derive(Debug)]
pub(crate) struct Chooser {
    state: State,
    choices: u64,
}

impl Chooser {
    pub(crate) fn new(rule: &Rule) -> Self {
        let state = match rule {
            Rule::Random { seed } => State::Random(Rng::new(*seed)),
            Rule::Pct { seed, depth } => State::Pct(Pct::new(*seed, *depth)),
            Rule::Replay(deviations) => State::Replay(deviations.iter().copied().collect()),
        };
        Self { state, choices: 0 }
    }

    /// The number of one of so many options, and the deviation, if it is one. One option alone is
    /// no choice.
    pub(crate) fn choose(&mut self, options: usize) -> (usize, Option<Deviation>) {
        self.choose_by(options, |pct, _| pct.any(options))
    }

    /// As [`choose`](Self::choose), of runners.
    pub(crate) fn choose_runner(&mut self, runners: &[usize]) -> (usize, Option<Deviation>) {
        self.choose_by(runners.len(), |pct, choice| pct.choose(choice, runners))
    }

    /// This runner has searched in vain again and again.
    pub(crate) fn pass_over(&mut self, runner: usize) {
        if let State::Pct(pct) = &mut self.state {
            pct.fall(runner);
        }
    }

    fn choose_by(
        &mut self,
        options: usize,
        by_priority: impl FnOnce(&mut Pct, u64) -> usize,
    ) -> (usize, Option<Deviation>) {
        if options < 2 {
            return (0, None);
        }
        let choice = self.choices;
        self.choices += 1;
        let option = match &mut self.state {
            State::Random(rng) => rng.below(options),
            State::Pct(pct) => by_priority(pct, choice),
            State::Replay(deviations) => match deviations.front().copied() {
                Some(next) if next.choice <= choice => {
                    deviations.pop_front();
                    next.option % options
                }
                _ => 0,
            },
        };
        let deviation = (option > 0).then_some(Deviation { choice, option });
        (option, deviation)
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    fn run(rule: &Rule, options: &[usize]) -> (Vec<usize>, Vec<Deviation>) {
        let mut chooser = Chooser::new(rule);
        let chosen = options.iter().map(|&options| chooser.choose(options));
        let (chosen, deviations): (Vec<_>, Vec<_>) = chosen.unzip();
        (chosen, deviations.into_iter().flatten().collect())
    }

    #[test]
    fn a_seed_gives_the_same_choices_again_and_other_seeds_give_others() {
        let options = [2, 3, 1, 4, 2, 2, 3, 5, 1, 2, 2, 2, 2, 2, 2, 2];
        let of = |seed| run(&Rule::Random { seed }, &options).0;
        assert_eq!(of(7), of(7));
        assert!((0..20).any(|seed| of(seed) != of(7)));
        let all: Vec<usize> = (0..50).flat_map(of).collect();
        assert!((0..5).all(|option| all.contains(&option)), "{all:?}");
    }

    #[test]
    fn the_deviations_of_a_run_give_the_run_again() {
        let options = [2, 3, 1, 4, 2, 2, 3, 5, 1, 2];
        for seed in 0..100 {
            let (chosen, deviations) = run(&Rule::Random { seed }, &options);
            let again = run(&Rule::Replay(deviations.clone()), &options);
            assert_eq!(again, (chosen, deviations), "seed {seed}");
        }
    }

    #[test]
    fn without_deviations_each_choice_is_the_default() {
        let (chosen, deviations) = run(&Rule::Replay(Vec::new()), &[2, 3, 4]);
        assert_eq!((chosen, deviations), (vec![0, 0, 0], Vec::new()));
    }

    /// A schedule that was shrunk may meet other choices than the one that it comes from.
    #[test]
    fn an_option_that_is_not_there_counts_on_from_the_first() {
        let deviation = Deviation {
            choice: 1,
            option: 5,
        };
        let (chosen, _) = run(&Rule::Replay(vec![deviation]), &[2, 3, 4]);
        assert_eq!(chosen, [0, 2, 0]);
    }

    #[test]
    fn one_option_is_no_choice() {
        let deviation = Deviation {
            choice: 0,
            option: 1,
        };
        let (chosen, told) = run(&Rule::Replay(vec![deviation]), &[1, 1, 2]);
        assert_eq!((chosen, told), (vec![0, 0, 1], vec![deviation]));
    }
}
