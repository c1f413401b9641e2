//! The tests that stand for programs which once broke the scheduler, many times over: short of
//! addresses and processes, and beside load.

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

/// Each finding, and the tests of `heist-core` that fail if it is there again: a file of its
/// `tests/`, or `lib`, and the name.
const FINDINGS: &[(&str, &[(&str, &str)])] = &[
    (
        "adopted in a thread-local's destructor",
        &[(
            "pools",
            "a_thread_that_ends_becomes_no_worker_and_can_still_call_one",
        )],
    ),
    (
        "deep frames below jobs from outside",
        &[
            ("outside", "deep_in_its_stack_a_prompt_worker_serves_nobody"),
            (
                "outside",
                "a_join_serves_a_job_from_outside_in_a_prompt_pool_and_in_no_other",
            ),
        ],
    ),
    (
        "a spawn under a lock or a borrow",
        &[
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
    ),
    (
        "a caller that stands up, or blocks",
        &[
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
    ),
    (
        "wake-ups that are lost, or never end",
        &[
            ("stress", "no_wake_up_is_lost_in_many_short_bursts"),
            ("errata", "a22_a30_nothing_runs_when_there_is_nothing_to_do"),
            (
                "lib",
                "the_lookout_gives_up_when_no_caller_comes_any_more_although_somebody_works",
            ),
            ("callers", "no_timer_runs_once_the_callers_have_gone"),
        ],
    ),
    (
        "memory after a burst",
        &[
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
    ),
    (
        "everything at once, with panics",
        &[
            ("stress", "a_mixture_of_all_operations_loses_nothing"),
            ("panics", ""),
        ],
    ),
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
    for (finding, tests) in FINDINGS {
        writeln!(out, "{finding}")?;
        for &(file, name) in *tests {
            let program = programs.of(file)?;
            let mut failures = Vec::new();
            for turn in 0..times {
                let log = target_folder(root, "findings").join(format!("{file}-{name}-{turn}.log"));
                failures.extend(failure(root, program, name, &log)?);
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
fn failure(root: &Path, program: &Path, name: &str, log: &Path) -> anyhow::Result<Option<String>> {
    let mut command = Command::new("prlimit");
    command.args([ADDRESSES, PROCESSES]).arg(program).arg(name);
    command.current_dir(root.join("crates/core"));
    let ended = process::run(&mut command, log, None, LIMIT)
        .context("prlimit is in the package util-linux")?;
    let failure = ended.failure().or_else(|| {
        // A test that was renamed must not pass for one that ends well.
        let is_none = ended.output.contains("ok. 0 passed");
        is_none.then(|| "there is no such test".to_owned())
    });
    Ok(failure.map(|failure| format!("{failure}: see {}", log.display())))
}

/// The test programs of `heist-core`, built.
struct Programs(Vec<(String, PathBuf)>);

impl Programs {
    fn build(root: &Path) -> anyhow::Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["test", "--no-run", "--package", "heist-core"])
            .args(["--message-format", "json-render-diagnostics"])
            .stderr(std::process::Stdio::inherit())
            .current_dir(root)
            .output()
            .context("could not start cargo")?;
        ensure!(output.status.success(), "the tests could not be built");
        let lines = String::from_utf8_lossy(&output.stdout);
        let programs = lines.lines().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            let program = message["executable"].as_str()?;
            let name = message["target"]["name"].as_str()?;
            Some((name.to_owned(), PathBuf::from(program)))
        });
        Ok(Self(programs.collect()))
    }

    fn of(&self, file: &str) -> anyhow::Result<&Path> {
        let name = if file == "lib" { "heist_core" } else { file };
        let Some((_, program)) = self.0.iter().find(|(built, _)| built == name) else {
            bail!("heist-core has no tests `{file}`");
        };
        Ok(program)
    }
}
