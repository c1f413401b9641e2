//! The loads, and what each server makes of them.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use anyhow::{ensure, Context as _};
use clap::ValueEnum;

/// A server that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Server {
    /// The example.
    Heist,
    /// The same with the sockets of heist's feature `io`.
    Io,
    /// tokio, with rayon beside it.
    Tokio,
}

impl Server {
    const ALL: [Self; 3] = [Self::Heist, Self::Io, Self::Tokio];

    fn name(self) -> &'static str {
        match self {
            Self::Heist => "heist",
            Self::Io => "heist, `io`",
            Self::Tokio => "tokio + rayon",
        }
    }
}

/// Requests of one kind, from so many connections at once, each of which waits for its answer.
struct Load {
    name: &'static str,
    path: &'static str,
    connections: u32,
    /// So many others ask for pictures meanwhile.
    pictures_beside: u32,
}

const LOADS: [Load; 4] = [
    Load {
        name: "pictures, 2 connections",
        path: "thumbnail/200",
        connections: 2,
        pictures_beside: 0,
    },
    Load {
        name: "pictures, 32 connections",
        path: "thumbnail/200",
        connections: 32,
        pictures_beside: 0,
    },
    Load {
        name: "`/`, 16 connections, while 16 ask for pictures",
        path: "",
        connections: 16,
        pictures_beside: 16,
    },
    Load {
        name: "`/`, 32 connections",
        path: "",
        connections: 32,
        pictures_beside: 0,
    },
];

/// How one server did in one round.
#[derive(Clone, Copy)]
struct Sample {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Time of processors that the server took for a request, all in all.
    cpu_ms: f64,
    /// Pictures a second that others got meanwhile.
    pictures: f64,
}

/// Prints a table of the medians.
pub(crate) fn run(rounds: usize, seconds: u32, out: &mut impl Write) -> anyhow::Result<()> {
    let columns = ["load", "server", "requests a second", "p50, ms", "p99, ms"];
    let more = ["processors, ms a request", "pictures a second meanwhile"];
    let columns = [&columns[..], &more[..]].concat();
    writeln!(out, "| {} |", columns.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(columns.len()))?;
    for load in &LOADS {
        // In each round each of them once; each is the first in its turn.
        let mut samples = Server::ALL.map(|_| Vec::new());
        for round in 0..rounds {
            for turn in 0..Server::ALL.len() {
                let at = (round + turn) % Server::ALL.len();
                samples[at].push(measure(Server::ALL[at], load, seconds)?);
            }
        }
        let name = load.name;
        for (server, samples) in Server::ALL.iter().zip(&samples) {
            let server = server.name();
            let middle = |part: fn(&Sample) -> f64| median(samples.iter().map(part));
            let (per_second, p50) = (middle(|it| it.per_second), middle(|it| it.p50_ms));
            let (p99, cpu) = (middle(|it| it.p99_ms), middle(|it| it.cpu_ms));
            let pictures = middle(|it| it.pictures);
            writeln!(
                out,
                "| {name} | {server} | {per_second:.0} | {p50:.2} | {p99:.2} | {cpu:.3} | {pictures:.0} |"
            )?;
        }
        let [ours @ .., peers] = &samples;
        for (server, samples) in Server::ALL.iter().zip(ours) {
            let server = server.name();
            let ratio = |part: fn(&Sample) -> f64| {
                let pairs = samples.iter().zip(peers);
                median(pairs.map(|(ours, peers)| part(ours) / part(peers)))
            };
            let (per_second, p50) = (ratio(|it| it.per_second), ratio(|it| it.p50_ms));
            let (p99, cpu) = (ratio(|it| it.p99_ms), ratio(|it| it.cpu_ms));
            let pictures = match load.pictures_beside {
                0 => String::new(),
                _ => format!("*{:.2}*", ratio(|it| it.pictures)),
            };
            writeln!(
                out,
                "| {name} | *{server}, ratio* | *{per_second:.2}* | *{p50:.2}* | *{p99:.2}* | *{cpu:.2}* | {pictures} |"
            )?;
        }
    }
    Ok(())
}

/// Starts the server, and puts it under the load.
fn measure(server: Server, load: &Load, seconds: u32) -> anyhow::Result<Sample> {
    let mut process = Ended(
        Command::new(env::current_exe()?)
            .args(["--serve", &format!("{server:?}").to_lowercase()])
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut address = String::new();
    let output = process.0.stdout.take().context("it is piped")?;
    BufReader::new(output).read_line(&mut address)?;
    let url = |path| format!("http://{}/{path}", address.trim());
    // So that all threads and connections are there, and caches are warm.
    wrk(load.connections, 1, &url(load.path))?.wait_with_output()?;
    let beside = match load.pictures_beside {
        0 => None,
        others => Some(wrk(others, seconds + 1, &url("thumbnail/200"))?),
    };
    let before_ms = cpu_ms(process.0.id())?;
    let output = wrk(load.connections, seconds, &url(load.path))?.wait_with_output()?;
    let took_ms = cpu_ms(process.0.id())? - before_ms;
    let report = String::from_utf8(output.stdout)?;
    let beside = match beside {
        Some(beside) => String::from_utf8(beside.wait_with_output()?.stdout)?,
        None => String::new(),
    };
    ensure!(
        output.status.success() && !report.contains("Non-2xx") && !report.contains("Socket errors"),
        "the server {server:?} failed under the load {:?}: {report}",
        load.name
    );
    let mut sample = read(&report, took_ms).with_context(|| format!("wrk said {report}"))?;
    sample.pictures = read(&beside, 0.0).map_or(0.0, |it| it.per_second);
    Ok(sample)
}

/// Time of processors that this process has taken, in milliseconds.
fn cpu_ms(process: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("could not read {path}"))?;
    // In hundredths of a second, of the program and of the system for it, after the name.
    let fields = text.rsplit(')').next().unwrap_or_default().split(' ');
    let times = fields.skip(12).take(2).map(str::parse::<f64>);
    let sum: f64 = times.sum::<Result<_, _>>()?;
    Ok(10.0 * sum)
}

fn wrk(connections: u32, seconds: u32, url: &str) -> anyhow::Result<Child> {
    let connections = connections.to_string();
    Command::new("wrk")
        .args(["--threads", "1", "--connections", &connections])
        // A slow answer is a figure of the table, not an error.
        .args(["--timeout", "30s"])
        .args(["--duration", &format!("{seconds}s"), "--latency", url])
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start wrk, which makes the load; on Debian install the package `wrk`")
}

/// The figures of wrk's report.
fn read(report: &str, took_ms: f64) -> Option<Sample> {
    let after = |word: &str| {
        let mut lines = report.lines().map(str::trim);
        lines.find_map(|line| Some(line.strip_prefix(word)?.trim()))
    };
    Some(Sample {
        per_second: after("Requests/sec:")?.parse().ok()?,
        p50_ms: milliseconds(after("50%")?)?,
        p99_ms: milliseconds(after("99%")?)?,
        cpu_ms: took_ms / requests(report)?,
        pictures: 0.0,
    })
}

/// How many there were: the line begins with the number.
fn requests(report: &str) -> Option<f64> {
    let line = report.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}

fn milliseconds(time: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    units.iter().find_map(|(unit, factor)| {
        let number: f64 = time.strip_suffix(unit)?.parse().ok()?;
        Some(number * factor)
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A process that ends with its handle.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{milliseconds, read};

    #[test]
    fn a_report_of_wrk_is_understood() {
        let report = "  Latency Distribution\n     50%  845.00us\n     75%    1.17ms\n     \
                      90%    1.53ms\n     99%    1.03s \n  2 requests in 1.00s\nRequests/sec:  36.05\n";
        let sample = read(report, 30.0).expect("it is whole");
        assert_eq!(
            (sample.per_second, sample.p50_ms, sample.p99_ms),
            (36.05, 0.845, 1030.0)
        );
        assert_eq!(milliseconds("1.50m"), None);
        assert!((sample.cpu_ms - 15.0).abs() < 1e-9);
        assert!(read("unable to connect", 0.0).is_none());
    }
}
