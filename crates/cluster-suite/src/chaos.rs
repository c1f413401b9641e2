//! The parts of a chaos run that all of its processes agree on: the backends and the jobs.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use heist_cluster::{Cluster, ClusterError, Local, Options, Ray, Slurm};

use crate::jobs::Counting;
use crate::work::mix;

/// How many jobs a round has.
pub const JOBS: u64 = 6;

/// Every wait ends in this time, however slow the machine is.
pub const WAIT: Duration = Duration::from_secs(120);

/// Where calls and jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the backends' names")]
pub enum Place {
    Local,
    Ray,
    Slurm,
}

impl Place {
    /// The place of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "local" => Ok(Self::Local),
            "ray" => Ok(Self::Ray),
            "slurm" => Ok(Self::Slurm),
            other => Err(format!(
                "no backend is called '{other}', accepted are local, ray, slurm"
            )),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ray => "ray",
            Self::Slurm => "slurm",
        }
    }

    /// Connects a cluster of three nodes of two processors.
    ///
    /// # Errors
    ///
    /// As [`Cluster::connect_with`].
    pub fn connect(self, folder: &Path, options: Options) -> Result<Cluster, ClusterError> {
        match self {
            Self::Local => {
                let local = Local::new().nodes(3).cpus(2);
                Cluster::connect_with(local.lost_after(Duration::from_secs(2)), options)
            }
            Self::Ray => Cluster::connect_with(Ray::new(), options),
            Self::Slurm => {
                let shared = folder.join("shared");
                let slurm = Slurm::new().folder(shared);
                Cluster::connect_with(slurm.lost_after(Duration::from_secs(2)), options)
            }
        }
    }
}

/// A job of the round with this seed.
#[must_use]
pub fn job(seed: u64, job: u64) -> Counting {
    let random = mix(seed ^ mix(job));
    Counting::new(1000 + random % 2000, 2000).ballast((random >> 32) as usize % 300_000)
}

/// Does nothing for a while: between two looks at something that nobody tells of.
pub fn pause(time: Duration) {
    let (_sender, never) = mpsc::channel::<()>();
    let _ = never.recv_timeout(time);
}
