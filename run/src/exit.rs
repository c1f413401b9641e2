//! How a command ends: its exit code, and the error on standard error.

use std::io::{self, Write};
use std::process::ExitCode;

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

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
