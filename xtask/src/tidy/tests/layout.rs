//! Imports, lengths, unsafe sites.

use super::{assert_caught, assert_clean, LIB};

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
        (
            "/// # Safety\n///\n/// 1. Do.\nunsafe fn f() {\n    unsafe { g() }\n}",
            7,
        ),
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
         h() {}\n\nimpl T for A<B, C> {\n    unsafe fn k() {}\n}\n\ntype F = unsafe fn();\ntype G = unsafe \
         extern \"C\" fn();\n",
    )]);
}

#[test]
fn a_crate_without_unsafe_code_says_so() {
    let manifest = ("crates/sim/Cargo.toml", "[package]\nname = \"heist-sim\"\n");
    let map = ("ARCHITECTURE.md", "`.ci` `crates` `deque` `sim`");
    for root in ["lib.rs", "main.rs", "bin/sim.rs", "bin/sim/main.rs"] {
        let root = format!("crates/sim/src/{root}");
        let files = [map, manifest, (&*root, "fn f() {}\n")];
        assert_caught(
            &files,
            &format!("{root}:1"),
            "this crate has no unsafe code",
        );
        let files = [map, manifest, (&*root, "#![forbid(unsafe_code)]\n")];
        assert_clean(&files);
    }
    let test = ("crates/deque/tests/all.rs", "fn f() {}\n");
    assert_clean(&[test]);
}
