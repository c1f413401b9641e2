//! The names of nodes and jobs.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name of a node. A copy is cheap.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::NodeId;
///
/// assert_eq!(NodeId::from("n1").as_str(), "n1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(Arc<str>);

/// The name of a job. A copy is cheap.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::JobId;
///
/// assert_eq!(JobId::from(format!("etl-{}", 7)).as_str(), "etl-7");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(Arc<str>);

impl NodeId {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JobId {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for NodeId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<&str> for JobId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for NodeId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl From<String> for JobId {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}
