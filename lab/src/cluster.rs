//! Test clusters: three nodes of a real engine on one machine, started, disturbed and stopped.
//!
//! The nodes of an engine are its real daemons, each with its own loopback address or, for Ray
//! if asked, in a network namespace of its own. Nothing but Linux and the engine's packages is
//! needed. There is one cluster a user and an engine at most; what is known of it lies in
//! `cluster.json` in its folder ([`folder`]).

mod bench;
mod interrupt;
mod lifecycle;
mod namespaces;
mod packages;
mod processes;
mod ray;
mod slurm;
mod state;
mod with;

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use xtask::steps::{quoted, Outcome};

use interrupt::Interrupt;
use lifecycle::start_cluster;
use processes::Member;

pub use lifecycle::{available, down, heal, kill, partition, start, up};
pub use processes::Process;
pub use state::{folder, Cluster, Node};
pub use with::with;

/// What to do with which cluster.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Start a cluster of three nodes, unless there is one, and say how to use it.
    Up {
        #[command(flatten)]
        options: Options,
        /// Print what is known of it, as in cluster.json.
        #[arg(long)]
        json: bool,
    },
    /// Stop a cluster, or all of this user's, and remove what it left.
    Down { engine: Option<Engine> },
    /// Say which clusters there are and which of their nodes live.
    Status,
    /// Kill everything on a node at once, as if the machine had lost power.
    Kill { engine: Engine, node: String },
    /// Start a node again that has died.
    Start { engine: Engine, node: String },
    /// Cut a node of Ray off from the others; it needs a cluster with --netns.
    Partition { node: String },
    /// Connect a node again that was cut off.
    Heal { node: String },
    /// Run the suite of heist-cluster on a cluster of three nodes.
    Suite { engine: Engine },
    /// Measure what heist-cluster costs above each engine's own client.
    Bench(bench::Args),
    /// Start a cluster, run a command with what a client needs in its environment, and stop
    /// the cluster whatever happens.
    With {
        #[command(flatten)]
        options: Options,
        /// The command, behind `--`.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// What runs a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Ray 2.60.0, from its Python package, in a virtual environment in the target folder.
    Ray,
    /// Slurm, from Debian's packages; only root can run it.
    Slurm,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ray => "ray",
            Self::Slurm => "slurm",
        })
    }
}

/// How to start a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub struct Options {
    /// The engine.
    pub engine: Engine,
    /// Put the nodes of Ray into network namespaces, so that they can be cut off; for root.
    #[arg(long)]
    pub netns: bool,
    /// How many processors each node says it has.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: u16,
    /// The size of the object store of each node of Ray, in MiB.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(80..=65536))]
    pub store_mib: u32,
}

impl Options {
    /// A cluster of `engine` as it is if nothing else is asked for.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            netns: false,
            cpus: 2,
            store_mib: 512,
        }
    }
}

const ENGINES: [Engine; 2] = [Engine::Ray, Engine::Slurm];

/// Does what was asked for, and returns the exit code.
///
/// # Errors
///
/// Fails if it cannot be done or the report cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let mut done = |what: fmt::Arguments<'_>| {
        let seconds = start.elapsed().as_secs_f64();
        writeln!(out, "{what} ({seconds:.1} s)")
    };
    match &args.action {
        Action::Up { options, json } => {
            let started = start_cluster(root, options, None, &Interrupt::listen()?)?;
            if *json {
                writeln!(out, "{}", serde_json::to_string_pretty(&started.cluster)?)?;
            } else {
                let is = if started.is_new {
                    "is up"
                } else {
                    "was already up"
                };
                done(format_args!("# the cluster of {} {is}", options.engine))?;
                write!(out, "{}", Usage(&started.cluster))?;
            }
        }
        Action::Down { engine } => {
            let engines = engine.as_ref().map_or(&ENGINES[..], std::slice::from_ref);
            for engine in engines {
                let count = down(*engine)?;
                done(format_args!("{engine}: {count} processes ended"))?;
            }
        }
        Action::Status => {
            for engine in ENGINES {
                status(engine, out)?;
            }
        }
        Action::Kill { engine, node } => {
            let count = kill(*engine, node)?;
            done(format_args!("{engine}: {count} processes of {node} killed"))?;
        }
        Action::Start { engine, node } => {
            self::start(*engine, node)?;
            done(format_args!("{engine}: {node} runs"))?;
        }
        Action::Partition { node } => {
            partition(node)?;
            done(format_args!("{node} is cut off"))?;
        }
        Action::Heal { node } => {
            heal(node)?;
            done(format_args!("{node} is connected"))?;
        }
        Action::Bench(arguments) => {
            if !bench::run(root, arguments, out)? {
                return Ok(ExitCode::FAILURE);
            }
        }
        Action::Suite { engine } => return suite(root, *engine, out),
        Action::With { options, command } => {
            return with(root, options, command).map(ExitCode::from);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the suite on three nodes of a real backend, if it can be had here; `cargo test` runs it on
/// worker processes of this machine.
fn suite(root: &Path, engine: Engine, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if let Err(reason) = available(root, engine) {
        let outcome = Outcome::Skipped(reason);
        writeln!(out, "{outcome}")?;
        return Ok(outcome.exit_code());
    }
    let mut options = Options::new(engine);
    // Nodes in namespaces can be cut off, and nobody outside reaches them.
    options.netns = engine == Engine::Ray && can_isolate();
    // The suite, and what is true of this backend only.
    let mut tests = format!(
        "cargo test -p heist-cluster-suite --test {engine} && \
         cargo test -p heist-cluster --lib {engine}"
    );
    if options.netns {
        tests = format!("export HEIST_CLUSTER_NETNS=1 && {tests}");
    }
    let command = ["sh".into(), "-c".into(), tests.into()];
    with(root, &options, &command).map(ExitCode::from)
}

/// Whether this user may make network namespaces.
fn can_isolate() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["--net", "true"]).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn status(engine: Engine, out: &mut impl Write) -> anyhow::Result<()> {
    let Some(cluster) = Cluster::read(&folder(engine)?)? else {
        return Ok(writeln!(out, "{engine}: no cluster")?);
    };
    let members = processes::members(&cluster.folder, &cluster.members())?;
    writeln!(
        out,
        "{engine}: started at {}, {}",
        cluster.started_at, cluster.options
    )?;
    let said = lifecycle::living(&cluster);
    for node in &cluster.nodes {
        let is_there = |member: &&Member| member.node.as_deref() == Some(&node.name);
        let count = members.iter().filter(is_there).count();
        let runs = if node.lives() { "runs" } else { "is dead" };
        let known = match &said {
            Ok(living) if living.contains(&node.name) => "known as living",
            Ok(_) => "not known as living",
            Err(_) => "nobody to ask",
        };
        let (name, address) = (&node.name, &node.address);
        writeln!(
            out,
            "  {name} at {address} {runs}, {count} processes; {known}"
        )?;
    }
    if let Err(error) = said {
        writeln!(out, "  {error:#}")?;
    }
    Ok(())
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpus,
            store_mib,
            netns,
            engine,
        } = self;
        write!(f, "--cpus {cpus}")?;
        if *engine == Engine::Ray {
            write!(f, " --store-mib {store_mib}")?;
        }
        f.write_str(if *netns { " --netns" } else { "" })
    }
}

/// What to type in a shell to use a cluster.
struct Usage<'a>(&'a Cluster);

impl fmt::Display for Usage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = self.0;
        for node in &cluster.nodes {
            let pids = node.processes.iter().map(|process| process.pid.to_string());
            let pids = pids.collect::<Vec<_>>().join(" ");
            writeln!(f, "# {} at {}, processes {pids}", node.name, node.address)?;
        }
        if cluster.options.engine == Engine::Ray && !cluster.options.netns {
            writeln!(
                f,
                "# Ray listens on all addresses of this machine; its token keeps others out"
            )?;
        }
        if !cluster.enter.is_empty() {
            writeln!(
                f,
                "# clients must run there: {} COMMAND",
                cluster.enter.join(" ")
            )?;
        }
        for (name, value) in &cluster.environment {
            writeln!(f, "export {name}={}", quoted(value.as_ref()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn refused(line: &str) -> String {
        let words = ["cluster"].into_iter().chain(line.split(' '));
        Line::try_parse_from(words).unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_understood_is_answered_with_what_would_be() {
        let text = refused("up spark");
        assert!(
            text.contains("'spark'") && text.contains("ray, slurm"),
            "{text}"
        );
        let text = refused("up ray --cpus 0");
        assert!(text.contains("0 is not in 1..=1024"), "{text}");
        let text = refused("kill ray");
        assert!(text.contains("<NODE>"), "{text}");
        let text = refused("with ray");
        assert!(text.contains("<COMMAND>"), "{text}");
    }

    #[test]
    fn what_follows_two_dashes_is_the_command() {
        let line = [
            "cluster", "with", "ray", "--netns", "--", "cargo", "test", "--", "--cpus",
        ];
        match Line::parse_from(line).args.action {
            Action::With { options, command } => {
                let netns = true;
                assert_eq!(
                    options,
                    Options {
                        netns,
                        ..Options::new(Engine::Ray)
                    }
                );
                assert_eq!(command, ["cargo", "test", "--", "--cpus"]);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_lines_for_a_shell_are_quoted() {
        let python = "/opt/my ray/bin/python".into();
        let packages = lifecycle::Packages::Ray { python };
        let cluster =
            lifecycle::plan(&Options::new(Engine::Ray), Path::new("/f"), &packages, None).unwrap();
        let text = Usage(&cluster).to_string();
        assert!(
            text.contains("\nexport RAY_ADDRESS=127.0.0.11:6399\n"),
            "{text}"
        );
        let python = "\nexport HEIST_RAY_PYTHON='/opt/my ray/bin/python'\n";
        assert!(text.contains(python), "{text}");
        assert!(
            text.contains("\nexport HEIST_CLUSTER_STATE=/f/cluster.json\n"),
            "{text}"
        );
    }
}
