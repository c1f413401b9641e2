//! The book: its links into the documentation of the libraries, and its pages.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::build::target_folder;
use crate::steps::{Outcome, Runner};
use crate::tidy::links::{links, API};

/// Options of `cargo xtask book`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Only check the links into the documentation of the libraries, which must have been made.
    #[arg(long)]
    check: bool,
}

/// Builds the documentation and the book, which links to it, and returns whether all is well.
///
/// # Errors
///
/// Fails if a step cannot be set up or the report cannot be written.
pub fn run(root: &Path, args: Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    if args.check {
        add_step(&mut runner)?;
        return Ok(runner.finish()?);
    }
    let mut doc = Command::new("cargo");
    doc.args(["doc", "--no-deps", "-p", "heist", "-p", "heist-cluster"]);
    doc.args(["--features", "heist/observe,heist/futures,heist/io"]);
    runner.command("documentation", &mut doc)?;
    add_step(&mut runner)?;
    if !has_mdbook() {
        runner.skip("pages", MDBOOK_ABSENT)?;
        return Ok(runner.finish()?);
    }
    runner.command("pages", &mut pages())?;
    let (documentation, pages) = (
        target_folder(root, "doc"),
        root.join("target/book").join(API),
    );
    runner.step("documentation beside the pages", |_| {
        copy(&documentation, &pages).map(|()| Outcome::Passed)
    })?;
    Ok(runner.finish()?)
}

pub(crate) const MDBOOK_ABSENT: &str =
    "mdbook is not installed (cargo install --locked mdbook: some minutes on two cores)";

pub(crate) fn has_mdbook() -> bool {
    let mut probe = Command::new("mdbook");
    let probe = probe.arg("--version").stdout(Stdio::null());
    let status = probe.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The call that makes the pages of the book, in `target/book`.
pub(crate) fn pages() -> Command {
    let mut pages = Command::new("mdbook");
    pages.args(["build", "book"]);
    pages
}

/// Adds the check of the links into the documentation, for a run that has made that.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn add_step<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    runner.step("links of the book", |out| {
        let documentation = target_folder(&root, "doc");
        if !documentation.is_dir() {
            let why = "there is no documentation yet (cargo doc --no-deps --workspace)";
            return Ok(Outcome::Skipped(why.to_owned()));
        }
        let mut wrong = 0;
        for entry in std::fs::read_dir(root.join("book/src"))? {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != "md") {
                continue;
            }
            // A chapter may be a guide of a library, with links whose ends the chapter has.
            let text = whole(&path)?;
            for link in links(&text) {
                let Some(to) = link.to.strip_prefix(API) else {
                    continue;
                };
                if !leads_somewhere(&documentation, to) {
                    writeln!(out, "{}: `{API}{to}` is not there", path.display())?;
                    wrong += 1;
                }
            }
        }
        Ok(match wrong {
            0 => Outcome::Passed,
            wrong => Outcome::Failed(format!("{wrong} links lead nowhere")),
        })
    })?;
    Ok(())
}

/// A chapter with the files that it includes.
fn whole(chapter: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(chapter)?;
    let mut whole = String::new();
    for line in text.lines() {
        let included = line.strip_prefix("{{#include ");
        match (
            included.and_then(|rest| rest.strip_suffix("}}")),
            chapter.parent(),
        ) {
            (Some(path), Some(folder)) => {
                whole.push_str(&std::fs::read_to_string(folder.join(path))?);
            }
            _ => whole.push_str(line),
        }
        whole.push('\n');
    }
    Ok(whole)
}

/// True if the page is there, and has the part that the link names.
fn leads_somewhere(documentation: &Path, to: &str) -> bool {
    let (path, part) = to.split_once('#').unwrap_or((to, ""));
    let page = std::fs::read_to_string(documentation.join(path));
    page.is_ok_and(|page| part.is_empty() || page.contains(&format!("id=\"{part}\"")))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let path = entry.path().strip_prefix(from).map_err(io::Error::other)?;
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(to.join(path))?;
        } else {
            std::fs::copy(entry.path(), to.join(path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a chapter, and documentation with one page.
    fn outcome(chapter: &str) -> (bool, String) {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("book/src/one.md", chapter);
        write("guide.md", "[the way](api/heist/fn.lost.html)\n");
        let doc = target_folder(root.path(), "doc");
        std::fs::create_dir_all(doc.join("heist")).unwrap();
        std::fs::write(doc.join("heist/fn.join.html"), "<h1 id=\"top\">").unwrap();
        let mut out = Vec::new();
        let mut runner = Runner::new(root.path(), &mut out);
        add_step(&mut runner).unwrap();
        let passed = runner.finish().unwrap();
        (passed, String::from_utf8(out).unwrap())
    }

    #[test]
    fn links_to_pages_and_their_parts_are_followed() {
        let good = "[a](api/heist/fn.join.html) [b](api/heist/fn.join.html#top) [c](other.md)\n";
        assert!(outcome(good).0);
        for bad in [
            "[a](api/heist/fn.split.html)\n",
            "[a](api/heist/fn.join.html#bottom)\n",
            "{{#include ../../guide.md}}\n",
            "[a][b]\n\n[b]: api/absent.html\n",
        ] {
            let (passed, text) = outcome(bad);
            assert!(!passed && text.contains("is not there"), "{bad}{text}");
        }
    }
}
