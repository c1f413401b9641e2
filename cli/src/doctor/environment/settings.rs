//! The environment variables for readers: the chapter of the book, and the end of `heist --help`.
//! Both are made from the table that `heist doctor` checks values by.

use std::fmt::Write as _;

use super::variables::{Definition, Reader, KNOWN};

/// The groups of variables, with the heads that they have in the chapter.
const GROUPS: [(Reader, &str); 4] = [
    (Reader::Pools, "Every pool reads these when it is built"),
    (
        Reader::StandIn,
        "The stand-in for rayon-core reads this as well",
    ),
    (Reader::Tests, "Tests with a check of schedules read this"),
    (Reader::Clusters, "Clusters read these"),
];

/// The chapter `settings.md`.
pub(crate) fn chapter() -> String {
    let mut text = "\
# Settings

heist has no file of settings. A program says what it wants by `ThreadPoolBuilder` and its kin, and
environment variables say the rest. `heist doctor` shows their present values and complains of those
that would be refused; a variable that begins with `HEIST_` and that nothing reads is reported, with
the nearest one that is known.

`heist doctor --settings` prints this page, from the table by which it checks the values.
"
    .to_owned();
    for (reader, head) in GROUPS {
        let _ = write!(
            text,
            "\n## {head}\n\n| variable | changes | accepts |\n|---|---|---|\n"
        );
        for Definition {
            name,
            changes,
            accepts,
            ..
        } in KNOWN.iter().filter(|known| known.read_by == reader)
        {
            let _ = writeln!(text, "| `{name}` | {changes} | {accepts} |");
        }
    }
    text
}

/// The end of the long help.
pub(crate) fn help() -> String {
    let mut text = "Environment variables (heist doctor shows their values):".to_owned();
    for (reader, _) in GROUPS {
        for known in KNOWN.iter().filter(|known| known.read_by == reader) {
            let _ = write!(text, "\n  {}\n      {}", known.name, known.changes);
        }
    }
    text
}
