//! Ray: a head and two more nodes, each with its own address, its own name and two processors.
//!
//! Ray's servers (`gcs_server`, `raylet`, each worker) listen on every address of the machine
//! unless their node is at 127.0.0.1 itself, which Ray does not accept for several nodes; there
//! is no setting for it. The token, which every call must carry, keeps others out. With
//! network namespaces nothing listens on an address that can be reached from elsewhere.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use xtask::steps::Line;

use super::interrupt::Interrupt;
use super::namespaces;
use super::options::Options;
use super::packages::succeed;
use super::ports::demand_free;
use super::processes::{members, CLUSTER, NODE};
use super::state::{random, write_secret, Cluster, Node};

/// Where the head listens, on its own address.
const PORT: u16 = 6399;
/// Workers listen on all addresses, so each node has ports of its own for them.
const WORKER_PORTS: u16 = 21_000;
const WORKER_PORTS_A_NODE: u16 = 1_000;

/// Settings of a node and of a client alike.
const SETTINGS: [(&str, &str); 4] = [
    // Every call without the token is refused.
    ("RAY_AUTH_MODE", "token"),
    // A silent partition is noticed after seconds; as delivered, after seven minutes.
    ("RAY_grpc_client_keepalive_time_ms", "3000"),
    ("RAY_grpc_client_keepalive_timeout_ms", "3000"),
    ("RAY_USAGE_STATS_ENABLED", "0"),
];

/// Settings of a node only.
const NODE_SETTINGS: [(&str, &str); 6] = [
    // A node that does not answer three times in a row is dead.
    ("RAY_health_check_initial_delay_ms", "1000"),
    ("RAY_health_check_period_ms", "1000"),
    ("RAY_health_check_timeout_ms", "1000"),
    ("RAY_health_check_failure_threshold", "3"),
    // It looks at the memory of the whole machine, which others use too.
    ("RAY_memory_monitor_refresh_ms", "0"),
    ("RAY_enable_metrics_collection", "0"),
];

/// Prints the names of the living nodes, as the head knows them.
const NODES: &str = "
import sys
from ray._raylet import GcsClient
from ray.core.generated.gcs_pb2 import GcsNodeInfo
for node in GcsClient(address=sys.argv[1]).get_all_node_info().values():
    if node.state == GcsNodeInfo.ALIVE:
        print(node.node_name)
";

/// The address of the node with this number, counted from 1.
pub(super) fn address(options: &Options, number: usize) -> String {
    if options.netns {
        namespaces::address(number)
    } else {
        format!("127.0.0.{}", 10 + number)
    }
}

/// The variables that a client needs.
pub(super) fn environment(
    options: &Options,
    folder: &Path,
    python: &Path,
) -> BTreeMap<String, String> {
    let settings = SETTINGS.map(|(name, value)| (name, value.to_owned()));
    let token = folder.join("token").display().to_string();
    let more = [
        ("RAY_ADDRESS", format!("{}:{PORT}", address(options, 1))),
        ("RAY_AUTH_TOKEN_PATH", token),
        ("HEIST_RAY_PYTHON", python.display().to_string()),
    ];
    let all = settings.into_iter().chain(more);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Starts all nodes, one after the other: two that start at once may choose the same socket.
pub(super) fn start(cluster: &Cluster, interrupt: &Interrupt) -> anyhow::Result<()> {
    let token: String = random(32)?
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    write_secret(&cluster.folder.join("token"), token.as_bytes())?;
    if !cluster.options.netns {
        demand_free((&cluster.nodes[0].address, PORT))?;
    }
    for number in 1..=cluster.nodes.len() {
        interrupt.check()?;
        start_node(cluster, number)?;
    }
    await_nodes(cluster, &cluster.nodes, interrupt)
}

/// Processes that a node's `raylet` starts, by the names that the kernel keeps.
const AGENTS: [&str; 2] = ["ray::DashboardA", "ray::RuntimeEnv"];

/// Starts one node; its processes go on when this returns.
pub(super) fn start_node(cluster: &Cluster, number: usize) -> anyhow::Result<()> {
    let name = &cluster.nodes[number - 1].name;
    let log = cluster.folder.join(format!("start-{name}.log"));
    succeed(&mut command(cluster, number), &log, Duration::from_secs(60))
        .with_context(|| format!("could not start the node {name} of Ray"))
}

/// Waits until the head knows each of `nodes` as living, and none as two (one that was killed
/// and started again is both for a while), and until their agents have started.
pub(super) fn await_nodes(
    cluster: &Cluster,
    nodes: &[Node],
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    const LIMIT: Duration = Duration::from_secs(30);
    let start = Instant::now();
    loop {
        interrupt.check()?;
        let living = living(cluster);
        let once = |node: &Node| {
            let known = living.as_deref().unwrap_or_default().iter();
            known.filter(|name| **name == node.name).count() == 1
        };
        let members = members(&cluster.folder, &cluster.members())?;
        let has_agents = |node: &Node| {
            let is_there = |program: &&str| {
                members.iter().any(|member| {
                    member.node.as_ref() == Some(&node.name) && member.process.program == *program
                })
            };
            AGENTS.iter().all(is_there)
        };
        if nodes.iter().all(|node| once(node) && has_agents(node)) {
            return Ok(());
        }
        anyhow::ensure!(
            start.elapsed() < LIMIT,
            "nodes of Ray were started, but {} s later the head says of the living: {living:?}",
            LIMIT.as_secs()
        );
        thread::sleep(Duration::from_millis(100));
    }
}

/// The nodes that live according to the head, by name.
pub(super) fn living(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let python = &cluster.environment["HEIST_RAY_PYTHON"];
    let mut command = match cluster.enter.split_first() {
        None => Command::new(python),
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg(python);
            command
        }
    };
    command.args(["-c", NODES, &cluster.environment["RAY_ADDRESS"]]);
    let output = command
        .envs(&cluster.environment)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", Line(&command)))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(
        output.status.success(),
        "the head of Ray did not say which nodes live: {}",
        errors.lines().next_back().unwrap_or("no message")
    );
    let names = String::from_utf8_lossy(&output.stdout);
    let mut names: Vec<_> = names.lines().map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// The command that starts a node and then ends.
fn command(cluster: &Cluster, number: usize) -> Command {
    let options = &cluster.options;
    let node = &cluster.nodes[number - 1];
    let ray = Path::new(&cluster.environment["HEIST_RAY_PYTHON"]).with_file_name("ray");
    let mut command = if options.netns {
        namespaces::command(number, &ray)
    } else {
        Command::new(ray)
    };
    // Another Ray in the caller's environment must not matter.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("RAY_")) {
            command.env_remove(name);
        }
    }
    command
        .envs(&cluster.environment)
        .envs(NODE_SETTINGS)
        .env(CLUSTER, &cluster.folder)
        .env(NODE, &node.name)
        // Ctrl-C is for us, not for it.
        .process_group(0)
        .arg("start");
    if number == 1 {
        command
            .args(["--head", &format!("--port={PORT}")])
            .arg("--include-dashboard=false")
            .arg(format!("--temp-dir={}", cluster.folder.display()));
    } else {
        command.arg(format!("--address={}", cluster.environment["RAY_ADDRESS"]));
    }
    let first = WORKER_PORTS + WORKER_PORTS_A_NODE * (number as u16 - 1);
    command
        .arg(format!("--node-ip-address={}", node.address))
        .arg(format!("--node-name={}", node.name))
        .arg(format!("--labels=heist-node={}", node.name))
        .arg(format!("--num-cpus={}", options.cpus))
        // So they say; nothing looks for them.
        .args(["--num-gpus=1", "--resources={\"disk\": 1}"])
        .arg(format!("--object-store-memory={}", options.store_mib << 20))
        .arg(format!("--min-worker-port={first}"))
        .arg(format!(
            "--max-worker-port={}",
            first + WORKER_PORTS_A_NODE - 1
        ))
        .args(["--include-log-monitor=false", "--disable-usage-stats"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::lifecycle::{plan, Packages};
    use crate::cluster::options::Backend;

    fn line(options: &Options, number: usize) -> String {
        let python = "/venv/bin/python".into();
        let folder = Path::new("/run/heist/ray");
        let cluster = plan(options, folder, &Packages::Ray { python }, None).unwrap();
        Line(&command(&cluster, number)).to_string()
    }

    #[test]
    fn the_head_is_told_all_that_it_must_not_find_out_itself() {
        let line = line(&Options::new(Backend::Ray), 1);
        let expected = "/venv/bin/ray start --head --port=6399 --include-dashboard=false \
             --temp-dir=/run/heist/ray --node-ip-address=127.0.0.11 --node-name=n1 \
             --labels=heist-node=n1 --num-cpus=2 --num-gpus=1 \
             '--resources={\"disk\": 1}' --object-store-memory=536870912 \
             --min-worker-port=21000 --max-worker-port=21999 --include-log-monitor=false \
             --disable-usage-stats";
        assert!(line.ends_with(expected), "{line}");
        for setting in [
            "HEIST_CLUSTER=/run/heist/ray ",
            "HEIST_NODE=n1 ",
            "RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=/run/heist/ray/token ",
            "RAY_memory_monitor_refresh_ms=0 ",
        ] {
            assert!(line.contains(setting), "{line}");
        }
    }

    #[test]
    fn another_node_joins_the_head_from_its_own_namespace() {
        let options = Options {
            netns: true,
            cpus: 4,
            store_mib: 100,
            ..Options::new(Backend::Ray)
        };
        let line = line(&options, 3);
        let expected = " ip netns exec heist-n3 /venv/bin/ray start --address=10.77.0.1:6399 \
             --node-ip-address=10.77.0.3 --node-name=n3 --labels=heist-node=n3 --num-cpus=4 \
             --num-gpus=1 '--resources={\"disk\": 1}' --object-store-memory=104857600 \
             --min-worker-port=23000 --max-worker-port=23999 --include-log-monitor=false \
             --disable-usage-stats";
        assert!(line.ends_with(expected), "{line}");
    }
}
