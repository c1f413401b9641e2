//! Why a program does not scale: the profiles of its runs, and a report about them.
//!
//! A program on heist writes a [`Profile`] when `HEIST_PROFILE` is set. [`analyse`] makes a
//! [`Report`] of one or more of them: work and span, the bounds that follow from them, where the
//! span is, what workers did with their time, and what to do about it. A model that has run the
//! program's recorded strands adds what faster sites would bring ([`Report::with_model`]). [`text`]
//! shows the report on a screen, [`Report::json`] to programs, and [`html`] on a page.
#![doc = include_str!("profile/schema.md")]

mod advice;
mod analysis;
mod as_if;
mod bounds;
mod file;
mod grain;
mod growth;
mod losses;
mod merge;
mod modelled;
mod page;
mod report;
mod simulated;
mod text;
mod trust;
mod verdict;
mod worth;

pub use heist_event::short_name;

pub use analysis::{analyse, AnalysisError};
pub use as_if::{Limit, Prediction};
pub use bounds::{Speedup, Strands};
pub use file::{Grain, Idle, Interference, Profile, ProfileError, Sequential, Site};
pub use grain::{GrainSummary, Octave};
pub use growth::{Growth, SiteGrowth};
pub use merge::Merging;
pub use page::html;
pub use report::{Advice, Cause, Part, Report, Runs, SiteReport, Stretch, Subject};
pub use text::text;
pub use trust::{Disturbance, Trust};

#[cfg(test)]
mod tests;
