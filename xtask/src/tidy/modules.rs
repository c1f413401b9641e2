//! Every Rust file of a `src` folder belongs to the module tree of a target.

use std::collections::BTreeMap;

use super::rust::Facts;
use super::{File, Repository, Violation};

/// What is known of the repository's Rust files.
#[derive(Debug)]
pub(super) struct Modules<'a> {
    /// The files that are Rust, with what they name and declare.
    pub(super) facts: BTreeMap<&'a str, Facts>,
    /// The files that belong to a target; true for those that only tests compile.
    reached: BTreeMap<&'a str, bool>,
}

impl Modules<'_> {
    /// True if only tests compile the file.
    pub(super) fn is_test_only(&self, path: &str) -> bool {
        self.reached.get(path) == Some(&true)
    }
}

pub(super) fn check<'a>(
    repository: &'a Repository,
    violations: &mut Vec<Violation>,
) -> Modules<'a> {
    let mut modules = Modules {
        facts: BTreeMap::new(),
        reached: BTreeMap::new(),
    };
    for file in repository.ending(".rs") {
        match Facts::of(&file.text) {
            Ok(facts) => drop(modules.facts.insert(&file.path, facts)),
            Err((line, error)) => violations.push(file.violation(
                line,
                format!("this is no Rust ({error}); mend it or give it another ending"),
            )),
        }
    }
    for manifest in repository.ending("Cargo.toml") {
        let folder = manifest.folder();
        let named = named_targets(manifest);
        for file in repository.ending(".rs") {
            if let Some(path) = file.path.strip_prefix(folder) {
                if is_root(path) || named.iter().any(|target| target == path) {
                    modules.reach(repository, &file.path, true, false);
                }
            }
        }
    }
    for file in repository.ending(".rs") {
        let is_source = file.path.split('/').any(|name| name == "src");
        if is_source && !modules.reached.contains_key(&*file.path) {
            violations.push(file.violation(
                1,
                "no `mod` declaration leads here, so it is never compiled; declare it or delete it",
            ));
        }
    }
    modules
}

impl<'a> Modules<'a> {
    /// Notes the file and those that its declarations lead to. The modules of a
    /// file that `owns_folder` lie beside it, those of another in a folder of
    /// its name.
    fn reach(&mut self, repository: &'a Repository, path: &str, owns_folder: bool, in_test: bool) {
        let Some(file) = repository.file(path) else {
            return;
        };
        let path = &*file.path;
        match self.reached.get_mut(path) {
            // Nothing new unless it was for tests only until now.
            Some(known) if in_test || !*known => return,
            Some(known) => *known = false,
            None => drop(self.reached.insert(path, in_test)),
        }
        let Some(facts) = self.facts.get(path) else {
            return;
        };
        let beside = file.folder();
        let own = match owns_folder {
            true => beside.to_owned(),
            false => format!("{}/", path.trim_end_matches(".rs")),
        };
        let mut next = Vec::new();
        for module in &facts.modules {
            let inside: String = module
                .inside
                .iter()
                .map(|name| format!("{name}/"))
                .collect();
            let in_test = in_test || module.in_test;
            match &module.path {
                Some(target) if inside.is_empty() => {
                    next.push((format!("{beside}{target}"), true, in_test));
                }
                Some(target) => next.push((format!("{own}{inside}{target}"), true, in_test)),
                None => {
                    let name = &module.name;
                    next.push((format!("{own}{inside}{name}.rs"), false, in_test));
                    next.push((format!("{own}{inside}{name}/mod.rs"), true, in_test));
                }
            }
        }
        for included in &facts.included {
            next.push((format!("{beside}{included}"), owns_folder, in_test));
        }
        for (path, owns_folder, in_test) in next {
            self.reach(repository, &normal(&path), owns_folder, in_test);
        }
    }
}

/// True for the files that cargo takes for targets on its own.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        *parts.as_slice(),
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "examples" | "benches", _]
            | ["tests" | "examples" | "benches", _, "main.rs"]
    )
}

/// The files that the manifest names as targets.
fn named_targets(manifest: &File) -> Vec<String> {
    // A manifest that cannot be read is reported by the rules for manifests.
    let Ok(table) = manifest.text.parse::<toml::Table>() else {
        return Vec::new();
    };
    let kinds = ["lib", "bin", "test", "example", "bench"];
    let sections = kinds.iter().filter_map(|kind| table.get(*kind));
    sections
        .flat_map(|section| match section {
            toml::Value::Array(targets) => targets.as_slice(),
            single => std::slice::from_ref(single),
        })
        .filter_map(|target| Some(normal(target.get("path")?.as_str()?)))
        .collect()
}

/// The path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "." | "" => {}
            ".." => drop(names.pop()),
            _ => names.push(name),
        }
    }
    names.join("/")
}
