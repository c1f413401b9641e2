//! Measures what heist-cluster costs above a backend's own client, and prints a chapter of a
//! record.
//!
//! Contenders take turns in one run; what counts is the median of the ratios of neighbours.

#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context as _};
use clap::Parser;
use heist_bench_cluster::{nothing, sum, Ballast};
use heist_cluster::event::EventKind;
use heist_cluster::{Cluster, JobOptions, Local, Options, Ray, Slurm};

/// Measures what heist-cluster costs above a backend's own client
#[derive(Parser)]
struct Args {
    /// The backend that runs the workers: Ray and Slurm need a cluster, see `cargo lab cluster`
    #[arg(long, value_enum)]
    backend: Backend,
    /// How many rounds; the median of their ratios is shown
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How many calls a round of the rate has [default: 3000; on Slurm 60]
    #[arg(long)]
    calls: Option<usize>,
    /// Add the chapter to this file as well
    #[arg(long)]
    append: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Backend {
    Local,
    Ray,
    Slurm,
}

/// The bars: the part of the own client's speed, and of the speed of a pool without a cluster.
const OF_OWN_CLIENT: f64 = 0.9;
const OF_POOL_ALONE: f64 = 0.93;
/// How many calls, one after the other, make a round of the round trip.
const TRIPS: usize = 100;

/// How many items the chunks have: some ten seconds of work for one processor.
const ITEMS: u64 = 400_000_000;

fn main() -> anyhow::Result<()> {
    heist_cluster::init();
    let args = Args::parse();
    let mut out = Vec::new();
    let (sender, events) = mpsc::channel();
    let options =
        Options::new().on_event(move |event| sender.send(event.clone()).unwrap_or_default());
    let (name, cluster) = match args.backend {
        Backend::Local => (
            "local",
            Cluster::connect_with(Local::new().nodes(3).cpus(2), options),
        ),
        Backend::Ray => ("ray", Cluster::connect_with(Ray::new(), options)),
        Backend::Slurm => ("slurm", Cluster::connect_with(Slurm::new(), options)),
    };
    let cluster = cluster?;
    writeln!(out, "## {name}\n")?;
    writeln!(
        out,
        "| what | heist | {} | ratio | bar |",
        own_client(args.backend)
    )?;
    writeln!(out, "| ---- | ----: | ----: | ----: | --: |")?;
    calls(&args, &cluster, &mut out)?;
    chunks(&args, &cluster, &mut out)?;
    moves(&args, &cluster, &events, &mut out)?;
    writeln!(out)?;
    std::io::stdout().write_all(&out)?;
    if let Some(path) = &args.append {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(&out)?;
    }
    Ok(())
}

fn own_client(backend: Backend) -> &'static str {
    match backend {
        Backend::Local => "-",
        Backend::Ray => "Ray's Python API",
        Backend::Slurm => "srun",
    }
}

/// The rate of empty calls and their round trip, beside the backend's own client.
fn calls(args: &Args, cluster: &Cluster, out: &mut impl Write) -> anyhow::Result<()> {
    let calls = args.calls.unwrap_or(if args.backend == Backend::Slurm {
        60
    } else {
        3000
    });
    let mut own = Own::start(args.backend)?;
    // Workers that start are no part of it.
    rate(cluster, calls)?;
    let (mut rates, mut trips) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        let ours = rate(cluster, calls)?;
        rates.push((ours, own.as_mut().map(|own| own.rate(calls)).transpose()?));
        let ours = trip(cluster)?;
        trips.push((ours, own.as_mut().map(Own::trip).transpose()?));
    }
    let what = "empty calls, per second";
    row(out, what, "/s", &rates, OF_OWN_CLIENT, |ours, own| {
        ours / own
    })?;
    let in_ms: Vec<_> = trips
        .iter()
        .map(|(ours, own)| (ours * 1e3, own.map(|own| own * 1e3)))
        .collect();
    let what = "round trip";
    row(out, what, " ms", &in_ms, OF_OWN_CLIENT, |ours, own| {
        own / ours
    })
}

/// Shows the medians, and the median ratio beside its bar.
fn row(
    out: &mut impl Write,
    what: &str,
    unit: &str,
    samples: &[(f64, Option<f64>)],
    bar: f64,
    ratio: impl Fn(f64, f64) -> f64,
) -> anyhow::Result<()> {
    let ours = median(samples.iter().map(|(ours, _)| *ours).collect());
    let own: Vec<_> = samples.iter().filter_map(|(_, own)| *own).collect();
    if own.is_empty() {
        return Ok(writeln!(
            out,
            "| {what} | {}{unit} | - | - | - |",
            figure(ours)
        )?);
    }
    let ratios = samples
        .iter()
        .filter_map(|(ours, own)| Some(ratio(*ours, (*own)?)));
    let ratio = median(ratios.collect());
    let verdict = if ratio >= bar { "pass" } else { "short" };
    let own = median(own);
    Ok(writeln!(
        out,
        "| {what} | {}{unit} | {}{unit} | {ratio:.2} | >= {bar:.2}: {verdict} |",
        figure(ours),
        figure(own)
    )?)
}

fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Calls per second, all begun before the first is awaited.
fn rate(cluster: &Cluster, calls: usize) -> anyhow::Result<f64> {
    let began = Instant::now();
    let running: Vec<_> = (0..calls as u64)
        .map(|x| cluster.call(nothing, x))
        .collect();
    for (x, call) in (0..).zip(running) {
        ensure!(call.get()? == x, "call {x} has a wrong result");
    }
    Ok(calls as f64 / began.elapsed().as_secs_f64())
}

/// Seconds of a call that is awaited before the next one begins.
fn trip(cluster: &Cluster) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for x in 0..TRIPS as u64 {
        let began = Instant::now();
        ensure!(
            cluster.call(nothing, x).get()? == x,
            "call {x} has a wrong result"
        );
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

/// The backend's own client.
enum Own {
    /// A Python program that measures when it is told to.
    Ray(Child, ChildStdin, BufReader<ChildStdout>),
    Srun,
}

impl Own {
    fn start(backend: Backend) -> anyhow::Result<Option<Self>> {
        Ok(match backend {
            Backend::Local => None,
            Backend::Slurm => Some(Self::Srun),
            Backend::Ray => {
                let python =
                    std::env::var_os("HEIST_RAY_PYTHON").unwrap_or_else(|| "python3".into());
                let mut child = Command::new(python)
                    .args(["-u", "-c", include_str!("native_ray.py")])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .context("could not start Ray's own client")?;
                let input = child.stdin.take().context("its input is a pipe")?;
                let output = child.stdout.take().context("its output is a pipe")?;
                let mut own = Self::Ray(child, input, BufReader::new(output));
                own.rate(100)?;
                Some(own)
            }
        })
    }

    fn rate(&mut self, calls: usize) -> anyhow::Result<f64> {
        match self {
            Self::Ray(..) => self.tell("rate", calls),
            Self::Srun => {
                let began = Instant::now();
                let running: Vec<_> = (0..calls).map(|_| srun().spawn()).collect();
                for child in running {
                    ensure!(child?.wait()?.success(), "srun failed");
                }
                Ok(calls as f64 / began.elapsed().as_secs_f64())
            }
        }
    }

    fn trip(&mut self) -> anyhow::Result<f64> {
        match self {
            Self::Ray(..) => self.tell("trip", TRIPS),
            Self::Srun => {
                let mut times = Vec::new();
                for _ in 0..10 {
                    let began = Instant::now();
                    ensure!(srun().status()?.success(), "srun failed");
                    times.push(began.elapsed().as_secs_f64());
                }
                Ok(median(times))
            }
        }
    }

    fn tell(&mut self, what: &str, count: usize) -> anyhow::Result<f64> {
        let Self::Ray(_, input, output) = self else {
            anyhow::bail!("only Ray's client is told");
        };
        writeln!(input, "{what} {count}")?;
        let mut line = String::new();
        // Ray prints what it likes; ours is marked.
        while !line.starts_with("= ") {
            line.clear();
            ensure!(
                output.read_line(&mut line)? > 0,
                "Ray's own client has ended"
            );
        }
        line[2..]
            .trim()
            .parse()
            .with_context(|| format!("{line:?} is no number"))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Self::Ray(child, ..) = self {
            // It may have ended already, which is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn srun() -> Command {
    let mut srun = Command::new("srun");
    srun.args(["--quiet", "--ntasks=1", "true"])
        .stdin(Stdio::null());
    srun
}

/// Some ten seconds of work in chunks on three nodes, beside one pool with all processors.
fn chunks(args: &Args, cluster: &Cluster, out: &mut impl Write) -> anyhow::Result<()> {
    let mut samples = Vec::new();
    for _ in 0..args.rounds.min(3) {
        let began = Instant::now();
        let expected = sum(0..ITEMS);
        let alone = began.elapsed().as_secs_f64();
        // Workers that start are no part of it.
        cluster
            .chunks(0..ITEMS / 20)
            .map(sum)
            .reduce(0, u64::wrapping_add)?;
        let began = Instant::now();
        let total = cluster
            .chunks(0..ITEMS)
            .map(sum)
            .reduce(0, u64::wrapping_add)?;
        ensure!(total == expected, "the chunks come to another sum");
        samples.push((began.elapsed().as_secs_f64(), Some(alone)));
    }
    row(
        out,
        "chunks on three nodes, beside the pool alone",
        " s",
        &samples,
        OF_POOL_ALONE,
        |ours, alone| alone / ours,
    )
}

/// How long a job with 64 MiB of state stands still when it moves.
fn moves(
    args: &Args,
    cluster: &Cluster,
    events: &mpsc::Receiver<heist_cluster::event::ClusterEvent>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for round in 0..args.rounds.min(3) {
        let job = Ballast {
            bytes: vec![7; 64 << 20],
            left: u64::MAX,
        };
        let job = cluster.submit(job, JobOptions::new(format!("moves-{round}")))?;
        let patience = Duration::from_secs(120);
        let status = job.wait_until(patience, |status| status.node.is_some());
        let from = status
            .and_then(|status| status.node)
            .context("the job does not run")?;
        let nodes = cluster.nodes()?;
        let to = nodes
            .into_iter()
            .find(|node| node.is_alive && node.id != from);
        job.move_to(to.context("there is one node only")?.id)?;
        times.push(loop {
            let event = events
                .recv_timeout(patience)
                .context("the move does not end")?;
            match event.what {
                EventKind::MoveEnded {
                    standstill_ms,
                    pausing_ms,
                    ..
                } => break (standstill_ms + pausing_ms) as f64 / 1e3,
                EventKind::MoveFailed { why, .. } => anyhow::bail!("the move failed: {why}"),
                _ => {}
            }
        });
        job.cancel();
    }
    let time = median(times);
    let verdict = if time < 2.0 { "pass" } else { "short" };
    Ok(writeln!(
        out,
        "| 64 MiB of state move, from the wish to running again | {} s | - | - | < 2 s: {verdict} |",
        figure(time)
    )?)
}
