//! Ordinary parallel loops of many kinds, on rayon and on heist in one process.
#![forbid(unsafe_code)]

mod clock;
mod data;
mod table;

/// The kinds on heist.
mod on_heist {
    use heist as library;
    include!("kinds.rs");
}

/// The kinds on rayon.
mod on_rayon {
    use rayon as library;
    include!("kinds.rs");
}

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use clock::{once, sample, Body, Kind};
use data::Data;
use table::Table;

/// Times every kind in a serial loop, on rayon and on heist, interleaved, and prints the ratios.
#[derive(Debug, Parser)]
struct Args {
    /// Only the kinds whose names contain one of these
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    only: Vec<String>,
    /// How often each form of each kind is timed
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Milliseconds that one timing takes
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    budget: u64,
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Vec<u16>,
    /// Run each kind ten times in this form and time nothing, for a program that counts
    /// instructions
    #[arg(long, value_name = "FORM")]
    just: Option<Form>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    Serial,
    Rayon,
    Heist,
}

/// One kind on both libraries.
#[derive(Clone, Copy, Debug)]
struct Contest {
    rayon: &'static Kind,
    heist: &'static Kind,
}

impl Contest {
    fn body(self, form: Form) -> Body {
        match form {
            Form::Serial => self.rayon.serial,
            Form::Rayon => self.rayon.parallel,
            Form::Heist => self.heist.parallel,
        }
    }
}

/// A pool of each library.
struct Pools {
    rayon: rayon::ThreadPool,
    heist: heist::ThreadPool,
}

impl Pools {
    fn new(workers: u16) -> Result<Self, String> {
        let workers = usize::from(workers);
        let cannot = |error: &dyn std::error::Error| format!("no pool of {workers}: {error}");
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers);
        let heist = heist::ThreadPoolBuilder::new().num_threads(workers);
        Ok(Self {
            rayon: rayon.build().map_err(|error| cannot(&error))?,
            heist: heist.build().map_err(|error| cannot(&error))?,
        })
    }

    /// Calls `op` where this form runs.
    fn run<R: Send>(&self, form: Form, op: impl FnOnce() -> R + Send) -> R {
        match form {
            Form::Serial => op(),
            Form::Rayon => self.rayon.install(op),
            Form::Heist => self.heist.install(op),
        }
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heist-bench-kinds: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let contests = chosen(&args.only)?;
    let data = Data::new();
    if let Some(form) = args.just {
        let pools = Pools::new(args.workers[0])?;
        for contest in contests {
            pools.run(form, || {
                (0..10).for_each(|_| _ = once(contest.body(form), &data));
            });
        }
        return Ok(());
    }
    for &workers in &args.workers {
        let pools = Pools::new(workers)?;
        agree(&contests, &pools, &data)?;
        let table = measure(args, &contests, &pools, &data);
        let text = format!("{workers} workers, in us\n\n{table}\n");
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())
            .map_err(|error| format!("could not print the table: {error}"))?;
    }
    Ok(())
}

fn chosen(parts: &[String]) -> Result<Vec<Contest>, String> {
    let all = on_rayon::KINDS.iter().zip(on_heist::KINDS);
    let mut contests: Vec<Contest> = all.map(|(rayon, heist)| Contest { rayon, heist }).collect();
    for part in parts {
        if !contests.iter().any(|each| each.heist.name.contains(part)) {
            let names: Vec<&str> = contests.iter().map(|each| each.heist.name).collect();
            return Err(format!(
                "no kind has {part:?} in its name; there are {}",
                names.join(", ")
            ));
        }
    }
    let is_chosen = |each: &Contest| parts.iter().any(|part| each.heist.name.contains(part));
    contests.retain(|each| parts.is_empty() || is_chosen(each));
    Ok(contests)
}

/// All forms of a kind have the same result; this warms up, too.
fn agree(contests: &[Contest], pools: &Pools, data: &Data) -> Result<(), String> {
    for contest in contests {
        let result = |form| pools.run(form, || once(contest.body(form), data).1);
        let (serial, rayon, heist) = (
            result(Form::Serial),
            result(Form::Rayon),
            result(Form::Heist),
        );
        if serial != rayon || serial != heist {
            let name = contest.heist.name;
            return Err(format!(
                "{name}: serial {serial:x}, rayon {rayon:x}, heist {heist:x}"
            ));
        }
    }
    Ok(())
}

fn measure<'a>(args: &Args, contests: &[Contest], pools: &Pools, data: &Data) -> Table<'a> {
    const FORMS: [Form; 3] = [Form::Serial, Form::Rayon, Form::Heist];
    let budget = Duration::from_millis(args.budget);
    let mut table = Table::new(contests.iter().map(|contest| contest.heist.name));
    for round in 0..args.rounds as usize {
        for (row, contest) in contests.iter().enumerate() {
            let mut times = [0.0; 3];
            for turn in 0..FORMS.len() {
                let place = (turn + round + row) % FORMS.len();
                let form = FORMS[place];
                times[place] = pools.run(form, || sample(contest.body(form), data, budget));
            }
            table.add(row, times);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_each_kind_have_one_result() {
        let pools = Pools::new(3).unwrap();
        agree(&chosen(&[]).unwrap(), &pools, &Data::new()).unwrap();
    }

    #[test]
    fn a_kind_is_chosen_by_a_part_of_its_name() {
        let names = |part: &str| -> Result<Vec<&str>, String> {
            let contests = chosen(&[part.to_owned()])?;
            Ok(contests.iter().map(|each| each.heist.name).collect())
        };
        assert_eq!(
            names("windows").unwrap(),
            ["windows_of_two", "windows_of_eight"]
        );
        let error = names("window pane").unwrap_err();
        assert!(
            error.contains("\"window pane\"") && error.contains("lines"),
            "{error}"
        );
    }
}
