//! How a run of a program ended, and its last words.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use heist_run::terminal::harmless;

/// The most bytes in which last lines are looked for.
const SAID_MAX: u64 = 1 << 16;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Code(i32),
    Signal(i32),
}

impl Ending {
    pub(crate) fn of(status: ExitStatus) -> Self {
        // A process has ended by one or the other.
        let signal = status.signal().map(Self::Signal);
        signal.unwrap_or(Self::Code(status.code().unwrap_or(1)))
    }

    /// The exit code that passes it on, as shells do.
    pub(crate) fn exit_code(self) -> ExitCode {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        };
        ExitCode::from(u8::try_from(code).expect("codes are bytes, and signals less than 128"))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(signal) => match signal_hook::low_level::signal_name(signal) {
                Some(name) => write!(f, "was killed by signal {signal} ({name})"),
                None => write!(f, "was killed by signal {signal}"),
            },
        }
    }
}

/// The last lines, so many at most, of what a program said in this file; `None` if it said nothing.
pub(crate) fn last_words(said: &Path, lines_max: usize) -> Option<String> {
    let mut file = File::open(said).ok()?;
    let begin = file.metadata().ok()?.len().saturating_sub(SAID_MAX);
    file.seek(SeekFrom::Start(begin)).ok()?;
    let mut said = Vec::new();
    file.take(SAID_MAX).read_to_end(&mut said).ok()?;
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last = &lines[lines.len().saturating_sub(lines_max)..];
    let last = last.iter().map(|line| format!("  {}", harmless(line)));
    let last: Vec<String> = last.collect();
    (!last.is_empty()).then(|| last.join("\n"))
}
