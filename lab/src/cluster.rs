//! Test clusters: three nodes of a real backend on one machine, started, disturbed and stopped.
//!
//! The nodes of a backend are its real daemons, each with its own loopback address or, for Ray
//! if asked, in a network namespace of its own. Nothing but Linux and the backend's packages is
//! needed. There is one cluster a user and a backend at most; what is known of it lies in
//! `cluster.json` in its folder ([`folder`]).

mod bench;
mod chaos;
mod interrupt;
mod lifecycle;
mod namespaces;
mod options;
mod packages;
mod ports;
mod processes;
mod ray;
mod slurm;
mod state;
mod with;

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use xtask::steps::{quoted, Outcome};

use interrupt::Interrupt;
use lifecycle::{available, down, heal, kill, partition, start, start_cluster};
use namespaces::can_isolate;
use options::{Backend, Options, BACKENDS};
use processes::Member;
use state::{folder, Cluster};
use with::with;

/// An action on a test cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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
    Down { backend: Option<Backend> },
    /// Say which clusters there are and which of their nodes live.
    Status,
    /// Kill everything on a node at once, as if the machine had lost power.
    Kill { backend: Backend, node: String },
    /// Start a node again that has died.
    Start { backend: Backend, node: String },
    /// Cut a node of Ray off from the others; it needs a cluster with --netns.
    Partition { node: String },
    /// Connect a node again that was cut off.
    Heal { node: String },
    /// Run the suite of heist-cluster on a cluster of three nodes.
    Suite { backend: Backend },
    /// Kill, stop, cut off and starve parts of a cluster while it works, by a seed, and see that
    /// every result is right, every wait ends, and nothing is left behind.
    Chaos(chaos::Args),
    /// Measure what heist-cluster costs above each backend's own client.
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

/// Runs the command, and returns the exit code.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
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
                let is = ["was already up", "is up"][usize::from(started.is_new)];
                done(format_args!("# the cluster of {} {is}", options.backend))?;
                write!(out, "{}", Usage(&started.cluster))?;
            }
        }
        Action::Down { backend } => {
            let backends = backend.as_ref().map_or(&BACKENDS[..], std::slice::from_ref);
            for backend in backends {
                let count = down(*backend)?;
                done(format_args!("{backend}: {count} processes ended"))?;
            }
        }
        Action::Status => {
            for backend in BACKENDS {
                status(backend, out)?;
            }
        }
        Action::Kill { backend, node } => {
            let count = kill(*backend, node)?;
            done(format_args!(
                "{backend}: {count} processes of {node} killed"
            ))?;
        }
        Action::Start { backend, node } => {
            self::start(*backend, node)?;
            done(format_args!("{backend}: {node} runs"))?;
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
        Action::Chaos(arguments) => return chaos::run(root, arguments, out),
        Action::Suite { backend } => return suite(root, *backend, out),
        Action::With { options, command } => {
            return with(root, options, command).map(ExitCode::from);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the suite on three nodes of a real backend, if it can be had here; `cargo test` runs it on
/// worker processes of this machine.
fn suite(root: &Path, backend: Backend, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if let Err(reason) = available(root, backend) {
        let outcome = Outcome::Skipped(reason);
        writeln!(out, "{outcome}")?;
        return Ok(outcome.exit_code());
    }
    let mut options = Options::new(backend);
    // Nodes in namespaces can be cut off, and nobody outside reaches them.
    options.netns = backend == Backend::Ray && can_isolate();
    // The suite, and what is true of this backend only.
    let mut tests = format!(
        "cargo test -p heist-cluster-suite --test {backend} && \
         cargo test -p heist-cluster --lib {backend}"
    );
    if backend == Backend::Slurm {
        tests.push_str(" && cargo test -p heist-cli --test cluster slurm");
    }
    if options.netns {
        tests = format!("export HEIST_CLUSTER_NETNS=1 && {tests}");
    }
    let command = ["sh".into(), "-c".into(), tests.into()];
    with(root, &options, &command).map(ExitCode::from)
}

fn status(backend: Backend, out: &mut impl Write) -> anyhow::Result<()> {
    let Some(cluster) = Cluster::read(&folder(backend)?)? else {
        return Ok(writeln!(out, "{backend}: no cluster")?);
    };
    let members = processes::members(&cluster.folder, &cluster.members())?;
    writeln!(
        out,
        "{backend}: started at {}, {}",
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

/// The lines that let a shell use a cluster.
struct Usage<'a>(&'a Cluster);

impl fmt::Display for Usage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = self.0;
        for node in &cluster.nodes {
            let pids = node.processes.iter().map(|process| process.pid.to_string());
            let pids = pids.collect::<Vec<_>>().join(" ");
            writeln!(f, "# {} at {}, processes {pids}", node.name, node.address)?;
        }
        if cluster.options.backend == Backend::Ray && !cluster.options.netns {
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
                        ..Options::new(Backend::Ray)
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
        let cluster = lifecycle::plan(
            &Options::new(Backend::Ray),
            Path::new("/f"),
            &packages,
            None,
        )
        .unwrap();
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
