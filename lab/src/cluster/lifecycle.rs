//! The life of a cluster: started, disturbed, mended and taken down.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use xtask::build;

use super::interrupt::Interrupt;
use super::options::{Backend, Options};
use super::processes::{self, Member, Process};
use super::state::{self, folder, Cluster, Lock, Node};
use super::{namespaces, packages, ray, slurm};

const NODES: usize = 3;
/// How long processes have to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Finds or installs the backend's packages.
///
/// # Errors
///
/// Fails if they cannot be installed; the error says what was tried, and is a reason to skip
/// what needs the backend.
pub(crate) fn available(root: &Path, backend: Backend) -> Result<(), String> {
    Lock::take(backend)
        .and_then(|_lock| Packages::install(root, backend))
        .map(drop)
        .map_err(|error| format!("{backend} is not available: {error:#}"))
}

/// Stops this user's cluster of `backend`, if there is one or parts of one, and removes its
/// folder. Returns how many processes that ended.
pub(crate) fn down(backend: Backend) -> anyhow::Result<usize> {
    let _lock = Lock::take(backend)?;
    take_down(backend)
}

/// Kills everything on a node at once, and returns how many processes that were.
pub(crate) fn kill(backend: Backend, node: &str) -> anyhow::Result<usize> {
    let _lock = Lock::take(backend)?;
    kill_node(&mut present(backend)?, node)
}

/// Starts a node again that has died, and waits until the backend uses it.
pub(crate) fn start(backend: Backend, node: &str) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let _lock = Lock::take(backend)?;
    let mut cluster = present(backend)?;
    anyhow::ensure!(
        !cluster.node(node)?.lives(),
        "the node {node} of {backend} already runs"
    );
    // If its daemon died by itself, other processes may live.
    kill_node(&mut cluster, node)?;
    match backend {
        Backend::Ray => {
            let number = 1 + cluster
                .nodes
                .iter()
                .take_while(|one| one.name != node)
                .count();
            ray::start_node(&cluster, number)?;
            ray::await_nodes(&cluster, &cluster.nodes[number - 1..number], &interrupt)?;
        }
        Backend::Slurm => {
            slurm::start_node(&cluster, node)?;
            slurm::await_node(&cluster, node, &interrupt)?;
        }
    }
    cluster.record(&processes::members(&cluster.folder, &cluster.members())?);
    cluster.write()
}

/// Cuts a node of Ray off from the others.
pub(crate) fn partition(node: &str) -> anyhow::Result<()> {
    set_cable(node, namespaces::Cable::Cut)
}

/// Connects a node of Ray again. One that was taken for dead meanwhile ends itself when it hears
/// of that, and has to be started again ([`start`]).
pub(crate) fn heal(node: &str) -> anyhow::Result<()> {
    set_cable(node, namespaces::Cable::Whole)
}

fn kill_node(cluster: &mut Cluster, node: &str) -> anyhow::Result<usize> {
    cluster.node(node)?;
    let known = cluster.members();
    let is_there = |member: &Member| member.node.as_deref() == Some(node);
    let count = processes::end(&cluster.folder, &known, is_there, Duration::ZERO)?;
    cluster.node(node)?.processes.clear();
    cluster.write()?;
    Ok(count)
}

fn set_cable(node: &str, cable: namespaces::Cable) -> anyhow::Result<()> {
    let _lock = Lock::take(Backend::Ray)?;
    let mut cluster = present(Backend::Ray)?;
    cluster.node(node)?;
    anyhow::ensure!(
        cluster.options.netns,
        "only nodes in network namespaces can be cut off, and these are not; \
         `cargo lab cluster down ray`, then `cargo lab cluster up ray --netns`"
    );
    namespaces::set_cable(node, cable)
}

/// The programs of a backend.
#[derive(Debug)]
pub(super) enum Packages {
    Ray { python: PathBuf },
    Slurm,
}

impl Packages {
    fn install(root: &Path, backend: Backend) -> anyhow::Result<Self> {
        let folder = build::target_folder(root, "cluster");
        Ok(match backend {
            Backend::Ray => Self::Ray {
                python: packages::ray(&folder)?,
            },
            Backend::Slurm => {
                slurm::install(&folder)?;
                Self::Slurm
            }
        })
    }
}

/// A cluster that runs, and whether it did before it was asked for.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) cluster: Cluster,
    pub(super) is_new: bool,
}

/// Starts a cluster. If there already is one with the same options, that one is returned; if
/// part of it is dead, it is first taken down.
///
/// # Errors
///
/// Fails if the packages are missing and cannot be installed, if a node does not start, if it
/// was interrupted, or if there is a cluster with other options. Nothing is left running then
/// that this call started.
pub(super) fn start_cluster(
    root: &Path,
    options: &Options,
    keeper: Option<Process>,
    interrupt: &Interrupt,
) -> anyhow::Result<Started> {
    check(options)?;
    let backend = options.backend;
    let _lock = Lock::take(backend)?;
    let folder = folder(backend)?;
    if let Some(cluster) = Cluster::read(&folder)?.filter(|cluster| answers(cluster, NODES)) {
        anyhow::ensure!(
            cluster.options == *options,
            "there is a cluster with other options ({}); \
             `cargo lab cluster down {backend}` first",
            cluster.options
        );
        let is_new = false;
        return Ok(Started { cluster, is_new });
    }
    take_down(backend)?;
    let packages = Packages::install(root, backend)?;
    if options.netns {
        packages::program("ip", "iproute2", &build::target_folder(root, "cluster"))?;
    }
    state::private_folder(&folder)?;
    let mut cluster = plan(options, &folder, &packages, keeper)?;
    let started = launch(&cluster, interrupt);
    if let Err(error) = started.and_then(|()| {
        cluster.record(&processes::members(&folder, &[])?);
        cluster.write()
    }) {
        // The logs vanish, but the error has their last words.
        return Err(match take_down(backend) {
            Ok(_) => error,
            Err(second) => error.context(format!("and then could not clean up: {second:#}")),
        });
    }
    let is_new = true;
    Ok(Started { cluster, is_new })
}

fn check(options: &Options) -> anyhow::Result<()> {
    let backend = options.backend;
    anyhow::ensure!(
        !options.netns || backend == Backend::Ray,
        "--netns is for ray only: the nodes of {backend} cannot be cut off"
    );
    Ok(())
}

/// A cluster as it shall be; nothing runs yet.
pub(super) fn plan(
    options: &Options,
    folder: &Path,
    packages: &Packages,
    keeper: Option<Process>,
) -> anyhow::Result<Cluster> {
    let mut environment = match packages {
        Packages::Ray { python } => ray::environment(options, folder, python),
        Packages::Slurm => slurm::environment(folder),
    };
    let program = std::env::current_exe().context("could not find out which program this is")?;
    for (name, path) in [
        ("HEIST_CLUSTER_STATE", &folder.join(state::FILE)),
        ("HEIST_LAB", &program),
    ] {
        environment.insert(name.to_owned(), path.display().to_string());
    }
    let nodes = (1..=NODES).map(|number| Node {
        name: format!("n{number}"),
        address: match options.backend {
            Backend::Ray => ray::address(options, number),
            Backend::Slurm => slurm::address(number),
        },
        processes: Vec::new(),
    });
    Ok(Cluster {
        options: options.clone(),
        started_at: jiff::Timestamp::now().to_string(),
        keeper,
        folder: folder.to_owned(),
        environment,
        enter: if options.netns {
            namespaces::enter(1)
        } else {
            Vec::new()
        },
        nodes: nodes.collect(),
        services: Vec::new(),
    })
}

fn launch(cluster: &Cluster, interrupt: &Interrupt) -> anyhow::Result<()> {
    if cluster.options.netns {
        namespaces::create()?;
    }
    match cluster.options.backend {
        Backend::Ray => ray::start(cluster, interrupt),
        Backend::Slurm => slurm::start(cluster, interrupt),
    }
}

/// Ends whatever runs of a cluster, even if nothing is known of it, and removes its folder.
fn take_down(backend: Backend) -> anyhow::Result<usize> {
    let folder = folder(backend)?;
    // Without a readable file, the environment of its processes leads to them.
    let known = Cluster::read(&folder).ok().flatten();
    let known = known.map_or_else(Vec::new, |cluster| cluster.members());
    let count = processes::end(&folder, &known, |_| true, GRACE)?;
    // Only root can have made them.
    if backend == Backend::Ray && rustix::process::geteuid().is_root() {
        namespaces::remove()?;
    }
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", folder.display()))
        }
        _ => Ok(count),
    }
}

fn present(backend: Backend) -> anyhow::Result<Cluster> {
    Cluster::read(&folder(backend)?)?.with_context(|| {
        format!("there is no cluster of {backend}; `cargo lab cluster up {backend}` starts one")
    })
}

/// Whether the processes of a cluster live, and `count` nodes of it according to its head.
fn answers(cluster: &Cluster, count: usize) -> bool {
    cluster.lives() && living(cluster).is_ok_and(|living| living.len() == count)
}

/// The nodes that live according to the backend, by name.
pub(super) fn living(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    match cluster.options.backend {
        // Asking it would take most of a minute.
        Backend::Ray if !cluster.nodes[0].lives() => anyhow::bail!("the head of Ray is dead"),
        Backend::Ray => ray::living(cluster),
        Backend::Slurm => slurm::living(cluster),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_has_no_namespaces_of_networks() {
        let options = Options {
            netns: true,
            ..Options::new(Backend::Slurm)
        };
        let error = check(&options).unwrap_err().to_string();
        assert!(error.starts_with("--netns is for ray only"), "{error}");
    }
}
