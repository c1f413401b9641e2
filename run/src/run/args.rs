//! The flags of `heist run`.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::ValueEnum;

use super::workers;
use crate::number::whole;
use crate::strategy::Strategy;
use crate::usage::{check_outputs, Usage};
use crate::workload::Kind;

/// The seed of generated input where none is given. With it the tree of `uts` has
/// 3.2 million nodes; its size varies widely from seed to seed.
pub(super) const SEED: u64 = 46;

/// Flags of `heist run`
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The workload to run [default: files, uts and loop, in one table]
    #[arg(value_enum)]
    pub(super) workload: Option<Kind>,
    /// Number of threads [default: `HEIST_NUM_THREADS` if that is set,
    /// else the number of usable cores]
    #[arg(long, value_name = "N", value_parser = workers::parse)]
    pub(super) workers: Option<usize>,
    /// Strategy to compare with the serial one
    #[arg(long, default_value = "all")]
    pub(super) strategy: Selection,
    /// The input of files (a folder) or json (a file, one document a line)
    #[arg(long, value_name = "PATH")]
    pub(super) input: Option<PathBuf>,
    /// Problem size of a generated workload; see the list of workloads
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 0..=u64::MAX))]
    pub(super) size: Option<u64>,
    /// Seed of a generated workload [default: 46]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 0..=u64::MAX))]
    pub(super) seed: Option<u64>,
    /// File for the picture of mandelbrot [default: mandelbrot.png]
    #[arg(long, value_name = "FILE.png")]
    pub(super) output: Option<PathBuf>,
    /// Number of measured rounds; the median is shown (of an even number, the slower of the two
    /// in the middle) [default: 3; without a workload as many as fit into three seconds each]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=1000))]
    pub(super) repeat: Option<u64>,
    /// Record one more round and write a page that shows the jobs of each worker over time
    #[arg(long, value_name = "FILE.html")]
    pub(super) report: Option<PathBuf>,
    /// Record one more round and write what each worker did when as a trace, which Perfetto and
    /// `chrome://tracing` show
    #[arg(long, value_name = "FILE.json")]
    pub(super) trace: Option<PathBuf>,
    /// Print one JSON document instead of the table; the book has its fields
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    /// True if one more round is to be recorded.
    pub(super) fn records(&self) -> bool {
        self.report.is_some() || self.trace.is_some()
    }

    /// Fails if one of the files, a picture among them, could not be written after the work.
    pub(super) fn check_outputs(&self, picture: Option<&Path>) -> Result<(), Usage> {
        check_outputs(&[
            ("--output", picture),
            ("--report", self.report.as_deref()),
            ("--trace", self.trace.as_deref()),
        ])
    }
}

/// The strategy to compare with the serial one; `None` for all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection(Option<Strategy>);

impl Selection {
    /// The strategies to run. The serial one is always among them: all others
    /// are checked against its result and compared with its time.
    pub(super) fn strategies(self) -> Vec<Strategy> {
        match self.0 {
            None => Strategy::value_variants().to_vec(),
            Some(Strategy::Serial) => vec![Strategy::Serial],
            Some(other) => vec![Strategy::Serial, other],
        }
    }
}

impl ValueEnum for Selection {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(Some(Strategy::Serial)),
                Self(Some(Strategy::Static)),
                Self(Some(Strategy::Central)),
                Self(Some(Strategy::Stealing)),
                Self(None),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self.0 {
            Some(strategy) => strategy.to_possible_value(),
            None => Some(PossibleValue::new("all").help("All four")),
        }
    }
}
