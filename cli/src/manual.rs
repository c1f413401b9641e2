//! `heist completions` and `heist man`: files for shells and for the reader of manual pages, made
//! from the description of the arguments.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap_complete::Shell;
use clap_mangen::Man;
use heist_run::usage::Usage;

/// Flags of `heist completions`
#[derive(clap::Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Flags of `heist man`
#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// Write the page of each command to this folder, in place of the first one to the output
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Prints a file that teaches a shell the arguments of `program`.
pub(crate) fn completions(
    args: &CompletionsArgs,
    mut program: clap::Command,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(args.shell, &mut program, name, &mut text);
    out.write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page of `program`, or writes a page for each of its commands.
pub(crate) fn man(
    args: &ManArgs,
    program: clap::Command,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let Some(folder) = &args.folder else {
        let mut text = Vec::new();
        Man::new(program).render(&mut text)?;
        out.write_all(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    if !folder.is_dir() {
        let why = format!(
            "cannot write manual pages to {}: it is no folder; name one that is there",
            folder.display()
        );
        return Err(Usage(why).into());
    }
    clap_mangen::generate_to(program, folder)
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
