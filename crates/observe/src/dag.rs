//! The DAG that a process writes when `HEIST_DAG` is set, as it is read back.
//!
//! The process writes it by hand, so that no program carries a JSON library for it. Fields that
//! this reader does not know are left out.

use std::error::Error;
use std::fmt;

use heist_event::dag::{Dag, Node};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::syntax;

/// The most workers of a pool, many times over.
const WORKERS_MAX: usize = 1 << 20;

/// The most that the number of a site can tell apart.
const SITES_MAX: usize = 1 << 16;

/// Whether a text begins as a DAG does.
///
/// # Examples
///
/// ```
/// assert!(heist_observe::dag::is_in(r#"{"heist_dag": 1}"#));
/// assert!(!heist_observe::dag::is_in(r#"{"heist_profile": 1}"#));
/// ```
#[must_use]
pub fn is_in(text: &str) -> bool {
    let begin = text.trim_start().strip_prefix('{');
    begin.is_some_and(|begin| begin.trim_start().starts_with("\"heist_dag\""))
}

/// Reads the text of a DAG.
///
/// # Errors
///
/// Fails if the text is no DAG, is one of another version, or if it has a value that cannot be; the
/// error says which.
///
/// # Examples
///
/// ```
/// let text = r#"{"heist_dag": 1, "workers": 2, "wall_ns": 90, "outside_ns": 5, "dropped_ns": 0,
///     "sites": [{"name": "app::sum", "kind": "join"}],
///     "nodes": [[0, 10, 10], [0, 30, 30, 1], [0, 40, 40, 1], [0, 0, 0, 2, 3]], "edges": []}"#;
/// let dag = heist_observe::dag::parse(text)?;
/// assert_eq!(dag.span(), Some(50));
/// # Ok::<(), heist_observe::dag::DagError>(())
/// ```
pub fn parse(text: &str) -> Result<Dag, DagError> {
    let version: Version = serde_json::from_str(text).map_err(|error| {
        let why = syntax::fault(text, &error);
        DagError(format!("it is no DAG of heist: {why}"))
    })?;
    match version.heist_dag {
        None => return Err(DagError("it has no field `heist_dag`".to_owned())),
        Some(version) if version.as_u64() != Some(u64::from(Dag::VERSION)) => {
            let read = Dag::VERSION;
            let why = format!("it has version {version}, and this heist reads version {read}");
            return Err(DagError(why));
        }
        Some(_) => {}
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let file: File = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| DagError(syntax::in_field(&error)))?;
    file.check().map_err(DagError)
}

/// The reason why a text cannot be used as a DAG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DagError(String);

impl fmt::Display for DagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for DagError {}

#[derive(serde::Deserialize)]
struct Version {
    heist_dag: Option<serde_json::Value>,
}

#[derive(serde::Deserialize)]
struct File {
    #[serde(default)]
    heist: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    pid: u32,
    workers: usize,
    wall_ns: u64,
    outside_ns: u64,
    dropped_ns: u64,
    sites: Vec<Site>,
    nodes: Vec<Read>,
    edges: Vec<(u32, u32)>,
}

#[derive(serde::Deserialize)]
struct Site {
    name: String,
    kind: String,
}

impl File {
    /// The DAG, if its numbers make one.
    fn check(self) -> Result<Dag, String> {
        if self.workers > WORKERS_MAX {
            let workers = self.workers;
            return Err(format!(
                "workers: {workers}; accepted is at most {WORKERS_MAX}"
            ));
        }
        if self.sites.len() > SITES_MAX {
            let sites = self.sites.len();
            return Err(format!(
                "sites: {sites} of them; accepted is at most {SITES_MAX}"
            ));
        }
        if self.outside_ns > self.wall_ns {
            let Self {
                outside_ns: outside,
                wall_ns: wall,
                ..
            } = self;
            return Err(format!(
                "outside_ns: {outside}; accepted is at most wall_ns, {wall}"
            ));
        }
        let mut work = 0_i64;
        for (n, Read(node)) in self.nodes.iter().enumerate() {
            let wrong = |what: &str| format!("nodes[{n}]: {what}");
            if usize::from(node.site) >= self.sites.len() {
                let sites = self.sites.len();
                return Err(wrong(&format!("site {} of {sites}", node.site)));
            }
            if node.work < 0 || !(0..=node.work).contains(&node.span) {
                let Node { work, span, .. } = node;
                return Err(wrong(&format!(
                    "work {work} and span {span}; accepted is 0 <= span <= work"
                )));
            }
            work = work
                .checked_add(node.work)
                .ok_or_else(|| wrong("all work together is more than a number can hold"))?;
        }
        let dag = Dag {
            heist: self.heist,
            command: self.command,
            pid: self.pid,
            workers: self.workers,
            wall_ns: self.wall_ns,
            outside_ns: self.outside_ns,
            dropped_ns: self.dropped_ns,
            sites: (self.sites.into_iter())
                .map(|site| (site.name, site.kind))
                .collect(),
            nodes: self.nodes.into_iter().map(|Read(node)| node).collect(),
            edges: self.edges,
        };
        match dag.order() {
            Some(_) => Ok(dag),
            None => Err("some node comes before itself, or before or behind none".to_owned()),
        }
    }
}

/// A node, which is written as a list of three to five numbers.
struct Read(Node);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of a site, work, span, and up to two nodes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let short = |len| de::Error::invalid_length(len, &self);
                let node = Node {
                    site: list.next_element()?.ok_or_else(|| short(0))?,
                    work: list.next_element()?.ok_or_else(|| short(1))?,
                    span: list.next_element()?.ok_or_else(|| short(2))?,
                    before: [
                        list.next_element()?.unwrap_or(0),
                        list.next_element()?.unwrap_or(0),
                    ],
                };
                match list.next_element::<de::IgnoredAny>()? {
                    None => Ok(node),
                    Some(_) => Err(short(6)),
                }
            }
        }
        from.deserialize_seq(List).map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(sites: &str, nodes: &str, edges: &str) -> String {
        format!(
            r#"{{"heist_dag": 1, "workers": 1, "wall_ns": 1, "outside_ns": 0, "dropped_ns": 0,
                "sites": [{sites}], "nodes": [{nodes}], "edges": [{edges}]}}"#
        )
    }

    #[test]
    fn a_dag_is_read_as_it_is_written() {
        let strand = |work, before| Node {
            site: 1,
            work,
            span: work / 2,
            before,
        };
        let dag = Dag {
            heist: "0".to_owned(),
            command: vec!["a \"b\"\n".to_owned()],
            pid: 7,
            workers: 3,
            wall_ns: 90,
            outside_ns: 8,
            dropped_ns: 2,
            sites: vec![
                ("root".to_owned(), "root".to_owned()),
                ("f".to_owned(), "join".to_owned()),
            ],
            nodes: vec![strand(8, [0, 0]), strand(9, [1, 0]), strand(0, [1, 2])],
            edges: vec![(1, 3), (2, 3)],
        };
        let mut text = Vec::new();
        dag.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(parse(&text), Ok(dag));
    }

    #[test]
    fn a_file_that_is_no_dag_is_refused_with_the_place() {
        let site = r#"{"name": "f", "kind": "join"}"#;
        for (text, why) in [
            (String::new(), "it is empty"),
            ("{".to_owned(), "cut off"),
            ("{}".to_owned(), "no field `heist_dag`"),
            (r#"{"heist_dag": 2}"#.to_owned(), "version 2"),
            (r#"{"heist_dag": 1}"#.to_owned(), "workers"),
            (file("", "[0, 1, 1]", ""), "nodes[0]: site 0 of 0"),
            (file(site, "[0, 1, 2]", ""), "0 <= span <= work"),
            (file(site, "[0, -1, -1]", ""), "0 <= span <= work"),
            (file(site, "[0, 1]", ""), "nodes[0]"),
            (file(site, "[0, 1, 1, 0, 0, 0]", ""), "nodes[0]"),
            (file(site, "[0, 1, 1, 1]", ""), "before itself"),
            (file(site, "[0, 1, 1, 9]", ""), "before itself"),
            (file(site, "[0, 1, 1]", "[1, 2]"), "before itself"),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let many = file(site, "[0, 1, 1]", "").replace("\"workers\": 1", "\"workers\": 1000000000");
        let error = parse(&many).unwrap_err().to_string();
        assert!(error.contains("accepted is at most 1048576"), "{error}");
        let sites = vec![site; SITES_MAX + 1].join(",");
        let error = parse(&file(&sites, "", "")).unwrap_err().to_string();
        assert!(error.contains("accepted is at most 65536"), "{error}");
        assert!(parse(&file(&sites[site.len() + 1..], "", "")).is_ok());
        let outside = file(site, "", "").replace(r#""outside_ns": 0"#, r#""outside_ns": 2"#);
        let error = parse(&outside).unwrap_err().to_string();
        let told = "outside_ns: 2; accepted is at most wall_ns, 1";
        assert!(error.contains(told), "{error}");
        let most = i64::MAX;
        let nodes = format!("[0, {most}, 0], [0, {most}, 0]");
        let error = parse(&file(site, &nodes, "")).unwrap_err().to_string();
        assert!(error.contains("nodes[1]"), "{error}");
    }
}
