//! The document of `--json` against its description in the book: each field is there, with the type
//! that it says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The fields of the chapter, and their types.
fn described() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/json.md");
    let text = std::fs::read_to_string(path).expect("the chapter");
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let field = cells.next()?.trim_end_matches('`').to_owned();
        Some((field, cells.next()?.to_owned()))
    });
    rows.collect()
}

/// The fields of a document, and the types of their values.
fn found(document: &Value) -> BTreeSet<(String, &'static str)> {
    let mut found = BTreeSet::new();
    visit("", document, &mut found);
    found
}

fn visit(path: &str, value: &Value, found: &mut BTreeSet<(String, &'static str)>) {
    let kind = match value {
        Value::Array(values) => {
            for value in values {
                visit(&format!("{path}[]"), value, found);
            }
            return;
        }
        // The findings of a workload have names of their own.
        Value::Object(fields) if !path.ends_with(".result") => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                visit(&format!("{path}{dot}{name}"), value, found);
            }
            return;
        }
        Value::Object(_) => "object",
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
    };
    found.insert((path.to_owned(), kind));
}

/// True if the description allows a value of this type.
fn allows(described: &str, kind: &str) -> bool {
    match described.strip_suffix('?') {
        Some(described) => kind == "null" || kind == described,
        None => kind == described,
    }
}

#[test]
fn the_chapter_describes_each_field_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("lines"), "{\"a\": 1}\n{\"a\": }\n").expect("a file");
    std::fs::write(folder.path().join("text"), "some words\n").expect("a file");
    let mut all = BTreeSet::new();
    for call in [
        "run --repeat 1 --json",
        // One with a part that cannot be used.
        "run json --input lines --repeat 2 --json",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_heist-run"))
            .args(call.split(' '))
            .current_dir(folder.path())
            .env_remove("HEIST_NUM_THREADS")
            .output()
            .expect("the program starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["schema_version"], 2);
        all.extend(found(&document));
    }
    let described = described();
    for (field, kind) in &all {
        let Some(is) = described.get(field) else {
            panic!("the chapter does not describe {field}");
        };
        assert!(
            allows(is, kind),
            "{field} is {kind}, and the chapter says {is}"
        );
    }
    for field in described.keys() {
        let is_there = all.iter().any(|(name, _)| name == field);
        assert!(is_there, "no document has {field}");
    }
}
