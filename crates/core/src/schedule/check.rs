//! Checks: a test runs again and again, under one schedule after another, until it fails.

use std::any::type_name;
use std::env;
use std::io::{self, Write as _};
use std::panic::Location;
use std::process;
use std::time::Duration;

use heist_event::schedule::{DEFAULT, DEPTH_MAX};
use heist_sync::thread;

use super::inside::Inside;
use super::trial::{Ended, Test, Trials};

/// The seeds that are tried if nobody says another number.
const SEEDS: u64 = 100;

/// The number of workers if nobody says another one: enough for most faults, and few to try.
const WORKERS: usize = 3;

/// The code with which a program of tests ends that could not check one of them: that of a test
/// that has failed.
const NOT_CHECKED: i32 = 101;

/// The most workers of a pool.
const WORKERS_MAX: usize = 65_535;

/// The time that a run may take if nobody says another one.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a test under the default schedule and 100 others, and panics if it fails under one.
///
/// A schedule says, by a seed, which of all workers runs and who steals from whom. The test that
/// calls this runs once under each, from its beginning, in a process of its own: the panic tells of
/// the first in which the closure does not return: as it panics, ends its process, is in a
/// deadlock, or takes longer than a minute. It names the seed, the file with the schedule, and the
/// command that repeats it. [`Check`] has more seeds, and other choices.
///
/// It is for functions with `#[test]`, and is to be called on the thread of the test. The closure
/// is what is checked: it runs once in each of the other processes, and not in this one. All that
/// stands around it in the test runs in each, and in this one as well. With `#[should_panic]` the
/// test passes if some schedule makes the closure panic, or hang; the check's panic repeats the
/// closure's words, which may be what is `expected`.
/// Under a schedule that `HEIST_SCHEDULE` names, as in the command that repeats a failure, the
/// closure runs once, in place, and nothing else happens: so a debugger can follow it.
///
/// Names of other checkers: this is what `shuttle::check_random` and `loom::model` are for programs
/// that use their types. A check needs none, so that it sees what the pools do, and what holds
/// between their steps, and not the order in which processors see memory.
///
/// # Cost
///
/// For each seed a process and the time of the test on one worker. A process takes some three
/// milliseconds, and up to fifteen more where the system is slow to offer its barrier, unless
/// `HEIST_BARRIER=fence` does without; each time that a thread blocks at a lock of the program
/// costs three.
///
/// # Panics
///
/// If the test fails under one of the schedules, if it makes no pool, if it is no function with
/// `#[test]`, and on systems without schedules, which are all but Linux.
///
/// # Examples
///
/// ```no_run
/// # use heist_core as heist;
/// # use std::sync::Mutex;
/// // In a test:
/// heist::schedule::check(|| {
///     let total = Mutex::new(0);
///     // Nothing is held while a worker waits, so that no schedule hangs.
///     let add = || {
///         let (one, two) = heist::join(|| 1, || 2);
///         *total.lock().unwrap() += one + two;
///     };
///     heist::join(add, add);
///     assert_eq!(total.into_inner().unwrap(), 6);
/// });
/// ```
#[track_caller]
pub fn check<F: FnOnce()>(test: F) {
    Check::new().run(test);
}

/// A check whose seeds, workers and limits are chosen; [`check()`] is one with the defaults.
///
/// # Examples
///
/// ```no_run
/// # use heist_core as heist;
/// use std::time::Duration;
///
/// // In a test:
/// heist::schedule::Check::new()
///     .first_seed(100)
///     .seeds(1000)
///     .depth(8)
///     .workers(4)
///     .limit(Duration::from_secs(10))
///     .run(|| assert_eq!(heist::join(|| 1, || 2), (1, 2)));
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is checked until `run` is called"]
pub struct Check {
    first: u64,
    seeds: u64,
    depth: Option<usize>,
    workers: Option<usize>,
    limit: Duration,
}

impl Default for Check {
    fn default() -> Self {
        Self::new()
    }
}

impl Check {
    /// One with the default schedule, 100 seeds from 0 on, three workers, and a minute for each
    /// run.
    pub fn new() -> Self {
        Self {
            first: 0,
            seeds: SEEDS,
            depth: None,
            workers: None,
            limit: LIMIT,
        }
    }

    /// Tries so many seeds. `HEIST_SCHEDULE_SEEDS`, if it is set, comes before this.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn seeds(mut self, seeds: u64) -> Self {
        assert!(seeds > 0, "a check of 0 seeds; accepted is a number from 1");
        self.seeds = seeds;
        self
    }

    /// Begins with this seed; the others follow it. [`Check`] has an example.
    pub fn first_seed(mut self, first: u64) -> Self {
        self.first = first;
        self
    }

    /// Gives workers priorities by the seed, and changes them `depth` - 1 times: short schedules,
    /// and faults that take few steps in a long program. Without, each choice is random. [`Check`]
    /// has an example.
    ///
    /// # Panics
    ///
    /// If the depth is 0 or above 1000.
    pub fn depth(mut self, depth: usize) -> Self {
        assert!(
            (1..=DEPTH_MAX).contains(&depth),
            "a depth of {depth}; accepted is one from 1 to {DEPTH_MAX}"
        );
        self.depth = Some(depth);
        self
    }

    /// Gives so many workers to the global pool, and to other pools built without a number. Without
    /// this it is the number in `HEIST_NUM_THREADS`, or 3.
    ///
    /// # Panics
    ///
    /// If there are none, since as many as there are processors would be another check on each
    /// machine, or more than 65,535.
    pub fn workers(mut self, workers: usize) -> Self {
        assert!(
            (1..=WORKERS_MAX).contains(&workers),
            "a check with {workers} workers; accepted is a number from 1 to {WORKERS_MAX}"
        );
        self.workers = Some(workers);
        self
    }

    /// Lets a run take so long: one that takes longer is killed, and has failed.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs the test under one schedule after another, as [`check()`] does.
    ///
    /// # Panics
    ///
    /// As [`check()`].
    #[track_caller]
    pub fn run<F: FnOnce()>(&self, test: F) {
        let place = Location::caller();
        if env::var_os("HEIST_SCHEDULE").is_some() {
            let inside = Inside::here();
            if let Some(inside) = &inside {
                inside.begins(place);
            }
            test();
            if let Some(inside) = &inside {
                inside.has_returned(place);
            }
            return;
        }
        let thread = thread::current();
        let name = name_of_test(thread.name(), type_name::<F>());
        match self.search(name, place) {
            Ok(None) => {}
            Ok(Some(failure)) => panic!("{failure}"),
            Err(why) => {
                // A panic would do for `#[should_panic]`.
                let _ = writeln!(io::stderr(), "`{name}` was not checked: {why}");
                process::exit(NOT_CHECKED)
            }
        }
    }

    /// The first failure, for people.
    ///
    /// # Errors
    ///
    /// Says why nothing could be checked.
    fn search(
        &self,
        name: &str,
        place: &'static Location<'static>,
    ) -> Result<Option<String>, String> {
        let seeds = match env::var_os("HEIST_SCHEDULE_SEEDS") {
            None => self.seeds,
            Some(given) => parse_seeds(given.to_str()).ok_or_else(|| {
                format!(
                    "HEIST_SCHEDULE_SEEDS is set to {given:?}; accepted is a whole number from 1 \
                     to {}, of the seeds that each check tries",
                    u64::MAX
                )
            })?,
        };
        let test = Test {
            name,
            place,
            workers: self.given_workers(),
            limit: self.limit,
        };
        let last = self.first.checked_add(seeds - 1).ok_or_else(|| {
            format!(
                "a check of {seeds} seeds from {} on; accepted is a first seed with which the last \
                 is {} at most",
                self.first,
                u64::MAX
            )
        })?;
        let trials = Trials::new(&test)?;
        let by_seed = (self.first..=last).map(|seed| match self.depth {
            None => format!("random:{seed}"),
            Some(depth) => format!("pct:{seed}:d={depth}"),
        });
        for schedule in std::iter::once(DEFAULT.to_owned()).chain(by_seed) {
            match trials.run(&schedule)? {
                Ended::Well => {}
                Ended::Badly(how) => return Ok(Some(trials.keep(&schedule, &how))),
            }
        }
        Ok(None)
    }

    /// `None` if the variable that the processes inherit says the number.
    fn given_workers(&self) -> Option<usize> {
        let is_said = env::var_os("HEIST_NUM_THREADS").is_some();
        self.workers.or((!is_said).then_some(WORKERS))
    }
}

fn parse_seeds(text: Option<&str>) -> Option<u64> {
    text?.parse().ok().filter(|&seeds| seeds > 0)
}

/// The name by which the harness knows the test: that of the thread which it has made for it, or,
/// if it runs tests on the main thread, that of the function around the closure.
fn name_of_test<'a>(thread: Option<&'a str>, closure: &'a str) -> &'a str {
    match thread {
        Some(name) if name != "main" => name,
        _ => {
            let function = closure.split("::{{closure}}").next().unwrap_or(closure);
            function
                .split_once("::")
                .map_or(function, |(_, within)| within)
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_by_its_thread_or_by_the_function_around_its_closure() {
        let closure = "suite::lists::grow::{{closure}}";
        assert_eq!(
            name_of_test(Some("lists::shrink"), closure),
            "lists::shrink"
        );
        assert_eq!(name_of_test(Some("main"), closure), "lists::grow");
        assert_eq!(name_of_test(None, closure), "lists::grow");
        let inner = "suite::grow::{{closure}}::{{closure}}";
        assert_eq!(name_of_test(None, inner), "grow");
    }

    #[test]
    fn a_number_of_seeds_is_whole_and_not_none() {
        assert_eq!(parse_seeds(Some("1000")), Some(1000));
        for text in [None, Some(""), Some("0"), Some("-1"), Some("many")] {
            assert_eq!(parse_seeds(text), None, "{text:?}");
        }
    }

    #[test]
    #[should_panic(expected = "accepted is one from 1 to 1000")]
    fn a_depth_of_none_is_refused() {
        let _ = Check::new().depth(0);
    }

    #[test]
    #[should_panic(expected = "accepted is a number from 1")]
    fn a_check_without_workers_is_refused() {
        let _ = Check::new().workers(0);
    }

    #[test]
    #[should_panic(expected = "70000 workers; accepted is a number from 1 to 65535")]
    fn so_is_one_with_more_workers_than_a_pool_may_have() {
        let _ = Check::new().workers(70_000);
    }

    #[test]
    #[should_panic(expected = "a check of 0 seeds; accepted is a number from 1")]
    fn a_check_without_seeds_is_refused() {
        let _ = Check::new().seeds(0);
    }
}
