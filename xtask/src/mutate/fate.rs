//! The fates of mutants, and their counts.

use std::fmt;
use std::time::Duration;

use super::models::Model;
use super::mutant::Mutant;

/// The end of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Killed {
        model: String,
        sign: String,
    },
    /// A model that otherwise ends did not, and no other noticed.
    Endless {
        model: String,
        limit: Duration,
        usual: Duration,
    },
    /// No model notices, and a comment says why.
    Explained,
    /// A model notices, and a comment says that none can.
    WronglyExplained {
        model: String,
    },
    Alive,
    Unreached,
}

impl Fate {
    pub(super) fn killed(mutant: &Mutant, model: &Model, sign: String) -> Self {
        let model = model.name.clone();
        match mutant.explanation {
            Some(_) => Self::WronglyExplained { model },
            None => Self::Killed { model, sign },
        }
    }

    /// The more telling of two fates, from one model and the next.
    pub(super) fn or(self, other: Self) -> Self {
        match self {
            Self::Endless { .. } => self,
            _ => other,
        }
    }

    /// The model that kills it.
    pub(super) fn model(&self) -> Option<&str> {
        match self {
            Self::Killed { model, .. } | Self::WronglyExplained { model } => Some(model),
            _ => None,
        }
    }

    pub(super) fn is_well(&self) -> bool {
        matches!(
            self,
            Self::Killed { .. } | Self::Endless { .. } | Self::Explained
        )
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed { model, sign } => write!(f, "killed by {model}: {sign}"),
            Self::Endless {
                model,
                limit,
                usual,
            } => write!(
                f,
                "killed by {model}: no end within {} s, without it {:.1} s",
                limit.as_secs(),
                usual.as_secs_f64()
            ),
            Self::Explained => f.write_str("equivalent, as the comment there says"),
            Self::WronglyExplained { model } => write!(
                f,
                "IS EXPLAINED WRONGLY: {model} notices; remove the comment that says none can"
            ),
            Self::Alive => f.write_str(
                "LIVES: add a model that notices, or a comment `// Equivalent (NAME): …`",
            ),
            Self::Unreached => f.write_str("IS REACHED BY NO MODEL: add one"),
        }
    }
}

/// The number of mutants by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    killed: usize,
    equivalent: usize,
    /// Neither killed nor explained.
    pub(super) left: usize,
}

impl Score {
    pub(super) fn of(fates: &[(Mutant, Fate)]) -> Self {
        let mut score = Self::default();
        for (_, fate) in fates {
            match fate {
                Fate::Killed { .. } | Fate::Endless { .. } => score.killed += 1,
                Fate::Explained => score.equivalent += 1,
                _ => score.left += 1,
            }
        }
        score
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            killed,
            equivalent,
            left,
        } = self;
        let total = killed + equivalent + left;
        write!(
            f,
            "{killed} killed, {equivalent} equivalent, {left} left of {total} mutants"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_model_that_does_not_end_is_kept_beside_those_that_pass() {
        let endless = Fate::Endless {
            model: "m".to_owned(),
            limit: Duration::from_secs(60),
            usual: Duration::from_secs(1),
        };
        assert_eq!(Fate::Unreached.or(Fate::Alive), Fate::Alive);
        assert_eq!(endless.clone().or(Fate::Alive), endless);
        assert_eq!(Fate::Alive.or(endless.clone()), endless);
    }

    #[test]
    fn the_score_counts_what_is_neither_killed_nor_explained() {
        let mutant = Mutant {
            name: "a.b".to_owned(),
            place: "a.rs:1".to_owned(),
            change: "condition".to_owned(),
            explanation: None,
        };
        let killed = Fate::Killed {
            model: "m".to_owned(),
            sign: "deadlock".to_owned(),
        };
        let wrong = Fate::WronglyExplained {
            model: "m".to_owned(),
        };
        let fates = [killed, Fate::Explained, Fate::Alive, Fate::Unreached, wrong];
        let fates = fates.map(|fate| (mutant.clone(), fate));
        assert_eq!(
            Score::of(&fates).to_string(),
            "1 killed, 1 equivalent, 3 left of 5 mutants"
        );
    }
}
