//! The rules by their names.

use super::draw::Draw;
use super::ours::Ours;
use super::rule::{Plain, Rule};
use super::setup::Setup;

/// A rule by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Heist's planner.
    Ours,
    /// [`Plain::Taught`].
    Taught,
    /// [`Plain::Push`].
    Push,
    /// [`Plain::Pull`].
    Pull,
    /// [`Plain::Random`].
    Random,
    /// [`Plain::None`].
    None,
}

impl Named {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Ours,
        Self::Taught,
        Self::Push,
        Self::Pull,
        Self::Random,
        Self::None,
    ];

    /// The rule for a fleet.
    #[must_use]
    pub fn rule(self, setup: &Setup, seed: u64) -> Box<dyn Rule> {
        Box::new(match self {
            Self::Ours => return Box::new(Ours::new(setup)),
            Self::Taught => Plain::Taught,
            Self::Push => Plain::Push,
            Self::Pull => Plain::Pull,
            Self::Random => Plain::Random(Draw::new(seed)),
            Self::None => Plain::None,
        })
    }
}
