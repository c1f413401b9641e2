//! Rules about the source that no compiler checks.
//!
//! | rules | where |
//! |---|---|
//! | concurrency only through `heist-sync`; pure policies; a comment and a name at each ordering; sorts that inline what compares; nothing unfinished | `source` |
//! | how sentences begin, how wide they are, which names they use | `prose` |
//! | the direction of dependencies; a reason for each; peers only in the benchmark | `manifest` |
//! | every file of a `src` folder belongs to a module tree, and beside its folder | `modules` |
//! | no circles among the files of a crate | `circles` |
//! | the order of imports; the length of files and functions; an argument at each unsafe site, and the crates that have none | `layout` |
//! | an example of each public item of `heist` and the cluster | `examples` |
//! | the changelog names the version, the map every folder, lines of dependencies packages that are there | `documents` |
//! | the drawing of the tree names what is there, and nothing of a crate is missing from it | `drawing` |
//! | a test that cannot run here says so before it returns | `skips` |
//! | links of documents lead somewhere; the book's summary has every chapter | `links` |
//!
//! A violation says where it is, what it is, and how to mend it.

mod circles;
mod documents;
mod drawing;
mod examples;
mod layout;
pub(crate) mod links;
mod manifest;
mod modules;
mod prose;
mod repository;
pub(crate) mod rust;
mod skips;
pub(crate) mod source;

use std::fmt;
use std::path::Path;

pub use repository::Violation;

use layout::UnsafeSites;
use repository::Repository;

/// The findings of tidy.
#[derive(Debug)]
pub struct Report {
    /// In the order of files and lines.
    pub violations: Vec<Violation>,
    sites: UnsafeSites,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "{violation}")?;
        }
        let UnsafeSites { all, unargued } = self.sites;
        writeln!(
            f,
            "tidy: {all} unsafe sites, {unargued} without an argument"
        )?;
        match self.violations.len() {
            0 => write!(f, "tidy: no violation"),
            1 => write!(f, "tidy: 1 violation"),
            count => write!(f, "tidy: {count} violations"),
        }
    }
}

/// Checks the repository at `root`.
///
/// # Errors
///
/// Fails if a file cannot be read.
pub fn check(root: &Path) -> anyhow::Result<Report> {
    let repository = Repository::read(root)?;
    let mut violations = Vec::new();
    let modules = modules::check(&repository, &mut violations);
    circles::check(&repository, &modules, &mut violations);
    let sites = layout::check(&repository, &modules, &mut violations);
    examples::check(&repository, &modules, &mut violations);
    prose::check(&repository, &modules, &mut violations);
    source::check(&repository, &modules, &mut violations);
    skips::check(&repository, &modules, &mut violations);
    manifest::check(&repository, &mut violations);
    documents::check(&repository, &mut violations);
    drawing::check(&repository, &mut violations);
    links::check(&repository, &mut violations);
    violations.sort();
    violations.dedup();
    Ok(Report { violations, sites })
}

#[cfg(test)]
mod tests;
