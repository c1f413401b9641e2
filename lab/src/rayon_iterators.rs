//! Rayon's own tests of parallel iterators on ours: an oracle that somebody else wrote.
//!
//! The published package comes from the registry. Its tests, unit tests and the examples in its
//! documentation are built with our crate under the name `rayon`; nothing in them is changed.
//! Tests that use rayon's private parts, or count on them, are left out by name.

mod package;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xtask::build;

use crate::published;
use crate::rayon_tests::{check_count, Args, RAYON};
use package::{CUT_OUT, LEFT_OUT};
use xtask::libtest;

/// How many tests there must be, so that none is lost unnoticed: those of the published
/// package without those that are left out.
const UNIT: usize = 187;
const INTEGRATION: usize = 73;
const DOCUMENTATION: usize = 246;

/// Runs the tests, and returns whether all passed.
///
/// # Errors
///
/// Fails if the package cannot be fetched or the report cannot be written. Tests that do not
/// build are failures.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let suites = Suites::prepare(root, args)?;
    let passed = args.rounds(out, |out| suites.run(out))?;
    writeln!(out, "\nleft out:")?;
    for (file, reason) in LEFT_OUT {
        writeln!(out, "  {file}: {reason}")?;
    }
    for (file, test, reason) in CUT_OUT {
        writeln!(out, "  {file}, {test}: {reason}")?;
    }
    writeln!(out, "{}", if passed { "all passed" } else { "FAILED" })?;
    Ok(passed)
}

/// The packages that are built, each test program by itself, so that one which does not build
/// does not hide the others.
struct Suites {
    folder: PathBuf,
    target: PathBuf,
    deadline: Duration,
    tests: PathBuf,
    /// The integration tests.
    names: Vec<String>,
    docs: Option<PathBuf>,
}

impl Suites {
    fn prepare(root: &Path, args: &Args) -> anyhow::Result<Self> {
        let folder = build::target_folder(root, "rayon-iterators");
        let heist = root.join("crates/heist");
        let original = published::unpack("rayon", RAYON, &folder)?;
        let tests = folder.join("tests");
        let names = package::write_tests(&original, &heist, &tests)?;
        let docs = folder.join("docs");
        package::write_docs(&original, &heist, &docs)?;
        Ok(Self {
            target: folder.join("target"),
            deadline: Duration::from_secs(args.deadline),
            folder,
            tests,
            names,
            docs: (!args.no_doc).then_some(docs),
        })
    }

    fn run(&self, out: &mut impl Write) -> anyhow::Result<bool> {
        libtest::write_head(out)?;
        let mut all_passed = true;
        let (found, passed) = self.build_and_run("unit tests", &["--quiet", "--lib"], out)?;
        all_passed &= passed & check_count("the unit tests", found, UNIT, out)?;
        let mut integration = 0;
        for name in &self.names {
            let (found, passed) = self.build_and_run(name, &["--quiet", "--test", name], out)?;
            integration += found;
            all_passed &= passed;
        }
        all_passed &= check_count("the integration tests", integration, INTEGRATION, out)?;
        if let Some(docs) = &self.docs {
            let log = self.log("documentation");
            let results = libtest::run_doc_tests(docs, &self.target, self.deadline * 4, &log)?;
            libtest::write_line(out, "documentation", &results)?;
            all_passed &= results.all_passed();
            all_passed &= check_count("the examples", results.count(), DOCUMENTATION, out)?;
        }
        Ok(all_passed)
    }

    /// How many tests there are, and whether they passed.
    fn build_and_run(
        &self,
        suite: &str,
        target: &[&str],
        out: &mut impl Write,
    ) -> anyhow::Result<(usize, bool)> {
        let programs = match libtest::build(&self.tests, &self.target, target) {
            Ok(programs) => programs,
            Err(error) => {
                writeln!(out, "{suite:34} FAILED: {error:#}")?;
                return Ok((0, false));
            }
        };
        let mut all = (0, true);
        for program in &programs {
            let results = libtest::run(program, self.deadline, &self.log(suite))?;
            libtest::write_line(out, suite, &results)?;
            all = (all.0 + results.count(), all.1 & results.all_passed());
        }
        Ok(all)
    }

    fn log(&self, suite: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{suite}.txt"))
    }
}
