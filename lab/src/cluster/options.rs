//! Which backend a test cluster is of, and how it is started.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A system that runs a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Backend {
    /// Ray 2.60.0, from its Python package, in a virtual environment in the target folder.
    Ray,
    /// Slurm, from Debian's packages; only root can run it.
    Slurm,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ray => "ray",
            Self::Slurm => "slurm",
        })
    }
}

/// How to start a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub(crate) struct Options {
    /// The backend.
    pub(crate) backend: Backend,
    /// Put the nodes of Ray into network namespaces, so that they can be cut off; for root.
    #[arg(long)]
    pub(crate) netns: bool,
    /// How many processors each node says it has.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) cpus: u16,
    /// The size of the object store of each node of Ray, in MiB.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(80..=65536))]
    pub(crate) store_mib: u32,
}

impl Options {
    /// A cluster of `backend` as it is if nothing else is asked for.
    pub(crate) fn new(backend: Backend) -> Self {
        Self {
            backend,
            netns: false,
            cpus: 2,
            store_mib: 512,
        }
    }
}

/// All of them.
pub(super) const BACKENDS: [Backend; 2] = [Backend::Ray, Backend::Slurm];

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cpus,
            store_mib,
            netns,
            backend,
        } = self;
        write!(f, "--cpus {cpus}")?;
        if *backend == Backend::Ray {
            write!(f, " --store-mib {store_mib}")?;
        }
        f.write_str(if *netns { " --netns" } else { "" })
    }
}
