//! Slurm: a controller and three nodes, each with its own host name and loopback address.
//!
//! A daemon of Slurm's listens on the address that its host name stands for, or on all. So each
//! gets a host name of its own, and a table of hosts in which that name is a loopback address:
//! namespaces for both, which need root.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use xtask::steps::Line;

use super::interrupt::Interrupt;
use super::packages;
use super::ports::demand_free;
use super::processes::{CLUSTER, NODE};
use super::state::{random, write_secret, Cluster};

const CONTROLLER: &str = "controller";
const CONTROLLER_ADDRESS: &str = "127.0.0.10";
const CONTROLLER_PORT: u16 = 17817;
const NODE_PORT: u16 = 17818;

/// The programs, with the packages that bring them.
const PROGRAMS: [(&str, &str); 4] = [
    ("munged", "munge"),
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("sinfo", "slurm-client"),
];

/// Gives a program a host name and a table of hosts, and then tells it so, in the variable
/// [`HOST`](super::processes::HOST): `sh -c ON_A_HOST ... NAME HOSTS PROGRAM ...`.
const ON_A_HOST: &str = r#"hostname "$1" && mount --bind "$2" /etc/hosts &&
export HEIST_HOST="$1" && shift 2 && exec "$@""#;

/// Makes sure that the packages are there. The installer's messages go to `folder`.
pub(super) fn install(folder: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "only root can give the nodes of Slurm host names of their own"
    );
    PROGRAMS
        .iter()
        .try_for_each(|(name, package)| packages::program(name, package, folder).map(drop))
}

/// The address of the node with this number, counted from 1.
pub(super) fn address(number: usize) -> String {
    format!("127.0.0.{}", 10 + number)
}

/// The variables that a client needs.
pub(super) fn environment(folder: &Path) -> BTreeMap<String, String> {
    let configuration = folder.join("slurm.conf").display().to_string();
    BTreeMap::from([("SLURM_CONF".to_owned(), configuration)])
}

/// Starts the controller and all nodes, and waits until they have found each other.
pub(super) fn start(cluster: &Cluster, interrupt: &Interrupt) -> anyhow::Result<()> {
    let folder = &cluster.folder;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))
    };
    write("slurm.conf", configuration(cluster))?;
    write("hosts", hosts(cluster))?;
    // It is looked for beside slurm.conf, and its defaults are meant.
    write("cgroup.conf", String::new())?;
    write_secret(&folder.join("munge.key"), &random(128)?)?;
    let spools = cluster
        .nodes
        .iter()
        .map(|node| format!("spool/{}", node.name));
    for name in spools.chain(["controller".to_owned()]) {
        let path = folder.join(name);
        fs::create_dir_all(&path)
            .with_context(|| format!("could not make the folder {}", path.display()))?;
    }
    for address in [(CONTROLLER_ADDRESS, CONTROLLER_PORT)]
        .into_iter()
        .chain(cluster.nodes.iter().map(|node| (&*node.address, NODE_PORT)))
    {
        demand_free(address)?;
    }
    spawn(cluster, "munged", &mut munged(folder)?)?;
    let socket = folder.join("munge.sock");
    wait(cluster, interrupt, "munged makes its socket", || {
        socket.exists()
    })?;
    let mut controller = daemon(folder, CONTROLLER, "slurmctld")?;
    spawn(cluster, "slurmctld", controller.arg("-D"))?;
    for node in &cluster.nodes {
        start_node(cluster, &node.name)?;
    }
    for node in &cluster.nodes {
        await_node(cluster, &node.name, interrupt)?;
    }
    Ok(())
}

/// Starts one node.
pub(super) fn start_node(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    let mut node = daemon(&cluster.folder, name, "slurmd")?;
    node.args(["-D", "-N", name]).env(NODE, name);
    spawn(cluster, &format!("slurmd-{name}"), &mut node)
}

/// Waits until a node listens, and until the controller gives it jobs: for a while it may also
/// do so because it has not noticed that the node was dead.
pub(super) fn await_node(
    cluster: &Cluster,
    name: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let nodes = &cluster.nodes;
    let node = nodes.iter().find(|node| node.name == name);
    let address = node.map(|node| (&*node.address, NODE_PORT));
    let listens = || address.is_some_and(|address| TcpStream::connect(address).is_ok());
    let is_known = || living(cluster).is_ok_and(|living| living.iter().any(|node| node == name));
    let what = format!("the controller knows the node {name}");
    wait(cluster, interrupt, &what, || listens() && is_known())
}

/// The nodes that can take jobs or run some according to the controller, by name.
pub(super) fn living(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let mut sinfo = Command::new("sinfo");
    let output = sinfo
        .args(["--noheader", "--Node", "--format=%N %T"])
        .envs(&cluster.environment)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", Line(&sinfo)))?;
    anyhow::ensure!(
        output.status.success(),
        "the controller of Slurm did not say which nodes live: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let text = String::from_utf8_lossy(&output.stdout);
    // A star behind the state says that the node does not answer.
    let lives = |state: &str| matches!(state, "idle" | "mixed" | "allocated" | "completing");
    let living = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, state)| lives(state));
    Ok(living.map(|(name, _)| name.to_owned()).collect())
}

/// The text of `slurm.conf`. Slurm's defaults hold for the rest.
fn configuration(cluster: &Cluster) -> String {
    let folder = cluster.folder.display();
    let cpus = cluster.options.cpus;
    let mut text = format!(
        "\
ClusterName=heist
SlurmctldHost={CONTROLLER}({CONTROLLER_ADDRESS})
SlurmctldPort={CONTROLLER_PORT}
SlurmdPort={NODE_PORT}
# Each daemon listens on the address of its host name only.
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A job whose node has died waits until its credential has expired: two minutes, unless told.
AuthInfo=socket={folder}/munge.sock,cred_expire=5
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
MailProg=/bin/true
# No control groups, which several nodes on one machine would share.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=2,requeue_delay=1
# A job that ends with this code waits in the queue to be released, on another node perhaps.
RequeueExitHold=85
JobRequeue=1
# A node that comes back is used again, whatever happened to it.
ReturnToService=2
# A node that does not answer for so long is dead; it is asked three times meanwhile.
SlurmdTimeout=3
SlurmctldTimeout=30
MessageTimeout=3
KillWait=5
MinJobAge=60
MaxArraySize=20001
MaxJobCount=50000
LaunchParameters=disable_send_gids
# The nodes are what this file says, not what the machine has.
SlurmdParameters=config_overrides
"
    );
    for node in &cluster.nodes {
        let (name, address) = (&node.name, &node.address);
        let _infallible = writeln!(
            text,
            "NodeName={name} NodeAddr={address} CPUs={cpus} Boards=1 SocketsPerBoard=1 \
             CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=4000"
        );
    }
    text
        + "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES:4\n"
}

/// The table of hosts that daemons and jobs see.
fn hosts(cluster: &Cluster) -> String {
    let mut text = format!("127.0.0.1 localhost\n{CONTROLLER_ADDRESS} {CONTROLLER}\n");
    for node in &cluster.nodes {
        let _infallible = writeln!(text, "{} {}", node.address, node.name);
    }
    text
}

/// The daemon that vouches for senders of messages, with a key and a socket of this cluster's own.
fn munged(folder: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(program("munged")?);
    // The folder above is for its owner only, which it warns of.
    command.args(["--foreground", "--force", "--num-threads=2"]);
    for (option, file) in [
        ("key-file", "munge.key"),
        ("socket", "munge.sock"),
        ("pid-file", "munged.pid"),
        ("log-file", "munged.log"),
        ("seed-file", "munge.seed"),
    ] {
        command.arg(format!("--{option}={}", folder.join(file).display()));
    }
    Ok(command)
}

/// A daemon on a host of its own.
fn daemon(folder: &Path, host: &str, name: &str) -> anyhow::Result<Command> {
    let mut command = Command::new("unshare");
    command
        .args(["--uts", "--mount", "--propagation", "slave"])
        .args(["sh", "-c", ON_A_HOST, "sh", host])
        .args([folder.join("hosts"), program(name)?]);
    Ok(command)
}

fn program(name: &str) -> anyhow::Result<PathBuf> {
    packages::find(name).with_context(|| format!("there is no {name}"))
}

/// Starts a daemon, whose messages go to the state folder, and leaves it alone.
fn spawn(cluster: &Cluster, name: &str, command: &mut Command) -> anyhow::Result<()> {
    let log = cluster.folder.join(format!("{name}.out"));
    let open = || File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (output, errors) = open().with_context(|| format!("could not write {}", log.display()))?;
    // Another Slurm in the caller's environment must not matter.
    for (variable, _) in std::env::vars_os() {
        if is_of_slurm(&variable) {
            command.env_remove(variable);
        }
    }
    command
        .envs(&cluster.environment)
        .env(CLUSTER, &cluster.folder)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        // Ctrl-C is for us, not for it.
        .process_group(0)
        .spawn()
        .map(drop)
        .with_context(|| format!("could not start {}", Line(command)))
}

fn is_of_slurm(variable: &OsStr) -> bool {
    variable
        .to_str()
        .is_some_and(|name| name.starts_with("SLURM"))
}

fn wait(
    cluster: &Cluster,
    interrupt: &Interrupt,
    what: &str,
    done: impl Fn() -> bool,
) -> anyhow::Result<()> {
    const LIMIT: Duration = Duration::from_secs(30);
    let start = Instant::now();
    while !done() {
        interrupt.check()?;
        anyhow::ensure!(
            start.elapsed() < LIMIT,
            "waited {} s in vain until {what}; {}",
            LIMIT.as_secs(),
            last_words(&cluster.folder)
        );
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The last line of each daemon's messages, for the log files vanish with the cluster.
fn last_words(folder: &Path) -> String {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut words: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.extension() == Some(OsStr::new("out")))
        .filter_map(|path| {
            let text = fs::read_to_string(&path).ok()?;
            let name = path.file_stem()?.to_string_lossy().into_owned();
            Some(format!("{name} said: {}", text.lines().next_back()?))
        })
        .collect();
    words.sort();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::lifecycle::{plan, Packages};
    use crate::cluster::options::{Backend, Options};

    fn cluster() -> Cluster {
        let options = Options {
            cpus: 4,
            ..Options::new(Backend::Slurm)
        };
        plan(
            &options,
            Path::new("/run/heist/slurm"),
            &Packages::Slurm,
            None,
        )
        .unwrap()
    }

    #[test]
    fn the_configuration_names_three_nodes_and_only_folders_of_the_cluster() {
        let text = configuration(&cluster());
        for number in 1..=3 {
            let node = format!(
                "\nNodeName=n{number} NodeAddr=127.0.0.1{number} CPUs=4 Boards=1 \
                 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000\n"
            );
            assert!(text.contains(&node), "{text}");
        }
        assert!(text.contains("\nAuthInfo=socket=/run/heist/slurm/munge.sock,cred_expire=5\n"));
        let mut paths = text
            .split(['=', '\n', ' '])
            .filter(|word| word.starts_with('/'));
        let is_own = |path: &str| path.starts_with("/run/heist/slurm/") || path == "/bin/true";
        assert!(paths.all(is_own), "{text}");
    }

    #[test]
    fn every_host_stands_for_an_address_of_its_own() {
        let expected = "127.0.0.1 localhost\n127.0.0.10 controller\n\
                        127.0.0.11 n1\n127.0.0.12 n2\n127.0.0.13 n3\n";
        assert_eq!(hosts(&cluster()), expected);
    }
}
