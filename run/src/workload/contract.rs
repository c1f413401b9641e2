//! The contract of a workload, and its inputs and outputs as plain data.

use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use indicatif::HumanCount;
use serde::Serialize;

use crate::strategy::{Bag, Pieces, Serial};

/// A piece of work that runs under every strategy.
pub(crate) trait Workload: Sized + Sync {
    /// The description of the workload, and its flags.
    const PROFILE: Profile;

    /// Data that a run consumes, for instance the numbers that it sorts in place.
    type Scratch: Send;

    /// The result of a run.
    type Output: PartialEq + Send;

    /// Reads or generates the input. Not timed.
    ///
    /// # Errors
    ///
    /// Fails if the input cannot be had at all.
    fn prepare(setup: &Setup) -> anyhow::Result<Self>;

    /// The input in a few words.
    fn input(&self) -> String;

    /// Makes the scratch of one run. Not timed.
    fn fresh(&self) -> Self::Scratch;

    /// The work as a serial program.
    fn serial(&self, scratch: Self::Scratch, serial: &mut Serial<'_>) -> Self::Output;

    /// The work as a bag of tasks.
    ///
    /// # Errors
    ///
    /// Fails if the bag cannot start its threads.
    fn bagged(&self, scratch: Self::Scratch, bag: &mut Bag<'_>) -> io::Result<Self::Output>;

    /// The work in its natural form on heist. Called on a worker.
    fn stealing(&self, scratch: Self::Scratch, pieces: Pieces<'_>) -> Self::Output;

    /// Findings about the output, to be printed.
    fn facts(&self, output: &Self::Output) -> Vec<Fact>;

    /// The parts of the input that could not be used.
    fn skipped(&self, _output: &Self::Output) -> Vec<Skipped> {
        Vec::new()
    }

    /// Writes the output to a file, for the workload that has something to show.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    fn save(&self, _output: &Self::Output, _setup: &Setup) -> anyhow::Result<()> {
        Ok(())
    }
}

/// The description of a workload, and its flags.
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The pieces that the table counts as tasks, under each strategy.
    pub(crate) tasks: &'static str,
    /// None if the size follows from the input.
    pub(crate) size: Option<Size>,
    /// The flags that mean something to this workload, beside `--size`.
    pub(crate) flags: &'static [Flag],
}

/// The meaning of `--size` to a workload.
pub(crate) struct Size {
    pub(crate) what: &'static str,
    pub(crate) default: u64,
    pub(crate) accepted: RangeInclusive<u64>,
}

/// A flag that only some workloads know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    Seed,
    Input,
    Output,
}

/// The flags of one run, checked, with defaults filled in.
pub(crate) struct Setup {
    pub(crate) size: u64,
    pub(crate) seed: u64,
    pub(crate) input: Option<PathBuf>,
    pub(crate) output: PathBuf,
}

impl Setup {
    /// The size as a number of things in memory.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.size).expect("the accepted sizes fit into memory")
    }
}

/// One finding about the output.
#[derive(Serialize)]
pub(crate) struct Fact {
    /// In snake case, as the JSON document has it.
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

/// The value of a fact.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(u64),
    Real(f64),
    Text(String),
}

impl Value {
    /// The value as a person reads it.
    pub(crate) fn display(&self) -> String {
        match self {
            Self::Number(number) => HumanCount(*number).to_string(),
            Self::Real(real) => real.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<f64> for Value {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Fact {
    pub(crate) fn new(name: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        Self { name, value }
    }
}

/// A part of the input that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Skipped {
    pub(crate) what: String,
    pub(crate) reason: String,
}
