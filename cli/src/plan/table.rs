//! A snapshot as one flat CSV table of nodes and jobs.

use anyhow::{bail, ensure, Context as _};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::snapshot::Snapshot;

/// The columns by what their cells are.
const TEXTS: [&str; 4] = ["id", "node", "priority", "mobility"];
const REALS: [&str; 6] = [
    "cpus",
    "used_cpus",
    "speed",
    "age_s",
    "running_s",
    "remaining_s",
];
const BYTES: [&str; 3] = ["memory_bytes", "used_memory_bytes", "state_bytes"];
const HISTORY: &str = "utilisation";
const RESOURCE: &str = "resources.";
const KIND: &str = "kind";

/// Reads the table. Each row becomes the object that it would be in JSON, so that both forms
/// are read by the same rules.
pub(super) fn read(text: &str) -> anyhow::Result<Snapshot> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let heads = reader.headers()?.clone();
    check_heads(&heads).context("the heads of the columns")?;
    let mut snapshot = Snapshot::default();
    for row in reader.records() {
        let row = row?;
        let line = row.position().map_or(0, csv::Position::line);
        add(&mut snapshot, &heads, &row).with_context(|| format!("line {line}"))?;
    }
    Ok(snapshot)
}

fn check_heads(heads: &csv::StringRecord) -> anyhow::Result<()> {
    let known = [&TEXTS[..], &REALS, &BYTES, &[HISTORY, KIND]].concat();
    for (index, head) in heads.iter().enumerate() {
        let is_resource = head
            .strip_prefix(RESOURCE)
            .is_some_and(|name| !name.is_empty());
        ensure!(
            is_resource || known.contains(&head),
            "unknown column '{head}', known are {} and {RESOURCE}NAME",
            known.join(", ")
        );
        let is_repeated = heads.iter().take(index).any(|earlier| earlier == head);
        ensure!(!is_repeated, "the column '{head}' occurs twice");
    }
    let has_kind = heads.iter().any(|head| head == KIND);
    ensure!(has_kind, "there is no column '{KIND}'");
    Ok(())
}

fn add(
    snapshot: &mut Snapshot,
    heads: &csv::StringRecord,
    row: &csv::StringRecord,
) -> anyhow::Result<()> {
    let mut kind = "";
    let mut object = Map::new();
    let mut resources = Map::new();
    for (head, cell) in heads.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
        let value = || value(head, cell).with_context(|| format!("column {head}"));
        if head == KIND {
            kind = cell;
        } else if let Some(name) = head.strip_prefix(RESOURCE) {
            resources.insert(name.to_owned(), value()?);
        } else {
            object.insert(head.to_owned(), value()?);
        }
    }
    if !resources.is_empty() {
        object.insert("resources".to_owned(), resources.into());
    }
    match kind {
        "node" => snapshot.nodes.push(entry(object)?),
        "job" => snapshot.jobs.push(entry(object)?),
        other => bail!("column {KIND}: '{other}' is neither node nor job"),
    }
    Ok(())
}

fn entry<T: DeserializeOwned>(object: Map<String, Value>) -> anyhow::Result<T> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        match path.as_str() {
            "." => anyhow::anyhow!("{inner}"),
            column => anyhow::anyhow!("column {column}: {inner}"),
        }
    })
}

/// A cell as the value that it would be in JSON.
fn value(head: &str, cell: &str) -> anyhow::Result<Value> {
    if TEXTS.contains(&head) {
        return Ok(cell.into());
    }
    if BYTES.contains(&head) {
        let bytes: Result<u64, _> = cell.parse();
        let accepted = || format!("'{cell}' is no whole number of bytes");
        return bytes.map(Value::from).with_context(accepted);
    }
    if head == HISTORY && cell.contains(';') {
        return cell.split(';').map(str::trim).map(real).collect();
    }
    real(cell)
}

fn real(cell: &str) -> anyhow::Result<Value> {
    let number: Option<f64> = cell.parse().ok().filter(|number: &f64| number.is_finite());
    number
        .map(Value::from)
        .with_context(|| format!("'{cell}' is no finite number"))
}
