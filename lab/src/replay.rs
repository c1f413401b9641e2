//! Predictions beside measurements: a program is recorded with one worker, `heist sim replay` says
//! how much faster it is with two, and then it is measured.
//!
//! The workloads are those of `heist run`, whose times leave out what is not parallel. Other
//! programs are given by their paths; their whole processes are timed, and they are recorded with
//! two workers, since rayon's iterators cut their loops by the number of workers.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{ensure, Context};
use serde::Deserialize;
use xtask::build::target_folder;
use xtask::machine;

/// Which programs, how often, and whether it is kept.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rounds; the medians are compared.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// A program on heist, or on rayon with heist in its place, beside the workloads.
    #[arg(long, value_name = "PATH")]
    program: Vec<PathBuf>,
    /// Keep the table as `bench/record/DATE-NAME.md`.
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// The workloads and their sizes, which take some tenths of a second.
const WORKLOADS: [(&str, &str); 8] = [
    ("uts", "2000"),
    ("mergesort", "2000000"),
    ("quicksort", "2000000"),
    ("nqueens", "12"),
    ("matmul", "1000"),
    ("mandelbrot", "800"),
    ("loop", "10000"),
    ("json", "1500"),
];

/// The median of the errors that is aimed at, and the worst.
const BAR: (f64, f64) = (0.07, 0.15);

/// Predicts and measures.
///
/// # Errors
///
/// Fails if a program cannot be built or run, or says something else than it should.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let record = match &args.record {
        Some(name) => Some(machine::new_record(&root.join("bench/record"), name)?),
        None => None,
    };
    let heist = heist(root)?;
    let folder = target_folder(root, "replay");
    fs::create_dir_all(&folder).context("could not make the folder of the recordings")?;
    let mut subjects: Vec<Subject> = WORKLOADS
        .iter()
        .map(|&(name, size)| Subject::workload(&heist, name, size))
        .collect();
    for program in &args.program {
        subjects.push(Subject::program(program)?);
    }
    let mut table = String::from(
        "| program | parallelism | measured, 2 workers | predicted | off |\n|---|---|---|---|---|\n",
    );
    let mut errors = Vec::new();
    for subject in &subjects {
        let compared = subject.compare(&heist, &folder, args.rounds)?;
        let off = compared.predicted.median() / compared.measured.median() - 1.0;
        errors.push(off.abs());
        writeln!(
            table,
            "| {} | {:.0} | {} | {} | {:+.1} % |",
            subject.name,
            compared.parallelism,
            compared.measured.told(),
            compared.predicted.told(),
            100.0 * off
        )?;
    }
    let errors = Samples(errors);
    let worst = errors.0.iter().copied().fold(0.0, f64::max);
    let holds = |is_met| if is_met { "pass" } else { "short" };
    writeln!(
        table,
        "\nThe median is {:.1} % off ({}, bar {:.0} %), the worst {:.1} % ({}, bar {:.0} %). {} rounds.",
        100.0 * errors.median(),
        holds(errors.median() <= BAR.0),
        100.0 * BAR.0,
        100.0 * worst,
        holds(worst <= BAR.1),
        100.0 * BAR.1,
        args.rounds,
    )?;
    write!(out, "{table}")?;
    if let Some(path) = record {
        let text = format!(
            "The speed-up by a second worker, as `heist sim replay` predicts it and as it is \
             measured: median (least to most).\n`cargo lab replay`.\n\n{table}"
        );
        machine::write_record(&path, root, &text)?;
        writeln!(out, "recorded in {}", path.display())?;
    }
    Ok(true)
}

fn heist(root: &Path) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--quiet", "--package", "heist-cli"])
        .current_dir(root);
    let status = cargo.status().context("could not start cargo")?;
    ensure!(status.success(), "cargo could not build heist: {status}");
    Ok(root.join("target/release/heist"))
}

/// Some figures of one kind.
struct Samples(Vec<f64>);

impl Samples {
    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    fn told(&self) -> String {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(0.0, f64::max);
        format!("{:.2} ({least:.2} to {most:.2})", self.median())
    }
}

struct Compared {
    parallelism: f64,
    measured: Samples,
    predicted: Samples,
}

/// A program to predict.
struct Subject {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    /// True if it tells its own time; else that of the whole process counts.
    tells_time: bool,
}

/// The figures of a replay that matter here.
#[derive(Deserialize)]
struct Replayed {
    work_ns: f64,
    span_ns: f64,
    outside_ns: f64,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    time_ns: f64,
}

#[derive(Deserialize)]
struct Told {
    comparisons: Vec<Comparison>,
}

#[derive(Deserialize)]
struct Comparison {
    strategies: Vec<Strategy>,
}

#[derive(Deserialize)]
struct Strategy {
    name: String,
    wall_median_ns: f64,
}

impl Subject {
    fn workload(heist: &Path, name: &str, size: &str) -> Self {
        let words = ["run", name, "--size", size, "--strategy", "stealing"];
        let words = words.into_iter().chain(["--repeat", "1", "--json"]);
        Self {
            name: name.to_owned(),
            program: heist.to_owned(),
            arguments: words.map(str::to_owned).collect(),
            tells_time: true,
        }
    }

    fn program(path: &Path) -> anyhow::Result<Self> {
        let program = path
            .canonicalize()
            .with_context(|| format!("there is no program {}", path.display()))?;
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            program: program.clone(),
            arguments: Vec::new(),
            tells_time: false,
        })
    }

    fn compare(&self, heist: &Path, folder: &Path, rounds: u32) -> anyhow::Result<Compared> {
        let mut compared = Compared {
            parallelism: 0.0,
            measured: Samples(Vec::new()),
            predicted: Samples(Vec::new()),
        };
        for _ in 0..rounds {
            let (one, two) = (self.time(folder, 1, None)?, self.time(folder, 2, None)?);
            compared.measured.0.push(one / two);
            let recording = folder.join(&self.name);
            let workers = if self.tells_time { 1 } else { 2 };
            self.time(folder, workers, Some(&recording))?;
            let replayed = replayed(heist, &recording)?;
            let [one, two] = &replayed.rows[..] else {
                anyhow::bail!("`heist sim replay --workers 1,2` gave no two rows");
            };
            let outside = if self.tells_time {
                replayed.outside_ns
            } else {
                0.0
            };
            compared.parallelism = replayed.work_ns / replayed.span_ns;
            let predicted = (one.time_ns - outside) / (two.time_ns - outside);
            compared.predicted.0.push(predicted);
        }
        Ok(compared)
    }

    /// The nanoseconds that it takes.
    fn time(&self, folder: &Path, workers: u32, recording: Option<&Path>) -> anyhow::Result<f64> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(folder)
            .env("HEIST_NUM_THREADS", workers.to_string());
        if let Some(recording) = recording {
            command.env("HEIST_DAG", recording);
        }
        let began = Instant::now();
        let output = command.output();
        let wall = began.elapsed().as_nanos() as f64;
        let output =
            output.with_context(|| format!("could not start {}", self.program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} failed: {said}", self.name);
        if !self.tells_time {
            return Ok(wall);
        }
        let told: Told = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("could not understand what {} says", self.name))?;
        let all = told.comparisons.iter().flat_map(|it| &it.strategies);
        let stealing = all.into_iter().find(|it| it.name != "serial");
        Ok(stealing.context("no time of stealing")?.wall_median_ns)
    }
}

fn replayed(heist: &Path, recording: &Path) -> anyhow::Result<Replayed> {
    let mut file = recording.as_os_str().to_owned();
    file.push(".dag.json");
    let output = Command::new(heist)
        .args(["sim", "replay", "--workers", "1,2", "--json"])
        .arg(file)
        .output()
        .context("could not start heist")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "heist sim replay failed: {said}");
    serde_json::from_slice(&output.stdout).context("could not understand heist sim replay")
}
