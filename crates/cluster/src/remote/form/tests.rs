//! Types that differ in one thing, and types that are hard to make up values for.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Holder<T> {
    _first: Option<Vec<T>>,
    _last: BTreeMap<String, T>,
}

/// The numbers of two declarations of a type, each in a scope of its own.
macro_rules! forms {
    ($name:ident: { $($first:tt)* } { $($second:tt)* }) => {{
        let first = {
            #[derive(Deserialize)]
            #[allow(dead_code, reason = "only its form matters")]
            $($first)*
            of::<Holder<$name>>()
        };
        let second = {
            #[derive(Deserialize)]
            #[allow(dead_code, reason = "only its form matters")]
            $($second)*
            of::<Holder<$name>>()
        };
        (first, second)
    }};
}

#[test]
fn what_bytes_mean_shows_in_the_form() {
    let pairs = [
        forms!(Pair: { struct Pair { a: i64, b: i64 } } { struct Pair { b: i64, a: i64 } }),
        forms!(Pair: { struct Pair { a: i64, b: i64 } } { struct Pair { a: i64, b: i32 } }),
        forms!(Pair: { struct Pair(f64, [u8; 3]); } { struct Pair(f64, [u8; 4]); }),
        forms!(Shape:
            { enum Shape { Dot, Circle { x: u8, r: u8 } } }
            { enum Shape { Dot, Circle { r: u8, x: u8 } } }
        ),
        forms!(Shape:
            { enum Shape { Dot, Line(u8, u8), Text(String) } }
            { enum Shape { Dot, Text(String), Line(u8, u8) } }
        ),
        forms!(Shape:
            { enum Shape { Dot, Ring(Option<(u8, u16)>) } }
            { enum Shape { Dot, Ring(Option<(u8, u8)>) } }
        ),
    ];
    for (at, (first, second)) in pairs.into_iter().enumerate() {
        assert_ne!(first, second, "pair {at}");
    }
}

#[test]
fn the_same_form_has_the_same_number() {
    let (first, second) = forms!(Pair:
        { struct Pair { a: i64, b: Option<String> } }
        { struct Pair { a: i64, b: Option<String> } }
    );
    assert_eq!(first, second);
}

#[test]
fn what_lies_behind_many_variants_is_found() {
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its form matters")]
    enum Inner<T> {
        A,
        B,
        C(T),
    }
    let (first, second) = forms!(Outer:
        { enum Outer { A, B, C, D(Option<Inner<u8>>), E, F } }
        { enum Outer { A, B, C, D(Option<Inner<u16>>), E, F } }
    );
    assert_ne!(first, second);
}

#[test]
fn what_contains_itself_has_a_form_and_so_has_what_follows() {
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its form matters")]
    enum Tree {
        Two(Box<Tree>, Box<Tree>),
        Many(Vec<Node>),
        Leaf(u8),
    }
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its form matters")]
    struct Node {
        next: Option<Box<Node>>,
        trees: Vec<Tree>,
    }
    assert_ne!(of::<(Tree, Node, u8)>(), of::<(Tree, Node, u16)>());
    assert_eq!(of::<(Tree, Node, u8)>(), of::<(Tree, Node, u8)>());
}

#[test]
fn usual_types_can_be_made_up() {
    type Usual<T> = (
        (
            NonZeroU32,
            char,
            (),
            std::time::Duration,
            std::ops::Range<u64>,
        ),
        (std::path::PathBuf, std::net::IpAddr, Result<u8, String>),
        (serde_bytes::ByteBuf, [u8; 32], i128, crate::Remote<u8>),
        T,
    );
    assert_ne!(of::<Usual<u8>>(), of::<Usual<u16>>());
}

#[test]
fn what_refuses_or_never_ends_is_looked_at_until_then() {
    #[derive(Debug)]
    struct Checked;
    impl<'de> Deserialize<'de> for Checked {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(de::Error::custom(format!("{text} is not good")))
        }
    }
    assert_ne!(of::<(u8, Checked)>(), of::<(u16, Checked)>());
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its form matters")]
    struct Endless {
        again: Box<Endless>,
    }
    assert_ne!(of::<(u8, Endless)>(), of::<(u16, Endless)>());
}
