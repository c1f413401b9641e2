//! Comments and documents.

use super::{assert_caught, assert_clean, LIB};

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
            "| {wide} |\n\n```\n{wide}\n```\n\n[{wide}](README.md)\n{}\n",
            &wide[..100]
        ),
    )]);
}
