//! `heist doctor`: the machine and heist's settings as heist sees them, and the consequences.
//!
//! Every fact comes either from [`Host`], what the standard library and the
//! kernel answer when asked, or from a [`Tree`], the files in which Linux
//! describes itself. Both are arguments, so that the tests describe machines
//! that nobody has at hand.

mod cgroup;
mod cpu_list;
mod environment;
mod host;
mod page;
mod place;
mod project;
mod report;
mod text;
mod topology;
mod tree;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use heist_run::usage::Usage;

pub(crate) use self::environment::help as settings_help;

use self::environment::Environment;
use self::host::Host;
use self::place::Place;
use self::report::Report;
use self::tree::Tree;

/// Say what heist sees of this machine and of its own settings, and what
/// follows; or whether a project really runs on heist.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Say instead whether this project runs on heist: a Cargo.toml, or the folder that holds it
    ///
    /// Cargo only warns of a [patch] that it does not use, and the program then
    /// runs on rayon's own core. This asks cargo where rayon-core comes from,
    /// and says why if it is not the stand-in from heist's compat/rayon-core. It
    /// also says whose iterators the program has, rayon's or those of heist's
    /// compat/rayon, and which packages bring the real rayon.
    ///
    /// It looks at the whole workspace, with all features and for all
    /// platforms, as Cargo.lock has them: that file holds one rayon-core for
    /// every build. It leaves the project as it is, so Cargo.lock must be up to
    /// date; cargo may download packages.
    ///
    /// The exit code is 0 if the project runs on heist, 1 if it does not, and
    /// 2 if that cannot be told.
    #[arg(long, value_name = "PATH")]
    manifest: Option<PathBuf>,

    /// Say instead how far apart the CPUs of another Linux machine are
    ///
    /// PATH is a folder with a copy of that machine's sys/devices, or a file
    /// with lines `path = value` of what is there: heist's own tests have such
    /// files of common machines, in crates/sync/tests/machines.
    #[arg(long, value_name = "PATH", conflicts_with = "manifest")]
    sysroot: Option<PathBuf>,

    /// Print instead, as Markdown, all environment variables that heist reads
    #[arg(long, conflicts_with_all = ["manifest", "sysroot", "json"])]
    settings: bool,

    /// Print one JSON document instead of the text
    #[arg(long)]
    json: bool,
}

/// Prints the report of this machine, or of a project; the exit code is 1 if no
/// pool can start or a setting would be refused, or if the project is not on heist.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if args.settings {
        write!(out, "{}", environment::chapter())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &args.manifest {
        return project::run(path, args.json, out);
    }
    if let Some(path) = &args.sysroot {
        return show_place(path, args.json, out);
    }
    let environment = Environment::new(std::env::vars_os());
    let host = Host::ask(&environment);
    let report = Report::new(host, Tree::new(Path::new("/")), environment);
    if args.json {
        write_json(&report, out)?;
    } else {
        text::write(&report, out)?;
    }
    Ok(ExitCode::from(u8::from(report.has_trouble())))
}

/// The CPUs of the machine whose files lie there.
fn show_place(path: &Path, json: bool, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let refused = |why: String| {
        let accepted = "accepted is a folder with a copy of a machine's sys/devices, or a file \
                        with lines `path = value` of what is there";
        Usage(format!("{}: {why}; {accepted}", path.display()))
    };
    let topology = heist::Topology::read(path)
        .map_err(|error| refused(format!("it cannot be read: {error}")))?;
    if topology.processors().len() == 0 {
        let why = format!(
            "it describes no processor ({})",
            topology.notes().join("; ")
        );
        return Err(refused(why).into());
    }
    let place = Place::new(&topology, None);
    if json {
        write_json(&place, out)?;
    } else {
        place.write(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_json(value: &impl serde::Serialize, out: &mut impl Write) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(value).context("could not write JSON")?;
    Ok(writeln!(out, "{json}")?)
}
