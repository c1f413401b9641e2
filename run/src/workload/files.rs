//! Hashes every file of a folder and counts its lines and words.
//!
//! A file is read in parts: each is hashed, its words are counted, and its word table is added to
//! the totals of the worker that read it. A file of several parts makes a task of each, so that
//! work makes work. The totals are divided into shards by the hash of the word, so that merging
//! them at the end is parallel work as well.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use indicatif::{BinaryBytes, HumanCount};

use self::part::{Part, Reader};
use self::totals::{Summary, Totals};
use super::contract::{Fact, Flag, Profile, Setup, Skipped, Workload};
use super::join::join_each;
use crate::strategy::{Bag, Pieces, Serial};

mod part;
mod totals;
mod walk;
mod words;

pub(crate) struct Files {
    root: PathBuf,
    found: walk::Found,
}

impl Workload for Files {
    const PROFILE: Profile = Profile {
        name: "files",
        about: "BLAKE3 hash, lines and words of every file in a folder (--input, default: the current one); folders marked by a CACHEDIR.TAG, such as Cargo's target, are left out",
        tasks: "a file, 128 KiB of one that is larger, or a 64th of merging the words",
        size: None,
        flags: &[Flag::Input],
    };

    type Scratch = Vec<Slot>;
    type Output = Output;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let root = setup.input.clone().unwrap_or_else(|| PathBuf::from("."));
        let found = walk::find(&root)?;
        let is_empty = found.bytes == 0 && found.skipped.is_empty();
        anyhow::ensure!(
            !is_empty,
            "there is nothing to read in {} (--input accepts a folder with files)",
            root.display()
        );
        Ok(Self { root, found })
    }

    fn input(&self) -> String {
        let files = self.found.files.len();
        let plural = if files == 1 { "" } else { "s" };
        format!(
            "{} file{plural} of {} in {}",
            HumanCount(files as u64),
            BinaryBytes(self.found.bytes),
            self.root.display()
        )
    }

    fn fresh(&self) -> Vec<Slot> {
        self.found.files.iter().map(|_| Slot::new()).collect()
    }

    fn serial(&self, mut slots: Vec<Slot>, serial: &mut Serial<'_>) -> Output {
        let mut reader = Reader::default();
        for (index, slot) in slots.iter_mut().enumerate() {
            let Some(parts) = self.open(index, slot) else {
                continue;
            };
            for (part, place) in slot.iter_mut().enumerate() {
                serial.item(
                    || self.name(index),
                    || *place = Some(self.read(index, part, parts, &mut reader)),
                );
            }
        }
        Output::new(slots, reader.totals.summary())
    }

    fn bagged(&self, mut slots: Vec<Slot>, bag: &mut Bag<'_>) -> io::Result<Output> {
        let readers = bag.run(
            slots.iter_mut().enumerate().map(Task::file).collect(),
            |task| self.name(task.index),
            |task, reader: &mut Reader, push| self.step(task, reader, push),
        )?;
        let shards = Totals::transpose(readers.into_iter().map(|reader| reader.totals));
        let parts = bag.run(
            shards,
            |_| "merging totals".to_owned(),
            |shards, tree: &mut Summary, _| {
                *tree = std::mem::take(tree).plus(totals::merge(shards));
            },
        )?;
        let tree = parts.into_iter().fold(Summary::default(), Summary::plus);
        Ok(Output::new(slots, tree))
    }

    fn stealing(&self, mut slots: Vec<Slot>, pieces: Pieces<'_>) -> Output {
        let readers: Readers = (0..heist::current_num_threads())
            .map(|_| Mutex::default())
            .collect();
        join_each(&mut slots, &|index, slot| {
            let Some(parts) = self.open(index, slot) else {
                return;
            };
            join_each(slot, &|part, place| {
                let read = || *place = Some(self.read_on_worker(index, part, parts, &readers));
                pieces.item(|| self.name(index), read);
            });
        });
        let totals = readers
            .into_iter()
            .map(|reader| reader.into_inner().expect(UNPOISONED).totals);
        let mut shards: Vec<_> = Totals::transpose(totals)
            .into_iter()
            .map(|shards| (shards, Summary::default()))
            .collect();
        join_each(&mut shards, &|_, (shards, summary)| {
            let merge = || *summary = totals::merge(std::mem::take(shards));
            pieces.item(|| "merging totals".to_owned(), merge);
        });
        let summaries = shards.into_iter().map(|(_, summary)| summary);
        Output::new(slots, summaries.fold(Summary::default(), Summary::plus))
    }

    fn facts(&self, output: &Output) -> Vec<Fact> {
        let read = || output.files.iter().flatten();
        let bytes: u64 = read().map(|file| file.bytes).sum();
        let lines: u64 = read().map(|file| file.lines).sum();
        let words: u64 = read().map(|file| file.words).sum();
        let largest = read().map(|file| file.bytes).max().unwrap_or(0);
        let mut tree_hash = blake3::Hasher::new();
        for file in read() {
            tree_hash.update(file.hash.as_bytes());
        }
        let (top_word, top_count) = match &output.tree.top {
            Some(top) => (String::from_utf8_lossy(&top.word).into_owned(), top.count),
            None => (String::new(), 0),
        };
        vec![
            Fact::new("files", read().count()),
            Fact::new("bytes", bytes),
            Fact::new("largest_file_bytes", largest),
            Fact::new("lines", lines),
            Fact::new("words", words),
            Fact::new("distinct_words", output.tree.distinct),
            Fact::new("top_word", top_word),
            Fact::new("top_word_count", top_count),
            Fact::new("symlinks_not_followed", self.found.symlinks),
            Fact::new("cache_folders_not_entered", self.found.caches),
            Fact::new("hash", tree_hash.finalize().to_string()),
        ]
    }

    fn skipped(&self, output: &Output) -> Vec<Skipped> {
        let failed = self
            .found
            .files
            .iter()
            .zip(&output.files)
            .filter_map(|(path, file)| {
                let reason = file.as_ref().err()?.clone();
                let what = path.display().to_string();
                Some(Skipped { what, reason })
            });
        self.found.skipped.iter().cloned().chain(failed).collect()
    }
}

const UNPOISONED: &str = "nothing that holds this lock can panic";

/// The place for the findings about one file: one for each of its parts, filled by the run.
type Slot = Vec<Option<Result<Part, String>>>;

/// The tools of each worker. One reads a part without waiting for anything, so it may hold its lock
/// meanwhile, and none is contended.
type Readers = Vec<Mutex<Reader>>;

/// A task of a bag.
struct Task<'a> {
    /// Of the file.
    index: usize,
    kind: TaskKind<'a>,
}

enum TaskKind<'a> {
    /// A whole file, perhaps to be cut.
    File(&'a mut Slot),
    /// One of several parts: its number, how many there are, and the place for the findings.
    Part(usize, usize, &'a mut Option<Result<Part, String>>),
}

impl<'a> Task<'a> {
    fn file((index, slot): (usize, &'a mut Slot)) -> Self {
        let kind = TaskKind::File(slot);
        Self { index, kind }
    }
}

/// Findings about one file.
#[derive(PartialEq)]
pub(crate) struct FileFacts {
    bytes: u64,
    lines: u64,
    words: u64,
    hash: blake3::Hash,
}

/// Findings about all files, in the order of their paths.
#[derive(PartialEq)]
pub(crate) struct Output {
    /// An error where the file could not be read.
    files: Vec<Result<FileFacts, String>>,
    tree: Summary,
}

impl Output {
    fn new(slots: Vec<Slot>, tree: Summary) -> Self {
        Self {
            files: slots.into_iter().map(whole).collect(),
            tree,
        }
    }
}

/// The findings about a file from those about its parts.
fn whole(slot: Slot) -> Result<FileFacts, String> {
    let filled = |part: Option<_>| part.expect("every part was visited");
    let parts: Vec<Part> = slot.into_iter().map(filled).collect::<Result<_, _>>()?;
    let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum();
    Ok(FileFacts {
        bytes: sum(|part| part.bytes),
        lines: sum(|part| part.lines),
        words: sum(|part| part.words),
        hash: part::hash(parts.iter()),
    })
}

impl Files {
    fn name(&self, index: usize) -> String {
        let path = &self.found.files[index];
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Makes places for the parts of a file, and says how many they are; none if it is not there.
    fn open(&self, index: usize, slot: &mut Slot) -> Option<usize> {
        match std::fs::metadata(&self.found.files[index]) {
            Ok(metadata) => {
                slot.resize(part::count(metadata.len()), None);
                Some(slot.len())
            }
            Err(error) => {
                slot.push(Some(Err(error.to_string())));
                None
            }
        }
    }

    fn read(
        &self,
        index: usize,
        part: usize,
        parts: usize,
        reader: &mut Reader,
    ) -> Result<Part, String> {
        let read = reader.read(&self.found.files[index], part, parts);
        read.map_err(|error| error.to_string())
    }

    fn read_on_worker(
        &self,
        index: usize,
        part: usize,
        parts: usize,
        readers: &Readers,
    ) -> Result<Part, String> {
        let worker = heist::current_thread_index().expect("files are read on workers");
        let mut reader = readers[worker].lock().expect(UNPOISONED);
        self.read(index, part, parts, &mut reader)
    }

    /// Does a task of a bag. A file of several parts pushes a task for each.
    fn step<'a>(&self, task: Task<'a>, reader: &mut Reader, push: &mut Vec<Task<'a>>) {
        let index = task.index;
        match task.kind {
            TaskKind::File(slot) => match (self.open(index, slot), &mut slot[..]) {
                (None, _) => {}
                (Some(parts), [place]) => *place = Some(self.read(index, 0, parts, reader)),
                (Some(parts), places) => {
                    let places = places.iter_mut().enumerate();
                    push.extend(places.map(|(part, place)| Task {
                        index,
                        kind: TaskKind::Part(part, parts, place),
                    }));
                }
            },
            TaskKind::Part(part, parts, place) => {
                *place = Some(self.read(index, part, parts, reader));
            }
        }
    }
}
