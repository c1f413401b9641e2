//! The public names of a crate, each by the path under which its users reach it.

use std::collections::{BTreeMap, BTreeSet};

use syn::{GenericParam, Generics, ImplItem, ItemImpl, TraitItem, Type, TypeParamBound};

use super::header::{bounds, bracketed, segments, Alias, Header, ImplName, Names};
use super::world::{is_hidden, is_public, Item, Namespace, Path, Target, World};

/// The kind of thing that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A module.
    Module,
    /// A trait.
    Trait,
    /// A method or an associated type of a trait.
    TraitItem,
    /// A type.
    Type,
    /// A method of a type.
    Method,
    /// A function.
    Function,
    /// An implementation of one of the crate's traits, or of another's for one of its types.
    Impl,
}

/// A public name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Such as `iter::ParallelIterator::map` or `iter::ParallelExtend<&_> for Vec<_>`, where
    /// `_` is a parameter.
    pub(super) name: String,
    /// The parameters of a method, a trait or a type, such as `<'_, _>`.
    pub(super) parameters: String,
    /// Implementations that cover this one and more.
    pub(super) wider: Vec<String>,
    /// True for what belongs to the module `iter::plumbing`.
    pub(super) is_plumbing: bool,
}

/// The module whose traits say how iterators work inside.
const PLUMBING: &str = "iter::plumbing";
/// The module that repeats the names of others.
const PRELUDE: &str = "prelude";

/// The public names of the crate `root`. Those that it takes at its root from a crate which
/// `world` does not have are left out.
pub(super) fn surface(world: &World, root: &str) -> BTreeSet<Entry> {
    let mut surface = Surface {
        world,
        names: Names::default(),
        sealed: BTreeMap::new(),
        plumbing: BTreeSet::new(),
        plumbed: BTreeMap::new(),
        entries: BTreeSet::new(),
    };
    surface.walk(&vec![root.to_owned()], "", &mut Vec::new());
    surface.add_trait_items();
    surface.find_aliases();
    surface.find_sealed();
    surface.find_plumbed();
    for (scope, item) in world.impls() {
        surface.add_impl(scope, item);
    }
    surface.entries
}

struct Surface<'a> {
    world: &'a World,
    /// The public paths of what is defined where.
    names: Names,
    /// For which types each trait is implemented that nobody else can implement.
    sealed: BTreeMap<Path, BTreeSet<String>>,
    /// The traits of the plumbing.
    plumbing: BTreeSet<Path>,
    /// For which types each of those is implemented, under all their names.
    plumbed: BTreeMap<Path, BTreeSet<String>>,
    entries: BTreeSet<Entry>,
}

impl Surface<'_> {
    fn walk(&mut self, module: &Path, prefix: &str, above: &mut Vec<Path>) {
        if above.contains(module) {
            return;
        }
        above.push(module.clone());
        for ((namespace, name), target) in self.world.exports(module) {
            let name = match prefix {
                "" => name,
                prefix => format!("{prefix}::{name}"),
            };
            let (kind, parameters) = match &target {
                Target::Foreign(_) if prefix.is_empty() => continue,
                Target::Foreign(_) if namespace == Namespace::Type => (Kind::Type, String::new()),
                Target::Foreign(_) => (Kind::Function, String::new()),
                Target::Local(path, namespace) => match self.world.item(path, *namespace) {
                    Some(Item::Module) | None => (Kind::Module, String::new()),
                    Some(Item::Trait(item)) => (Kind::Trait, parameters(&item.generics, "'_")),
                    Some(Item::Type(generics)) => (Kind::Type, parameters(generics, "'_")),
                    Some(Item::Alias(item)) => (Kind::Type, parameters(&item.generics, "'_")),
                    Some(Item::Function(generics)) => (Kind::Function, parameters(generics, "")),
                },
            };
            self.add(kind, name.clone(), parameters);
            let Target::Local(path, namespace) = target else {
                continue;
            };
            if kind == Kind::Module {
                self.walk(&path, &name, above);
            } else if prefix != PRELUDE {
                if prefix == PLUMBING {
                    self.plumbing.insert(path.clone());
                }
                let names = self.names.own.entry((path, namespace));
                names.or_default().push(name);
            }
        }
        above.pop();
    }

    fn add(&mut self, kind: Kind, name: String, parameters: String) {
        self.entries.insert(Entry {
            kind,
            is_plumbing: name.starts_with(PLUMBING),
            name,
            parameters,
            wider: Vec::new(),
        });
    }

    fn add_trait_items(&mut self) {
        for ((path, namespace), names) in self.names.own.clone() {
            let Some(Item::Trait(item)) = self.world.item(&path, namespace) else {
                continue;
            };
            let scope = path[..path.len() - 1].to_vec();
            for of in &names {
                for item in &item.items {
                    self.add_trait_item(&scope, of, item);
                }
            }
        }
    }

    fn add_trait_item(&mut self, scope: &Path, of: &str, item: &TraitItem) {
        let (name, generics, attributes) = match item {
            TraitItem::Fn(item) => (&item.sig.ident, &item.sig.generics, &item.attrs),
            TraitItem::Type(item) => (&item.ident, &item.generics, &item.attrs),
            TraitItem::Const(item) => (&item.ident, &item.generics, &item.attrs),
            _ => return,
        };
        if is_hidden(attributes) {
            return;
        }
        let asks_for_plumbing = bounds(generics).into_iter().any(|(_, bound)| {
            let bound = self.world.resolve(scope, &segments(bound), Namespace::Type);
            matches!(bound, Some(Target::Local(path, _)) if self.plumbing.contains(&path))
        });
        self.entries.insert(Entry {
            kind: Kind::TraitItem,
            name: format!("{of}::{name}"),
            parameters: parameters(generics, ""),
            wider: Vec::new(),
            is_plumbing: asks_for_plumbing || of.starts_with(PLUMBING),
        });
    }

    /// Notes which public names stand for other types.
    fn find_aliases(&mut self) {
        for ((path, namespace), names) in self.names.own.clone() {
            let Some(Item::Alias(item)) = self.world.item(&path, namespace) else {
                continue;
            };
            let Type::Path(of) = &*item.ty else {
                continue;
            };
            let scope = path[..path.len() - 1].to_vec();
            let header = Header::new(self.world, &self.names, &scope, &item.generics);
            let is_parameter =
                |ident: &syn::Ident| item.generics.type_params().any(|it| it.ident == *ident);
            if of.path.get_ident().is_some_and(is_parameter) {
                // It has whatever its argument has.
                let parameters = header.parameters();
                for name in names {
                    let everything = ImplName::any_trait(&(name + &parameters));
                    self.add(Kind::Impl, everything, String::new());
                }
                continue;
            }
            let target = self
                .world
                .resolve(&scope, &segments(&of.path), Namespace::Type);
            let Some(Target::Local(target, _)) = target else {
                continue;
            };
            let arguments = header.arguments(&of.path);
            let aliases = names.into_iter().map(|name| Alias {
                name,
                parameters: header.parameters(),
                arguments: arguments.clone(),
            });
            let aliases: Vec<Alias> = aliases.collect();
            self.names
                .aliases
                .entry(target)
                .or_default()
                .extend(aliases);
        }
    }

    /// Notes the types of the traits that nobody else can implement.
    fn find_sealed(&mut self) {
        for (scope, item) in self.world.impls() {
            let Some((name, _)) = &item.trait_ else {
                continue;
            };
            if let Some(path) = self.sealed_trait(scope, name) {
                let header = Header::new(self.world, &self.names, scope, &item.generics);
                let name = header.type_name(&item.self_ty);
                self.sealed.entry(path).or_default().insert(name);
            }
        }
    }

    /// The trait of this name, if nobody else can implement it: for want of its own name or
    /// of that of a trait which it asks for.
    fn sealed_trait(&self, scope: &Path, name: &syn::Path) -> Option<Path> {
        let target = self.world.resolve(scope, &segments(name), Namespace::Type);
        let Some(Target::Local(path, namespace)) = target else {
            return None;
        };
        let key = (path, namespace);
        let is_sealed = match self.world.item(&key.0, namespace) {
            Some(Item::Trait(item)) => {
                let scope = key.0[..key.0.len() - 1].to_vec();
                let mut above = item.supertraits.iter().filter_map(|bound| match bound {
                    TypeParamBound::Trait(bound) => self.sealed_trait(&scope, &bound.path),
                    _ => None,
                });
                !self.names.own.contains_key(&key) || above.next().is_some()
            }
            _ => false,
        };
        is_sealed.then_some(key.0)
    }

    /// Notes the types of the traits of the plumbing.
    fn find_plumbed(&mut self) {
        for (scope, item) in self.world.impls() {
            let Some((name, _)) = &item.trait_ else {
                continue;
            };
            if let Some(path) = self.plumbing_trait(scope, name) {
                let headers = self.headers(scope, item).into_iter();
                let names = headers.flat_map(|header| header.reachable_names(&item.self_ty));
                let names: Vec<String> = names.collect();
                self.plumbed.entry(path).or_default().extend(names);
            }
        }
    }

    /// The trait of this name, if it belongs to the plumbing.
    fn plumbing_trait(&self, scope: &Path, name: &syn::Path) -> Option<Path> {
        match self.world.resolve(scope, &segments(name), Namespace::Type) {
            Some(Target::Local(path, _)) => self.plumbing.get(&path).cloned(),
            _ => None,
        }
    }

    /// The types for which a parameter stands: those of a trait that nobody else can
    /// implement, or, if something is implemented for all its types, of the plumbing.
    fn types_of(&self, scope: &Path, bound: &syn::Path, is_self: bool) -> Option<Vec<String>> {
        let types = match self.sealed_trait(scope, bound) {
            Some(of) => self.sealed.get(&of),
            None if is_self => self.plumbed.get(&self.plumbing_trait(scope, bound)?),
            None => return None,
        };
        Some(types.into_iter().flatten().cloned().collect())
    }

    /// The head of an implementation for each of the types that its parameters stand for.
    fn headers<'s>(&'s self, scope: &'s Path, item: &ItemImpl) -> Vec<Header<'s>> {
        let header = Header::new(self.world, &self.names, scope, &item.generics);
        let mut headers = vec![header];
        for (parameter, bound) in bounds(&item.generics) {
            let is_self = matches!(&*item.self_ty, Type::Path(of) if of.path.is_ident(&parameter));
            let Some(types) = self.types_of(scope, bound, is_self) else {
                continue;
            };
            headers = types
                .iter()
                .flat_map(|name| headers.iter().map(|header| header.with(&parameter, name)))
                .collect();
        }
        headers
    }

    fn add_impl(&mut self, scope: &Path, item: &ItemImpl) {
        let Some((path, _)) = &item.trait_ else {
            self.add_methods(scope, item);
            return;
        };
        let header = Header::new(self.world, &self.names, scope, &item.generics);
        let widest = header.impl_names(path, &item.self_ty);
        let headers = self.headers(scope, item);
        let found = headers.iter();
        let found: Vec<ImplName> = found
            .flat_map(|header| header.impl_names(path, &item.self_ty))
            .collect();
        // Unless one of the types is a parameter itself.
        let widest = widest.iter().filter(|name| !found.contains(name));
        let widest: Vec<String> = widest.map(ImplName::name).collect();
        for name in found {
            let wider = widest.iter().cloned().chain(name.wider()).collect();
            let name = name.name();
            self.entries.insert(Entry {
                kind: Kind::Impl,
                is_plumbing: name.starts_with(PLUMBING),
                name,
                parameters: String::new(),
                wider,
            });
        }
    }

    fn add_methods(&mut self, scope: &Path, item: &ItemImpl) {
        let header = Header::new(self.world, &self.names, scope, &item.generics);
        for of in header.public_names(&item.self_ty) {
            for item in &item.items {
                match item {
                    ImplItem::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                        let name = format!("{of}::{}", item.sig.ident);
                        self.add(Kind::Method, name, parameters(&item.sig.generics, ""));
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The parameters in angle brackets; nothing for lifetimes if `lifetime` is empty.
fn parameters(generics: &Generics, lifetime: &str) -> String {
    let parameters = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => lifetime,
        GenericParam::Type(_) | GenericParam::Const(_) => "_",
    });
    let parameters: Vec<&str> = parameters
        .filter(|parameter| !parameter.is_empty())
        .collect();
    bracketed(&parameters)
}
