//! Each rule catches a violation and accepts what is clean.

use std::fs;

use super::check;
use super::repository::Violation;

const LIB: &str = "crates/deque/src/lib.rs";

/// A repository made of these files over a clean one, and what tidy says of it.
fn violations(files: &[(&str, &str)]) -> Vec<Violation> {
    let clean = [
        (
            "Cargo.toml",
            "[workspace]\n[workspace.package]\nversion = \"0.1.0\"\n",
        ),
        (
            "crates/deque/Cargo.toml",
            "[package]\nname = \"heist-deque\"\n[dependencies]\nheist-sync.workspace = true\n",
        ),
        (LIB, ""),
        ("CHANGELOG.md", "## 0.1.0\n"),
        (
            "ARCHITECTURE.md",
            "crates/\n  deque/ sync/ core/ par/ observe/ new/\ncli/ bench/ `.ci`\n",
        ),
        ("target/CACHEDIR.TAG", ""),
        ("target/debug/generated.rs", concat!("// TO", "DO\n")),
    ];
    let root = tempfile::tempdir().unwrap();
    for (path, text) in clean.iter().chain(files) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    check(root.path()).unwrap().violations
}

#[track_caller]
fn assert_clean(files: &[(&str, &str)]) {
    assert_eq!(violations(files), []);
}

/// There is just one violation, at this place, and it says this.
#[track_caller]
fn assert_caught(files: &[(&str, &str)], place: &str, says: &str) {
    let found: Vec<String> = violations(files).iter().map(Violation::to_string).collect();
    match found.as_slice() {
        [one] if one.starts_with(&format!("{place}: ")) && one.contains(says) => {}
        _ => panic!("expected {place}: ..{says}.., found {found:#?}"),
    }
}

#[test]
fn a_clean_repository_has_no_violation() {
    assert_clean(&[]);
}

#[test]
fn concurrency_is_named_only_in_sync() {
    for code in [
        "use std::sync::atomic::AtomicUsize;",
        "use std::{fmt, sync::{Arc, atomic::{self, AtomicU8}}};",
        "use core::sync::atomic;",
        "fn f() { std::thread::yield_now() }",
        "use std::thread as t;",
        "type A = ::std::cell::UnsafeCell<u8>;",
        "use core::cell::UnsafeCell;",
        "fn f() { unsafe { libc::sched_yield(); } } // SAFETY: none.",
        "use loom::model;",
        "fn f() { shuttle::check_random(g, 1) }",
        "fn f() { assert_eq!(std::thread::panicking(), false) }",
    ] {
        assert_caught(
            &[(LIB, &format!("//! The head.\n{code}\n"))],
            "crates/deque/src/lib.rs:2",
            "outside of crates/sync/",
        );
    }
    assert_clean(&[
        ("crates/sync/Cargo.toml", "[package]\nname = \"heist-sync\"\n"),
        (
            "crates/sync/src/lib.rs",
            "use loom::model;\n\npub use std::sync::atomic::AtomicUsize;",
        ),
        (
            LIB,
            "//! std::thread::spawn, loom::model\n/// std::sync::atomic::AtomicU8\n\
             // libc::futex\nconst A: &str = \"std::thread\";\n\
             use heist_sync::{atomic::AtomicUsize, cell::UnsafeCell, thread};\npub use std::cell::Cell;\n\
             #[cfg(heist_loom)]\nfn libc() { loom(); }\n",
        ),
        // Files outside of src may do what they like.
        (
            "crates/deque/tests/stress.rs",
            "use std::sync::atomic::AtomicUsize; use loom::model; use std::thread;",
        ),
        ("cli/Cargo.toml", "[package]\nname = \"heist-cli\"\n"),
        ("cli/src/main.rs", "use std::thread;"),
    ]);
}

#[test]
fn threads_and_models_may_be_named_where_only_tests_compile() {
    assert_clean(&[
        (
            LIB,
            "#[cfg(test)]\nuse std::thread;\n\
             #[cfg(all(test, not(any(heist_loom, heist_shuttle))))]\nmod tests {\n    \
             fn f() { std::thread::yield_now(); }\n}\n#[cfg(test)]\nmod more;\n",
        ),
        (
            "crates/deque/src/more.rs",
            "use std::thread::spawn; mod below;",
        ),
        (
            "crates/deque/src/more/below.rs",
            "use loom::model; use shuttle::check;",
        ),
    ]);
    assert_caught(
        &[(
            LIB,
            "#[cfg(test)]\nmod tests {\n    use std::sync::atomic;\n}\n",
        )],
        "crates/deque/src/lib.rs:3",
        "std::sync::atomic",
    );
    // Behind the item, and under a negation, it is the program again.
    assert_caught(
        &[(LIB, "#[cfg(test)]\nmod tests {}\nuse std::thread;\n")],
        "crates/deque/src/lib.rs:3",
        "std::thread",
    );
    assert_caught(
        &[(LIB, "#[cfg(not(test))]\nuse std::thread;\n")],
        "crates/deque/src/lib.rs:2",
        "std::thread",
    );
}

#[test]
fn policies_name_no_clock_no_thread_and_no_world() {
    let repository = |code: &str| {
        violations(&[
            (
                "crates/core/Cargo.toml",
                "[package]\nname = \"heist-core\"\n",
            ),
            ("crates/core/src/lib.rs", "mod policy;"),
            ("crates/core/src/policy/mod.rs", "mod victim;"),
            ("crates/core/src/policy/victim.rs", code),
        ])
    };
    for code in [
        "use std::time::Instant;",
        "fn f() -> SystemTime { g() }",
        "use heist_sync::hint;",
        "use std::{fmt, io};",
        "fn f() { std::fs::read(p) }",
        "fn f() { std::env::var(p) }",
    ] {
        let found = repository(code);
        assert_eq!(found.len(), 1, "{code}: {found:?}");
        assert_eq!(found[0].path, "crates/core/src/policy/victim.rs");
        assert!(found[0].what.contains("named in a policy"), "{found:?}");
    }
    assert_eq!(
        repository("//! No Instant here.\nuse std::time::Duration;\nfn f(now_ns: u64) {}"),
        []
    );
}

#[test]
fn each_strong_ordering_has_a_comment_near_it() {
    let manifest = ("crates/par/Cargo.toml", "[package]\nname = \"heist-par\"\n");
    let lib = "crates/par/src/lib.rs";
    let place = "crates/par/src/lib.rs:8";
    let far = "// Pairs with g.\n\n\n\n\n\n\n";
    let code = format!("{far}fn f() {{ a.load(Ordering::Acquire); }}\n");
    assert_caught(
        &[manifest, (lib, &code)],
        place,
        "the ordering Acquire has no comment",
    );
    let code = format!(
        "\n\n\n\n\nuse x::Ordering::{{self, SeqCst}};\n\nfn f() {{ a.load(SeqCst); }}\n{far}"
    );
    assert_caught(&[manifest, (lib, &code)], place, "the ordering SeqCst");
    assert_clean(&[
        manifest,
        (
            lib,
            "use x::Ordering;\n// Pairs with g.\n\n\n\n\n\nfn f() { a.load(Ordering::Acquire); }\n\n\n\n\n\n\n\
             fn g() { a.store(1, Ordering::Release); } // pairs with f\n\n\n\n\n\n\n\
             fn h() { a.load(Ordering::Relaxed); Lock::Release; }\n",
        ),
    ]);
}

#[test]
fn each_strong_ordering_of_a_protocol_has_a_name() {
    for code in [
        "fn f() { a.load(Ordering::Acquire); } // pairs with g",
        "fn f() { fence(Ordering::SeqCst); } // pairs with g",
        "use x::Ordering::*; fn f() { a.load(Acquire); } // pairs with g",
        "fn f() { g(fault::ordering(\"deque.a\", Ordering::Relaxed), Ordering::Acquire) } // g",
        "fn f() { planted(\"deque.a\", Ordering::Acquire) } // no fault",
    ] {
        assert_caught(
            &[(LIB, &format!("//! The head.\n{code}\n"))],
            "crates/deque/src/lib.rs:2",
            "has no name",
        );
    }
    assert_clean(&[(
        LIB,
        "// Pairs with g.\nfn f() {\n    fault::fence(\"deque.a\", Ordering::SeqCst);\n    \
         let b = heist_sync::fault::ordering(\"lib.b\", Ordering::AcqRel);\n    \
         compiler_fence(Ordering::SeqCst);\n}\n#[cfg(test)]\nmod tests {\n    \
         fn f() { a.load(Ordering::Acquire); } // pairs with g\n}\n",
    )]);
}

#[test]
fn a_name_stands_once_and_begins_with_its_protocol() {
    assert_caught(
        &[(LIB, "fn f(a: &Barrier) {\n    a.light(\"sleep.a\");\n}\n")],
        "crates/deque/src/lib.rs:2",
        "`sleep.a` does not begin with its protocol",
    );
    assert_caught(
        &[
            (
                LIB,
                "mod slot;\nfn f(a: &Barrier) { a.heavy(\"deque.a\"); }\n",
            ),
            (
                "crates/deque/src/slot.rs",
                "fn f() {\n    fault::planted(\"deque.a\");\n}\n",
            ),
        ],
        "crates/deque/src/slot.rs:2",
        "`deque.a` is taken, at crates/deque/src/lib.rs:2",
    );
    assert_clean(&[
        (
            LIB,
            "mod sleep;\nfn f(a: &Barrier) { a.light(\"deque.a\"); a.heavy(\"test.a\"); a.heavy(\"test.a\"); }",
        ),
        (
            "crates/deque/src/sleep/mod.rs",
            "fn f() { fault::planted(\"sleep.a\"); }",
        ),
    ]);
}

#[test]
fn sorts_are_given_closures_that_they_can_inline() {
    for code in [
        "fn f() { v.sort_by(&compare) }",
        "fn f() { sort(|part| part.sort_unstable_by_key(&f)) }",
        "fn f() { g(v).select_nth_unstable_by(1, compare); }",
    ] {
        let place = "crates/deque/src/lib.rs:1";
        assert_caught(&[(LIB, code)], place, "|a, b| compare(a, b)");
    }
    assert_clean(&[(
        LIB,
        "fn f() { v.sort_by(|a, b| compare(a, b)); v.sort_by(f64::total_cmp); sort_by(&compare); v.sort() }",
    )]);
}

#[test]
fn nothing_is_left_unfinished() {
    for mark in [
        concat!("// TO", "DO: later"),
        concat!("// FIX", "ME"),
        concat!("// XX", "X"),
        concat!("fn f() { dbg", "!(1); }"),
        concat!("fn f() { todo", "!() }"),
        concat!("fn f() { unimplemented", "!() }"),
        concat!("#[ig", "nore]"),
    ] {
        assert_caught(
            &[(LIB, mark)],
            "crates/deque/src/lib.rs:1",
            "finish it or delete it",
        );
    }
    for argument in ["obvious", "this is obviously fine", "untriaged", "Trust me"] {
        assert_caught(
            &[(LIB, &format!("// SAFETY: {argument}"))],
            "crates/deque/src/lib.rs:1",
            "is no safety argument",
        );
    }
    assert_clean(&[(
        LIB,
        "#[ignore = \"run by another test\"]\n// TODOS XXXL my_dbg!(1)\n// SAFETY: the length is trusted, as `new` checked it.\n",
    )]);
}

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
        ("crates/deque/src/folder/mod.rs", "mod below;"),
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
        ("bench/src/start.rs", ""),
    ]);
}

#[test]
fn a_file_that_is_no_rust_is_named() {
    assert_caught(
        &[(LIB, "//! The head.\nfn f() {\n")],
        "crates/deque/src/lib.rs:2",
        "this is no Rust",
    );
}

#[test]
fn dependencies_point_down() {
    let manifest = |text: &str| format!("[package]\nname = \"heist-observe\"\n{text}\n");
    let path = "crates/observe/Cargo.toml";
    for text in [
        "[dependencies]\nheist-deque.workspace = true",
        "[dependencies]\nd = { path = \"../deque\", package = \"heist-deque\" }",
        "[dependencies.heist-deque]\nworkspace = true",
        "[target.'cfg(target_os = \"linux\")'.dependencies]\nheist-deque.workspace = true",
        "[dev-dependencies]\nheist-deque.workspace = true",
        "[build-dependencies]\nheist-deque = { path = \"../deque\" }",
    ] {
        let line = if text.starts_with("[dependencies.") {
            3
        } else {
            4
        };
        assert_caught(
            &[(path, &manifest(text))],
            &format!("{path}:{line}"),
            "`observe` must not depend on `deque`: it may use only event",
        );
    }
    assert_clean(&[
        (
            path,
            &manifest(
                "[dependencies]\nheist-event.workspace = true\n\
                 [dev-dependencies]\nheist-sync.workspace = true",
            ),
        ),
        (
            "cli/Cargo.toml",
            "[package]\nname = \"heist-cli\"\n[dependencies]\nheist-deque.workspace = true\n",
        ),
    ]);
    assert_caught(
        &[("crates/new/Cargo.toml", "[package]\nname = \"heist-new\"\n")],
        "crates/new/Cargo.toml:1",
        "add it to ARCHITECTURE.md",
    );
}

#[test]
fn every_dependency_from_outside_has_a_reason() {
    let path = "crates/par/Cargo.toml";
    for text in [
        "[dependencies]\nserde = \"1\"",
        "[dependencies]\nserde.version = \"1#2\"",
        "[dev-dependencies]\nserde = { version = \"1\", features = [\n  \"derive\", # for tests\n] }",
        "[dependencies]\n# One reason is for one dependency.\nanyhow = \"1\"\nserde = \"1\"",
        "[workspace.dependencies]\nserde = \"1\"",
        "[dependencies.serde]\nversion = \"1\"",
    ] {
        let at = text.lines().position(|line| line.contains("serde")).unwrap() + 1;
        assert_caught(
            &[(path, text)],
            &format!("{path}:{at}"),
            "the dependency `serde` has no reason",
        );
    }
    assert_clean(&[(
        path,
        "[package]\nname = \"heist-par\"\n[dependencies]\n# Reads the cases.\nserde = \"1\"\n\
         anyhow = \"1\" # says what was attempted\nshared.workspace = true\n\
         other = { workspace = true }\nheist-core = { path = \"../core\" }\n\
         # Draws.\n[dependencies.png]\nversion = \"1\"\nfeatures = [\"a\"]\n",
    )]);
}

#[test]
fn rivals_are_named_only_in_the_benchmark() {
    let path = "crates/deque/Cargo.toml";
    for text in [
        "[dev-dependencies]\n# Compares.\nrayon = \"1\"\n",
        "[dev-dependencies]\n# Compares.\nother = { version = \"1\", package = \"tokio\" }\n",
    ] {
        assert_caught(&[(path, text)], &format!("{path}:3"), "the rival");
    }
    assert_clean(&[
        (
            "bench/Cargo.toml",
            "[dependencies]\n# A rival.\nrayon = \"1\"\n",
        ),
        (
            "crates/par/Cargo.toml",
            "[dependencies]\n# Adapters for its types.\nrayon-iter-adapters = \"1\"\n",
        ),
    ]);
}

#[test]
fn a_manifest_that_cannot_be_read_is_named() {
    assert_caught(
        &[("bench/Cargo.toml", "[dependencies\n")],
        "bench/Cargo.toml:1",
        "cannot be read",
    );
}

#[test]
fn the_changelog_names_the_present_version() {
    assert_caught(
        &[("CHANGELOG.md", "## 10.1.0, 0.1.00\n")],
        "CHANGELOG.md:1",
        "0.1.0",
    );
    assert_clean(&[("CHANGELOG.md", "## [0.1.0] - 2026-01-01\n")]);
}

#[test]
fn the_map_names_every_folder() {
    let deque = "the folder `deque` is not on the map";
    for text in ["crates/\n", "crates/ mydeque/\n", "crates/ the deque\n"] {
        assert_caught(&[("ARCHITECTURE.md", text)], "ARCHITECTURE.md:1", deque);
    }
    assert_caught(
        &[(".hidden/file", "")],
        "ARCHITECTURE.md:1",
        "the folder `.hidden`",
    );
    assert_clean(&[("ARCHITECTURE.md", "crates/deque/\n")]);
    assert_clean(&[("ARCHITECTURE.md", "`crates` holds `deque`\n")]);
}

#[test]
fn a_dependency_that_a_document_shows_is_a_package_that_is_there() {
    let readme = |line: &str| format!("# heist\n\n```toml\n[dependencies]\n{line}\n```\n");
    for clean in [
        "heist-deque = { path = \"../heist/crates/deque\" }",
        "deque = { package = \"heist-deque\", path = \"../heist/crates/deque\" }",
        "other = { path = \"../other\" }\nserde = \"1\"",
    ] {
        assert_clean(&[("README.md", &readme(clean))]);
    }
    for (wrong, says) in [
        (
            "heist-deque = { path = \"../heist/crates/dequeue\" }",
            "crates/dequeue, which is not there",
        ),
        (
            "deque = { path = \"../heist/crates/deque\" }",
            "the package deque in crates/deque, which is not there",
        ),
        ("heist-deque = ", "no TOML"),
    ] {
        assert_caught(&[("README.md", &readme(wrong))], "README.md:3", says);
    }
    assert_caught(
        &[(
            "cli/README.md",
            "```toml\n[patch.crates-io]\nrayon-core = { path = \"../heist/compat/rayon\" }\n```\n",
        )],
        "cli/README.md:1",
        "compat/rayon, which is not there",
    );
}

#[test]
fn the_files_of_a_crate_form_no_circle() {
    let caught = |files: &[(&str, &str)], place: &str, says: &str| {
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
    };
    // Through a re-export, and by a path without a `use`.
    caught(
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
    caught(
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
    caught(
        &[
            ("lib.rs", "pub fn f() { a::g() }\nmod a;\n"),
            ("a.rs", "use super::*;\nfn g() {}\n"),
        ],
        "a.rs:1",
        "2 files",
    );
    // A parent may re-export, name modules, and test; children may use each other one way.
    caught(
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

#[test]
fn imports_stand_in_groups_in_one_order() {
    let text = |imports: &str| format!("//! The head.\n\n{imports}\n\nfn f() {{}}\n");
    for (imports, line, says) in [
        (
            "use heist_sync::hint;\n\nuse std::fmt;",
            5,
            "belongs further up",
        ),
        (
            "use crate::{\n    a,\n    b,\n};\nuse std::fmt;",
            7,
            "belongs further up",
        ),
        ("use std::fmt;\nuse super::a;", 4, "without a blank line"),
        ("use std::fmt;\n\nuse std::io;", 5, "a blank line divides"),
        (
            "use std::fmt;\nmod a {\n    use super::b;\n    use std::io;\n}",
            6,
            "further up",
        ),
    ] {
        assert_caught(&[(LIB, &text(imports))], &format!("{LIB}:{line}"), says);
    }
    assert_clean(&[(
        LIB,
        &text(
            "use core::fmt;\n#[cfg(unix)]\nuse std::io;\n\nuse heist_sync::hint;\n\npub use self::a;\n\n\
             use crate::b;\n\n// Another subject.\nuse std::thread_local;\nfn f() {\n    use crate::c;\n}",
        ),
    )]);
}

#[test]
fn a_long_function_has_a_reason_above_it() {
    let text = |above: &str, lines: usize| {
        let body = "    g();\n".repeat(lines - 2);
        format!("//! The head.\n\nfn g() {{}}\n\n{above}fn f() {{\n{body}}}\n")
    };
    assert_caught(
        &[(LIB, &text("", 61))],
        &format!("{LIB}:5"),
        "the function has 61 lines",
    );
    let reason = "// Long: A table.\n";
    assert_caught(
        &[(LIB, &(text(reason, 5) + &text("", 70)[14..]))],
        &format!("{LIB}:14"),
        "the function has 70 lines",
    );
    assert_clean(&[(LIB, &text("", 60))]);
    assert_clean(&[(
        LIB,
        &text(&format!("{reason}/// Does much.\n#[inline]\n"), 61),
    )]);
}

#[test]
fn a_long_file_has_a_reason_in_its_head() {
    let lines = "const A: u8 = 0;\n".repeat(600);
    let path = "crates/deque/tests/big.rs";
    assert_caught(
        &[(path, &format!("//! The head.\n{lines}"))],
        &format!("{path}:1"),
        "601 lines",
    );
    assert_clean(&[(path, &lines)]);
    assert_clean(&[(
        path,
        &format!("//! The head.\n// Long: One table.\n{lines}"),
    )]);
}

#[test]
fn each_unsafe_site_has_an_argument() {
    for (code, line) in [
        ("fn f() {\n    unsafe { g() }\n}", 4),
        ("/// Does it.\npub unsafe fn f() {}", 4),
        ("unsafe impl Send for A {}", 3),
        (
            "// SAFETY: one.\nfn f() {\n    g();\n    g();\n    g();\n    unsafe { g() }\n}",
            8,
        ),
        ("struct A;\nimpl A {\n    unsafe fn f() {}\n}", 5),
    ] {
        let text = format!("//! The head.\n\n{code}\n");
        assert_caught(
            &[(LIB, &text)],
            &format!("{LIB}:{line}"),
            "this unsafe site has no argument",
        );
    }
    assert_clean(&[(
        LIB,
        "//! The head.\n\nfn f() {\n    // SAFETY: a line,\n    // another,\n    // a third,\n    // a \
         fourth.\n    unsafe { g() }\n}\n\n/// # Safety\n///\n/// 1. Do.\n#[inline]\npub unsafe fn \
         h() {}\n\nimpl T for A {\n    unsafe fn k() {}\n}\n\ntype F = unsafe fn();\ntype G = unsafe \
         extern \"C\" fn();\n",
    )]);
}

#[test]
fn sentences_begin_with_their_subject() {
    for (path, text, line) in [
        (LIB, "//! Head. What it does.\n", 1),
        (
            LIB,
            "//! The head.\n\n/// Whoever calls it.\nfn f() {}\n",
            3,
        ),
        (LIB, "//! Head,\n//! and so on.\n//! Nobody knows.\n", 3),
        (LIB, "//! The head.\n\nfn f() {} // Who calls it.\n", 3),
        ("README.md", "# Head\n\n- **What**: this.\n", 3),
        ("README.md", "| a | Whose it is |\n", 1),
        ("other.toml", "# Whatever it is.\n", 1),
        (".ci/run", "# One.\n# What follows.\n", 2),
    ] {
        let map = ("ARCHITECTURE.md", "`.ci` `crates` `deque`");
        let place = format!("{path}:{line}");
        assert_caught(&[map, (path, text)], &place, "a sentence begins with `");
    }
    assert_clean(&[
        (
            LIB,
            "//! Head, of\n//! What the name says: what it is. Whether or not.\n\n\
             const A: &str = \"\n// What is text\n\"; // \"Who\"\n//! ```\n//! // What is code\n//! ```\n",
        ),
        ("CHANGELOG.md", "0.1.0\n\n| old | new |\n|---|---|\n| a | What |\n"),
        ("bench/record/one.md", "What was found.\n"),
    ]);
}

#[test]
fn documentation_says_more_than_a_word() {
    let says = "is all that the documentation says";
    assert_caught(
        &[(LIB, "//! The head.\n\n/// Which.\nfn f() {}\n")],
        &format!("{LIB}:3"),
        says,
    );
    assert_clean(&[(
        LIB,
        "//! The head.\n\n/// It ends here,\n/// always.\nfn f() {} // Yes.\n",
    )]);
}

#[test]
fn documentation_names_the_facade() {
    let text = "//! The head.\n//!\n//! ```\n//! use heist_core::join;\n//! ```\n";
    assert_caught(
        &[(LIB, text)],
        &format!("{LIB}:4"),
        "documentation names `heist_core::`",
    );
    let manifest = ("crates/par/Cargo.toml", "[package]\nname = \"heist-par\"\n");
    let text = "//! Head. heist::join\n\n// heist_core::join\nuse heist_core::join;\n";
    assert_clean(&[manifest, ("crates/par/src/lib.rs", text)]);
}

#[test]
fn prose_is_wrapped() {
    let wide = "word ".repeat(20) + "end";
    let wrap = "wider than 100 columns";
    assert_caught(
        &[(LIB, &format!("//! The head.\n\n// {wide}\n"))],
        &format!("{LIB}:3"),
        wrap,
    );
    assert_caught(
        &[("README.md", &format!("# Head\n\n{wide}\n"))],
        "README.md:3",
        wrap,
    );
    assert_clean(&[(
        "README.md",
        &format!(
            "| {wide} |\n\n```\n{wide}\n```\n\n[{wide}](a.md)\n{}\n",
            &wide[..100]
        ),
    )]);
}

#[test]
fn the_map_names_files_that_are_there() {
    let map = |path: &str| format!("# Map\n\n`crates` `deque` `{path}`\n");
    for path in ["crates/deque/src/none.rs", "deque/none/", "none/lib.rs"] {
        let says = format!("`{path}` is not there");
        assert_caught(
            &[("ARCHITECTURE.md", &map(path))],
            "ARCHITECTURE.md:3",
            &says,
        );
    }
    for path in [
        "crates/deque/src/lib.rs",
        "deque/lib.rs",
        "deque/src/",
        "deque/{a,b}.rs",
        "a/b",
    ] {
        assert_clean(&[("ARCHITECTURE.md", &map(path))]);
    }
}
