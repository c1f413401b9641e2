//! How a command ends: its exit code, and the error on standard error.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context as _;

use crate::terminal::harmless;
use crate::usage::Usage;

/// Ends a command that wrote to `out`: 2 after a wrong call, 1 after another error, which is
/// printed. A reader that has gone away, for instance `head`, is no error.
pub fn code(outcome: anyhow::Result<ExitCode>, out: &mut dyn Write) -> ExitCode {
    match outcome.and_then(|code| Ok(out.flush().map(|()| code)?)) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("{error:#}");
            // Names in it may come from files.
            let lines = text.split('\n').map(harmless);
            let text = lines.collect::<Vec<_>>().join("\n");
            // If stderr is closed as well, the exit code has to do.
            let _ = writeln!(io::stderr(), "error: {text}");
            let code = if error.is::<Usage>() { 2 } else { 1 };
            ExitCode::from(code)
        }
    }
}

/// Ends a program whose arguments name no work: they ask for its help or its version, or are wrong.
pub fn unparsed(answer: &clap::Error) -> ExitCode {
    let written = answer.print().context("cannot print the answer");
    if answer.use_stderr() {
        // If stderr is closed, the exit code has to do.
        return ExitCode::from(2);
    }
    code(written.map(|()| ExitCode::SUCCESS), &mut io::stdout())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
