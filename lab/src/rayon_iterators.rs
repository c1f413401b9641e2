//! Rayon's own tests of parallel iterators on ours: an oracle that somebody else wrote.
//!
//! The published package comes from the registry. Its tests, unit tests and the examples in its
//! documentation are built with our package under the name `rayon`: the one in rayon's place, which
//! has the plumbing too, or the crate heist. Nothing in them is changed. Tests that use rayon's
//! private parts, or count on them, are left out by name.

mod package;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xtask::build;

use crate::published::{self, RAYON};
use crate::rayon_tests::{check_count, Args};
use package::On;
use xtask::libtest;

/// How to run them, and on which package.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct IteratorArgs {
    /// The package that is called rayon.
    #[arg(long, value_enum, default_value_t = On::Rayon)]
    on: On,
    #[command(flatten)]
    all: Args,
}

/// The number of examples in the documentation of the published package. It tells that none is
/// lost unnoticed, as [`On::counts`] does for the tests.
const DOCUMENTATION: usize = 246;

/// Runs the tests, and returns whether all passed.
///
/// # Errors
///
/// Fails if the package cannot be fetched or the report cannot be written. Tests that do not
/// build are failures.
pub(crate) fn run(root: &Path, args: &IteratorArgs, out: &mut impl Write) -> anyhow::Result<bool> {
    let suites = Suites::prepare(root, args)?;
    let passed = args.all.rounds(out, |out| suites.run(out))?;
    writeln!(out, "\nleft out:")?;
    for (file, reason) in args.on.left_out() {
        writeln!(out, "  {file}: {reason}")?;
    }
    for (file, test, reason) in args.on.cut_out() {
        writeln!(out, "  {file}, {test}: {reason}")?;
    }
    writeln!(out, "{}", if passed { "all passed" } else { "FAILED" })?;
    Ok(passed)
}

/// The packages that are built, each test program by itself, so that one which does not build
/// does not hide the others.
struct Suites {
    on: On,
    folder: PathBuf,
    target: PathBuf,
    deadline: Duration,
    tests: PathBuf,
    /// The integration tests.
    names: Vec<String>,
    docs: Option<PathBuf>,
}

impl Suites {
    fn prepare(root: &Path, args: &IteratorArgs) -> anyhow::Result<Self> {
        let IteratorArgs { on, all } = *args;
        let folder = build::target_folder(root, on.folder());
        let original = published::unpack("rayon", RAYON, &folder)?;
        let tests = folder.join("tests");
        let names = package::write_tests(&original, on, root, &tests)?;
        let docs = folder.join("docs");
        package::write_docs(&original, on, root, &docs)?;
        Ok(Self {
            on,
            target: folder.join("target"),
            deadline: Duration::from_secs(all.deadline),
            folder,
            tests,
            names,
            docs: (!all.no_doc).then_some(docs),
        })
    }

    fn run(&self, out: &mut impl Write) -> anyhow::Result<bool> {
        libtest::write_head(out)?;
        let mut all_passed = true;
        let (unit, expected) = self.on.counts();
        let (found, passed) = self.build_and_run("unit tests", &["--quiet", "--lib"], out)?;
        all_passed &= passed & check_count("the unit tests", found, unit, out)?;
        let mut integration = 0;
        for name in &self.names {
            let (found, passed) = self.build_and_run(name, &["--quiet", "--test", name], out)?;
            integration += found;
            all_passed &= passed;
        }
        all_passed &= check_count("the integration tests", integration, expected, out)?;
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
