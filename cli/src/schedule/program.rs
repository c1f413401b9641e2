//! The program that is run again and again: its arguments, and as a shell reads them.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use heist_run::number::whole;
use heist_run::terminal::harmless;

/// A program that is run again and again.
#[derive(clap::Args, Debug)]
pub(super) struct Program {
    /// Workers of the program's pool, which it must be given again for the same schedule
    /// [default: that of `HEIST_NUM_THREADS`, or 3]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=65535))]
    pub(super) workers: Option<u64>,
    /// The most seconds that a run may take: one that takes longer is killed, and has failed
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
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

    /// The rest of a call of `heist schedule` that runs this program.
    pub(super) fn as_typed(&self) -> String {
        let mut words = Vec::new();
        if let Some(workers) = self.workers {
            words.push(format!("--workers {workers}"));
        }
        words.push("--".to_owned());
        words.extend(
            self.command
                .iter()
                .map(|word| typed(&word.to_string_lossy())),
        );
        words.join(" ")
    }
}

/// A word as a shell reads it.
fn typed(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "_-./=:,@%+".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", harmless(word).replace('\'', r"'\''"))
}

pub(super) fn typed_path(path: &Path) -> String {
    typed(&path.to_string_lossy())
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
        assert_eq!(typed("--lines=3"), "--lines=3");
        assert_eq!(typed("it's here"), r"'it'\''s here'");
        assert_eq!(typed(""), "''");
        let program = Program {
            workers: Some(2),
            limit: 60,
            command: vec!["prog".into(), "a b".into()],
        };
        assert_eq!(program.as_typed(), "--workers 2 -- prog 'a b'");
    }
}
