//! The backends that a run can use: their names, and what a job file tells them.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heist_cluster::{Cluster, ForeignProgram, Local, Options, Ray, Slurm};
use heist_run::usage::Usage;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The kinds of backends, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BackendKind {
    /// Worker processes on this machine
    Local,
    /// A Ray cluster that is up
    Ray,
    /// The machines of Slurm
    Slurm,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Ray => "ray",
            Self::Slurm => "slurm",
        })
    }
}

/// The tables `[backend.NAME]` of a job file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tables {
    local: LocalTable,
    ray: RayTable,
    slurm: SlurmTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LocalTable {
    #[serde(deserialize_with = "nodes")]
    nodes: Option<NonZeroU32>,
    cpus: Option<NonZeroU32>,
    memory_mib: Option<Mib>,
    resources: BTreeMap<String, NonZeroU32>,
    lost_after_s: Option<Seconds>,
}

/// Reads how many nodes `local` is to have.
fn nodes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NonZeroU32>, D::Error> {
    let nodes = NonZeroU32::deserialize(deserializer)?;
    check_nodes(nodes)
        .map(|()| Some(nodes))
        .map_err(D::Error::custom)
}

fn check_nodes(nodes: NonZeroU32) -> Result<(), String> {
    let most = Local::NODES_MAX;
    if nodes.get() <= most {
        return Ok(());
    }
    Err(format!(
        "{nodes} nodes of local; 1 to {most} are possible, each a process of this machine"
    ))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RayTable {
    address: Option<String>,
    python: Option<PathBuf>,
    cdylib: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SlurmTable {
    partition: Option<String>,
    folder: Option<PathBuf>,
    arguments: Vec<String>,
    cpus: Option<NonZeroU32>,
    environment: Vec<String>,
    lost_after_s: Option<Seconds>,
    linger_s: Option<Seconds>,
}

/// Bytes, given in mebibytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
struct Mib(u64);

impl TryFrom<u64> for Mib {
    type Error = String;

    fn try_from(mib: u64) -> Result<Self, String> {
        let bytes = mib.checked_mul(1 << 20).filter(|bytes| *bytes > 0);
        let accepted = || format!("{mib} MiB; 1 to {} are possible", u64::MAX >> 20);
        bytes.map(Self).ok_or_else(accepted)
    }
}

/// A time, given in seconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Seconds(Duration);

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        let time = Duration::try_from_secs_f64(seconds);
        time.map(Self)
            .map_err(|error| format!("{seconds} s: {error}"))
    }
}

/// Which backend, and what the command line says about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BackendArgs {
    pub(super) backend: BackendKind,
    pub(super) nodes: Option<NonZeroU32>,
    pub(super) cpus: Option<NonZeroU32>,
}

impl BackendArgs {
    /// Makes sure that the backend can be told what the command line says.
    pub(super) fn check(self) -> Result<(), Usage> {
        let is_told = self.nodes.is_some() || self.cpus.is_some();
        if is_told && self.backend != BackendKind::Local {
            return Err(Usage(format!(
                "--nodes and --cpus are for the backend local; {} has the nodes that it has",
                self.backend
            )));
        }
        self.nodes.map_or(Ok(()), check_nodes).map_err(Usage)
    }
}

/// Reaches the backend that was chosen. Machines share the folder `shared`, if they need one and
/// the tables name none.
pub(super) fn connect(
    chosen: BackendArgs,
    tables: &Tables,
    shared: &Path,
    program: &ForeignProgram,
    options: Options,
) -> anyhow::Result<Cluster> {
    let cluster = match chosen.backend {
        BackendKind::Local => {
            let mut local = Local::new();
            if let Some(nodes) = chosen.nodes.or(tables.local.nodes) {
                local = local.nodes(nodes.get());
            }
            if let Some(cpus) = chosen.cpus.or(tables.local.cpus) {
                local = local.cpus(cpus.get());
            }
            if let Some(Mib(bytes)) = tables.local.memory_mib {
                local = local.memory(bytes);
            }
            for (name, count) in &tables.local.resources {
                local = local.resource(name, count.get());
            }
            if let Some(Seconds(silence)) = tables.local.lost_after_s {
                local = local.lost_after(silence);
            }
            program.connect(local, options)
        }
        BackendKind::Ray => {
            let mut ray = Ray::new();
            if let Some(address) = &tables.ray.address {
                ray = ray.address(address);
            }
            if let Some(python) = &tables.ray.python {
                ray = ray.python(python);
            }
            if let Some(cdylib) = &tables.ray.cdylib {
                ray = ray.cdylib(cdylib);
            }
            program.connect(ray, options)
        }
        BackendKind::Slurm => program.connect(slurm(&tables.slurm, shared), options),
    };
    Ok(cluster?)
}

fn slurm(table: &SlurmTable, shared: &Path) -> Slurm {
    let mut slurm = Slurm::new()
        .arguments(&table.arguments)
        .environment(&table.environment)
        .folder(table.folder.as_deref().unwrap_or(shared));
    if let Some(partition) = &table.partition {
        slurm = slurm.partition(partition);
    }
    if let Some(cpus) = table.cpus {
        slurm = slurm.cpus(cpus.get());
    }
    if let Some(Seconds(silence)) = table.lost_after_s {
        slurm = slurm.lost_after(silence);
    }
    if let Some(Seconds(linger)) = table.linger_s {
        slurm = slurm.linger(linger);
    }
    slurm
}
