//! The soak: rounds of everything that heist offers, mixed at random, for minutes or
//! hours. After each round the books must balance; in the end memory, threads and
//! latencies must not have grown.
//!
//! `cargo xtask soak` builds it with delays at the instants that protocols stand on.

#![forbid(unsafe_code)]

mod books;
mod flatness;
mod operations;
mod probe;
mod tree;
mod usage;
mod watchdog;
mod watched;
mod world;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use fastrand::Rng;

use books::Sums;
use flatness::{Courses, Sample};
use operations::{Actor, OPERATIONS};
use usage::Usage;
use watchdog::Watchdog;
use world::World;

/// Runs a random mix of everything that heist offers, and keeps books.
#[derive(Debug, Parser)]
struct Arguments {
    /// For how long, in seconds.
    #[arg(long)]
    seconds: f64,
    /// The seed of all rounds.
    #[arg(long)]
    seed: u64,
    /// Repeat this round only.
    #[arg(long)]
    round: Option<u64>,
    /// Where to write what was found, as Markdown.
    #[arg(long)]
    report: Option<PathBuf>,
    /// Under heist's stall watchdog, with so many seconds of patience (`HEIST_STALL`); if it speaks
    /// the run has failed.
    #[arg(long, value_name = "SECONDS")]
    watched: Option<f64>,
}

impl Arguments {
    /// Those of a run that is not watched, but for the report.
    fn unwatched(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--seconds={}", self.seconds),
            format!("--seed={}", self.seed),
        ];
        arguments.extend(self.round.map(|round| format!("--round={round}")));
        arguments
    }
}

/// How many samples a whole run takes.
const SAMPLES: u32 = 120;
const SAMPLE_INTERVAL_MIN: Duration = Duration::from_millis(250);
/// How often the run says how far it is.
const PROGRESS: Duration = Duration::from_secs(10);
/// Entries that are open at the end of a round must be closed within this.
const CLOSE_MAX: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    books::silence_planned_panics();
    let passed = match arguments.watched {
        Some(patience) => watched::run(
            patience,
            &arguments.unwatched(),
            arguments.report.as_deref(),
        ),
        None => run(&arguments),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "the soak could not run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A run in its course.
struct Soak {
    world: Arc<World>,
    watchdog: Arc<Watchdog>,
    seed: u64,
    rounds: u64,
    samples: Vec<Sample>,
    started: Instant,
}

/// True if nothing was found.
fn run(arguments: &Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    let world = Arc::new(World::new()?);
    let mut soak = Soak {
        watchdog: Watchdog::start(&world),
        world,
        seed: arguments.seed,
        rounds: 0,
        samples: Vec::new(),
        started: Instant::now(),
    };
    let duration = Duration::from_secs_f64(arguments.seconds);
    let interval = (duration / SAMPLES).max(SAMPLE_INTERVAL_MIN);
    let mut out = std::io::stdout();
    let (mut sample_at, mut progress_at) = (Duration::ZERO, PROGRESS);
    let mut failures = Vec::new();
    while failures.is_empty() && soak.time() < duration {
        let round = arguments.round.unwrap_or(soak.rounds);
        soak.round(round);
        let time = soak.time();
        if time >= sample_at && books::complaints().is_empty() {
            sample_at = time + interval;
            soak.sample()?;
        }
        failures = books::complaints();
        if !failures.is_empty() {
            failures.push(soak.how_to_repeat(round));
        }
        if time >= progress_at {
            progress_at = time + PROGRESS;
            soak.progress(&mut out)?;
        }
    }
    soak.progress(&mut out)?;
    let courses = Courses::of(&soak.samples, soak.threads_max());
    failures.extend(courses.failures());
    failures.extend(missing_delays());
    let report = soak.report(&courses, &failures);
    write!(out, "\n{report}")?;
    if let Some(path) = &arguments.report {
        std::fs::write(path, &report)?;
    }
    if failures.is_empty() {
        failures = soak.end();
    }
    for failure in &failures {
        writeln!(out, "FAILED: {failure}")?;
    }
    Ok(failures.is_empty())
}

impl Soak {
    /// Some outside threads with some operations each, and the books at the end.
    fn round(&mut self, round: u64) {
        self.rounds += 1;
        let mut rng = Rng::with_seed(tree::mixed(self.seed ^ tree::mixed(round)));
        let actors = rng.usize(1..=4);
        self.watchdog.begin(&self.how_to_repeat(round), actors);
        std::thread::scope(|scope| {
            for index in 0..actors {
                let steps = rng.u32(1..6);
                let mut actor = Actor {
                    world: Arc::clone(&self.world),
                    rng: rng.fork(),
                };
                let watchdog = &self.watchdog;
                operations::outside(scope, "outside", move || {
                    for _ in 0..steps {
                        let (name, operation) = OPERATIONS[actor.rng.usize(..OPERATIONS.len())];
                        watchdog.actor_does(index, name);
                        // No operation panics unless something is wrong.
                        if books::caught(0, || operation(&mut actor)).is_none() {
                            books::complain(format!("the operation was {name}"));
                        }
                    }
                    watchdog.actor_does(index, "nothing more");
                });
            }
        });
        self.wait_until(|| Sums::read().balance(), || Sums::read().to_string());
    }

    /// Waits for what a round has left behind, but not for ever.
    fn wait_until(&self, is_done: impl Fn() -> bool, say: impl Fn() -> String) {
        let (mut waited, mut last) = (Duration::ZERO, Instant::now());
        while !is_done() {
            // If the process was stopped meanwhile, that is a small part of the time at most.
            waited += last.elapsed().min(CLOSE_MAX / 20);
            last = Instant::now();
            if waited > CLOSE_MAX {
                books::complain(say());
                return;
            }
            std::thread::yield_now();
        }
    }

    /// For how long it has been running; the time in which the process was stopped does not count.
    fn time(&self) -> Duration {
        let passed = self.started.elapsed();
        passed.saturating_sub(self.watchdog.stopped())
    }

    /// The threads of the pools that live as long as the run, this one, and the watchdogs: its own,
    /// and that for stalls if the environment asks for it.
    fn threads_max(&self) -> u64 {
        let for_stalls = std::env::var_os("HEIST_STALL").is_some();
        self.world.threads_max() as u64 + 2 + u64::from(for_stalls)
    }

    /// Notes what the process uses, when the pools of the round have ended.
    fn sample(&mut self) -> std::io::Result<()> {
        let threads = || Usage::read().map_or(0, |usage| usage.threads);
        let threads_max = self.threads_max();
        self.wait_until(
            || threads() <= threads_max,
            || {
                format!(
                    "{} threads are left where {threads_max} are wanted",
                    threads()
                )
            },
        );
        self.watchdog.begin("a measurement of latencies", 0);
        let latencies = probe::measure(&self.world);
        let usage = Usage::read()?;
        self.samples.push(Sample { usage, latencies });
        Ok(())
    }

    fn how_to_repeat(&self, round: u64) -> String {
        format!("`cargo xtask soak --seed {} --round {round}`", self.seed)
    }

    fn progress(&self, out: &mut impl Write) -> std::io::Result<()> {
        let (sums, usage) = (Sums::read(), Usage::read()?);
        writeln!(
            out,
            "{:6.0} s: {} rounds, {} closures, {} panics; {} MiB resident, {} threads",
            self.time().as_secs_f64(),
            self.rounds,
            sums.closures(),
            sums.panics(),
            usage.resident_kib / 1024,
            usage.threads
        )?;
        out.flush()
    }

    /// The work and the findings, as Markdown.
    fn report(&self, courses: &Courses, failures: &[String]) -> String {
        let jobs: Vec<_> = self
            .world
            .pools
            .iter()
            .map(|pool| pool.counters().total())
            .collect();
        let sum = |figure: fn(&heist::WorkerCounters) -> u64| jobs.iter().map(figure).sum::<u64>();
        let mut mix: Vec<(&str, usize)> = Vec::new();
        for (name, _) in OPERATIONS {
            match mix.last_mut() {
                Some((last, times)) if *last == name => *times += 1,
                _ => mix.push((name, 1)),
            }
        }
        let mix: Vec<_> = mix
            .iter()
            .map(|(name, times)| format!("{times} {name}"))
            .collect();
        let verdict = match failures {
            [] => "books balance, and nothing grew".to_owned(),
            failures => format!("FAILED: {}", failures.join("; ")),
        };
        format!(
            "- Seed {}, {:.0} s, {} rounds of 1 to 4 outside threads\n\
             - Mix, by weight: {}\n\
             - Delays: {}\n\
             - In the pools that lived throughout: {} jobs, {} steals, {} sleeps\n\
             - Books: {}\n\
             - Verdict: {verdict}\n\
             \n{courses}",
            self.seed,
            self.time().as_secs_f64(),
            self.rounds,
            mix.join(", "),
            delays(),
            sum(|pool| pool.jobs),
            sum(|pool| pool.steals),
            sum(|pool| pool.sleeps),
            Sums::read(),
        )
    }

    /// Ends the pools, and returns what is wrong then.
    fn end(self) -> Vec<String> {
        self.watchdog.begin("the end of all pools", 0);
        let mut world = self.world;
        // A job's captures are dropped after its entry was closed.
        let world = loop {
            match Arc::try_unwrap(world) {
                Ok(world) => break world,
                Err(shared) => world = shared,
            }
            std::thread::yield_now();
        };
        world
            .pools
            .into_iter()
            .for_each(heist::ThreadPool::shutdown);
        books::complaints()
    }
}

#[cfg(heist_soak)]
fn delays() -> String {
    use heist_sync::delay;
    format!("{}; {}", delay::tally(), delay::rates())
}

#[cfg(not(heist_soak))]
fn delays() -> String {
    "none".to_owned()
}

/// Without delays of each kind a soak with delays has not done what it says.
#[cfg(heist_soak)]
fn missing_delays() -> Option<String> {
    let tally = heist_sync::delay::tally();
    let is_missing = tally.spins == 0 || tally.yields == 0 || tally.sleeps == 0;
    is_missing.then(|| format!("there were delays of some kinds only: {tally}"))
}

#[cfg(not(heist_soak))]
fn missing_delays() -> Option<String> {
    None
}
