//! Mutation of orderings: each named ordering is weakened, each named fence left out, each named
//! condition broken, one at a time, and a model must notice.
//!
//! | part | where |
//! |---|---|
//! | what can be broken, and what comments say about it | `mutant` |
//! | the models under loom, with and without a fault | `models` |
//! | how a mutant ends, and how many end how | `fate` |
//! | the table for fast runs, the dated document | `record` |
//!
//! A mutant that no model notices passes if a comment beside it says why none can. One that has
//! such a comment and is noticed fails: the comment is wrong.

mod fate;
mod models;
mod mutant;
mod record;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use crate::steps::{Outcome, Runner};
use fate::{Fate, Score};
use models::{Answer, Model, Surveyed};
use mutant::Mutant;
use record::Table;

/// The mutants to try, and how.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Try each mutant first on the model that is recorded to notice it, and take the comments
    /// at their word.
    #[arg(long)]
    fast: bool,
    /// Keep which model noticed which mutant in bench/record/mutants.toml, and if all were tried,
    /// the whole in bench/record/DATE-mutants.md.
    #[arg(long, conflicts_with = "fast")]
    record: bool,
    /// Only those whose name contains one of these.
    filters: Vec<String>,
}

/// Adds the fast run to those that a change must pass.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn add_step<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    let args = Args {
        fast: true,
        ..Args::default()
    };
    Ok(runner.step("mutate", |out| {
        Ok(match run(&root, &args, out) {
            Ok(true) => Outcome::Passed,
            Ok(false) => Outcome::Failed("a mutant lives".to_owned()),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        })
    })?)
}

/// Tries the mutants, and returns whether each was noticed or is explained.
///
/// # Errors
///
/// Fails if the models do not build, if one fails without a fault, or if the report or the record
/// cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let all = mutant::all(root)?;
    let is_meant = |mutant: &&Mutant| {
        let mut filters = args.filters.iter();
        args.filters.is_empty() || filters.any(|filter| mutant.name.contains(filter))
    };
    let meant: Vec<Mutant> = all.iter().filter(is_meant).cloned().collect();
    anyhow::ensure!(!meant.is_empty(), "there is no such mutant");
    let mut table = Table::read(root)?;
    let mut trial = Trial {
        root,
        models: models::build(root, out)?,
        surveyed: None,
    };
    let width = meant.iter().map(|mutant| mutant.name.len()).max();
    let width = width.unwrap_or(0);
    let mut fates = Vec::new();
    for mutant in meant {
        write!(out, "{:width$}  ", mutant.name)?;
        out.flush()?;
        let start = Instant::now();
        let known = table.killed_by.get(&mutant.name);
        let fate = match known.filter(|_| args.fast) {
            Some(model) => trial.ask(&mutant, model, out)?,
            None if args.fast && mutant.explanation.is_some() => Fate::Explained,
            None => trial.ask_all(&mutant, out)?,
        };
        writeln!(out, "{fate} ({:.1} s)", start.elapsed().as_secs_f64())?;
        fates.push((mutant, fate));
    }
    let score = Score::of(&fates);
    writeln!(out, "{score}")?;
    for (mutant, fate) in fates.iter().filter(|(_, fate)| !fate.is_well()) {
        writeln!(out, "{}: {} {fate}", mutant.place, mutant.name)?;
    }
    if args.record {
        // The document first: it names the commit, and whether that was changed.
        if args.filters.is_empty() {
            let path = record::write_document(root, &fates, &score.to_string())?;
            writeln!(out, "recorded in {}", path.display())?;
        }
        table.update(&fates, &all);
        table.write(root)?;
    }
    Ok(score.left == 0)
}

/// The models, and what is known of them.
struct Trial<'a> {
    root: &'a Path,
    models: Vec<Model>,
    /// Known as soon as it is wanted.
    surveyed: Option<Vec<Surveyed>>,
}

impl Trial<'_> {
    /// Asks the model of this name, and all if it does not notice.
    fn ask(&mut self, mutant: &Mutant, name: &str, out: &mut impl Write) -> anyhow::Result<Fate> {
        if let Some(model) = self.models.iter().find(|model| model.name == name) {
            if let Answer::Failed(sign) = model.try_once(self.root, &mutant.name)? {
                return Ok(Fate::killed(mutant, model, sign));
            }
        }
        write!(out, "no more by {name}; ")?;
        self.ask_all(mutant, out)
    }

    /// Asks all models that come past the place, the quickest first, until one notices.
    fn ask_all(&mut self, mutant: &Mutant, out: &mut impl Write) -> anyhow::Result<Fate> {
        if self.surveyed.is_none() {
            write!(out, "(running the models without a fault) ")?;
            out.flush()?;
            self.surveyed = Some(models::survey(self.root, &self.models)?);
        }
        let surveyed = self.surveyed.iter().flatten();
        let mut fate = Fate::Unreached;
        for surveyed in surveyed.filter(|model| model.reaches.contains(mutant.fault())) {
            match surveyed.try_fault(self.root, &mutant.name)? {
                Answer::Failed(sign) => return Ok(Fate::killed(mutant, &surveyed.model, sign)),
                Answer::Passed | Answer::Endless(_) if mutant.explanation.is_some() => {
                    fate = Fate::Explained;
                }
                Answer::Passed => fate = fate.or(Fate::Alive),
                Answer::Endless(limit) => {
                    fate = fate.or(Fate::Endless {
                        model: surveyed.model.name.clone(),
                        limit,
                        usual: surveyed.time,
                    });
                }
            }
        }
        Ok(fate)
    }
}
