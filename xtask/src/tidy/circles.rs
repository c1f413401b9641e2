//! The modules of a crate form a direction: no file uses one that uses it in turn, tests aside.
//!
//! A name counts as a use of the file that defines it, whatever re-exports it on the way. A parent
//! that only re-exports what its children define does not use them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::{Modules, Place};
use super::repository::{Repository, Violation};
use super::rust::NamedPath;

/// The most re-exports that are followed from a name.
const LONGEST_WAY: usize = 12;

/// For each file the files that it uses, and the line where it first does.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, usize>>;

pub(super) fn check(repository: &Repository, modules: &Modules<'_>, found: &mut Vec<Violation>) {
    for (root, tree) in &modules.trees {
        if !root.split('/').any(|name| name == "src") {
            continue;
        }
        let uses = Names::of(modules, tree).uses();
        let mut told = BTreeSet::new();
        for &start in uses.keys() {
            if told.contains(start) {
                continue;
            }
            let circle = circle(&uses, start);
            let Some(&line) = circle.get(1).and_then(|next| uses[start].get(next)) else {
                continue;
            };
            let reached = before(&uses, start);
            let others = reached
                .keys()
                .filter(|file| before(&uses, file).contains_key(start));
            let count = told.len();
            told.extend(others.copied());
            let what = format!(
                "{} files use each other in a circle: {}; move what both sides need below them",
                told.len() - count,
                circle.join(" -> ")
            );
            found.extend(
                repository
                    .file(start)
                    .map(|file| file.violation(line, what)),
            );
        }
    }
}

/// The shortest way from a file back to it; empty if there is none.
fn circle<'a>(uses: &Uses<'a>, start: &'a str) -> Vec<&'a str> {
    let before = before(uses, start);
    let mut way = Vec::from_iter(before.get(start).map(|_| start));
    while let Some(file) = way.last().and_then(|file| before.get(file)) {
        way.push(file);
        if *file == start {
            way.reverse();
            break;
        }
    }
    way
}

/// The files that `start` uses by any way, each with the file before it on the shortest.
fn before<'a>(uses: &Uses<'a>, start: &'a str) -> BTreeMap<&'a str, &'a str> {
    let mut before = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(file) = waiting.pop_front() {
        for &next in uses.get(file).into_iter().flat_map(BTreeMap::keys) {
            before.entry(next).or_insert_with(|| {
                waiting.push_back(next);
                file
            });
        }
    }
    before
}

/// A module, in a file of its own or with a body.
#[derive(Debug, Default)]
struct Scope<'a> {
    file: &'a str,
    imports: Vec<&'a NamedPath>,
    items: BTreeSet<&'a str>,
}

/// The names in a crate, by module.
struct Names<'a> {
    modules: &'a Modules<'a>,
    tree: &'a BTreeMap<&'a str, Place>,
    scopes: BTreeMap<Vec<String>, Scope<'a>>,
}

impl<'a> Names<'a> {
    fn of(modules: &'a Modules<'a>, tree: &'a BTreeMap<&'a str, Place>) -> Self {
        let mut scopes: BTreeMap<Vec<String>, Scope<'a>> = BTreeMap::new();
        for (&file, place) in tree.iter().filter(|(_, place)| !place.in_test) {
            let key = |inside: &[String]| [&place.module, inside].concat();
            let new = || Scope {
                file,
                ..Scope::default()
            };
            scopes.entry(key(&[])).or_insert_with(new);
            let Some(facts) = modules.facts.get(file) else {
                continue;
            };
            for (inside, name) in &facts.items {
                let scope = scopes.entry(key(inside)).or_insert_with(new);
                scope.items.insert(name);
            }
            for path in facts
                .paths
                .iter()
                .filter(|path| path.in_use && !path.in_test)
            {
                let scope = scopes.entry(key(&path.inside)).or_insert_with(new);
                scope.imports.push(path);
            }
        }
        Self {
            modules,
            tree,
            scopes,
        }
    }

    fn uses(&self) -> Uses<'a> {
        let mut uses = Uses::new();
        for (&file, place) in self.tree.iter().filter(|(_, place)| !place.in_test) {
            let paths = self
                .modules
                .facts
                .get(file)
                .into_iter()
                .flat_map(|facts| &facts.paths);
            for path in paths.filter(|path| !path.in_test) {
                let used = self.used_file(path, place).filter(|used| *used != file);
                if let Some(used) = used {
                    let lines = uses.entry(file).or_default();
                    lines.entry(used).or_insert(path.line);
                }
            }
        }
        uses
    }

    /// The file of this crate that a path in a file uses, if it does.
    fn used_file(&self, path: &NamedPath, place: &Place) -> Option<&'a str> {
        if !path.in_use && path.segments.len() == 1 {
            return None; // A name that an import explains, or one of this file.
        }
        let module = [&*place.module, &path.inside].concat();
        let target = self.absolute(&path.segments, &module, LONGEST_WAY)?;
        let (file, is_module) = self.resolve(&target, LONGEST_WAY);
        let is_glob = path.segments.last().is_some_and(|name| name == "*");
        // The name of a module says nothing yet; the paths that begin with it do.
        let says_nothing = is_module && !path.is_public && !is_glob;
        let used = self.tree.get(file)?;
        let is_re_export = path.is_public && used.module.starts_with(&place.module);
        (!says_nothing && !is_re_export).then_some(file)
    }

    /// The path from the root of the crate; `None` if it leads into another crate.
    fn absolute(&self, path: &[String], module: &[String], steps: usize) -> Option<Vec<String>> {
        let path = match path {
            [before @ .., last] if last == "self" && !before.is_empty() => before,
            _ => path,
        };
        let (head, rest) = path.split_first()?;
        match &**head {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let (_, parent) = module.split_last()?;
                let ups = rest.iter().take_while(|name| *name == "super").count();
                let parent = parent.get(..parent.len().checked_sub(ups)?)?;
                Some([parent, &rest[ups..]].concat())
            }
            _ => {
                let child = [module, std::slice::from_ref(head)].concat();
                if self.scopes.contains_key(&child) {
                    return Some([&child, rest].concat());
                }
                let steps = steps.checked_sub(1)?;
                let mut imports = self.scopes.get(module)?.imports.iter();
                let import =
                    imports.find(|import| name(import) == head && import.segments != path)?;
                let target = self.absolute(&import.segments, module, steps)?;
                Some([&target, rest].concat())
            }
        }
    }

    /// The file that defines what a path from the root names, or the nearest to it, and whether
    /// that is a module.
    fn resolve(&self, path: &[String], steps: usize) -> (&'a str, bool) {
        self.find(path, steps)
            .unwrap_or_else(|| (self.nearest(path).1.file, false))
    }

    /// The longest part of the path that is a module.
    fn nearest(&self, path: &[String]) -> (usize, &Scope<'a>) {
        let lengths = (0..=path.len()).rev();
        let mut scopes = lengths.map(|length| (length, self.scopes.get(&path[..length])));
        let found = scopes.find_map(|(length, scope)| Some((length, scope?)));
        found.expect("the root is a module")
    }

    fn find(&self, path: &[String], steps: usize) -> Option<(&'a str, bool)> {
        let (length, scope) = self.nearest(path);
        let (module, rest) = path.split_at(length);
        let Some((first, rest)) = rest.split_first() else {
            return Some((scope.file, true));
        };
        if first == "*" {
            return Some((scope.file, false));
        }
        let steps = steps.checked_sub(1)?;
        let mut imports = scope.imports.iter();
        if scope.items.contains(&**first) {
            return Some((scope.file, false));
        }
        if let Some(import) = imports.clone().find(|import| name(import) == first) {
            return Some(match self.absolute(&import.segments, module, steps) {
                Some(target) => self.resolve(&[&target, rest].concat(), steps),
                None => (scope.file, false),
            });
        }
        imports.find_map(|import| {
            let (star, target) = import.segments.split_last()?;
            let target = self
                .absolute(target, module, steps)
                .filter(|_| star == "*")?;
            self.find(
                &[&target, std::slice::from_ref(first), rest].concat(),
                steps,
            )
        })
    }
}

/// The name that an import gives to what it imports.
fn name(import: &NamedPath) -> &str {
    let mut names = import.segments.iter().rev().filter(|name| *name != "self");
    let last = names.next().map_or("", String::as_str);
    import.alias.as_deref().unwrap_or(last)
}
