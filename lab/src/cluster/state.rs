//! The record of a running cluster, in a short folder for each user and backend.
//!
//! The folder is `heist-cluster-UID/BACKEND` below the system's folder for temporary files,
//! because the path of a Unix socket may not be longer than 107 bytes, and Ray puts up to 70 of its
//! own behind it. In it lie `cluster.json`, the backend's own files, and its logs.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{flock, FlockOperation};
use rustix::process::getuid;
use serde::{Deserialize, Serialize};

use super::options::{Backend, Options};
use super::processes::{Member, Process};

/// The contents of `cluster.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cluster {
    /// How it was started.
    pub(crate) options: Options,
    /// When it was started, in universal time.
    pub(crate) started_at: String,
    /// The process that will take it down, if any.
    pub(crate) keeper: Option<Process>,
    /// The state folder.
    pub(crate) folder: PathBuf,
    /// The variables that a client needs.
    pub(crate) environment: BTreeMap<String, String>,
    /// The start of a client's command line that brings it to the nodes; empty if none is needed.
    pub(crate) enter: Vec<String>,
    /// The machines of the cluster.
    pub(crate) nodes: Vec<Node>,
    /// Processes besides the nodes, such as Slurm's controller.
    pub(crate) services: Vec<Process>,
}

/// One machine of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Node {
    /// `n1`, `n2` or `n3`.
    pub(crate) name: String,
    /// Its IPv4 address.
    pub(crate) address: String,
    /// Its processes when it had started; empty after it was killed.
    pub(crate) processes: Vec<Process>,
}

/// Programs without which a cluster or node is dead.
const ESSENTIAL: [&str; 5] = ["raylet", "gcs_server", "slurmd", "slurmctld", "munged"];

impl Node {
    /// Whether the backend runs there.
    pub(crate) fn lives(&self) -> bool {
        live(&self.processes)
    }
}

impl Cluster {
    /// Reads the record in `folder`, if there is one.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("could not read {}", path.display()))?,
        };
        serde_json::from_str(&text).map(Some).with_context(|| {
            let path = path.display();
            format!("{path} does not describe a cluster; `cargo lab cluster down` mends that")
        })
    }

    /// Writes it to its folder atomically.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        let path = self.folder.join(FILE);
        let new = path.with_extension("new");
        serde_json::to_string_pretty(self)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&new, text + "\n"))
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("could not write {}", path.display()))
    }

    /// Whether every part of it runs, the process that takes it down included.
    pub(crate) fn lives(&self) -> bool {
        self.nodes.iter().all(Node::lives)
            && (self.services.is_empty() || live(&self.services))
            && self.keeper.as_ref().is_none_or(Process::lives)
    }

    pub(super) fn node(&mut self, name: &str) -> anyhow::Result<&mut Node> {
        let backend = self.options.backend;
        let names: Vec<_> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let found = self.nodes.iter_mut().find(|node| node.name == name);
        found.with_context(|| {
            let names = names.join(", ");
            format!("the cluster of {backend} has no node {name:?}; it has {names}")
        })
    }

    /// The processes on record.
    pub(super) fn members(&self) -> Vec<Member> {
        let member = |process: &Process, node: Option<&Node>| Member {
            process: process.clone(),
            node: node.map(|node| node.name.clone()),
        };
        let services = self.services.iter().map(|process| member(process, None));
        let of_nodes = self.nodes.iter().flat_map(|node| {
            let processes = node.processes.iter();
            processes.map(move |process| member(process, Some(node)))
        });
        services.chain(of_nodes).collect()
    }

    /// Records what runs now.
    pub(super) fn record(&mut self, members: &[Member]) {
        let of = |name: Option<&str>| {
            let of_node = members
                .iter()
                .filter(|member| member.node.as_deref() == name);
            of_node.map(|member| member.process.clone()).collect()
        };
        for node in &mut self.nodes {
            node.processes = of(Some(&node.name));
        }
        self.services = of(None);
    }
}

/// The state folder of this user for a backend, whether or not there is a cluster.
pub(crate) fn folder(backend: Backend) -> anyhow::Result<PathBuf> {
    const LONGEST: usize = 107 - 70;
    let folder = base().join(backend.to_string());
    let length = folder.to_str().map(str::len);
    anyhow::ensure!(
        length.is_some_and(|length| length <= LONGEST),
        "could not use {} for a cluster: the path must be UTF-8 of at most {LONGEST} bytes, as \
         sockets lie below it; point TMPDIR to a folder with a shorter name",
        folder.display()
    );
    Ok(folder)
}

/// The exclusive right to start, change or stop this user's cluster of one backend.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for its turn.
    pub(super) fn take(backend: Backend) -> anyhow::Result<Self> {
        let base = base();
        // Ray opens its own folders to everybody, so this one above them must be closed.
        private_folder(&base)?;
        let path = base.join(format!("{backend}.lock"));
        let file = File::create(&path);
        let file = file.with_context(|| format!("could not write {}", path.display()))?;
        flock(&file, FlockOperation::LockExclusive)
            .with_context(|| format!("could not lock {}", path.display()))?;
        Ok(Self { _file: file })
    }
}

/// Checks that `path` is a folder of ours that no other user may write to.
pub(super) fn private_folder(path: &Path) -> anyhow::Result<()> {
    let attempted = || format!("could not make the folder {}", path.display());
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.with_context(attempted)?,
    }
    let found = fs::symlink_metadata(path).with_context(attempted)?;
    anyhow::ensure!(
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o022 == 0,
        "could not use {}: it must be a folder of yours that nobody else can write to",
        path.display()
    );
    Ok(())
}

/// `bytes` random bytes.
pub(super) fn random(bytes: u64) -> anyhow::Result<Vec<u8>> {
    let mut random = Vec::new();
    File::open("/dev/urandom")
        .and_then(|file| file.take(bytes).read_to_end(&mut random))
        .context("could not read /dev/urandom")?;
    Ok(random)
}

/// Writes a file that only this user may read.
pub(super) fn write_secret(path: &Path, secret: &[u8]) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
        .open(path)
        .and_then(|mut file| file.write_all(secret))
        .with_context(|| format!("could not write {}", path.display()))
}

pub(super) const FILE: &str = "cluster.json";

fn base() -> PathBuf {
    let user = getuid().as_raw();
    std::env::temp_dir().join(format!("heist-cluster-{user}"))
}

fn live(processes: &[Process]) -> bool {
    let mut essential = processes
        .iter()
        .filter(|process| ESSENTIAL.contains(&&*process.program))
        .peekable();
    essential.peek().is_some() && essential.all(Process::lives)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(folder: &Path) -> Cluster {
        let raylet = Process {
            program: "raylet".to_owned(),
            ..Process::current().unwrap()
        };
        let node = |name: &str| Node {
            name: name.to_owned(),
            address: "127.0.0.11".to_owned(),
            processes: vec![raylet.clone()],
        };
        Cluster {
            options: Options::new(Backend::Ray),
            started_at: "2026-11-21T12:00:00Z".to_owned(),
            keeper: None,
            folder: folder.to_owned(),
            environment: BTreeMap::from([("A".to_owned(), "b c".to_owned())]),
            enter: Vec::new(),
            nodes: vec![node("n1"), node("n2")],
            services: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Cluster::read(folder.path()).unwrap(), None);
        let cluster = cluster(folder.path());
        cluster.write().unwrap();
        assert_eq!(Cluster::read(folder.path()).unwrap(), Some(cluster));
    }

    #[test]
    fn a_broken_file_is_named_with_its_remedy() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{}").unwrap();
        let error = Cluster::read(folder.path()).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("cluster.json does not describe a cluster"),
            "{text}"
        );
        assert!(text.contains("cluster down"), "{text}");
    }

    #[test]
    fn a_cluster_lives_as_long_as_all_its_nodes_and_its_keeper_do() {
        let mut cluster = cluster(Path::new("/run/heist"));
        assert!(cluster.lives());
        let mut ended = Process::current().unwrap();
        ended.start_ticks -= 1;
        cluster.keeper = Some(ended);
        assert!(!cluster.lives());
        cluster.keeper = None;
        cluster.node("n2").unwrap().processes.clear();
        assert!(!cluster.lives());
    }

    #[test]
    fn an_unknown_node_is_refused_with_the_names_of_those_there_are() {
        let mut cluster = cluster(Path::new("/run/heist"));
        let error = cluster.node("n9").unwrap_err().to_string();
        assert_eq!(
            error,
            "the cluster of ray has no node \"n9\"; it has n1, n2"
        );
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("open");
        private_folder(&folder).unwrap();
        private_folder(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private_folder(&folder).is_err());
    }

    #[test]
    fn a_secret_is_for_its_owner_only_and_is_not_written_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        write_secret(&path, &random(32).unwrap()).unwrap();
        let mode = fs::metadata(&path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(write_secret(&path, b"another").is_err());
    }
}
