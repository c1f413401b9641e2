//! Sets of CPUs as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

use super::tree::{excerpt, parse_number};

/// A set of CPU numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// More CPUs than any machine has; a list beyond this is garbage, and
    /// writing it out would fill the memory.
    const LARGEST: u64 = 65_535;

    /// Reads the kernel's form. The empty text is the empty set.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut cpus = BTreeSet::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = match (parse_number(first), parse_number(last)) {
                (Ok(first), Ok(last)) if first <= last && last <= Self::LARGEST => first..=last,
                _ => {
                    return Err(format!(
                        "expected CPUs such as 0-3,8, found {}",
                        excerpt(text)
                    ))
                }
            };
            cpus.extend(range.filter_map(|cpu| u32::try_from(cpu).ok()));
        }
        Ok(Self(cpus))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn contains(&self, cpu: usize) -> bool {
        u32::try_from(cpu).is_ok_and(|cpu| self.0.contains(&cpu))
    }

    pub(crate) fn intersects(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }
}

impl FromIterator<usize> for CpuList {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let cpus = cpus.into_iter();
        Self(cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|cpu| *cpu == last + 1) {
                last = next;
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    /// The kernel's form: short, and readable by the tools that accept a list of CPUs.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::CpuList;

    #[test]
    fn a_list_is_written_as_the_kernel_writes_it() {
        for text in ["", "0", "0-3", "0-3,8", "0,2,4-7,65535"] {
            assert_eq!(CpuList::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CpuList::parse("3,1,2,2").unwrap().to_string(), "1-3");
    }

    #[test]
    fn garbage_is_refused_with_what_was_found() {
        for text in ["x", "1-", "-1", "3-1", "0,", "0-4294967295", "1 2"] {
            let error = CpuList::parse(text).unwrap_err();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
