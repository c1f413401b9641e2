//! The packages that a package needs, as `Cargo.lock` has them.

use std::collections::BTreeSet;

use toml::de::DeTable;

/// A package in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Locked<'a> {
    name: &'a str,
    version: &'a str,
    /// From where it comes, and what it is there; none of a package in a folder.
    source: Option<&'a str>,
    checksum: Option<&'a str>,
    /// `NAME`, `NAME VERSION` or `NAME VERSION (SOURCE)`, as much as tells it from others.
    needs: Vec<&'a str>,
}

impl Locked<'_> {
    fn is(&self, wanted: &str) -> bool {
        let mut words = wanted.split(' ');
        let source = self.source.map(|source| format!("({source})"));
        words.next() == Some(self.name)
            && words.next().is_none_or(|version| version == self.version)
            && words
                .next()
                .is_none_or(|wanted| Some(wanted) == source.as_deref())
    }
}

/// A line for each package that `name` of this version needs, directly or not, in order.
pub(super) fn needed(lock: &str, name: &str, version: &str) -> Vec<String> {
    let Ok(lock) = DeTable::parse(lock) else {
        return Vec::new();
    };
    let all = lock.get_ref().get("package");
    let all = all.and_then(|all| all.get_ref().as_array());
    let all: Vec<_> = all
        .into_iter()
        .flatten()
        .filter_map(|one| read(one.get_ref().as_table()?))
        .collect();
    let mut found = BTreeSet::new();
    let first = format!("{name} {version}");
    let mut open: Vec<_> = all
        .iter()
        .filter(|one| one.source.is_none() && one.is(&first))
        .collect();
    while let Some(package) = open.pop() {
        if found.insert(package) {
            let is_needed = |one: &&Locked<'_>| package.needs.iter().any(|wanted| one.is(wanted));
            open.extend(all.iter().filter(is_needed));
        }
    }
    let line = |package: &Locked<'_>| {
        let Locked {
            name,
            version,
            source,
            checksum,
            ..
        } = package;
        format!("{name} {version} {source:?} {checksum:?}")
    };
    found.into_iter().map(line).collect()
}

fn read<'a>(package: &'a DeTable<'_>) -> Option<Locked<'a>> {
    let text = |key| package.get(key)?.get_ref().as_str();
    let needs = package
        .get("dependencies")
        .and_then(|needs| needs.get_ref().as_array());
    let needs = needs.into_iter().flatten();
    Some(Locked {
        name: text("name")?,
        version: text("version")?,
        source: text("source"),
        checksum: text("checksum"),
        needs: needs.filter_map(|need| need.get_ref().as_str()).collect(),
    })
}
