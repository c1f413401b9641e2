//! The command line.

use anyhow::{bail, Result};
use clap::Parser;

use crate::definition::Definition;
use crate::peer::Peer;

/// Runs the benchmark. Without options: every workload, every peer, one and two workers.
#[derive(Debug, Parser)]
#[command(name = "heist-bench")]
pub(crate) struct Args {
    /// Run only these workloads: files in `definitions/`, or in `groups/` for a whole group
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Run only these peers (names of folders in `peers/`) and their serial baselines
    #[arg(long, value_name = "PEER", value_delimiter = ',')]
    pub(crate) peers: Vec<String>,
    /// How often every peer runs every workload [default: 5, with --quick 2]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Small sizes: about two minutes for everything, for a first look only
    #[arg(long)]
    pub(crate) quick: bool,
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) workers: Vec<u32>,
    /// Seed of the order of peers within a round
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep a dated record in `record/`, named after the machine unless NAME is given
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", value_parser = record_name)]
    pub(crate) record: Option<String>,
}

impl Args {
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// The definitions that `--only` names, by themselves or by their group, or all.
    pub(crate) fn choose_workloads(&self, all: Vec<Definition>) -> Result<Vec<Definition>> {
        let names_of = |each: &Definition| [Some(each.name.clone()), each.group.clone()];
        let mut names: Vec<String> = all.iter().flat_map(names_of).flatten().collect();
        names.sort();
        names.dedup();
        check("--only", "workload", &self.only, &names)?;
        let is_named = |each: &Definition| {
            let mut names = names_of(each).into_iter().flatten();
            names.any(|name| self.only.contains(&name))
        };
        let mut chosen = all;
        chosen.retain(|each| self.only.is_empty() || is_named(each));
        Ok(chosen)
    }

    /// The peers that `--peers` names with their baselines, or all.
    pub(crate) fn choose_peers(&self, all: Vec<Peer>) -> Result<Vec<Peer>> {
        let names: Vec<String> = all.iter().map(|each| each.name.clone()).collect();
        check("--peers", "peer", &self.peers, &names)?;
        let mut wanted = self.peers.clone();
        for peer in all.iter().filter(|each| self.peers.contains(&each.name)) {
            wanted.extend(peer.baseline.clone());
        }
        let mut chosen = all;
        chosen.retain(|each| wanted.is_empty() || wanted.contains(&each.name));
        Ok(chosen)
    }
}

/// A record's name is part of a file name.
fn record_name(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("a record's name takes letters, digits, `-`, `_` and `.`".to_owned())
    }
}

/// Every chosen name must be known.
fn check(option: &str, what: &str, chosen: &[String], known: &[String]) -> Result<()> {
    match chosen.iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => bail!(
            "{option} names no {what}: `{name}`; known: {}",
            known.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::fib;

    fn parse(words: &[&str]) -> Args {
        Args::try_parse_from([&["heist-bench"], words].concat()).unwrap()
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let args = parse(&["--only", "fib,uts", "--workers", "1,2"]);
        assert_eq!(args.only, ["fib", "uts"]);
        assert_eq!(args.workers, [1, 2]);
    }

    #[test]
    fn a_workload_is_chosen_by_its_name_or_by_its_group() {
        let in_group = Definition {
            name: "life".to_owned(),
            group: Some("demos".to_owned()),
            ..fib()
        };
        let all = vec![fib(), in_group];
        let chosen = |words: &[&str]| -> Vec<String> {
            let chosen = parse(words).choose_workloads(all.clone()).unwrap();
            chosen.into_iter().map(|each| each.name).collect()
        };
        assert_eq!(chosen(&["--only", "demos"]), ["life"]);
        assert_eq!(chosen(&["--only", "fib"]), ["fib"]);
        assert_eq!(chosen(&[]), ["fib", "life"]);
    }

    #[test]
    fn a_quick_run_has_fewer_rounds() {
        assert!(parse(&["--quick"]).rounds() < parse(&[]).rounds());
        assert_eq!(parse(&["--quick", "--rounds", "7"]).rounds(), 7);
    }

    #[test]
    fn a_record_may_have_a_name_that_fits_into_a_file_name() {
        assert_eq!(parse(&[]).record, None);
        assert_eq!(parse(&["--record"]).record.as_deref(), Some(""));
        assert_eq!(
            parse(&["--record", "quiet-2"]).record.as_deref(),
            Some("quiet-2")
        );
        assert!(Args::try_parse_from(["heist-bench", "--record", "a/b"]).is_err());
    }

    #[test]
    fn no_workers_at_all_are_refused() {
        assert!(Args::try_parse_from(["heist-bench", "--workers", "0"]).is_err());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let known = ["fib".to_owned(), "uts".to_owned()];
        let error = check("--only", "workload", &["fob".to_owned()], &known).unwrap_err();
        assert!(
            error.to_string().contains("`fob`; known: fib, uts"),
            "{error}"
        );
    }
}
