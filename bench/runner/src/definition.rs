//! A workload as data: one file of `definitions/` each.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use serde::Deserialize;

use crate::stats::Spread;

/// One workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// The file's name without its ending.
    #[serde(skip)]
    pub(crate) name: String,
    /// Place in the report.
    pub(crate) order: u32,
    /// The file of `groups/` with which it is summed up.
    pub(crate) group: Option<String>,
    /// The workload in one line.
    pub(crate) title: String,
    /// The unit of the figure, for example `ns/join`.
    pub(crate) unit: String,
    /// One unit of work, in words.
    pub(crate) one_unit: String,
    /// The word by which peers know the workload; several definitions may
    /// share one and differ in sizes.
    pub(crate) program: String,
    /// Which number of a sample is the headline: `ns_per_unit` or a further
    /// figure of the workload by name.
    pub(crate) figure: String,
    /// Factor from the number to the unit.
    #[serde(default = "one")]
    pub(crate) scale: f64,
    /// Whether ratios mean anything; not where the figure is nearly zero.
    #[serde(default = "yes")]
    pub(crate) ratios: bool,
    /// The peer whose time the others' are divided by.
    #[serde(default = "heist")]
    pub(crate) over: String,
    /// Peers are not run with fewer workers, where that would say nothing.
    #[serde(default)]
    pub(crate) workers_min: u32,
    /// The peers that have it.
    pub(crate) peers: Vec<String>,
    /// Further columns.
    #[serde(default)]
    pub(crate) also: Vec<Also>,
    /// The demands.
    #[serde(default)]
    pub(crate) bar: Vec<Bar>,
    /// The real thing.
    pub(crate) full: Size,
    /// The same for a first look.
    pub(crate) quick: Size,
}

/// A further column: a named figure, merged over all samples.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Also {
    pub(crate) label: String,
    pub(crate) figure: String,
    #[serde(default = "one")]
    pub(crate) scale: f64,
    pub(crate) take: Take,
}

/// How many numbers become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Take {
    #[default]
    Median,
    Max,
}

/// A demand on a figure, or on its ratio to another peer's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bar {
    pub(crate) peer: String,
    pub(crate) workers: u32,
    /// The peer to compare with; without it the figure itself is meant.
    pub(crate) against: Option<String>,
    /// How many workers that one has, if not as many.
    pub(crate) against_workers: Option<u32>,
    /// A serial peer whose median is taken off both medians before they are divided:
    /// what is left is what the parallel ones cost.
    pub(crate) less: Option<String>,
    /// Compare with the fastest of all that are not on heist themselves.
    #[serde(default)]
    pub(crate) against_rivals: bool,
    pub(crate) at_most: f64,
}

/// How much is run, and what must come out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Size {
    /// Passed on to the peer as they are.
    pub(crate) sizes: BTreeMap<String, u64>,
    /// Samples per peer and round at most.
    pub(crate) samples: u64,
    /// Time per peer and round after which no further sample begins.
    pub(crate) budget_ms: u64,
    /// Rounds at most, for workloads where more would only cost time.
    pub(crate) rounds_max: Option<u32>,
    /// The result of every peer.
    pub(crate) checksum: String,
}

impl Take {
    /// None for no numbers.
    pub(crate) fn of(self, numbers: &[f64]) -> Option<f64> {
        let spread = Spread::of(numbers)?;
        Some(match self {
            Self::Median => spread.median,
            Self::Max => spread.max,
        })
    }

    /// Its name in a report.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Max => "max",
        }
    }
}

fn yes() -> bool {
    true
}

fn heist() -> String {
    "heist".to_owned()
}

fn one() -> f64 {
    1.0
}

impl Definition {
    pub(crate) fn size(&self, quick: bool) -> &Size {
        if quick {
            &self.quick
        } else {
            &self.full
        }
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let mut definition: Self = toml::from_str(text)?;
        name.clone_into(&mut definition.name);
        for bar in &definition.bar {
            for peer in [Some(&bar.peer), bar.against.as_ref(), bar.less.as_ref()]
                .into_iter()
                .flatten()
            {
                ensure!(
                    definition.peers.contains(peer),
                    "a bar is about `{peer}`, which is not among the peers"
                );
            }
        }
        Ok(definition)
    }
}

/// Reads every definition of a folder, in the order of the report.
pub(crate) fn load(folder: &Path) -> Result<Vec<Definition>> {
    let mut definitions = Vec::new();
    for (name, text) in toml_files(folder)? {
        let parsed = Definition::parse(&name, &text);
        definitions.push(parsed.with_context(|| format!("in the definition `{name}.toml`"))?);
    }
    definitions.sort_by_key(|definition| definition.order);
    Ok(definitions)
}

/// The names, without their endings, and the texts of all such files of a folder.
pub(crate) fn toml_files(folder: &Path) -> Result<Vec<(String, String)>> {
    let reading = || format!("cannot read the files in {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            files.push((name, text));
        }
    }
    Ok(files)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const FIB: &str = r#"
        order = 1
        title = "fib"
        unit = "ns/join"
        one_unit = "one join"
        program = "fib"
        figure = "ns_per_unit"
        peers = ["serial", "rayon", "heist"]
        [full]
        sizes = { n = 34 }
        samples = 5
        budget_ms = 400
        checksum = "5702887"
        [quick]
        sizes = { n = 30 }
        samples = 3
        budget_ms = 100
        checksum = "832040"
        [[bar]]
        peer = "heist"
        workers = 2
        against = "rayon"
        at_most = 1.0
    "#;

    pub(crate) fn fib() -> Definition {
        Definition::parse("fib", FIB).unwrap()
    }

    #[test]
    fn a_definition_gives_its_sizes_and_bars() {
        let fib = fib();
        assert_eq!((fib.name.as_str(), fib.size(false).sizes["n"]), ("fib", 34));
        assert_eq!(fib.size(true).checksum, "832040");
        assert_eq!(
            (fib.bar[0].workers, fib.bar[0].against.as_deref()),
            (2, Some("rayon"))
        );
        assert_eq!(fib.scale, 1.0);
    }

    #[test]
    fn numbers_become_their_median_or_their_largest() {
        let numbers = [3.0, 1.0, 9.0];
        assert_eq!(Take::Median.of(&numbers), Some(3.0));
        assert_eq!(Take::Max.of(&numbers), Some(9.0));
        assert_eq!(Take::Max.of(&[]), None);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let error = Definition::parse("fib", &format!("colour = \"red\"\n{FIB}")).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
        let error =
            Definition::parse("fib", &FIB.replace("samples = 5", "samplez = 5")).unwrap_err();
        assert!(error.to_string().contains("samplez"), "{error}");
    }

    #[test]
    fn a_missing_key_is_an_error_that_names_it() {
        let error = Definition::parse("fib", &FIB.replace("order = 1", "")).unwrap_err();
        assert!(error.to_string().contains("order"), "{error}");
    }

    #[test]
    fn a_bar_on_a_peer_that_does_not_run_is_refused() {
        let error = Definition::parse(
            "fib",
            &FIB.replace("against = \"rayon\"", "against = \"tbb\""),
        );
        assert!(error.unwrap_err().to_string().contains("`tbb`"));
    }

    #[test]
    fn the_committed_definitions_can_be_read() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../definitions"));
        let all = load(folder).unwrap();
        assert!(all.iter().any(|each| each.name == "fib"));
    }
}
