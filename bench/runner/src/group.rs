//! A group of workloads as data: one file of `groups/` each.

use std::path::Path;

use anyhow::{ensure, Context, Result};
use serde::Deserialize;

use crate::definition::{toml_files, Definition, Take};

/// Workloads whose ratios of one peer to another are looked at together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// The file's name without its ending; definitions name it.
    #[serde(skip)]
    pub(crate) name: String,
    /// The comparison in one line.
    pub(crate) title: String,
    /// The peer whose time is divided.
    pub(crate) peer: String,
    /// The peer by whose time it is divided.
    #[serde(default)]
    pub(crate) against: Option<String>,
    /// In its place: divide by the time of the fastest of all that are not on heist themselves, and
    /// then by what the workload's own bar allows.
    #[serde(default)]
    pub(crate) against_rivals: bool,
    /// With how many workers; the same number unless given.
    pub(crate) against_workers: Option<u32>,
    /// The summary of the ratios of all workloads, in the last line.
    #[serde(default)]
    pub(crate) take: Take,
    /// The demands on the summary. The group is left out of a report without any of these numbers
    /// of workers.
    pub(crate) bar: Vec<RatioBar>,
}

/// A demand on the median or the largest ratio.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RatioBar {
    pub(crate) workers: u32,
    pub(crate) at_most: f64,
}

/// Reads every group of a folder; the groups of the definitions must be there.
pub(crate) fn load(folder: &Path, definitions: &[Definition]) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for (name, text) in toml_files(folder)? {
        let parsed = parse(&name, &text);
        groups.push(parsed.with_context(|| format!("in the group `{name}.toml`"))?);
    }
    for definition in definitions {
        check(definition, &groups)?;
    }
    Ok(groups)
}

fn parse(name: &str, text: &str) -> Result<Group> {
    let mut group: Group = toml::from_str(text)?;
    name.clone_into(&mut group.name);
    ensure!(
        group.against.is_some() != group.against_rivals,
        "a group is `against` a peer, or has `against_rivals = true`"
    );
    Ok(group)
}

/// A definition's group must be known, and be about peers that it has.
fn check(definition: &Definition, groups: &[Group]) -> Result<()> {
    let Some(name) = &definition.group else {
        return Ok(());
    };
    let group = groups.iter().find(|group| group.name == *name);
    let group = group.with_context(|| {
        format!(
            "the definition `{}` names the group `{name}`, which has no file in `groups/`",
            definition.name
        )
    })?;
    for peer in [Some(&group.peer), group.against.as_ref()]
        .into_iter()
        .flatten()
    {
        ensure!(
            definition.peers.contains(peer),
            "the group `{name}` is about `{peer}`, which is not among the peers of the definition `{}`",
            definition.name
        );
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::definition::tests::fib;

    const PAIR: &str = r#"
        title = "heist over rayon"
        peer = "heist"
        against = "rayon"
        [[bar]]
        workers = 2
        at_most = 1.0
    "#;

    pub(crate) fn pair() -> Group {
        parse("pair", PAIR).unwrap()
    }

    fn fib_of(group: &str) -> Definition {
        Definition {
            group: Some(group.to_owned()),
            ..fib()
        }
    }

    #[test]
    fn a_definition_may_be_in_a_group_whose_peers_it_has() {
        assert!(check(&fib(), &[]).is_ok());
        assert!(check(&fib_of("pair"), &[pair()]).is_ok());
    }

    #[test]
    fn a_group_that_is_not_there_is_refused_with_its_name() {
        let error = check(&fib_of("pairs"), &[pair()]).unwrap_err();
        assert!(error.to_string().contains("`pairs`"), "{error}");
    }

    #[test]
    fn a_group_about_a_peer_that_does_not_run_is_refused() {
        let about_tbb = Group {
            against: Some("tbb".to_owned()),
            ..pair()
        };
        let error = check(&fib_of("pair"), &[about_tbb]).unwrap_err();
        assert!(error.to_string().contains("`tbb`"), "{error}");
    }

    #[test]
    fn a_group_is_against_a_peer_or_the_rivals() {
        let both = PAIR.replace("[[bar]]", "against_rivals = true\n[[bar]]");
        let neither = PAIR.replace("against = \"rayon\"", "");
        for text in [both, neither] {
            let error = parse("pair", &text).unwrap_err();
            assert!(error.to_string().contains("against_rivals"), "{error}");
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let error = parse("pair", &format!("colour = \"red\"\n{PAIR}")).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }

    #[test]
    fn the_committed_groups_fit_the_committed_definitions() {
        let bench = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let definitions = crate::definition::load(&bench.join("definitions")).unwrap();
        let groups = load(&bench.join("groups"), &definitions).unwrap();
        assert!(groups.iter().any(|group| group.name == "demos"));
    }
}
