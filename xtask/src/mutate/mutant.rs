//! The mutants: each named ordering, fence and condition of the protocols, broken.

use std::path::Path;

use anyhow::Context;

use crate::model::{read, rust_files};
use crate::tidy::rust::{Facts, Fault};
use crate::tidy::source::{NAMED, TESTS_OWN};

/// The beginning of a comment that says why no layer can notice a mutant. Its name and the reason
/// follow: `// Equivalent (deque.try_lock): …`, on as many lines as it takes.
const EXPLANATION: &str = "// Equivalent (";
/// How far above the name its explanation may begin.
const REACH: usize = 20;

/// A program with one ordering weakened, or one fence or condition left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// The value of `HEIST_FAULT`.
    pub(crate) name: String,
    /// File and line.
    pub(crate) place: String,
    /// The change, in words.
    pub(crate) change: String,
    /// Why no layer can notice it, if a comment beside it says so.
    pub(crate) explanation: Option<String>,
}

impl Mutant {
    /// The name in the code; for half of an ordering, that of the whole.
    pub(crate) fn fault(&self) -> &str {
        self.name.split(':').next().unwrap_or(&self.name)
    }
}

/// All mutants, in the order of files and lines.
pub(crate) fn all(root: &Path) -> anyhow::Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for folder in NAMED {
        for file in rust_files(&root.join(folder))? {
            let path = file.strip_prefix(root).unwrap_or(&file).display();
            mutants.extend(in_file(&read(&file)?, &path.to_string())?);
        }
    }
    Ok(mutants)
}

fn in_file(text: &str, path: &str) -> anyhow::Result<Vec<Mutant>> {
    let facts = Facts::of(text)
        .map_err(|(line, error)| anyhow::anyhow!("{path}:{line} is no Rust: {error}"))?;
    let mut explanations = explanations(text, path)?;
    let mut mutants = Vec::new();
    for fault in &facts.faults {
        if fault.name.starts_with(TESTS_OWN) {
            continue;
        }
        for (half, change) in changes(fault) {
            let name = format!("{}{half}", fault.name);
            let explained = explanations.iter().position(|explanation| {
                let is_near =
                    explanation.line < fault.line && explanation.line + REACH >= fault.line;
                explanation.name == name && is_near
            });
            mutants.push(Mutant {
                place: format!("{path}:{}", fault.line),
                change,
                explanation: explained.map(|at| explanations.remove(at).reason),
                name,
            });
        }
    }
    if let Some(lost) = explanations.first() {
        anyhow::bail!(
            "{path}:{}: this explains {:?}, and there is no such mutant in the {REACH} lines below",
            lost.line,
            lost.name
        );
    }
    Ok(mutants)
}

/// The changes that can be made to a named thing: the end of the name, and the change in words.
fn changes(fault: &Fault) -> Vec<(&'static str, String)> {
    let order = fault.order.as_deref().unwrap_or("ordering");
    match fault.function.as_str() {
        "planted" => vec![("", "condition".to_owned())],
        "fence" => vec![("", format!("{order} fence left out"))],
        "light" | "heavy" => vec![("", format!("{} barrier left out", fault.function))],
        _ if order == "AcqRel" => vec![
            ("", format!("{order} to Relaxed")),
            (":acquire", format!("{order} to Acquire")),
            (":release", format!("{order} to Release")),
        ],
        _ => vec![("", format!("{order} to Relaxed"))],
    }
}

struct Explanation {
    name: String,
    /// The line where it begins, counted from 1.
    line: usize,
    reason: String,
}

fn explanations(text: &str, path: &str) -> anyhow::Result<Vec<Explanation>> {
    let mut found = Vec::new();
    let mut lines = text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        let Some(rest) = line.trim_start().strip_prefix(EXPLANATION) else {
            continue;
        };
        let (name, reason) = rest
            .split_once("): ")
            .with_context(|| format!("{path}:{number}: after the name comes `): ` and a reason"))?;
        let mut reason = reason.to_owned();
        while let Some((more, _)) = lines.next_if(|(line, _)| {
            let line = line.trim_start();
            line.starts_with("// ") && !line.starts_with(EXPLANATION)
        }) {
            reason.push_str(more.trim_start().trim_start_matches('/'));
        }
        found.push(Explanation {
            name: name.to_owned(),
            line: number,
            reason,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_named_thing_is_a_mutant_and_an_ordering_of_two_halves_is_three() {
        let text = "fn f() {\n    // fault::fence(\"in.a.comment\", x)\n    \
                    let order = fault::ordering(\n        \"a.b\",\n        Ordering::AcqRel,\n    );\n    \
                    barrier.light(\"a.c\");\n    fault::fence(\"test.d\", Ordering::SeqCst);\n    \
                    if fault::planted(\"a.e\") {}\n}\n";
        let mutants = in_file(text, "a.rs").unwrap();
        let found: Vec<_> = mutants
            .iter()
            .map(|mutant| (&*mutant.name, &*mutant.place, &*mutant.change))
            .collect();
        assert_eq!(
            found,
            [
                ("a.b", "a.rs:4", "AcqRel to Relaxed"),
                ("a.b:acquire", "a.rs:4", "AcqRel to Acquire"),
                ("a.b:release", "a.rs:4", "AcqRel to Release"),
                ("a.c", "a.rs:7", "light barrier left out"),
                ("a.e", "a.rs:9", "condition"),
            ]
        );
        assert_eq!(mutants[1].fault(), "a.b");
    }

    #[test]
    fn a_comment_explains_the_mutant_that_it_names() {
        let text = "// Equivalent (a.b): the lock\n// orders it.\n\
                    fn f() { fault::fence(\"a.b\", Ordering::SeqCst); fault::planted(\"a.c\"); }\n";
        let mutants = in_file(text, "a.rs").unwrap();
        let reasons: Vec<_> = mutants
            .iter()
            .map(|mutant| mutant.explanation.as_deref())
            .collect();
        assert_eq!(reasons, [Some("the lock orders it."), None]);
    }

    #[test]
    fn an_explanation_of_nothing_is_refused() {
        for text in [
            "// Equivalent (a.gone): why.\nfn f() { fault::planted(\"a.c\"); }\n",
            "fn f() { fault::planted(\"a.c\"); }\n// Equivalent (a.c): below it.\n",
            "// Equivalent (a.c) why.\nfn f() { fault::planted(\"a.c\"); }\n",
        ] {
            let error = in_file(text, "a.rs").unwrap_err().to_string();
            assert!(error.starts_with("a.rs:"), "{error}");
        }
    }
}
