//! The names of shared data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of some shared data, unique among all clusters.
///
/// # Examples
///
/// ```
/// use heist_cluster::ObjectId;
///
/// let id: ObjectId = "00000000000000ff-1".parse()?;
/// assert_eq!(id.to_string(), "00000000000000ff-1");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId {
    pub(crate) cluster: u64,
    pub(crate) number: u64,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:x}", self.cluster, self.number)
    }
}

impl FromStr for ObjectId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('-').and_then(|(cluster, number)| {
            let cluster = u64::from_str_radix(cluster, 16).ok()?;
            let number = u64::from_str_radix(number, 16).ok()?;
            Some(Self { cluster, number })
        });
        parts.ok_or_else(|| {
            format!("{text:?} is no object; one is two hexadecimal numbers with a dash between")
        })
    }
}
