//! Examples of public items.

use super::{assert_caught, assert_clean};

const CLUSTER: &str = "crates/cluster/src/lib.rs";
const MANIFEST: (&str, &str) = (
    "crates/cluster/Cargo.toml",
    "[package]\nname = \"heist-cluster\"\n",
);

/// Documentation with an example that calls `size`.
const DOC: &str = "/// A box.\n///\n/// ```\n/// Box::new().size(3)\n/// ```\n";

#[test]
fn an_item_without_an_example_is_caught() {
    for (text, line) in [
        ("/// A box.\n#[derive(Debug)]\npub struct Box<T>(T);\n", 3),
        ("/// Calls it.\npub const fn call() {}\n", 2),
        (
            &format!("{DOC}pub struct Box;\n\n    /// Its depth.\n    pub fn depth(&self) {{}}\n")
                [..],
            9,
        ),
        // The example of the type shows no failure.
        (
            &format!("{DOC}pub struct Box;\n\n    /// Its size.\n    ///\n    /// # Errors\n    ///\n    /// If empty.\n    pub fn size(&self) {{}}\n")
                [..],
            13,
        ),
    ] {
        for name in ["cluster", "core", "futures", "heist", "par"] {
            let map = format!("`.ci` `crates` `deque` `{name}`\n");
            let manifest = format!("crates/{name}/Cargo.toml");
            let lib = format!("crates/{name}/src/lib.rs");
            let file = format!("crates/{name}/src/a.rs");
            let files = [
                ("ARCHITECTURE.md", &*map),
                (&manifest, "[package]\nname = \"a\"\n"),
                (&lib, "#![forbid(unsafe_code)]\nmod a;\n"),
                (&file, text),
            ];
            assert_caught(&files, &format!("{file}:{line}"), "has no example");
        }
    }
}

#[test]
fn an_item_has_an_example_or_names_who_has_it() {
    for text in [
        format!("{DOC}#[derive(Debug)]\npub struct Box;\n"),
        format!("{DOC}pub struct Box;\n\n    /// Its size.\n    pub fn size(self) {{}}\n"),
        "/// A lid; [`Box`] has an example.\npub enum Lid {}\n".to_owned(),
        "/// A lid: see\n/// [`Box`].\npub enum Lid {}\n".to_owned(),
        "/// A lid.\n#[expect(unnameable_types, reason = \"a detail\")]\npub enum Lid {}\n"
            .to_owned(),
        "#[doc(hidden)]\npub fn call() {}\n".to_owned(),
        "pub(crate) struct Lid;\npub use std::fmt;\npub mod lid {}\nfn call() {}\n".to_owned(),
    ] {
        assert_clean(&[MANIFEST, (CLUSTER, &text)]);
    }
}
