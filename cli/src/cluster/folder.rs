//! The folders of runs: where they are, and what lies in them.
//!
//! | file | what |
//! |---|---|
//! | `run.json` | how the run was begun |
//! | `jobs.toml` | a copy of the job file |
//! | `events.jsonl` | what happened, a line each; `events.1.jsonl` is the part before it |
//! | `store/` | the jobs, with their checkpoints and results |
//! | `calls.jsonl` | the results of calls, a line each |
//! | `slurm/` | what the nodes of Slurm share, while a run uses them |

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use heist_run::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::backend::BackendArgs;
use super::job_file::JobFile;

/// How many names are tried before giving up on a free one.
const NAMES_MAX: u32 = 10_000;

/// The folder of a run.
#[derive(Clone, Debug)]
pub(super) struct RunFolder(PathBuf);

/// How a run was begun: `run.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    /// Where relative paths of the job file begin.
    base: PathBuf,
    #[serde(flatten)]
    chosen: BackendArgs,
}

/// The result of a call, as recorded.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallResult {
    /// Which `[[call]]`, from 0.
    pub(super) call: usize,
    /// Which of its repetitions, from 0.
    pub(super) repetition: u32,
    pub(super) result: Value,
}

impl RunFolder {
    /// A new folder for a run of the job file at `job_file`: the one that was asked for, or
    /// one named after the time.
    pub(super) fn create(
        wanted: Option<&Path>,
        job_file: &Path,
        text: &str,
        chosen: BackendArgs,
    ) -> anyhow::Result<Self> {
        let folder = match wanted {
            Some(path) => {
                let is_free = !path.exists()
                    || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
                if !is_free {
                    return Err(Usage(format!(
                        "{} is there already and not an empty folder; name a new one, or go on \
                         with a run there with --resume",
                        path.display()
                    ))
                    .into());
                }
                private()
                    .recursive(true)
                    .create(path)
                    .with_context(|| format!("cannot make the folder {}", path.display()))?;
                path.to_owned()
            }
            None => named_after_now(&home()?)?,
        };
        let folder = Self(std::path::absolute(folder)?);
        let job_file = std::path::absolute(job_file)?;
        let base = job_file.parent().unwrap_or(&job_file).to_owned();
        let begun = Begun { base, chosen };
        folder.write("jobs.toml", text)?;
        folder.write("run.json", &serde_json::to_string(&begun)?)?;
        Ok(folder)
    }

    /// The folder of a run that was begun before, with its job file and its backend.
    pub(super) fn open(path: &Path) -> anyhow::Result<(Self, JobFile, BackendArgs)> {
        let read = |name: &str| {
            fs::read_to_string(path.join(name)).map_err(|error| {
                Usage(format!(
                    "{} is not the folder of a run: cannot read {name} there: {error}",
                    path.display()
                ))
            })
        };
        let begun: Begun = serde_json::from_str(&read("run.json")?)
            .with_context(|| format!("cannot understand {}", path.join("run.json").display()))?;
        let name = path.join("jobs.toml");
        let job_file = JobFile::parse(
            &read("jobs.toml")?,
            &name.display().to_string(),
            &begun.base,
        )?;
        let folder = Self(std::path::absolute(path)?);
        Ok((folder, job_file, begun.chosen))
    }

    /// The folder at `path`, or that of the run in the usual place that has written an event last.
    /// The folder must have its events.
    pub(super) fn of_run(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            return newest(&home()?);
        };
        if !path.join("events.jsonl").is_file() {
            return Err(Usage(format!(
                "{} is not the folder of a run: there is no events.jsonl in it",
                path.display()
            ))
            .into());
        }
        Ok(Self(std::path::absolute(path)?))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    pub(super) fn events(&self) -> PathBuf {
        self.0.join("events.jsonl")
    }

    /// The name of the run.
    pub(super) fn name(&self) -> String {
        let name = self.0.file_name().unwrap_or(self.0.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// The folder that the nodes of Slurm share, unless the job file names another one.
    pub(super) fn shared(&self) -> PathBuf {
        self.0.join("slurm")
    }

    /// True if a lost driver had jobs in Slurm, which continue without it.
    pub(super) fn has_left_jobs(&self) -> bool {
        self.shared().exists()
    }

    /// Removes the folder shared with the nodes of Slurm, which have no jobs of the run left.
    pub(super) fn end_sharing(&self) {
        // If it stays, the next driver asks Slurm in vain for the jobs there.
        let _ = fs::remove_dir_all(self.shared());
    }

    /// Notes the result of a call.
    pub(super) fn keep(&self, result: &CallResult) -> anyhow::Result<()> {
        let path = self.0.join("calls.jsonl");
        let mut line = serde_json::to_string(result)?;
        line.push('\n');
        private_file()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .with_context(|| format!("cannot write to {}", path.display()))
    }

    /// The recorded results of calls. A torn last line is removed, so that the next one starts a
    /// line; a line that cannot be parsed is skipped.
    pub(super) fn call_results(&self) -> anyhow::Result<Vec<CallResult>> {
        let path = self.0.join("calls.jsonl");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            fs::OpenOptions::new()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_len(whole as u64))
                .with_context(|| format!("cannot mend {}", path.display()))?;
        }
        let lines = text[..whole].lines();
        Ok(lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.0.join(name);
        private_file()
            .write(true)
            .truncate(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The folder of runs: in the user's state folder, so that `heist cluster top` finds them from
/// anywhere.
fn home() -> Result<PathBuf, Usage> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let state = state.ok_or_else(|| {
        Usage(
            "neither XDG_STATE_HOME nor HOME is an absolute path, so there is no usual place for \
             the folders of runs; name one"
                .to_owned(),
        )
    })?;
    Ok(state.join("heist").join("runs"))
}

/// Creates folders that only this user can read.
fn private() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// The same for files, as the folder may have been there before.
fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

fn named_after_now(home: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
    let now = jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S").to_string();
    for number in 1..=NAMES_MAX {
        let folder = home.join(match number {
            1 => now.clone(),
            number => format!("{now}-{number}"),
        });
        match private().create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make {}", folder.display()))
            }
        }
    }
    anyhow::bail!("cannot find a free name for a run in {}", home.display())
}

/// The run that has written an event last.
fn newest(home: &Path) -> anyhow::Result<RunFolder> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let events = fs::metadata(entry.path().join("events.jsonl")).ok()?;
        Some((events.modified().ok()?, entry.path()))
    });
    match found.max() {
        Some((_, path)) => Ok(RunFolder(path)),
        None => Err(Usage(format!(
            "there is no run in {}; name the folder of one",
            home.display()
        ))
        .into()),
    }
}
