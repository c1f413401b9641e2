//! Backends by name, for programs whose users choose one.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Backend, BackendError, BackendOptions, Local, Program, Ray, Slurm};

/// The accepted names, for messages.
const NAMES: &str = "local, ray, slurm";

/// A backend that a program's user chooses by its name: `local`, `ray` or `slurm`.
///
/// All other settings come from the backend's environment variables; only [`Local`] takes sizes.
///
/// # Examples
///
/// ```
/// use heist_cluster::backend::BackendKind;
///
/// let kind: BackendKind = "local".parse()?;
/// let kind = kind.sized(Some(3), None)?;
/// assert_eq!(kind.to_string(), "local");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BackendKind {
    /// Worker processes on this machine.
    Local(Local),
    /// A Ray cluster, as its environment variables say.
    Ray(Ray),
    /// Slurm's default partition.
    Slurm(Slurm),
}

impl BackendKind {
    /// Sets the number of nodes and the processors of each, if given.
    ///
    /// # Errors
    ///
    /// Fails if numbers are given for a backend that finds its nodes instead of starting them.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::backend::BackendKind;
    ///
    /// let local: BackendKind = "local".parse()?;
    /// assert!(local.sized(Some(3), Some(2)).is_ok());
    /// let slurm: BackendKind = "slurm".parse()?;
    /// assert!(slurm.sized(Some(3), None).is_err(), "Slurm knows its nodes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sized(self, nodes: Option<u32>, cpus: Option<u32>) -> Result<Self, BackendError> {
        match self {
            Self::Local(mut local) => {
                if let Some(nodes) = nodes {
                    local = local.nodes(nodes);
                }
                if let Some(cpus) = cpus {
                    local = local.cpus(cpus);
                }
                Ok(Self::Local(local))
            }
            backend if nodes.is_none() && cpus.is_none() => Ok(backend),
            backend => Err(BackendError::setup(format!(
                "the backend {backend} has the nodes that it has; only local takes a number of \
                 nodes and of processors"
            ))),
        }
    }
}

impl BackendOptions for BackendKind {
    fn connect(self, program: Program) -> Result<Arc<dyn Backend>, BackendError> {
        match self {
            Self::Local(local) => local.connect(program),
            Self::Ray(ray) => ray.connect(program),
            Self::Slurm(slurm) => slurm.connect(program),
        }
    }
}

impl FromStr for BackendKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "local" => Ok(Self::Local(Local::new())),
            "ray" => Ok(Self::Ray(Ray::new())),
            "slurm" => Ok(Self::Slurm(Slurm::new())),
            _ => Err(format!(
                "there is no backend {name:?}; {NAMES} are accepted"
            )),
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local(_) => "local",
            Self::Ray(_) => "ray",
            Self::Slurm(_) => "slurm",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_known_by_the_names_that_they_show() {
        for name in NAMES.split(", ") {
            let kind: BackendKind = name.parse().expect("it is known");
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn an_unknown_backend_is_refused_with_those_that_there_are() {
        let error = "lokal".parse::<BackendKind>().expect_err("there is none");
        assert!(error.contains("\"lokal\""), "{error}");
        assert!(error.contains(NAMES), "{error}");
    }

    #[test]
    fn only_local_takes_a_size() {
        for name in ["ray", "slurm"] {
            let kind: BackendKind = name.parse().expect("it is known");
            assert!(kind.clone().sized(None, None).is_ok());
            let error = kind.sized(Some(3), None).expect_err("it has its nodes");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
