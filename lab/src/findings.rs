//! The tests that stand for programs which once broke the scheduler or the iterators, many times
//! over: short of addresses and processes, and beside load.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure, Context};
use xtask::build::target_folder;
use xtask::process;

/// How often, and beside how much.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each test runs.
    #[arg(long, default_value_t = 20)]
    times: u32,
    /// How many threads compute meanwhile; without it, as many as there are processors.
    #[arg(long)]
    load: Option<usize>,
}

/// A fault that once was there, and the tests that fail if it is again.
struct Finding {
    name: &'static str,
    /// The folder of the package whose tests they are.
    package: &'static str,
    /// A file of its `tests/`, or `lib`, and the name.
    tests: &'static [(&'static str, &'static str)],
}

const CORE: &str = "crates/core";
const PAR: &str = "crates/par";
const RAYON: &str = "compat/rayon";

const FINDINGS: &[Finding] = &[
    Finding {
        name: "adopted in a thread-local's destructor",
        package: CORE,
        tests: &[(
            "pools",
            "a_thread_that_ends_becomes_no_worker_and_can_still_call_one",
        )],
    },
    Finding {
        name: "deep frames below jobs from outside",
        package: CORE,
        tests: &[
            ("outside", "deep_in_its_stack_a_prompt_worker_serves_nobody"),
            (
                "outside",
                "a_join_serves_a_job_from_outside_in_a_prompt_pool_and_in_no_other",
            ),
        ],
    },
    Finding {
        name: "a spawn under a lock or a borrow",
        package: CORE,
        tests: &[
            (
                "outside",
                "no_spawn_of_any_kind_runs_anything_but_its_own_job",
            ),
            (
                "outside",
                "a_worker_that_never_runs_dry_comes_for_a_job_from_outside_after_a_bounded_number",
            ),
            (
                "outside",
                "a_worker_that_waits_among_jobs_of_its_own_comes_for_one_from_outside",
            ),
        ],
    },
    Finding {
        name: "a caller that stands up, or blocks",
        package: CORE,
        tests: &[
            (
                "callers",
                "a_callers_job_starts_while_the_caller_is_in_a_closure_that_never_calls_the_pool",
            ),
            (
                "callers",
                "a_callers_job_starts_even_if_the_caller_has_the_place_of_the_lookout",
            ),
            (
                "callers",
                "many_callers_at_once_get_their_own_results_and_every_job_runs_once",
            ),
        ],
    },
    Finding {
        name: "wake-ups that are lost, or never end",
        package: CORE,
        tests: &[
            ("stress", "no_wake_up_is_lost_in_many_short_bursts"),
            ("errata", "a22_a30_nothing_runs_when_there_is_nothing_to_do"),
            (
                "lib",
                "the_lookout_gives_up_when_no_caller_comes_any_more_although_somebody_works",
            ),
            ("callers", "no_timer_runs_once_the_callers_have_gone"),
        ],
    },
    Finding {
        name: "memory after a burst",
        package: CORE,
        tests: &[
            ("short_of", "an_idle_pool_gives_back_the_memory_of_a_burst"),
            (
                "short_of",
                "a_producer_with_few_jobs_waiting_stays_in_a_small_place",
            ),
            (
                "short_of",
                "a_pool_for_which_there_are_no_addresses_is_an_error_that_leaves_nothing",
            ),
        ],
    },
    Finding {
        name: "everything at once, with panics",
        package: CORE,
        tests: &[
            ("stress", "a_mixture_of_all_operations_loses_nothing"),
            ("panics", ""),
        ],
    },
    Finding {
        name: "a bridge that holds its iterator",
        package: PAR,
        tests: &[
            (
                "suite",
                "bridge::an_iterator_may_wait_for_what_earlier_items_give_back",
            ),
            ("suite", "bridge::an_item_may_wait_for_the_next_one"),
            (
                "suite",
                "bridge::an_item_is_not_held_back_while_the_iterator_waits_for_the_next",
            ),
        ],
    },
    Finding {
        name: "items on the thread that calls rayon",
        package: RAYON,
        tests: &[("plumbing", "no_item_runs_on_the_calling_thread")],
    },
];

/// Eight gibibytes of addresses: 256 workers have room in four.
const ADDRESSES: &str = "--as=8589934592";
/// Of the whole user, whose other threads count.
const PROCESSES: &str = "--nproc=4096";
const LIMIT: Duration = Duration::from_secs(300);

/// Runs them all, and says how many ended well.
pub(crate) fn run(root: &Path, args: Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let load = match args.load {
        Some(load) => load,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let programs = Programs::build(root)?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..load {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let passed = run_all(root, &programs, args.times, out);
        is_over.store(true, Ordering::Relaxed);
        passed
    })
}

fn run_all(
    root: &Path,
    programs: &Programs,
    times: u32,
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    let mut all_passed = true;
    for finding in FINDINGS {
        writeln!(out, "{}", finding.name)?;
        let folder = root.join(finding.package);
        for &(file, name) in finding.tests {
            let program = programs.of(finding.package, file)?;
            let mut failures = Vec::new();
            for turn in 0..times {
                let log = target_folder(root, "findings").join(format!("{file}-{name}-{turn}.log"));
                failures.extend(failure(&folder, program, name, &log)?);
            }
            let well = times as usize - failures.len();
            writeln!(out, "  {well:>3} of {times}  {file} {name}")?;
            if let Some(first) = failures.first() {
                writeln!(out, "      {first}")?;
            }
            out.flush()?;
            all_passed &= failures.is_empty();
        }
    }
    Ok(all_passed)
}

/// Runs the tests of this name, and returns the failure, if any.
fn failure(
    folder: &Path,
    program: &Path,
    name: &str,
    log: &Path,
) -> anyhow::Result<Option<String>> {
    let mut command = Command::new("prlimit");
    command.args([ADDRESSES, PROCESSES]).arg(program).arg(name);
    command.current_dir(folder);
    let ended = process::run(&mut command, log, None, LIMIT)
        .context("prlimit is in the package util-linux")?;
    let failure = ended.failure().or_else(|| {
        // A test that was renamed must not pass for one that ends well.
        let is_none = ended.output.contains("ok. 0 passed");
        is_none.then(|| "there is no such test".to_owned())
    });
    Ok(failure.map(|failure| format!("{failure}: see {}", log.display())))
}

/// The test programs of the packages, built.
struct Programs(Vec<Program>);

struct Program {
    package: &'static str,
    /// The name of its target.
    name: String,
    path: PathBuf,
}

impl Programs {
    fn build(root: &Path) -> anyhow::Result<Self> {
        let mut programs = Vec::new();
        for package in [CORE, PAR, RAYON] {
            build(root, package, &mut programs)?;
        }
        Ok(Self(programs))
    }

    fn of(&self, package: &str, file: &str) -> anyhow::Result<&Path> {
        let name = if file == "lib" { "heist_core" } else { file };
        let of_file = |program: &&Program| program.package == package && program.name == name;
        let Some(program) = self.0.iter().find(of_file) else {
            bail!("{package} has no tests `{file}`");
        };
        Ok(&program.path)
    }
}

fn build(root: &Path, package: &'static str, programs: &mut Vec<Program>) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--no-run", "--manifest-path"])
        .arg(root.join(package).join("Cargo.toml"))
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(std::process::Stdio::inherit())
        .current_dir(root)
        .output()
        .context("could not start cargo")?;
    ensure!(
        output.status.success(),
        "the tests of {package} could not be built"
    );
    let lines = String::from_utf8_lossy(&output.stdout);
    programs.extend(lines.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(Program {
            package,
            name: message["target"]["name"].as_str()?.to_owned(),
            path: message["executable"].as_str()?.into(),
        })
    }));
    Ok(())
}
