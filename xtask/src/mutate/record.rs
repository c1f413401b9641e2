//! The fates of mutants: kept in a table, from which a fast run learns which model to run, and
//! written to a dated document.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::fate::Fate;
use super::mutant::Mutant;
use crate::machine;

const TABLE: &str = "bench/record/mutants.toml";

/// The model that noticed each mutant.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) killed_by: BTreeMap<String, String>,
}

impl Table {
    /// The table of the repository; an empty one if there is none.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let path = root.join(TABLE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path)
            .with_context(|| format!("could not read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is no such table", path.display()))
    }

    /// Notes the fates of these mutants, and forgets those that are not among `all`.
    pub(crate) fn update(&mut self, fates: &[(Mutant, Fate)], all: &[Mutant]) {
        for (mutant, fate) in fates {
            match fate.model() {
                Some(model) => drop(self.killed_by.insert(mutant.name.clone(), model.to_owned())),
                None => drop(self.killed_by.remove(&mutant.name)),
            }
        }
        self.killed_by
            .retain(|name, _| all.iter().any(|mutant| mutant.name == *name));
    }

    pub(crate) fn write(&self, root: &Path) -> anyhow::Result<()> {
        let path = root.join(TABLE);
        fs::write(&path, self.text()?)
            .with_context(|| format!("could not write {}", path.display()))
    }

    fn text(&self) -> anyhow::Result<String> {
        Ok(format!(
            "# Which model notices each mutant; `cargo xtask mutate --record` wrote it.\n{}",
            toml::to_string(self)?
        ))
    }
}

/// Writes the document, and returns its path.
pub(crate) fn write_document(
    root: &Path,
    fates: &[(Mutant, Fate)],
    score: &str,
) -> anyhow::Result<PathBuf> {
    let path = machine::new_record(&root.join("bench/record"), "mutants")?;
    let text = format!("- Score: {score}\n{}", tables(fates));
    machine::write_record(&path, root, &text)?;
    Ok(path)
}

fn tables(fates: &[(Mutant, Fate)]) -> String {
    let mut killed = String::from(
        "\n| mutant | change | where | killed by | which says |\n| --- | --- | --- | --- | --- |\n",
    );
    let mut left = String::new();
    for (mutant, fate) in fates {
        let Mutant { name, change, .. } = mutant;
        let file = mutant.place.split(':').next().unwrap_or_default();
        let _ = match (fate, &mutant.explanation) {
            (Fate::Killed { model, sign }, _) => {
                let sign = sign.replace('|', "\\|");
                writeln!(killed, "| {name} | {change} | {file} | {model} | {sign} |")
            }
            (Fate::Explained, Some(reason)) => {
                writeln!(left, "| {name} | {change} | {file} | {reason} |")
            }
            _ => writeln!(left, "| {name} | {change} | {file} | {fate} |"),
        };
    }
    if left.is_empty() {
        return killed;
    }
    format!("{killed}\n## Not killed\n\n| mutant | change | where | why |\n| --- | --- | --- | --- |\n{left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, explanation: Option<&str>) -> Mutant {
        Mutant {
            name: name.to_owned(),
            place: "a.rs:1".to_owned(),
            change: "condition".to_owned(),
            explanation: explanation.map(str::to_owned),
        }
    }

    fn killed() -> Fate {
        Fate::Killed {
            model: "loom_a::model".to_owned(),
            sign: "a || b".to_owned(),
        }
    }

    #[test]
    fn a_table_can_be_read_back_and_forgets_what_is_gone() {
        let mut table = Table::default();
        table
            .killed_by
            .insert("a.gone".to_owned(), "loom_a::old".to_owned());
        let fates = [
            (mutant("a.b:release", None), killed()),
            (mutant("a.c", Some("why")), Fate::Explained),
        ];
        let all: Vec<Mutant> = fates.iter().map(|(mutant, _)| mutant.clone()).collect();
        table.update(&fates, &all);
        let back: Table = toml::from_str(&table.text().unwrap()).unwrap();
        assert_eq!(back, table);
        let names: Vec<_> = back.killed_by.into_iter().collect();
        assert_eq!(
            names,
            [("a.b:release".to_owned(), "loom_a::model".to_owned())]
        );
    }

    #[test]
    fn the_document_names_the_killer_or_the_reason() {
        let text = tables(&[
            (mutant("a.b", None), killed()),
            (mutant("a.c", Some("the lock orders it.")), Fate::Explained),
        ]);
        assert!(text.contains("| a.b | condition | a.rs | loom_a::model | a \\|\\| b |\n"));
        assert!(text.ends_with("| a.c | condition | a.rs | the lock orders it. |\n"));
    }
}
