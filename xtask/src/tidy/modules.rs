//! Every Rust file of a `src` folder belongs to the module tree of a target, and lies beside the
//! folder of its children.

use std::collections::BTreeMap;

use super::repository::{File, Repository, Violation};
use super::rust::{Facts, Module};

/// The repository's Rust files.
#[derive(Debug)]
pub(super) struct Modules<'a> {
    /// The files that are Rust, with what they name and declare.
    pub(super) facts: BTreeMap<&'a str, Facts>,
    /// The files of each target, by the file in which it begins.
    pub(super) trees: BTreeMap<&'a str, BTreeMap<&'a str, Place>>,
}

/// The place of a file in the module tree of a target.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The names of the modules around it and its own.
    pub(super) module: Vec<String>,
    /// True if only tests compile it.
    pub(super) in_test: bool,
}

impl Modules<'_> {
    /// True if only tests compile the file.
    pub(super) fn is_test_only(&self, path: &str) -> bool {
        let mut places = self.trees.values().filter_map(|tree| tree.get(path));
        places.clone().next().is_some() && places.all(|place| place.in_test)
    }
}

pub(super) fn check<'a>(
    repository: &'a Repository,
    violations: &mut Vec<Violation>,
) -> Modules<'a> {
    let mut modules = Modules {
        facts: BTreeMap::new(),
        trees: BTreeMap::new(),
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
                    let root = Place {
                        module: Vec::new(),
                        in_test: false,
                    };
                    let mut tree = BTreeMap::new();
                    modules.reach(repository, &file.path, true, root, &mut tree);
                    modules.trees.insert(&file.path, tree);
                }
            }
        }
    }
    for file in repository.ending(".rs") {
        let is_source = file.path.split('/').any(|name| name == "src");
        let mut trees = modules.trees.values();
        if is_source && !trees.any(|tree| tree.contains_key(&*file.path)) {
            violations.push(file.violation(
                1,
                "no `mod` declaration leads here, so it is never compiled; declare it or delete it",
            ));
        }
        if let Some(folder) = file.path.strip_suffix("/mod.rs").filter(|_| is_source) {
            violations.push(file.violation(
                1,
                format!("a module stands beside its folder, not in it; call it `{folder}.rs`"),
            ));
        }
    }
    modules
}

impl<'a> Modules<'a> {
    /// Notes the file and those that its declarations lead to. The modules of a
    /// file that `owns_folder` lie beside it, those of another in a folder of
    /// its name.
    fn reach(
        &self,
        repository: &'a Repository,
        path: &str,
        owns_folder: bool,
        place: Place,
        tree: &mut BTreeMap<&'a str, Place>,
    ) {
        let Some(file) = repository.file(path) else {
            return;
        };
        let path = &*file.path;
        match tree.get_mut(path) {
            // Nothing new unless it was for tests only until now.
            Some(known) if place.in_test || !known.in_test => return,
            Some(known) => known.in_test = false,
            None => drop(tree.insert(path, place.clone())),
        }
        let Some(facts) = self.facts.get(path) else {
            return;
        };
        let beside = file.folder();
        let own = match owns_folder {
            true => beside.to_owned(),
            false => format!("{}/", path.trim_end_matches(".rs")),
        };
        for module in &facts.modules {
            let Module { name, inside, .. } = module;
            let below: String = inside.iter().map(|name| format!("{name}/")).collect();
            let files = match &module.path {
                Some(target) if inside.is_empty() => vec![(format!("{beside}{target}"), true)],
                Some(target) => vec![(format!("{own}{below}{target}"), true)],
                None => vec![
                    (format!("{own}{below}{name}.rs"), false),
                    (format!("{own}{below}{name}/mod.rs"), true),
                ],
            };
            let place = Place {
                module: [&place.module, &**inside, std::slice::from_ref(name)].concat(),
                in_test: place.in_test || module.in_test,
            };
            for (path, owns_folder) in files {
                self.reach(repository, &normal(&path), owns_folder, place.clone(), tree);
            }
        }
        for included in &facts.included {
            let path = normal(&format!("{beside}{included}"));
            self.reach(repository, &path, owns_folder, place.clone(), tree);
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
