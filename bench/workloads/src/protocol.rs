//! How the runner and a peer talk: a request on the command line, one line
//! of JSON per sample on standard output.
//!
//! `peer-rayon fib workers=2 samples=5 budget_ms=400 n=34` takes up to five
//! samples of `fib` within 400 ms. The word after the program is the workload,
//! everything else is `key=value` with an unsigned number.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Whether a peer has the workload that it was asked for.
pub type Outcome = Result<bool, String>;

/// One measurement of one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// How long it took by the wall clock.
    pub ns: u64,
    /// How many units of work that was; the definitions say what one unit is.
    pub units: u64,
    /// The result, as text because 64 bits do not fit a JSON number; equal for
    /// all peers.
    pub checksum: String,
    /// Further figures of the workload by name.
    pub extra: BTreeMap<String, f64>,
}

impl Sample {
    /// A sample without further figures.
    pub fn new(ns: u64, units: u64, checksum: u64) -> Self {
        let (checksum, extra) = (checksum.to_string(), BTreeMap::new());
        Self {
            ns,
            units,
            checksum,
            extra,
        }
    }

    /// The same sample with the figure `name` in addition.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.extra.insert(name.to_owned(), value);
        self
    }
}

/// The request of the command line.
#[derive(Debug)]
pub struct Request {
    workload: String,
    sizes: BTreeMap<String, u64>,
}

impl Request {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    ///
    /// If the workload is missing or an argument is not `key=number`.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = arguments.into_iter();
        let workload = arguments
            .next()
            .ok_or("no workload given; expected: WORKLOAD workers=N key=number ..")?;
        let mut sizes = BTreeMap::new();
        for argument in arguments {
            let pair = argument.split_once('=');
            let Some((key, Ok(number))) = pair.map(|(key, text)| (key, text.parse())) else {
                return Err(format!(
                    "cannot read the argument `{argument}`; expected key=number with an unsigned number"
                ));
            };
            sizes.insert(key.to_owned(), number);
        }
        Ok(Self { workload, sizes })
    }

    /// The name of the workload.
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// The number given as `name=..`.
    ///
    /// # Errors
    ///
    /// If it was not given.
    pub fn size(&self, name: &str) -> Result<u64, String> {
        self.sizes
            .get(name)
            .copied()
            .ok_or_else(|| format!("the workload `{}` needs `{name}=number`", self.workload))
    }

    /// [`size`](Self::size) for a count of things in memory.
    ///
    /// # Errors
    ///
    /// If it was not given.
    pub fn len(&self, name: &str) -> Result<usize, String> {
        let number = self.size(name)?;
        usize::try_from(number).map_err(|_| format!("`{name}={number}` does not fit this machine"))
    }

    /// How many workers the pool shall have.
    ///
    /// # Errors
    ///
    /// If it was not given.
    pub fn workers(&self) -> Result<usize, String> {
        self.len("workers")
    }

    /// Calls `run` up to `samples` times within `budget_ms` and prints what it
    /// returns. The first call is a warm-up and not printed, unless it used
    /// more than half the budget already.
    ///
    /// # Errors
    ///
    /// If `samples` or `budget_ms` was not given, or printing fails.
    pub fn repeat(&self, mut run: impl FnMut() -> Sample) -> Result<(), String> {
        let samples = self.size("samples")?;
        let budget = Duration::from_millis(self.size("budget_ms")?);
        let started = Instant::now();
        let mut taken = 0;
        let first = run();
        if started.elapsed() > budget / 2 {
            emit(&first)?;
            taken = 1;
        }
        while taken == 0 || (taken < samples && started.elapsed() < budget) {
            emit(&run())?;
            taken += 1;
        }
        Ok(())
    }
}

/// Prints one sample.
fn emit(sample: &Sample) -> Result<(), String> {
    let line = serde_json::to_string(sample).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot print a sample: {error}"))
}

/// The body of a peer's `main`: reads the request and lets `answer` serve it.
pub fn serve(answer: impl FnOnce(&Request) -> Outcome) -> ExitCode {
    let outcome = Request::parse(std::env::args().skip(1)).and_then(|request| {
        if answer(&request)? {
            Ok(())
        } else {
            Err(format!("this peer has no workload `{}`", request.workload))
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Request, String> {
        Request::parse(words.iter().map(|&word| word.to_owned()))
    }

    #[test]
    fn a_request_gives_its_workload_and_sizes() {
        let request = parse(&["fib", "workers=2", "n=34"]).unwrap();
        assert_eq!(request.workload(), "fib");
        assert_eq!(request.workers(), Ok(2));
        assert_eq!(request.size("n"), Ok(34));
    }

    #[test]
    fn a_missing_size_is_named() {
        let error = parse(&["fib"]).unwrap().size("n").unwrap_err();
        assert!(
            error.contains("`fib`") && error.contains("`n=number`"),
            "{error}"
        );
    }

    #[test]
    fn an_argument_that_is_no_number_is_named() {
        let error = parse(&["fib", "n=many"]).unwrap_err();
        assert!(error.contains("`n=many`"), "{error}");
    }

    #[test]
    fn a_sample_survives_the_way_through_json() {
        let sample = Sample::new(12, 3, u64::MAX).with("p50_us", 0.5);
        let back: Sample = serde_json::from_str(&serde_json::to_string(&sample).unwrap()).unwrap();
        assert_eq!(back.checksum, "18446744073709551615");
        assert_eq!((back.ns, back.units, back.extra["p50_us"]), (12, 3, 0.5));
    }
}
