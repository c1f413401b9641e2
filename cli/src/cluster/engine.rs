//! The engines that a run can use: their names, and what a job file tells them.

use std::fmt;
use std::num::NonZeroU32;

use heist_cluster::{Cluster, ClusterError, ForeignProgram, Local, Options};
use serde::{Deserialize, Serialize};

/// The engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Name {
    /// Worker processes on this machine
    Local,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
        })
    }
}

/// The tables `[engine.NAME]` of a job file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tables {
    local: LocalTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LocalTable {
    nodes: Option<NonZeroU32>,
    cpus: Option<NonZeroU32>,
}

/// Which engine, and what the command line says about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Choice {
    pub(super) engine: Name,
    pub(super) nodes: Option<NonZeroU32>,
    pub(super) cpus: Option<NonZeroU32>,
}

/// Reaches the engine that was chosen.
pub(super) fn connect(
    choice: Choice,
    tables: &Tables,
    program: &ForeignProgram,
    options: Options,
) -> Result<Cluster, ClusterError> {
    match choice.engine {
        Name::Local => {
            let mut local = Local::new();
            if let Some(nodes) = choice.nodes.or(tables.local.nodes) {
                local = local.nodes(nodes.get());
            }
            if let Some(cpus) = choice.cpus.or(tables.local.cpus) {
                local = local.cpus(cpus.get());
            }
            program.connect(local, options)
        }
    }
}
