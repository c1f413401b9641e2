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

/// The longest name of a node.
const NODE_NAME_BYTES_MAX: usize = 255;

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

    /// The reason why no node can have this name, if there is one: names travel in messages and
    /// stand in errors.
    pub(crate) fn fault(&self) -> Option<String> {
        let bytes = self.0.len();
        if bytes > NODE_NAME_BYTES_MAX {
            return Some(format!(
                "the name of a node has {bytes} bytes; up to {NODE_NAME_BYTES_MAX} are possible"
            ));
        }
        let is_bad = self.0.is_empty() || self.0.contains(char::is_control);
        is_bad.then(|| {
            let name = &self.0;
            format!("no node is called {name:?}; a name has signs, and all of them can be printed")
        })
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
