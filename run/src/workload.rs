//! The irregular work that `heist run` offers.
//!
//! Each workload is written three times: as a plain serial program, as a
//! [`Bag`](crate::strategy::Bag) of tasks for threads without a runtime, and in its natural form
//! on heist. All three must give the same output.

use clap::builder::PossibleValue;
use clap::ValueEnum;

mod contract;
pub(crate) mod fib;
pub(crate) mod files;
mod join;
pub(crate) mod json;
pub(crate) mod mandelbrot;
pub(crate) mod matmul;
pub(crate) mod mergesort;
pub(crate) mod nqueens;
pub(crate) mod quicksort;
pub(crate) mod skewed_loop;
pub(crate) mod uts;

pub(crate) use self::contract::{Fact, Flag, Profile, Setup, Size, Skipped, Value, Workload};

/// The workloads, as the command line names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Files,
    Json,
    Mandelbrot,
    Mergesort,
    Quicksort,
    Nqueens,
    Uts,
    Matmul,
    Fib,
    Loop,
}

impl Kind {
    /// The description and the flags of the workload.
    pub(crate) fn profile(self) -> &'static Profile {
        match self {
            Self::Files => &files::Files::PROFILE,
            Self::Json => &json::Json::PROFILE,
            Self::Mandelbrot => &mandelbrot::Mandelbrot::PROFILE,
            Self::Mergesort => &mergesort::Mergesort::PROFILE,
            Self::Quicksort => &quicksort::Quicksort::PROFILE,
            Self::Nqueens => &nqueens::Nqueens::PROFILE,
            Self::Uts => &uts::Uts::PROFILE,
            Self::Matmul => &matmul::Matmul::PROFILE,
            Self::Fib => &fib::Fib::PROFILE,
            Self::Loop => &skewed_loop::SkewedLoop::PROFILE,
        }
    }
}

impl ValueEnum for Kind {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Files,
            Self::Json,
            Self::Mandelbrot,
            Self::Mergesort,
            Self::Quicksort,
            Self::Nqueens,
            Self::Uts,
            Self::Matmul,
            Self::Fib,
            Self::Loop,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let profile = self.profile();
        let size = profile.size.as_ref().map_or(String::new(), |size| {
            format!(" (--size: {}, default {})", size.what, size.default)
        });
        let help = format!("{}{size}", profile.about);
        Some(PossibleValue::new(profile.name).help(help))
    }
}
