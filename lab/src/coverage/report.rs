//! The comparison as a document: the share of each kind, and what is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::surface::{Entry, Kind};
use crate::published::RAYON;

/// The least share that passes.
pub(super) const LEAST_PERCENT: usize = 90;

/// The names of rayon's that are here, and those that are missing.
#[derive(Debug)]
pub(super) struct Report {
    kinds: Vec<OfKind>,
    /// The missing parts of the plumbing, which are in their kinds as well.
    plumbing: Vec<Missing>,
}

#[derive(Debug)]
struct OfKind {
    title: &'static str,
    all: usize,
    missing: Vec<Missing>,
}

#[derive(Clone, Debug)]
struct Missing {
    entry: Entry,
    /// It is there, but has these parameters.
    other: Option<String>,
}

const KINDS: [(Kind, &str); 7] = [
    (Kind::Module, "modules"),
    (Kind::Trait, "traits"),
    (Kind::TraitItem, "methods and types of traits"),
    (Kind::Type, "types"),
    (Kind::Method, "methods of types"),
    (Kind::Function, "functions"),
    (Kind::Impl, "implementations"),
];

impl Report {
    pub(super) fn new(rayons: &BTreeSet<Entry>, ours: &BTreeSet<Entry>) -> Self {
        let ours: BTreeMap<(Kind, &str), &str> = ours
            .iter()
            .map(|entry| ((entry.kind, &*entry.name), &*entry.parameters))
            .collect();
        let missing = |entry: &Entry| {
            let found = |name: &str| ours.get(&(entry.kind, name)).copied();
            let other = match found(&entry.name) {
                Some(parameters) if parameters == entry.parameters => return None,
                Some(parameters) => Some(parameters.to_owned()),
                None if entry.wider.iter().any(|wider| found(wider).is_some()) => return None,
                None => None,
            };
            let entry = entry.clone();
            Some(Missing { entry, other })
        };
        let kinds = KINDS.map(|(kind, title)| {
            let all = || rayons.iter().filter(move |entry| entry.kind == kind);
            OfKind {
                title,
                all: all().count(),
                missing: all().filter_map(missing).collect(),
            }
        });
        let plumbing = rayons.iter().filter(|entry| entry.is_plumbing);
        Self {
            plumbing: plumbing.filter_map(missing).collect(),
            kinds: kinds.into(),
        }
    }

    /// True if heist has at least so much of all.
    pub(super) fn reaches(&self, percent: usize) -> bool {
        (self.all() - self.missing()) * 100 >= self.all() * percent
    }

    /// The share of all, as a line.
    pub(super) fn summary(&self) -> String {
        let (all, missing) = (self.all(), self.missing());
        let (there, share) = (all - missing, Share { all, missing });
        format!("heist has {there} of the {all} public names of rayon {RAYON}: {share}")
    }

    fn all(&self) -> usize {
        self.kinds.iter().map(|of| of.all).sum()
    }

    fn missing(&self) -> usize {
        self.kinds.iter().map(|of| of.missing.len()).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# How much of rayon's iterators heist has\n\n\
             Written by `cargo lab coverage --write`, which compares the public names of rayon\n\
             {RAYON} with those of heist, and checked by `cargo xtask ci`: at least {LEAST_PERCENT} % must be there.\n\
             The items at the root of rayon are rayon-core's, which has tests of its own. Of methods,\n\
             traits and types the number of parameters must be the same. Of an implementation the\n\
             trait and the type count; `_` is a parameter.\n\n\
             | | rayon | heist | share |\n|---|---:|---:|---:|"
        )?;
        for OfKind {
            title,
            all,
            missing,
        } in &self.kinds
        {
            row(f, title, *all, missing.len())?;
        }
        row(f, "**all**", self.all(), self.missing())?;
        if self.missing() > 0 {
            writeln!(f, "\n## Missing")?;
        }
        if !self.plumbing.is_empty() {
            writeln!(f, "\n### The plumbing, in whose place heist has its own\n")?;
            list(f, self.plumbing.iter())?;
        }
        for OfKind { title, missing, .. } in &self.kinds {
            let mut rest = missing
                .iter()
                .filter(|missing| !missing.entry.is_plumbing)
                .peekable();
            if rest.peek().is_some() {
                writeln!(f, "\n### {}\n", capitalised(title))?;
                list(f, rest)?;
            }
        }
        Ok(())
    }
}

/// Rounded down, so that it says 100 only when nothing is missing.
struct Share {
    all: usize,
    missing: usize,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = (self.all - self.missing) * 1000;
        let share = there.checked_div(self.all).unwrap_or(1000);
        write!(f, "{}.{} %", share / 10, share % 10)
    }
}

fn row(f: &mut fmt::Formatter<'_>, title: &str, all: usize, missing: usize) -> fmt::Result {
    let (there, share) = (all - missing, Share { all, missing });
    writeln!(f, "| {title} | {all} | {there} | {share} |")
}

fn list<'a>(f: &mut fmt::Formatter<'_>, missing: impl Iterator<Item = &'a Missing>) -> fmt::Result {
    for Missing { entry, other } in missing {
        write!(f, "- `{}{}`", entry.name, entry.parameters)?;
        match other.as_deref() {
            None => writeln!(f)?,
            Some("") => writeln!(f, ", which is there without parameters")?,
            Some(other) => writeln!(f, ", which is there with `{other}`")?,
        }
    }
    Ok(())
}

fn capitalised(title: &str) -> String {
    let (first, rest) = title.split_at(1);
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: Kind, name: &str) -> Entry {
        Entry {
            kind,
            name: name.to_owned(),
            parameters: String::new(),
            wider: Vec::new(),
            is_plumbing: name.contains("plumbing"),
        }
    }

    #[test]
    fn the_share_counts_what_is_missing_and_the_list_names_it() {
        let rayons = BTreeSet::from([
            entry(Kind::Type, "iter::Map"),
            entry(Kind::Type, "iter::Zip"),
            entry(Kind::Function, "iter::once"),
            entry(Kind::Function, "iter::plumbing::bridge"),
        ]);
        let ours = BTreeSet::from([
            entry(Kind::Type, "iter::Map"),
            entry(Kind::Type, "iter::OfOurs"),
            entry(Kind::Function, "iter::once"),
            // A function of that name is no type.
            entry(Kind::Function, "iter::Zip"),
        ]);
        let report = Report::new(&rayons, &ours);
        assert!(report.reaches(50) && !report.reaches(51));
        let text = report.to_string();
        for part in [
            "| types | 2 | 1 | 50.0 % |\n",
            "| **all** | 4 | 2 | 50.0 % |\n",
            "has its own\n\n- `iter::plumbing::bridge`\n\n### Types\n\n- `iter::Zip`\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("OfOurs"), "{text}");
    }

    #[test]
    fn a_name_with_other_parameters_is_missing_and_the_list_says_so() {
        let with = |parameters: &str| Entry {
            parameters: parameters.to_owned(),
            ..entry(Kind::Type, "iter::Map")
        };
        let text = |ours: &str| {
            let report = Report::new(&[with("<_, _>")].into(), &[with(ours)].into());
            (report.missing(), report.to_string())
        };
        assert_eq!(text("<_, _>").0, 0);
        let (missing, list) = text("<_>");
        assert_eq!(missing, 1);
        assert!(
            list.contains("- `iter::Map<_, _>`, which is there with `<_>`\n"),
            "{list}"
        );
    }

    #[test]
    fn a_wider_implementation_covers_a_narrower_one() {
        let narrow = Entry {
            wider: vec!["Into for Iter<_>".to_owned()],
            ..entry(Kind::Impl, "Into for Iter<u8>")
        };
        let ours = BTreeSet::from([entry(Kind::Impl, "Into for Iter<_>")]);
        assert_eq!(Report::new(&BTreeSet::from([narrow]), &ours).missing(), 0);
    }
}
