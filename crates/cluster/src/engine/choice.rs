//! An engine that the user of a program names.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Engine, EngineError, EngineOptions, Local, Program, Ray, Slurm};

/// The engines that can be named, for messages.
const NAMES: &str = "local, ray, slurm";

/// An engine that a program's user chooses by its name: `local`, `ray` or `slurm`.
///
/// What an engine needs to know besides comes from its own environment variables; only
/// [`Local`] is told how large it is.
///
/// # Examples
///
/// ```
/// use heist_cluster::engine::Choice;
///
/// let choice: Choice = "local".parse()?;
/// let choice = choice.sized(Some(3), None)?;
/// assert_eq!(choice.to_string(), "local");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Choice {
    /// Worker processes on this machine.
    Local(Local),
    /// A Ray cluster, as its environment variables say.
    Ray(Ray),
    /// Slurm's default partition.
    Slurm(Slurm),
}

impl Choice {
    /// With so many nodes, and so many processors on each, if numbers are given.
    ///
    /// # Errors
    ///
    /// An engine that finds its nodes instead of making them takes no numbers.
    pub fn sized(self, nodes: Option<u32>, cpus: Option<u32>) -> Result<Self, EngineError> {
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
            engine if nodes.is_none() && cpus.is_none() => Ok(engine),
            engine => Err(EngineError::setup(format!(
                "the engine {engine} has the nodes that it has; only local takes a number of \
                 nodes and of processors"
            ))),
        }
    }
}

impl EngineOptions for Choice {
    fn connect(self, program: Program) -> Result<Arc<dyn Engine>, EngineError> {
        match self {
            Self::Local(local) => local.connect(program),
            Self::Ray(ray) => ray.connect(program),
            Self::Slurm(slurm) => slurm.connect(program),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "local" => Ok(Self::Local(Local::new())),
            "ray" => Ok(Self::Ray(Ray::new())),
            "slurm" => Ok(Self::Slurm(Slurm::new())),
            _ => Err(format!("there is no engine {name:?}; {NAMES} are accepted")),
        }
    }
}

impl fmt::Display for Choice {
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
    fn engines_are_known_by_the_names_that_they_show() {
        for name in NAMES.split(", ") {
            let choice: Choice = name.parse().expect("it is known");
            assert_eq!(choice.to_string(), name);
        }
    }

    #[test]
    fn an_unknown_engine_is_refused_with_those_that_there_are() {
        let error = "lokal".parse::<Choice>().expect_err("there is none");
        assert!(error.contains("\"lokal\""), "{error}");
        assert!(error.contains(NAMES), "{error}");
    }

    #[test]
    fn only_local_takes_a_size() {
        for name in ["ray", "slurm"] {
            let choice: Choice = name.parse().expect("it is known");
            assert!(choice.clone().sized(None, None).is_ok());
            let error = choice.sized(Some(3), None).expect_err("it has its nodes");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
