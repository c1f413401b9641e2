//! The rebalancer's decisions: which job moves where, or why none does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(String);

impl From<String> for NodeId {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl From<&str> for NodeId {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
