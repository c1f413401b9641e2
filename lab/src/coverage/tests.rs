//! Names that are found in small sources.

use std::collections::BTreeSet;

use super::expanded;
use super::surface::{surface, Kind};
use super::world::{Namespace, Path, Target, World};
use crate::published;

fn world(crates: &[(&str, &str)]) -> World {
    let mut world = World::default();
    for (name, text) in crates {
        world.add(name, text).unwrap();
    }
    world
}

fn path(text: &str) -> Path {
    text.split("::").map(str::to_owned).collect()
}

/// The names of a kind in the first crate.
fn names(crates: &[(&str, &str)], kind: Kind) -> Vec<String> {
    let entries = surface(&world(crates), crates[0].0).into_iter();
    let of_kind = entries.filter(|entry| entry.kind == kind);
    of_kind.map(|entry| entry.name).collect()
}

#[test]
fn a_module_and_a_function_of_one_name_are_told_apart() {
    let world = world(&[(
        "a",
        "mod once { pub fn once() {} pub struct Once; } pub use self::once::{once, Once};",
    )]);
    let exports = world.exports(&path("a"));
    let names: Vec<_> = exports
        .keys()
        .map(|(namespace, name)| (*namespace, &**name))
        .collect();
    assert_eq!(
        names,
        [(Namespace::Type, "Once"), (Namespace::Value, "once")]
    );
}

#[test]
fn names_are_followed_through_globs_in_circles_and_other_crates() {
    let world = world(&[
        ("facade", "pub use engine::*; pub use other::Thing as Renamed;"),
        (
            "engine",
            "pub mod iter { pub use self::map::*; pub(crate) struct No; #[doc(hidden)] pub struct Hidden;
                 mod map { use super::*; pub struct Map; } }
             mod inner { use crate::iter::{self, Map as M}; }",
        ),
    ]);
    let exports = world.exports(&path("facade"));
    assert_eq!(
        exports[&(Namespace::Type, "iter".to_owned())],
        Target::Local(path("engine::iter"), Namespace::Type)
    );
    assert_eq!(
        exports[&(Namespace::Type, "Renamed".to_owned())],
        Target::Foreign("Thing".to_owned())
    );
    let iter = world.exports(&path("engine::iter"));
    assert_eq!(
        iter.keys().map(|(_, name)| &**name).collect::<Vec<_>>(),
        ["Map"]
    );
    let map = Some(Target::Local(
        path("engine::iter::map::Map"),
        Namespace::Type,
    ));
    for name in ["M", "iter::Map", "super::iter::Map", "crate::iter::Map"] {
        let found = world.resolve(&path("engine::inner"), &path(name), Namespace::Type);
        assert_eq!(found, map, "{name}");
    }
    let nothing = world.resolve(&path("engine::inner"), &path("Absent"), Namespace::Type);
    assert_eq!(nothing, None);
}

#[test]
fn methods_are_listed_where_the_trait_or_type_is_public_but_not_in_the_prelude() {
    let text = "
        pub mod iter {
            pub use self::take::Take;
            pub trait Parallel { type Item; fn take(self) -> Take; #[doc(hidden)] fn secret(self); }
            mod take {
                pub struct Take;
                impl Take { pub fn left(&self) {} fn private(&self) {} pub(crate) fn ours(&self) {} }
            }
        }
        pub mod prelude { pub use crate::iter::Parallel; }";
    let crates = [("a", text)];
    assert_eq!(
        names(&crates, Kind::Trait),
        ["iter::Parallel", "prelude::Parallel"]
    );
    assert_eq!(
        names(&crates, Kind::TraitItem),
        ["iter::Parallel::Item", "iter::Parallel::take"]
    );
    assert_eq!(names(&crates, Kind::Method), ["iter::Take::left"]);
    assert_eq!(names(&crates, Kind::Module), ["iter", "prelude"]);
}

#[test]
fn types_and_traits_have_lifetimes_among_their_parameters_and_functions_have_none() {
    let text = "
        pub mod iter {
            pub struct Iter<'a, T, const N: usize>(&'a [T; N]);
            pub trait Lend<'a> { fn map<'b, F>(self, f: &'b F); }
            pub fn once<'a, T>(item: &'a T) {}
        }";
    let world = world(&[("a", text)]);
    let entries = surface(&world, "a").into_iter();
    let named: Vec<_> = entries
        .map(|entry| entry.name + &entry.parameters)
        .collect();
    assert_eq!(
        named,
        [
            "iter",
            "iter::Lend<'_>",
            "iter::Lend::map<_>",
            "iter::Iter<'_, _, _>",
            "iter::once<_>"
        ]
    );
}

#[test]
fn implementations_are_named_without_lifetimes_and_the_names_of_parameters() {
    let text = "
        pub mod iter {
            pub trait Into {}
            pub trait From<T> {}
            pub struct Iter<'a, T>(&'a T);
            struct Private;
            impl<'a, Item: 'a, const LEN: usize> Into for &'a mut [Item; LEN] {}
            impl<K, V: std::fmt::Debug> From<(K, V)> for std::collections::HashMap<K, V> {}
            impl<'a, T> Into for Iter<'a, T> {}
            impl<T> ::core::clone::Clone for Iter<'_, T> {}
            unsafe impl<T> Send for Iter<'_, T> {}
            impl Into for Private {}
            impl Clone for Private {}
        }";
    assert_eq!(
        names(&[("a", text)], Kind::Impl),
        [
            "Clone for iter::Iter<_>",
            "iter::From<(_, _)> for HashMap<_, _>",
            "iter::Into for &mut [_; _]",
            "iter::Into for iter::Iter<_>"
        ]
    );
}

#[test]
fn an_implementation_for_all_of_the_plumbing_counts_for_each_type() {
    let text = "
        pub mod iter {
            pub mod plumbing { pub trait Part {} }
            pub trait Parallel {}
            pub struct Map<T>(T);
            impl<T> plumbing::Part for Map<T> {}
            impl<P: plumbing::Part> Parallel for P {}
        }";
    let names = names(&[("a", text)], Kind::Impl);
    assert_eq!(names[0], "iter::Parallel for iter::Map<_>");
}

const SEALED: &str = "
    pub mod range {
        pub trait Parallel {}
        pub struct Iter<T>(T);
        mod private { pub trait Integer {} impl Integer for u8 {} impl Integer for i64 {} }
        impl<T: private::Integer> Parallel for Iter<T> {}
    }";

#[test]
fn a_bound_that_nobody_else_can_implement_stands_for_its_types() {
    let crates = [("a", SEALED)];
    let each = [
        "range::Parallel for range::Iter<i64>",
        "range::Parallel for range::Iter<u8>",
    ];
    assert_eq!(names(&crates, Kind::Impl), each);
    let world = world(&crates);
    let entries = surface(&world, "a");
    let wider = entries.iter().find_map(|entry| entry.wider.first());
    assert_eq!(wider.unwrap(), "range::Parallel for range::Iter<_>");

    let text = SEALED.replace(
        "mod private { pub trait Integer {}",
        "pub mod private { mod sealed { pub trait Sealed {} } pub trait Integer: sealed::Sealed {}",
    );
    let found = names(&[("a", &text)], Kind::Impl);
    assert!(
        each.iter().all(|name| found.contains(&(*name).to_owned())),
        "{found:?}"
    );
}

#[test]
fn an_alias_has_what_the_type_has_that_it_stands_for() {
    let text = "
        pub mod iter {
            mod hidden { pub struct Parts<I, S>(I, S); pub struct Once; pub struct Again; }
            use self::hidden::{Again, Once, Parts};
            pub type First<I> = Parts<I, Once>;
            pub type Second<T> = Parts<T, Again>;
            impl<I, S> Clone for Parts<I, S> {}
            impl<I> Copy for Parts<I, Once> {}
            impl<I> Parts<I, Again> { pub fn turn(&self) {} }
        }";
    assert_eq!(
        names(&[("a", text)], Kind::Impl),
        [
            "Clone for iter::First<_>",
            "Clone for iter::Second<_>",
            "Copy for iter::First<_>"
        ]
    );
    assert_eq!(names(&[("a", text)], Kind::Method), ["iter::Second::turn"]);
}

#[test]
fn an_alias_of_its_own_parameter_has_everything() {
    let ours = "pub mod iter { pub type Skip<I> = I; }";
    let theirs = "pub mod iter { pub trait Parallel {} pub struct Skip<I>(I); impl<I> Parallel for Skip<I> {} }";
    let ours = names(&[("a", ours)], Kind::Impl);
    let theirs = surface(&world(&[("a", theirs)]), "a").into_iter();
    let mut theirs = theirs.filter(|entry| entry.kind == Kind::Impl);
    let skip = theirs.next().unwrap();
    assert!(
        skip.wider.iter().any(|wider| ours.contains(wider)),
        "{ours:?}"
    );
    assert_eq!(theirs.next(), None);
}

#[test]
fn an_implementation_for_whatever_the_type_is_covers_each() {
    let each = "pub trait From<T> {} impl<T> From<&T> for Vec<T> {} impl From<char> for String {}";
    let any = "pub trait From<T> {} impl<T> From<T> for Vec<T> {} impl<T> From<T> for String {}";
    let world = world(&[("each", each), ("any", any)]);
    let any: BTreeSet<String> = surface(&world, "any")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    let covered: Vec<_> = surface(&world, "each")
        .into_iter()
        .filter(|entry| entry.wider.iter().any(|wider| any.contains(wider)))
        .map(|entry| entry.name)
        .collect();
    assert_eq!(covered, ["From<char> for String"]);
}

#[test]
fn what_asks_for_the_plumbing_is_marked() {
    let text = "
        pub mod iter {
            pub mod plumbing { pub trait Consumer<T> {} pub fn bridge() {} }
            use self::plumbing::*;
            pub trait Parallel { fn drive<C>(self, c: C) where C: Consumer<u8>; fn map<F>(self, f: F); }
        }";
    let world = world(&[("a", text)]);
    let entries = surface(&world, "a").into_iter();
    let marked: Vec<_> = entries
        .filter(|entry| entry.is_plumbing)
        .map(|entry| entry.name)
        .collect();
    assert_eq!(
        marked,
        [
            "iter::plumbing",
            "iter::plumbing::Consumer",
            "iter::Parallel::drive",
            "iter::plumbing::bridge"
        ]
    );
}

#[test]
fn what_the_root_takes_from_elsewhere_is_left_out() {
    let text = "pub use core_crate::{join, ThreadPool}; pub mod iter { pub use either::Either; }";
    assert_eq!(names(&[("a", text)], Kind::Function), [""; 0]);
    assert_eq!(names(&[("a", text)], Kind::Type), ["iter::Either"]);
}

#[test]
fn what_macros_and_other_files_define_is_in_the_expanded_source() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"small\"\nversion = \"0.0.0\"\n\n[workspace]\n";
    published::write(&folder.path().join("Cargo.toml"), manifest).unwrap();
    let library = "macro_rules! both { ($($name:ident)*) => { $(pub struct $name;)* } }\n\
                   both! { A B }\npub mod inner;\n#[cfg(test)]\npub struct Test;\n";
    published::write(&folder.path().join("src/lib.rs"), library).unwrap();
    let inner = "#[derive(Clone)]\npub struct C;\n";
    published::write(&folder.path().join("src/inner.rs"), inner).unwrap();
    let text = expanded(folder.path(), "small", &folder.path().join("target")).unwrap();
    let names: Vec<String> = surface(&world(&[("small", &text)]), "small")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["inner", "A", "B", "inner::C", "Clone for inner::C"]);
}
