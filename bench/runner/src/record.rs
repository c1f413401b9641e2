//! The dated record of a run: the report, and beside it every sample as a line
//! of JSON.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::report::Report;

/// A sample with what it belongs to.
#[derive(Serialize)]
struct Line<'a> {
    workload: &'a str,
    peer: &'a str,
    workers: u32,
    round: u32,
    foreign_s: f64,
    wall_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    samples: &'a [heist_bench_workloads::Sample],
}

/// Writes `YYYY-MM-DD-NAME.md` and `.jsonl` and returns the former; an earlier
/// record of the day is never overwritten.
pub(crate) fn keep(folder: &Path, name: &str, report: &Report<'_>, text: &str) -> Result<PathBuf> {
    let name = if name.is_empty() {
        report.machine.short_name()
    } else {
        name.to_owned()
    };
    let date = jiff::Zoned::now().date();
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let stem = free_stem(folder, &format!("{date}-{name}"))?;

    let path = folder.join(format!("{stem}.md"));
    let writing = || format!("cannot write {}", path.display());
    fs::write(&path, format!("# {date}: {name}\n\n{text}")).with_context(writing)?;

    let raw = folder.join(format!("{stem}.jsonl"));
    let writing = || format!("cannot write {}", raw.display());
    let mut file = std::io::BufWriter::new(fs::File::create(&raw).with_context(writing)?);
    for run in report.runs {
        let line = Line {
            workload: &run.workload,
            peer: &run.peer,
            workers: run.workers,
            round: run.round,
            foreign_s: run.foreign_s,
            wall_s: run.wall_s,
            failure: run.failure.as_deref(),
            samples: &run.samples,
        };
        writeln!(file, "{}", serde_json::to_string(&line)?).with_context(writing)?;
    }
    file.flush().with_context(writing)?;
    Ok(path)
}

/// `wanted`, or with a number behind it the first that no record has.
fn free_stem(folder: &Path, wanted: &str) -> Result<String> {
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    let mut stems = std::iter::once(wanted.to_owned()).chain(numbered);
    stems
        .find(|stem| !folder.join(format!("{stem}.md")).exists())
        .context("there is no free name for a record")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_never_takes_the_name_of_an_earlier_one() {
        let folder =
            std::env::temp_dir().join(format!("heist-bench-record-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(free_stem(&folder, "day-name").unwrap(), "day-name");
        fs::write(folder.join("day-name.md"), "").unwrap();
        assert_eq!(free_stem(&folder, "day-name").unwrap(), "day-name-2");
        fs::remove_dir_all(&folder).unwrap();
    }
}
