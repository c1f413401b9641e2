//! A report about profiles, as text, document or page.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use heist_event::dag::Dag;
use heist_observe::profile::{analyse, html, text, Profile, ProfileError, Report};
use heist_observe::replay::Replay;
use heist_run::limited;
use heist_run::number::whole;
use heist_run::usage::{check_output, Usage};
use heist_sim::replay::Machine;

use crate::sim::Model;

/// A profile of a thousand sites is a fraction of this.
const PROFILE_BYTES_MAX: u64 = 1 << 26;

const ACCEPTED: &str =
    "accepted is a file as heist profile --out, HEIST_PROFILE and HEIST_TIMELINE write it";

/// Where a report goes.
#[derive(clap::Args, Debug)]
pub(crate) struct OutputArgs {
    /// Print one JSON document instead of the text
    #[arg(long)]
    json: bool,
    /// Write a page as well, which needs nothing but a browser
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Predict the time with so many workers, in one pool
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = |given: &str| whole(given, 1..=1_048_576))]
    as_if: Vec<u64>,
}

impl OutputArgs {
    /// Fails before the work if the page could not be written after it.
    pub(crate) fn check(&self) -> Result<(), Usage> {
        self.html.as_deref().map_or(Ok(()), check_output)
    }

    /// The file for the page, if one is wanted.
    pub(crate) fn html(&self) -> Option<&Path> {
        self.html.as_deref()
    }

    /// Fails if something else than a page is wanted, as timelines have no more.
    pub(crate) fn demand_page_only(&self) -> Result<(), Usage> {
        for (flag, is_given) in [("--json", self.json), ("--as-if", !self.as_if.is_empty())] {
            if is_given {
                let accepted = "accepted are --html and --trace";
                return Err(Usage(format!(
                    "{flag} means nothing to timelines; {accepted}"
                )));
            }
        }
        Ok(())
    }

    /// Shows the report about `profiles`, and what the model says of the program if it is asked.
    pub(crate) fn show(
        &self,
        profiles: &[Profile],
        asked: Asked,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let mut report = report(profiles)?;
        match asked {
            Asked::Nothing => {}
            Asked::Without(why) => report = report.with_model(Err(why)),
            Asked::Run(dag) => {
                if report.wants_model() {
                    let model = self.model(&report, dag)?;
                    report = report.with_model(Ok(model));
                }
            }
        }
        let report = report.as_if(&self.as_if);
        if let Some(path) = &self.html {
            fs::write(path, html(&report))
                .with_context(|| format!("cannot write the page {}", path.display()))?;
        }
        if self.json {
            writeln!(out, "{}", report.json())?;
        } else {
            write!(out, "{}", text(&report))?;
        }
        Ok(())
    }

    /// The model's answers for the numbers of workers of a report.
    fn model(&self, report: &Report, dag: Dag) -> anyhow::Result<Replay> {
        let model = Model::new(dag, Machine::new(1))?;
        let bounds = report.speedups.iter().map(|row| row.workers);
        let mut workers: Vec<u64> = bounds.chain(self.as_if.iter().copied()).collect();
        workers.push(report.workers_at_once);
        workers.sort_unstable();
        workers.dedup();
        Ok(model.replay(&workers, report.workers_at_once))
    }
}

/// The question that a report has for the model.
pub(crate) enum Asked {
    /// Nothing: no model is wanted.
    Nothing,
    /// Nothing, although it is wanted, for this reason.
    Without(String),
    /// To run the strands of a run of the program.
    Run(Dag),
}

/// The report about profiles.
pub(super) fn report(profiles: &[Profile]) -> Result<Report, Usage> {
    analyse(profiles).map_err(|error| Usage(error.to_string()))
}

/// Reads a profile.
pub(crate) fn read(path: &Path) -> Result<Profile, Usage> {
    parse(path, &read_text(path, PROFILE_BYTES_MAX)?)
}

/// Reads a file of a run, which has so many bytes at most.
pub(crate) fn read_text(path: &Path, bytes_max: u64) -> Result<String, Usage> {
    limited::read_text(path, bytes_max).map_err(|error| {
        Usage(format!(
            "cannot read {}: {error}; {ACCEPTED}",
            path.display()
        ))
    })
}

/// The profile that a file holds.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Profile, Usage> {
    Profile::parse(text).map_err(|error| {
        let more = match error {
            ProfileError::NoProfile(_) => format!("; {ACCEPTED}"),
            _ => String::new(),
        };
        Usage(format!("cannot use {}: {error}{more}", path.display()))
    })
}
