//! Resources beside processors: memory, and those that have a name.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Resources beside processors, wanted or there: memory, and those that have a name, such as GPUs.
///
/// # Examples
///
/// ```
/// use heist_cluster::backend::Needs;
///
/// let mut needs = Needs::default();
/// assert!(needs.is_empty());
/// needs.memory_bytes = 3 << 29;
/// needs.named.insert("gpu".to_owned(), 2);
/// assert_eq!(needs.to_string(), "1536 MiB of memory, 2 of gpu");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Needs {
    /// Memory; 0 if none is asked for, or it is not known how much there is.
    pub memory_bytes: u64,
    /// How many there are of each name.
    pub named: BTreeMap<String, u32>,
}

/// The longest name of a resource.
const NAME_BYTES_MAX: usize = 64;

impl Needs {
    pub(crate) fn new(memory_bytes: u64, named: &BTreeMap<String, u32>) -> Self {
        Self {
            memory_bytes,
            named: named.clone(),
        }
    }

    /// True if there is nothing among them; [`Needs`] has an example.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.memory_bytes == 0 && self.named.is_empty()
    }

    /// The fault in a name, if there is one: names go into the command lines of backends.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::backend::Needs;
    ///
    /// let mut needs = Needs::default();
    /// needs.named.insert("gpu,2".to_owned(), 1);
    /// assert!(needs.fault().expect("a comma").contains("\"gpu,2\""));
    /// ```
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let is_name = |name: &str| {
            let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "_-.".contains(sign);
            let is_letter = |sign: char| sign.is_ascii_alphabetic();
            name.starts_with(is_letter) && name.len() <= NAME_BYTES_MAX && name.chars().all(is_sign)
        };
        let reserved = ["cpu", "cpus", "mem", "memory"];
        let is_reserved = |name: &str| reserved.iter().any(|it| it.eq_ignore_ascii_case(name));
        let bad = self
            .named
            .keys()
            .find(|name| !is_name(name) || is_reserved(name))?;
        let bad = match bad.char_indices().nth(NAME_BYTES_MAX) {
            Some((end, _)) => format!("{:?}..", &bad[..end]),
            None => format!("{bad:?}"),
        };
        Some(format!(
            "there can be no resource {bad}; a name is a letter and up to {} letters, digits, \
             \"_\", \"-\" and \".\", and processors and memory are asked for by themselves",
            NAME_BYTES_MAX - 1
        ))
    }

    /// Whether there is as much; memory that is not known suffices.
    pub(crate) fn fits(&self, there: &Self) -> bool {
        self.times(there) > 0
    }

    /// How many times there is as much.
    pub(crate) fn times(&self, there: &Self) -> u64 {
        let memory = match (self.memory_bytes, there.memory_bytes) {
            (0, _) | (_, 0) => u64::MAX,
            (wanted, there) => there / wanted,
        };
        let of = |(name, wanted): (&String, &u32)| {
            let there = there.named.get(name).copied().unwrap_or(0);
            there.checked_div(*wanted).map_or(u64::MAX, u64::from)
        };
        self.named.iter().map(of).fold(memory, u64::min)
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = (self.memory_bytes > 0)
            .then(|| format!("{} MiB of memory", self.memory_bytes.div_ceil(1 << 20)));
        let named = self
            .named
            .iter()
            .map(|(name, count)| format!("{count} of {name}"));
        let all: Vec<_> = memory.into_iter().chain(named).collect();
        f.write_str(&all.join(", "))
    }
}

/// The names of nodes with what each has, for an error.
pub(crate) fn there_are<'a>(
    nodes: impl Iterator<Item = (&'a dyn fmt::Display, &'a dyn fmt::Display, &'a Needs)>,
) -> String {
    let nodes = nodes.map(|(name, cpus, needs)| match needs.is_empty() {
        true => format!("{name} ({cpus})"),
        false => format!("{name} ({cpus}, {needs})"),
    });
    nodes.collect::<Vec<_>>().join(", ")
}

/// So many processors, and what is wanted beside them, in words.
pub(crate) fn wanted(cpus: &dyn fmt::Display, needs: &Needs) -> String {
    match needs.is_empty() {
        true => format!("{cpus} processors"),
        false => format!("{cpus} processors, {needs}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(memory_bytes: u64, named: &[(&str, u32)]) -> Needs {
        let named = named
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        Needs::new(memory_bytes, &named.collect())
    }

    #[test]
    fn what_there_is_suffices_so_many_times() {
        let there = needs(100, &[("gpu", 4), ("disk", 1)]);
        for (wanted, times) in [
            (needs(0, &[]), u64::MAX),
            (needs(30, &[]), 3),
            (needs(30, &[("gpu", 2)]), 2),
            (needs(0, &[("gpu", 5)]), 0),
            (needs(0, &[("tpu", 1)]), 0),
            (needs(0, &[("tpu", 0)]), u64::MAX),
            (needs(u64::MAX, &[("gpu", u32::MAX)]), 0),
        ] {
            assert_eq!(wanted.times(&there), times, "{wanted}");
        }
        let unknown = needs(0, &[]);
        assert!(needs(u64::MAX, &[]).fits(&unknown));
    }

    #[test]
    fn names_that_would_be_more_than_a_name_are_refused() {
        for name in [
            "", "1gpu", "gpu,cpu", "gpu 2", "--all", "gpu:2", "CPU", "memory", "größe",
        ] {
            let fault = needs(0, &[(name, 1)]).fault().expect(name);
            assert!(fault.contains(&format!("{name:?}")), "{fault}");
        }
        assert!(needs(0, &[(&"g".repeat(65), 1)]).fault().is_some());
        assert_eq!(needs(1, &[("gpu", 1), ("a100-80G_x.y", 1)]).fault(), None);
    }
}
