//! A package's own tests on one runtime: which passed, and which of them another runtime loses.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use xtask::libtest::{self, Results};

/// How long one test program may take; far more than any of them needs.
const DEADLINE: Duration = Duration::from_secs(20 * 60);

/// The tests by what became of them. Their names begin with that of their program; two
/// programs of a package may share one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnTests {
    pub(crate) passed: Vec<String>,
    /// Also those that did not end, and programs that ended otherwise than tests do.
    pub(crate) failed: Vec<String>,
    ignored: usize,
}

impl OwnTests {
    /// Builds the tests of the package in `folder` with `arguments` and runs them. Those in
    /// its documentation are left out: each would be a program to build.
    pub(crate) fn run(
        folder: &Path,
        target: &Path,
        arguments: &[&str],
        logs: &Path,
    ) -> anyhow::Result<Self> {
        let mut tests = Self::default();
        for (at, program) in libtest::build(folder, target, arguments)?
            .iter()
            .enumerate()
        {
            let log = logs.join(format!("tests-{at}-{}.txt", program.name));
            tests.add(&program.name, libtest::run(program, DEADLINE, &log)?);
        }
        anyhow::ensure!(
            !tests.passed.is_empty() || !tests.failed.is_empty(),
            "not one test ran in {}; the package may be published without its tests",
            folder.display()
        );
        Ok(tests)
    }

    fn add(&mut self, program: &str, results: Results) {
        let full = |test: String| format!("{program}: {test}");
        self.ignored += results.ignored.len();
        self.passed.extend(results.passed.into_iter().map(full));
        let failed = [results.failed, results.unfinished].into_iter().flatten();
        self.failed.extend(failed.chain(results.broken).map(full));
    }

    /// Losses on `other`: tests that pass only here, and failures that are only there.
    pub(crate) fn lost_on<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let mut lost = surplus(&self.passed, &other.passed);
        for failure in surplus(&other.failed, &self.failed) {
            if !lost.contains(&failure) {
                lost.push(failure);
            }
        }
        lost
    }
}

/// The names that `list` has more often than `other`.
fn surplus<'a>(list: &'a [String], other: &[String]) -> Vec<&'a str> {
    let mut other: Vec<&String> = other.iter().collect();
    let is_more = |name: &&String| match other.iter().position(|there| there == name) {
        Some(at) => {
            other.swap_remove(at);
            false
        }
        None => true,
    };
    list.iter().filter(is_more).map(String::as_str).collect()
}

impl fmt::Display for OwnTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed", self.passed.len())?;
        for (count, what) in [(self.failed.len(), "failed"), (self.ignored, "ignored")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(passed: &[&str], failed: &[&str], broken: Option<&str>) -> OwnTests {
        let list = |names: &[&str]| names.iter().copied().map(String::from).collect();
        let mut tests = OwnTests::default();
        let results = Results {
            passed: list(passed),
            failed: list(failed),
            broken: broken.map(String::from),
            ..Results::default()
        };
        tests.add("lib", results);
        tests
    }

    #[test]
    fn what_fails_on_both_is_not_lost() {
        let tests = own(&["a"], &["net"], None);
        assert_eq!(tests.to_string(), "1 passed, 1 failed");
        assert!(tests.lost_on(&tests).is_empty());
    }

    #[test]
    fn a_test_that_fails_there_only_is_lost_once() {
        let (here, there) = (own(&["a", "b"], &[], None), own(&["a"], &["b"], None));
        assert_eq!(here.lost_on(&there), ["lib: b"]);
        assert!(there.lost_on(&here).is_empty());
    }

    #[test]
    fn a_program_that_dies_there_loses_itself_and_the_tests_it_never_reached() {
        let (here, there) = (own(&["a", "b"], &[], None), own(&["a"], &[], Some("abort")));
        assert_eq!(here.lost_on(&there), ["lib: b", "lib: abort"]);
    }

    #[test]
    fn of_two_tests_with_one_name_one_may_be_lost() {
        let (here, there) = (own(&["a", "a"], &[], None), own(&["a"], &[], None));
        assert_eq!(here.lost_on(&there), ["lib: a"]);
    }
}
