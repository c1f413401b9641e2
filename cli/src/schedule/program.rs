//! The program that is run again and again: its arguments, and as a shell reads them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use heist_run::number::whole;
use heist_run::terminal::harmless;
use heist_run::usage::Usage;

/// The variable that says how many workers a pool has.
const WORKERS: &str = "HEIST_NUM_THREADS";

/// The number of workers if none is given: enough for most faults, and few to try.
const WORKERS_DEFAULT: u64 = 3;

/// The most workers of a pool.
const WORKERS_MAX: u64 = 65_535;

/// The limit if none is given.
const LIMIT: u64 = 60;

/// A program that is run again and again.
#[derive(clap::Args, Debug)]
pub(super) struct Program {
    /// Workers of the program's pool, which it must be given again for the same schedule
    /// [default: that of `HEIST_NUM_THREADS`, or 3]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=WORKERS_MAX))]
    pub(super) workers: Option<u64>,
    /// The most seconds that a run may take: one that takes longer is killed, and has failed
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT,
          value_parser = |given: &str| whole(given, 1..=86_400))]
    pub(super) limit: u64,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., last = true)]
    pub(super) command: Vec<OsString>,
}

impl Program {
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.limit)
    }

    /// The name of the program, for people.
    pub(super) fn name(&self) -> String {
        harmless(&self.command[0].to_string_lossy())
    }

    /// The variable for its workers, and their number.
    pub(super) fn workers(&self) -> Result<(&'static str, u64), Usage> {
        if let Some(workers) = self.workers {
            return Ok((WORKERS, workers));
        }
        let Some(given) = env::var_os(WORKERS) else {
            return Ok((WORKERS, WORKERS_DEFAULT));
        };
        let number = given.to_str().and_then(|text| text.trim().parse().ok());
        let number = number.filter(|number| (1..=WORKERS_MAX).contains(number));
        number.map(|number| (WORKERS, number)).ok_or_else(|| {
            Usage(format!(
                "{WORKERS} is set to {given:?}; accepted for a schedule is a whole number from 1 \
                 to {WORKERS_MAX}, or --workers"
            ))
        })
    }

    /// The rest of a call of `heist schedule` that runs this program, in any environment.
    pub(super) fn as_typed(&self) -> String {
        let mut words = Vec::new();
        let workers = self
            .workers()
            .map_or(WORKERS_DEFAULT, |(_, workers)| workers);
        if workers != WORKERS_DEFAULT || env::var_os(WORKERS).is_some() {
            words.push(format!("--workers {workers}"));
        }
        if self.limit != LIMIT {
            words.push(format!("--limit {}", self.limit));
        }
        words.push("--".to_owned());
        words.extend(self.command.iter().map(|word| typed(word)));
        words.join(" ")
    }
}

/// A word as a shell reads it, with nothing in it that a terminal obeys.
fn typed(word: &OsStr) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "_-./=:,@%+".contains(sign);
    match word.to_str() {
        Some(word) if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        Some(word) if !word.contains(char::is_control) => {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
        _ => format!("$'{}'", word.as_bytes().escape_ascii()),
    }
}

pub(super) fn typed_path(path: &Path) -> String {
    typed(path.as_os_str())
}

/// The name of a file, for people.
pub(super) fn told_path(path: &Path) -> String {
    harmless(&path.to_string_lossy())
}

pub(super) fn plural(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_typed_so_that_a_shell_reads_it_as_it_was() {
        let typed = |word: &[u8]| typed(OsStr::from_bytes(word));
        assert_eq!(typed(b"--lines=3"), "--lines=3");
        assert_eq!(typed(b"it's here"), r"'it'\''s here'");
        assert_eq!(typed(b""), "''");
        assert_eq!(typed(b"it's\x1b[31m\n\\\xff"), r"$'it\'s\x1b[31m\n\\\xff'");
        let program = Program {
            workers: Some(2),
            limit: 5,
            command: vec!["prog".into(), "a b".into()],
        };
        assert_eq!(program.as_typed(), "--workers 2 --limit 5 -- prog 'a b'");
    }
}
