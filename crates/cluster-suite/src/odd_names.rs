//! Remote functions whose names are in use elsewhere: by the attribute, by Rust, by crates.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use ::heist_cluster::{remote, Cluster, RemoteFunction};

/// Its two arguments as two digits, under names that the attribute once gave them.
#[remote]
pub fn argument_0(argument_1: u64, argument_2: u64) -> u64 {
    argument_1 * 10 + argument_2
}

/// One more, under the name that the function has within the attribute's code.
#[remote]
pub fn body(run: u64) -> u64 {
    run + 1
}

/// Uses another function of a name that the attribute has for its own.
#[remote]
pub fn two_bodies(deref: u64) -> u64 {
    body(body(deref))
}

/// The same, under a name that is Rust's.
#[remote]
pub fn r#type(r#in: u64) -> u64 {
    r#in
}

/// A field of its argument, which almost has a name of Rust's.
#[remote]
pub fn self_(_self: (), Self_ { x }: Self_) -> u64 {
    x
}

/// A type that almost has a name of Rust's.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Self_ {
    x: u64,
}

/// Always 5, under the name that `derive` gives to a formatter.
#[remote]
pub fn f() -> u64 {
    5
}

/// The same, under the name of the crate that has the attribute.
#[remote]
pub fn heist_cluster(args: u64) -> u64 {
    args
}

/// The same, under the name of a crate that the attribute needs.
#[remote]
pub fn core(std: u64) -> u64 {
    std
}

/// Functions are what they were, whatever they and others are called.
pub fn names_are_free(cluster: &Cluster) {
    assert_eq!(cluster.call(argument_0, (1, 2)).get(), Ok(12));
    assert_eq!(cluster.call(two_bodies, 3).get(), Ok(5));
    assert_eq!(two_bodies(3), 5);
    assert_eq!(cluster.call(r#type, 4).get(), Ok(4));
    assert!(name(r#type).ends_with("::odd_names::type"));
    assert_eq!(cluster.call(self_, ((), Self_ { x: 6 })).get(), Ok(6));
    assert_eq!(cluster.call(f, ()).get(), Ok(5));
    assert_eq!(cluster.call(heist_cluster, 7).get(), Ok(7));
    assert_eq!(cluster.call(core, 8).get(), Ok(8));
}

fn name<F: RemoteFunction>(_: F) -> &'static str {
    F::NAME
}
