//! The number of workers to use: by the flag, else the environment, else the machine.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write as _};

use crate::machine::usable_cores;
use crate::usage::Usage;

/// The environment variable that is read where no flag is given.
const VARIABLE: &str = "HEIST_NUM_THREADS";

/// The largest number of workers that a pool can have.
const WORKERS_MAX: usize = heist::max_num_threads();

/// Reads the value of `--workers`.
pub(super) fn parse(given: &str) -> Result<usize, String> {
    match given.parse() {
        Ok(workers @ 1..=WORKERS_MAX) => Ok(workers),
        _ => Err(format!(
            "accepted is a whole number from 1 to {WORKERS_MAX} (default: the number of usable cores, {})",
            usable_cores()
        )),
    }
}

/// The number of workers to use.
pub(super) fn number(flag: Option<usize>) -> Result<usize, Usage> {
    match flag {
        Some(workers) => Ok(workers),
        None => from_environment(env::var_os(VARIABLE).as_deref()),
    }
}

/// Warns, on standard error, of more workers than can work at a time.
pub(super) fn warn(workers: usize) -> io::Result<()> {
    let cores = usable_cores();
    if workers <= cores {
        return Ok(());
    }
    let plural = if cores == 1 { "" } else { "s" };
    writeln!(
        io::stderr(),
        "note: {workers} workers take turns on {cores} usable core{plural}, so the times and \
         shares\nsay little about the strategies"
    )
}

fn from_environment(value: Option<&OsStr>) -> Result<usize, Usage> {
    let Some(value) = value else {
        return Ok(usable_cores());
    };
    match value.to_str().map(str::parse) {
        // The library reads 0 as "choose for me" too.
        Some(Ok(0)) => Ok(usable_cores()),
        Some(Ok(workers @ 1..=WORKERS_MAX)) => Ok(workers),
        _ => Err(Usage(format!(
            "invalid value '{}' in the environment variable {VARIABLE}: accepted is a whole number \
             from 0 to {WORKERS_MAX} (0 or unset: the number of usable cores, {})",
            value.display(),
            usable_cores()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_accepts_whole_numbers_in_range_only() {
        assert_eq!(parse("1"), Ok(1));
        assert_eq!(parse(&WORKERS_MAX.to_string()), Ok(WORKERS_MAX));
        for wrong in ["0", &(WORKERS_MAX + 1).to_string(), "-1", "two", "1.5", ""] {
            let message = parse(wrong).expect_err(wrong);
            assert!(
                message.contains(&format!("1 to {WORKERS_MAX}")),
                "{message}"
            );
        }
    }

    #[test]
    fn the_environment_says_zero_or_nothing_for_the_default() {
        let given =
            |value: &str| from_environment(Some(OsStr::new(value))).map_err(|error| error.0);
        assert_eq!(given("3"), Ok(3));
        assert_eq!(given("0"), Ok(usable_cores()));
        let message = given("many").expect_err("not a number");
        assert!(
            message.contains("'many'") && message.contains("HEIST_NUM_THREADS"),
            "{message}"
        );
    }
}
