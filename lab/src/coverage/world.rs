//! The modules of some crates, and what a name means in each of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use syn::{Attribute, Generics, ItemImpl, ItemTrait, ItemType, UseTree, Visibility};

/// Where something is defined: the crate, the modules, its name.
pub(super) type Path = Vec<String>;

/// Where a name is looked for; a module and a function may have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Namespace {
    /// Modules, traits and types.
    Type,
    /// Functions and other values.
    Value,
}

/// The place of a definition that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Something of these crates.
    Local(Path, Namespace),
    /// Something of another crate, of which only the name is known.
    Foreign(String),
}

/// A definition. The contents of a module lie under the module's own path.
pub(super) enum Item {
    Module,
    Trait(Box<ItemTrait>),
    Type(Generics),
    Alias(Box<ItemType>),
    Function(Generics),
}

/// Some crates, whose macros are expanded.
#[derive(Default)]
pub(super) struct World {
    modules: BTreeMap<Path, Module>,
}

#[derive(Default)]
struct Module {
    items: BTreeMap<(Namespace, String), Definition>,
    uses: Vec<Use>,
    impls: Vec<ItemImpl>,
}

struct Definition {
    is_public: bool,
    item: Item,
}

/// One name, or all names, of a `use`.
struct Use {
    is_public: bool,
    path: Path,
    /// None for a glob.
    name: Option<String>,
}

/// The names that are being looked up, so that circles of `use` end.
type Asked = BTreeSet<(Path, String, Namespace)>;

impl World {
    /// Adds the crate `name`, whose whole source is `text`.
    pub(super) fn add(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let file = syn::parse_file(text)
            .with_context(|| format!("could not read the expanded source of {name}"))?;
        self.add_module(vec![name.to_owned()], file.items);
        Ok(())
    }

    fn add_module(&mut self, path: Path, items: Vec<syn::Item>) {
        let mut module = Module::default();
        for item in items {
            match item {
                syn::Item::Use(item) => {
                    let is_public = is_public(&item.vis) && !is_hidden(&item.attrs);
                    flatten(&item.tree, Vec::new(), is_public, &mut module.uses);
                }
                syn::Item::Impl(item) if !is_hidden(&item.attrs) => module.impls.push(item),
                item => {
                    let Some((namespace, name, definition)) = definition(&item) else {
                        continue;
                    };
                    if let syn::Item::Mod(inner) = item {
                        let (_, items) = inner.content.unwrap_or_default();
                        self.add_module(below(&path, &name), items);
                    }
                    module.items.insert((namespace, name), definition);
                }
            }
        }
        self.modules.insert(path, module);
    }

    /// All implementations, with the module in which each stands.
    pub(super) fn impls(&self) -> impl Iterator<Item = (&Path, &ItemImpl)> {
        let modules = self.modules.iter();
        modules.flat_map(|(path, module)| module.impls.iter().map(move |item| (path, item)))
    }

    /// The definition at `path`.
    pub(super) fn item(&self, path: &Path, namespace: Namespace) -> Option<&Item> {
        let (name, module) = path.split_last()?;
        let module = self.modules.get(module)?;
        let definition = module.items.get(&(namespace, name.clone()))?;
        Some(&definition.item)
    }

    /// The public names in a module, and what they stand for.
    pub(super) fn exports(&self, module: &Path) -> BTreeMap<(Namespace, String), Target> {
        let mut exports = BTreeMap::new();
        self.add_exports(module, &mut exports, &mut BTreeSet::new());
        exports
    }

    fn add_exports(
        &self,
        path: &Path,
        exports: &mut BTreeMap<(Namespace, String), Target>,
        seen: &mut BTreeSet<Path>,
    ) {
        let Some(module) = self.modules.get(path) else {
            return;
        };
        if !seen.insert(path.clone()) {
            return;
        }
        for ((namespace, name), definition) in &module.items {
            if definition.is_public {
                let target = Target::Local(below(path, name), *namespace);
                exports.insert((*namespace, name.clone()), target);
            }
        }
        for used in module.uses.iter().filter(|used| used.is_public) {
            let Some(name) = &used.name else {
                if let Some(module) = self.module(path, &used.path) {
                    self.add_exports(&module, exports, seen);
                }
                continue;
            };
            for namespace in [Namespace::Type, Namespace::Value] {
                match self.resolve(path, &used.path, namespace) {
                    // By the first letter, since nothing else is known.
                    Some(Target::Foreign(_)) if namespace != usual_namespace(name) => {}
                    Some(target) => {
                        exports.insert((namespace, name.clone()), target);
                    }
                    None => {}
                }
            }
        }
    }

    /// The meaning of the path `segments` in the module `scope`.
    pub(super) fn resolve(
        &self,
        scope: &Path,
        segments: &[String],
        namespace: Namespace,
    ) -> Option<Target> {
        self.resolve_asked(scope, segments, namespace, &mut Asked::new())
    }

    fn module(&self, scope: &Path, segments: &[String]) -> Option<Path> {
        match self.resolve(scope, segments, Namespace::Type)? {
            Target::Local(path, _) => Some(path),
            Target::Foreign(_) => None,
        }
    }

    fn resolve_asked(
        &self,
        scope: &Path,
        segments: &[String],
        namespace: Namespace,
        asked: &mut Asked,
    ) -> Option<Target> {
        let (last, way) = segments.split_last()?;
        let foreign = || Some(Target::Foreign(last.clone()));
        let mut at = scope.clone();
        for (index, segment) in way.iter().enumerate() {
            match segment.as_str() {
                "crate" => at.truncate(1),
                "self" => {}
                "super" => {
                    at.pop();
                }
                name => match self.lookup(&at, name, Namespace::Type, asked) {
                    Some(Target::Local(path, _)) => at = path,
                    Some(Target::Foreign(_)) => return foreign(),
                    None if index > 0 => return None,
                    None if self.modules.contains_key(&vec![name.to_owned()]) => {
                        at = vec![name.to_owned()];
                    }
                    None => return foreign(),
                },
            }
        }
        match last.as_str() {
            "crate" => Some(Target::Local(at[..1].to_vec(), Namespace::Type)),
            "super" => Some(Target::Local(at[..at.len() - 1].to_vec(), Namespace::Type)),
            name => self.lookup(&at, name, namespace, asked).or_else(|| {
                // An extern crate by its own name.
                let root = vec![name.to_owned()];
                let is_root = way.is_empty() && self.modules.contains_key(&root);
                is_root.then_some(Target::Local(root, Namespace::Type))
            }),
        }
    }

    fn lookup(
        &self,
        path: &Path,
        name: &str,
        namespace: Namespace,
        asked: &mut Asked,
    ) -> Option<Target> {
        let module = self.modules.get(path)?;
        if !asked.insert((path.clone(), name.to_owned(), namespace)) {
            return None;
        }
        if module.items.contains_key(&(namespace, name.to_owned())) {
            return Some(Target::Local(below(path, name), namespace));
        }
        let named = module
            .uses
            .iter()
            .filter(|used| used.name.as_deref() == Some(name));
        for used in named {
            if let Some(target) = self.resolve_asked(path, &used.path, namespace, asked) {
                return Some(target);
            }
        }
        let globs = module.uses.iter().filter(|used| used.name.is_none());
        for used in globs {
            let module = self.resolve_asked(path, &used.path, Namespace::Type, &mut asked.clone());
            if let Some(Target::Local(module, _)) = module {
                if let Some(target) = self.lookup(&module, name, namespace, asked) {
                    return Some(target);
                }
            }
        }
        None
    }
}

/// True for what the documentation does not show.
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && matches!(attribute.parse_args::<syn::Ident>(), Ok(ident) if ident == "hidden")
    })
}

/// True for `pub` alone.
pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn below(path: &Path, name: &str) -> Path {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn usual_namespace(name: &str) -> Namespace {
    match name.starts_with(char::is_uppercase) {
        true => Namespace::Type,
        false => Namespace::Value,
    }
}

fn definition(item: &syn::Item) -> Option<(Namespace, String, Definition)> {
    use Namespace::{Type, Value};
    let (namespace, name, visibility, attributes, item) = match item {
        syn::Item::Mod(item) => (Type, &item.ident, &item.vis, &item.attrs, Item::Module),
        syn::Item::Trait(item) => {
            let definition = Item::Trait(Box::new(item.clone()));
            (Type, &item.ident, &item.vis, &item.attrs, definition)
        }
        syn::Item::Struct(item) => {
            let definition = Item::Type(item.generics.clone());
            (Type, &item.ident, &item.vis, &item.attrs, definition)
        }
        syn::Item::Enum(item) => {
            let definition = Item::Type(item.generics.clone());
            (Type, &item.ident, &item.vis, &item.attrs, definition)
        }
        syn::Item::Union(item) => {
            let definition = Item::Type(item.generics.clone());
            (Type, &item.ident, &item.vis, &item.attrs, definition)
        }
        syn::Item::Type(item) => {
            let definition = Item::Alias(Box::new(item.clone()));
            (Type, &item.ident, &item.vis, &item.attrs, definition)
        }
        syn::Item::Fn(item) => {
            let definition = Item::Function(item.sig.generics.clone());
            (Value, &item.sig.ident, &item.vis, &item.attrs, definition)
        }
        _ => return None,
    };
    let is_public = is_public(visibility) && !is_hidden(attributes);
    Some((namespace, name.to_string(), Definition { is_public, item }))
}

/// Takes a tree of `use` apart into its leaves.
fn flatten(tree: &UseTree, mut path: Path, is_public: bool, uses: &mut Vec<Use>) {
    let name = match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            return flatten(&tree.tree, path, is_public, uses);
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, path.clone(), is_public, uses);
            }
            return;
        }
        UseTree::Glob(_) => None,
        UseTree::Name(tree) => {
            // `{self}` is what stands before.
            if tree.ident != "self" {
                path.push(tree.ident.to_string());
            }
            path.last().cloned()
        }
        UseTree::Rename(tree) => {
            if tree.ident != "self" {
                path.push(tree.ident.to_string());
            }
            Some(tree.rename.to_string())
        }
    };
    uses.push(Use {
        is_public,
        path,
        name,
    });
}
