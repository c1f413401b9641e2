//! Orderings, policies, the one door to concurrency.

use super::{assert_caught, assert_clean, violations, LIB};

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
            "use std::sync::atomic::AtomicUsize;\nuse std::thread;\n\nuse loom::model;\n",
        ),
        ("cli/Cargo.toml", "[package]\nname = \"heist-cli\"\n"),
        ("cli/src/main.rs", "#![forbid(unsafe_code)]\nuse std::thread;"),
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
            ("crates/core/src/policy.rs", "mod victim;"),
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
    let manifest = (
        "crates/cluster/Cargo.toml",
        "[package]\nname = \"heist-cluster\"\n",
    );
    let lib = "crates/cluster/src/lib.rs";
    let place = "crates/cluster/src/lib.rs:8";
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
            "crates/deque/src/sleep.rs",
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
