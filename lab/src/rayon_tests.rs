//! Rayon's own tests on the stand-in: the best oracle for our scheduler that somebody else wrote.
//!
//! The published packages come from the registry. Those of `rayon` run as they are, with a
//! patch in their manifest. Those of `rayon-core` are taken out of the original: its unit
//! tests are compiled against the stand-in's public API (`core_package` says how), its
//! integration tests as they are, and the examples in its documentation with the stand-in in
//! the place of `rayon_core`.

pub(crate) mod core_package;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xtask::build;

use crate::published::{self, Runtime, RAYON};
use core_package::REPLACED;
use xtask::libtest::{self, Program, Results};

/// How to run them.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// Run everything this many times.
    #[arg(long, default_value_t = 1, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Leave the examples in the documentation out, which take the longest.
    #[arg(long)]
    pub(crate) no_doc: bool,
    /// Stop a test program after this many seconds and call it hung.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub(crate) deadline: u64,
}

impl Args {
    /// Runs all as often as wanted, and returns whether all passed each time.
    pub(crate) fn rounds<W: Write>(
        &self,
        out: &mut W,
        mut run: impl FnMut(&mut W) -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let mut passed = true;
        for round in 1..=self.repeat {
            if self.repeat > 1 {
                writeln!(out, "\nround {round} of {}", self.repeat)?;
            }
            passed &= run(out)?;
        }
        Ok(passed)
    }
}

/// How many tests there must be, so that none is lost unnoticed: those of the published
/// packages and those that are replaced. Two of rayon-core and one of rayon are marked as
/// ignored; the former are run by another test.
const CORE_UNIT: usize = 101;
const CORE_INTEGRATION: usize = 11;
const RAYON_ALL: usize = 333;

/// The one test that is known to hang on rayon as well (rayon's issue 1142).
const MAY_HANG: &str = "par_bridge_recursion";
/// How often the original gets the chance to hang, for comparison.
const COMPARISONS: usize = 10;

/// Runs the tests, and returns whether all passed.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let suites = Suites::prepare(root, args)?;
    let passed = args.rounds(out, |out| suites.run(out))?;
    writeln!(
        out,
        "\nreplaced by tests of ours in compat/rayon-core/tests:"
    )?;
    for (test, by, reason) in REPLACED {
        writeln!(out, "  {test}: {by}; {reason}")?;
    }
    writeln!(out, "{}", if passed { "all passed" } else { "FAILED" })?;
    Ok(passed)
}

/// Makes sure that no test is lost unnoticed.
pub(crate) fn check_count(
    suite: &str,
    found: usize,
    expected: usize,
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    if found != expected {
        writeln!(
            out,
            "FAILED: of {suite} {found} were seen, and there are {expected}"
        )?;
    }
    Ok(found == expected)
}

/// Everything that is run, built once.
struct Suites {
    folder: PathBuf,
    target: PathBuf,
    deadline: Duration,
    core: Vec<Program>,
    rayon: Vec<Program>,
    /// The packages with documentation tests.
    docs: Vec<(&'static str, PathBuf)>,
}

impl Suites {
    fn prepare(root: &Path, args: &Args) -> anyhow::Result<Self> {
        let folder = build::target_folder(root, "rayon-tests");
        let target = folder.join("target");
        let stand_in = root.join("compat/rayon-core");
        let original = published::unpack("rayon-core", published::RAYON_CORE, &folder)?;
        let tests = core_package::write_tests(&original, &stand_in, &folder.join("core-tests"))?;
        let docs = core_package::write_docs(&original, &stand_in, &folder.join("core-docs"))?;
        let rayon = published::unpack("rayon", RAYON, &folder.join("on-heist"))?;
        published::set_runtime(&rayon, &Runtime::core(root), &[])?;
        let docs = match args.no_doc {
            true => Vec::new(),
            false => vec![("rayon-core", docs), ("rayon", rayon.clone())],
        };
        Ok(Self {
            core: libtest::build(&tests, &target, &[])?,
            rayon: libtest::build(&rayon, &target, &[])?,
            docs,
            deadline: Duration::from_secs(args.deadline),
            folder,
            target,
        })
    }

    fn run(&self, out: &mut impl Write) -> anyhow::Result<bool> {
        libtest::write_head(out)?;
        let mut passed = true;
        let mut unit = REPLACED.len();
        let mut integration = 0;
        for program in &self.core {
            let results = self.run_program("rayon-core", program, out)?;
            passed &= results.all_passed();
            match program.is_unit {
                true => unit += results.count(),
                false => integration += results.count(),
            }
        }
        let mut rayon = 0;
        for program in &self.rayon {
            let results = self.run_program("rayon", program, out)?;
            rayon += results.count();
            passed &= results.all_passed() || self.hangs_on_rayon_too(program, &results, out)?;
        }
        for (package, folder) in &self.docs {
            let log = self.log(package, "doc");
            let results = libtest::run_doc_tests(folder, &self.target, self.deadline * 4, &log)?;
            libtest::write_line(out, &format!("{package} documentation"), &results)?;
            passed &= results.all_passed();
        }
        for (suite, found, expected) in [
            ("rayon-core's unit tests", unit, CORE_UNIT),
            (
                "rayon-core's integration tests",
                integration,
                CORE_INTEGRATION,
            ),
            ("rayon's tests", rayon, RAYON_ALL),
        ] {
            passed &= check_count(suite, found, expected, out)?;
        }
        Ok(passed)
    }

    fn run_program(
        &self,
        package: &str,
        program: &Program,
        out: &mut impl Write,
    ) -> anyhow::Result<Results> {
        let log = self.log(package, &program.name);
        let results = libtest::run(program, self.deadline, &log)?;
        let suite = match program.is_unit {
            true => "unit tests",
            false => &program.name,
        };
        libtest::write_line(out, &format!("{package} {suite}"), &results)?;
        Ok(results)
    }

    fn log(&self, package: &str, name: &str) -> PathBuf {
        self.folder
            .join("logs")
            .join(format!("{package}-{name}.txt"))
    }

    /// A hang of the one test that is known for it: says what rayon does with it on this
    /// machine, and is no failure. False for everything else.
    fn hangs_on_rayon_too(
        &self,
        program: &Program,
        results: &Results,
        out: &mut impl Write,
    ) -> anyhow::Result<bool> {
        if program.name != MAY_HANG || !results.timed_out || !results.failed.is_empty() {
            return Ok(false);
        }
        let original = published::unpack("rayon", RAYON, &self.folder.join("on-rayon"))?;
        published::set_runtime(&original, &Runtime::default(), &[])?;
        let programs = libtest::build(&original, &self.target, &["--test", MAY_HANG])?;
        let mut hangs = 0;
        for program in programs.iter().cycle().take(COMPARISONS) {
            let results = libtest::run(program, self.deadline, &self.log("original", MAY_HANG))?;
            hangs += usize::from(results.timed_out);
        }
        writeln!(
            out,
            "  a hang here is no failure: on rayon {MAY_HANG} hung in {hangs} of {COMPARISONS} runs just now"
        )?;
        Ok(true)
    }
}
