//! Module trees, and circles in them.

use super::{assert_caught, assert_clean, violations, LIB};

#[test]
fn every_source_file_is_declared() {
    assert_caught(
        &[("crates/deque/src/lost.rs", "")],
        "crates/deque/src/lost.rs:1",
        "no `mod` declaration",
    );
    // A declaration in a file that is itself lost does not count.
    let found = violations(&[
        ("crates/deque/src/a.rs", "mod b;"),
        ("crates/deque/src/a/b.rs", ""),
    ]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_clean(&[
        (
            LIB,
            "mod plain;\nmod folder;\n#[cfg(windows)]\n#[path = \"other/os.rs\"]\nmod backend;\n\
             #[cfg_attr(unix, path = \"unix.rs\")]\nmod system;\nmod outer { mod inner; }\n\
             const T: u8 = include!(\"table.rs\");\nmacro! { pub mod generated; }\n",
        ),
        ("crates/deque/src/plain.rs", "pub(crate) mod below;"),
        ("crates/deque/src/plain/below.rs", ""),
        ("crates/deque/src/folder.rs", "mod below;"),
        ("crates/deque/src/folder/below.rs", ""),
        ("crates/deque/src/other/os.rs", "mod beside;"),
        ("crates/deque/src/other/beside.rs", ""),
        ("crates/deque/src/unix.rs", ""),
        ("crates/deque/src/outer/inner.rs", ""),
        ("crates/deque/src/table.rs", "1"),
        ("crates/deque/src/generated.rs", ""),
        ("crates/deque/src/bin/tool.rs", ""),
        (
            "bench/Cargo.toml",
            "[package]\nname = \"b\"\n[[bin]]\nname = \"b\"\npath = \"./src/start.rs\"\n",
        ),
        ("bench/src/start.rs", "#![forbid(unsafe_code)]\n"),
    ]);
}

#[test]
fn a_module_stands_beside_its_folder() {
    assert_caught(
        &[(LIB, "mod folder;"), ("crates/deque/src/folder/mod.rs", "")],
        "crates/deque/src/folder/mod.rs:1",
        "call it `crates/deque/src/folder.rs`",
    );
}

#[test]
fn a_file_that_is_no_rust_is_named() {
    assert_caught(
        &[(LIB, "//! The head.\nfn f() {\n")],
        "crates/deque/src/lib.rs:2",
        "this is no Rust",
    );
}

/// The sources of a crate with these files.
fn assert_circle(files: &[(&str, &str)], place: &str, says: &str) {
    let paths = files
        .iter()
        .map(|(name, _)| format!("crates/deque/src/{name}"));
    let paths: Vec<String> = paths.collect();
    let files = paths.iter().zip(files);
    let files: Vec<(&str, &str)> = files.map(|(path, (_, text))| (&**path, *text)).collect();
    match says {
        "" => assert_clean(&files),
        _ => assert_caught(&files, &format!("crates/deque/src/{place}"), says),
    }
}

#[test]
fn the_files_of_a_crate_form_no_circle() {
    // Through a re-export, and by a path without a `use`.
    assert_circle(
        &[
            ("lib.rs", "mod a;\nmod b;\npub use b::B;\n"),
            ("a.rs", "use crate::B;\npub struct A(B);\n"),
            (
                "b.rs",
                "pub struct B;\n\nimpl B { fn f(_: &crate::a::A) {} }\n",
            ),
        ],
        "a.rs:1",
        "2 files use each other in a circle: crates/deque/src/a.rs -> crates/deque/src/b.rs -> ",
    );
    // A child uses its parent, which uses another child, which uses the first.
    assert_circle(
        &[
            ("lib.rs", "mod x;\n"),
            (
                "x.rs",
                "mod y;\nmod z;\nuse z::Z as Last;\npub(crate) struct X(Last);\n",
            ),
            ("x/y.rs", "use super::X;\npub(super) struct Y;\n"),
            ("x/z.rs", "use super::y;\npub(super) struct Z(y::Y);\n"),
        ],
        "x.rs:3",
        "3 files use each other",
    );
    assert_circle(
        &[
            ("lib.rs", "pub fn f() { a::g() }\nmod a;\n"),
            ("a.rs", "use super::*;\nfn g() {}\n"),
        ],
        "a.rs:1",
        "2 files",
    );
}

#[test]
fn a_parent_may_reexport_name_modules_and_test() {
    assert_circle(
        &[
            (
                "lib.rs",
                "mod a;\nmod b;\npub use a::*;\npub use b::{inner, B as Other};\n",
            ),
            (
                "a.rs",
                "use std::fmt;\n\nuse crate::Other;\npub struct A(Other);\n",
            ),
            (
                "b.rs",
                "pub struct B;\npub mod inner { pub use super::B; }\n\
                 #[cfg(test)]\nmod tests { use crate::A; }\n",
            ),
        ],
        "",
        "",
    );
}
