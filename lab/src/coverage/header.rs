//! The head of an implementation as a name that does not depend on how parameters are called.

use std::collections::BTreeMap;

use syn::{
    Expr, GenericArgument, GenericParam, Generics, Lit, PathArguments, Type, TypeParamBound,
    WherePredicate,
};

use super::world::{Namespace, Path, Target, World};

/// By which public paths users reach what is defined where.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Under their own names.
    pub(super) own: BTreeMap<(Path, Namespace), Vec<String>>,
    /// Types under the names of others that stand for them.
    pub(super) aliases: BTreeMap<Path, Vec<Alias>>,
}

/// A public name for some of a type's forms.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    /// Its public path.
    pub(super) name: String,
    /// Its parameters.
    pub(super) parameters: String,
    /// The arguments of the type that it stands for.
    pub(super) arguments: Vec<String>,
}

/// Traits whose implementations say nothing about what one can write.
const UNTOLD: [&str; 6] = [
    "Send",
    "Sync",
    "Unpin",
    "UnwindSafe",
    "RefUnwindSafe",
    "Drop",
];

/// Stands before the name of what users cannot reach.
const PRIVATE: char = '~';

/// Stands for the types that no header of rayon's has, such as pointers.
const OTHER: &str = "?";

/// A trait that may be any, or an argument of one whatever the type is.
const ANY: &str = "*";

/// The meaning of the names at the head of an implementation.
#[derive(Clone)]
pub(super) struct Header<'a> {
    world: &'a World,
    names: &'a Names,
    scope: &'a Path,
    /// The text that stands for each parameter.
    parameters: BTreeMap<String, String>,
}

/// Something named at the head.
enum Named {
    /// Of these crates, with its public path if users can reach it.
    Own(Path, Option<String>),
    /// Of another crate.
    Foreign(String),
}

/// An implementation in two halves.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImplName {
    /// The trait, such as `iter::ParallelExtend`.
    pub(super) of: String,
    /// Its arguments, such as `<&_>`.
    pub(super) arguments: String,
    /// The type, such as `Vec<_>`.
    pub(super) for_type: String,
}

impl<'a> Header<'a> {
    /// The head of an implementation in the module `scope`, all of whose parameters are `_`.
    pub(super) fn new(
        world: &'a World,
        names: &'a Names,
        scope: &'a Path,
        generics: &Generics,
    ) -> Self {
        let parameters = generics
            .params
            .iter()
            .filter_map(|parameter| match parameter {
                GenericParam::Type(parameter) => Some(&parameter.ident),
                GenericParam::Const(parameter) => Some(&parameter.ident),
                GenericParam::Lifetime(_) => None,
            });
        Self {
            world,
            names,
            scope,
            parameters: parameters
                .map(|name| (name.to_string(), "_".to_owned()))
                .collect(),
        }
    }

    /// The same with a type in the place of a parameter.
    pub(super) fn with(&self, parameter: &str, name: &str) -> Self {
        let mut header = self.clone();
        header
            .parameters
            .insert(parameter.to_owned(), name.to_owned());
        header
    }

    /// The parameters as arguments.
    pub(super) fn parameters(&self) -> String {
        bracketed(&self.parameters.values().cloned().collect::<Vec<_>>())
    }

    /// The trait and the type; nothing if users cannot reach both, or have both
    /// without the crate.
    pub(super) fn impl_names(&self, of: &syn::Path, for_type: &Type) -> Vec<ImplName> {
        let for_own = match for_type {
            Type::Path(path) => !matches!(self.named(&path.path), Named::Foreign(_)),
            _ => false,
        };
        let trait_name = match self.named(of) {
            Named::Own(_, Some(name)) => name,
            Named::Foreign(name) if for_own && !UNTOLD.contains(&&*name) => name,
            Named::Own(_, None) | Named::Foreign(_) => return Vec::new(),
        };
        let arguments = bracketed(&self.trait_arguments(of, for_type));
        if arguments.contains(PRIVATE) {
            return Vec::new();
        }
        let types = self.reachable_names(for_type).into_iter();
        types
            .map(|for_type| ImplName {
                of: trait_name.clone(),
                arguments: arguments.clone(),
                for_type,
            })
            .collect()
    }

    /// A type with its arguments under all names by which users reach it.
    pub(super) fn reachable_names(&self, of: &Type) -> Vec<String> {
        let name = self.type_name(of);
        let aliases = self.aliases(of);
        let aliases = aliases.map(|alias| alias.name.clone() + &alias.parameters);
        let own = (!name.contains(PRIVATE)).then_some(name);
        own.into_iter().chain(aliases).collect()
    }

    /// All public names of a type, without arguments.
    pub(super) fn public_names(&self, of: &Type) -> Vec<String> {
        let own = match of {
            Type::Path(of) => match self.named(&of.path) {
                Named::Own(_, name) => name,
                Named::Foreign(_) => None,
            },
            _ => None,
        };
        let aliases = self.aliases(of).map(|alias| alias.name.clone());
        own.into_iter().chain(aliases).collect()
    }

    /// The aliases of a type whose forms are among those written here.
    fn aliases(&self, of: &Type) -> impl Iterator<Item = &'a Alias> {
        let (aliases, here) = match of {
            Type::Path(of) => match self.named(&of.path) {
                Named::Own(path, _) => (self.names.aliases.get(&path), self.arguments(&of.path)),
                Named::Foreign(_) => (None, Vec::new()),
            },
            _ => (None, Vec::new()),
        };
        aliases.into_iter().flatten().filter(move |alias| {
            let mut pairs = alias.arguments.iter().zip(&here);
            pairs.all(|(alias, here)| here == "_" || here == alias)
        })
    }

    fn trait_arguments(&self, of: &syn::Path, for_type: &Type) -> Vec<String> {
        let mut free = self.clone();
        for parameter in self.parameters.keys() {
            // No type is called so: it shows where the parameter is.
            let marked = self.with(parameter, "!").type_name(for_type);
            if !marked.contains('!') {
                free.parameters.insert(parameter.clone(), ANY.to_owned());
            }
        }
        let arguments = self.arguments(of);
        let free = free.arguments(of);
        // Only where it is the whole argument.
        let pairs = free.into_iter().zip(arguments);
        let pick = |(free, argument)| if free == ANY { free } else { argument };
        pairs.map(pick).collect()
    }

    /// A type without lifetimes, with a mark before what users cannot reach.
    pub(super) fn type_name(&self, of: &Type) -> String {
        match of {
            Type::Array(of) => {
                format!("[{}; {}]", self.type_name(&of.elem), self.length(&of.len))
            }
            Type::Slice(of) => format!("[{}]", self.type_name(&of.elem)),
            Type::Group(of) => self.type_name(&of.elem),
            Type::Paren(of) => self.type_name(&of.elem),
            Type::Reference(of) => {
                let mutable = of.mutability.map_or("", |_| "mut ");
                format!("&{mutable}{}", self.type_name(&of.elem))
            }
            Type::Tuple(of) => {
                let parts: Vec<_> = of.elems.iter().map(|of| self.type_name(of)).collect();
                format!("({})", parts.join(", "))
            }
            Type::Path(of) if of.qself.is_some() => "_".to_owned(),
            Type::Path(of) => {
                let name = match self.named(&of.path) {
                    Named::Own(_, Some(name)) | Named::Foreign(name) => name,
                    Named::Own(path, None) => format!("{PRIVATE}{}", path.join("::")),
                };
                name + &bracketed(&self.arguments(&of.path))
            }
            _ => OTHER.to_owned(),
        }
    }

    fn named(&self, path: &syn::Path) -> Named {
        let segments = segments(path);
        if let Some(name) = self.parameters.get(&segments[0]) {
            return Named::Foreign(match segments.len() {
                1 => name.clone(),
                // A parameter's associated type is as free.
                _ => "_".to_owned(),
            });
        }
        match self.world.resolve(self.scope, &segments, Namespace::Type) {
            Some(Target::Local(path, namespace)) => {
                let key = (path, namespace);
                let names = self.names.own.get(&key).into_iter().flatten();
                // The shortest, if there are many.
                let name = names.min_by_key(|name| (name.matches("::").count(), (*name).clone()));
                Named::Own(key.0, name.cloned())
            }
            Some(Target::Foreign(name)) => Named::Foreign(name),
            // Of the standard library, or a type of the language.
            None => Named::Foreign(segments.last().cloned().unwrap_or_default()),
        }
    }

    /// The types and numbers in angle brackets at the end of a path.
    pub(super) fn arguments(&self, path: &syn::Path) -> Vec<String> {
        let last = path.segments.last().map(|segment| &segment.arguments);
        let Some(PathArguments::AngleBracketed(list)) = last else {
            return Vec::new();
        };
        let arguments = list.args.iter().filter_map(|argument| match argument {
            GenericArgument::Type(of) => Some(self.type_name(of)),
            GenericArgument::Const(number) => Some(self.length(number)),
            _ => None,
        });
        arguments.collect()
    }

    fn length(&self, length: &Expr) -> String {
        let name = match length {
            Expr::Path(name) => name.path.get_ident().map(ToString::to_string),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => return number.base10_digits().to_owned(),
                _ => None,
            },
            _ => None,
        };
        let parameter = name.and_then(|name| self.parameters.get(&name));
        parameter.map_or_else(|| OTHER.to_owned(), Clone::clone)
    }
}

impl ImplName {
    /// Such as `iter::ParallelExtend<&_> for Vec<_>`.
    pub(super) fn name(&self) -> String {
        format!("{}{} for {}", self.of, self.arguments, self.for_type)
    }

    /// The same for all arguments of the trait, and for all traits.
    pub(super) fn wider(&self) -> [String; 2] {
        [
            format!("{}<{ANY}> for {}", self.of, self.for_type),
            Self::any_trait(&self.for_type),
        ]
    }

    /// All implementations for a type.
    pub(super) fn any_trait(for_type: &str) -> String {
        format!("{ANY} for {for_type}")
    }
}

/// The arguments as they stand behind a name.
pub(super) fn bracketed(arguments: &[impl AsRef<str>]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    match arguments.as_slice() {
        [] => String::new(),
        arguments => format!("<{}>", arguments.join(", ")),
    }
}

/// The traits that must hold for each parameter.
pub(super) fn bounds(generics: &Generics) -> Vec<(String, &syn::Path)> {
    let inline = generics
        .type_params()
        .map(|parameter| (parameter.ident.to_string(), &parameter.bounds));
    let clauses = generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    let clauses = clauses.filter_map(|predicate| match predicate {
        WherePredicate::Type(predicate) => match &predicate.bounded_ty {
            Type::Path(of) => Some((of.path.get_ident()?.to_string(), &predicate.bounds)),
            _ => None,
        },
        _ => None,
    });
    let all = inline.chain(clauses).flat_map(|(name, bounds)| {
        bounds.iter().filter_map(move |bound| match bound {
            TypeParamBound::Trait(bound) => Some((name.clone(), &bound.path)),
            _ => None,
        })
    });
    all.collect()
}

/// The names of a path, without their arguments.
pub(super) fn segments(path: &syn::Path) -> Path {
    path.segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect()
}
