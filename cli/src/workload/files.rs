//! Hashes every file of a folder and counts its lines and words.
//!
//! A file is read into a reused buffer, its hash and its word table are computed, and the table is
//! added to the totals of the worker that read the file. The totals are divided into shards by the
//! hash of the word, so that merging them at the end is parallel work as well.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use indicatif::HumanCount;

use self::totals::{Summary, Totals};
use self::words::WordTable;
use super::contract::{Fact, Flag, Profile, Setup, Skipped, Workload};
use super::join::join_each;
use crate::strategy::{Bag, Pieces, Serial};

mod totals;
mod walk;
mod words;

/// Files above this size are split into parts by the stealing form.
const SPLIT_BYTES: usize = 1 << 20;

pub(crate) struct Files {
    root: PathBuf,
    found: walk::Found,
}

impl Workload for Files {
    const PROFILE: Profile = Profile {
        name: "files",
        about: "BLAKE3 hash, lines and words of every file in a folder (--input, default: the current one); folders marked by a CACHEDIR.TAG, such as Cargo's target, are left out",
        size: None,
        flags: &[Flag::Input],
    };

    type Scratch = Vec<Slot>;
    type Output = Output;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let root = setup.input.clone().unwrap_or_else(|| PathBuf::from("."));
        let found = walk::find(&root)?;
        Ok(Self { root, found })
    }

    fn input(&self) -> String {
        let count = HumanCount(self.found.files.len() as u64);
        format!("{count} files in {}", self.root.display())
    }

    fn fresh(&self) -> Vec<Slot> {
        self.found.files.iter().map(|_| None).collect()
    }

    fn serial(&self, mut slots: Vec<Slot>, serial: &mut Serial<'_>) -> Output {
        let mut reader = Reader::default();
        for (index, slot) in slots.iter_mut().enumerate() {
            serial.item(
                || self.name(index),
                || *slot = Some(self.read(index, &mut reader)),
            );
        }
        let shards = reader.totals.into_shards();
        let tree = shards
            .into_iter()
            .fold(Summary::default(), |tree, shard| tree.plus(shard.summary()));
        Output::new(slots, tree)
    }

    fn bagged(&self, mut slots: Vec<Slot>, bag: &mut Bag<'_>) -> io::Result<Output> {
        let readers = bag.run(
            slots.iter_mut().enumerate().collect(),
            |(index, _)| self.name(*index),
            |(index, slot), reader: &mut Reader, _| *slot = Some(self.read(index, reader)),
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
        let shared = Shared::new(heist::current_num_threads());
        join_each(&mut slots, &|index, slot| {
            let read = || *slot = Some(self.read_splitting(index, &shared, pieces));
            pieces.item(|| self.name(index), read);
        });
        let totals = shared
            .workers
            .into_iter()
            .map(|kept| kept.into_inner().expect(UNPOISONED).totals);
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

/// The slot for the findings about one file, filled by the run.
type Slot = Option<Result<FileFacts, String>>;

/// Findings about one file.
#[derive(PartialEq)]
pub(crate) struct FileFacts {
    bytes: u64,
    lines: u64,
    words: u64,
    top: Option<words::Top>,
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
        let filled = |slot: Slot| slot.expect("every file was visited");
        Self {
            files: slots.into_iter().map(filled).collect(),
            tree,
        }
    }
}

/// The buffers and tables of one thread that reads files one after the other.
#[derive(Default)]
struct Reader {
    buffer: Vec<u8>,
    table: WordTable,
    totals: Totals,
}

/// The buffers and tables of the workers of a pool, each with its own, so that no core gets data
/// from the cache of another.
///
/// A worker that waits for a part of one file may read another meanwhile, so buffers and tables
/// belong to files: a file takes some that its worker does not use, and returns them. No lock is
/// held across a join, and none is contended.
struct Shared {
    workers: Vec<Mutex<Kept>>,
}

/// The tools of one worker.
#[derive(Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    tables: Vec<WordTable>,
    totals: Totals,
}

impl Shared {
    fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// The tools of the present worker.
    fn mine(&self) -> MutexGuard<'_, Kept> {
        let worker = heist::current_thread_index().expect("files are read on workers");
        self.workers[worker].lock().expect(UNPOISONED)
    }

    fn buffer(&self) -> Vec<u8> {
        self.mine().buffers.pop().unwrap_or_default()
    }

    fn table(&self) -> WordTable {
        self.mine().tables.pop().unwrap_or_default()
    }

    fn recycle(&self, mut table: WordTable) {
        table.clear();
        self.mine().tables.push(table);
    }
}

impl Files {
    fn name(&self, index: usize) -> String {
        let path = &self.found.files[index];
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Reads and examines a file.
    fn read(&self, index: usize, reader: &mut Reader) -> Result<FileFacts, String> {
        self.load(index, &mut reader.buffer)?;
        reader.table.clear();
        count_in_parts(&mut reader.table, &reader.buffer);
        reader.totals.add(&reader.buffer, &reader.table);
        let hash = blake3::hash(&reader.buffer);
        Ok(facts(&reader.buffer, &reader.table, hash))
    }

    /// [`read`](Self::read), with the parts of a large file in parallel.
    fn read_splitting(
        &self,
        index: usize,
        shared: &Shared,
        pieces: Pieces<'_>,
    ) -> Result<FileFacts, String> {
        let mut buffer = shared.buffer();
        let facts = self.load(index, &mut buffer).map(|()| {
            let (hash, table) = if buffer.len() <= SPLIT_BYTES {
                let mut table = shared.table();
                count_in_parts(&mut table, &buffer);
                (blake3::hash(&buffer), table)
            } else {
                // The parts have the name of the file, and so are drawn in its colour.
                let name = || self.name(index);
                heist::join(
                    || pieces.item(name, || blake3::hash(&buffer)),
                    || count_joined(&buffer, shared, pieces, &name),
                )
            };
            shared.mine().totals.add(&buffer, &table);
            let facts = facts(&buffer, &table, hash);
            shared.recycle(table);
            facts
        });
        shared.mine().buffers.push(buffer);
        facts
    }

    fn load(&self, index: usize, buffer: &mut Vec<u8>) -> Result<(), String> {
        buffer.clear();
        let mut read = || File::open(&self.found.files[index])?.read_to_end(buffer);
        read().map(|_| ()).map_err(|error| error.to_string())
    }
}

fn facts(text: &[u8], table: &WordTable, hash: blake3::Hash) -> FileFacts {
    FileFacts {
        bytes: text.len() as u64,
        lines: table.lines(),
        words: table.words(),
        top: table.top(text),
        hash,
    }
}

/// Counts the words of a file part by part, which stays in the cache.
fn count_in_parts(table: &mut WordTable, text: &[u8]) {
    for part in words::parts(text) {
        table.count(text, part);
    }
}

/// Counts the words of a large file by halving it at word boundaries.
///
/// A part takes any table of this file that is not in use, and returns it. So there are never more
/// tables than parts counted at the same time, and only that many have to be merged.
fn count_joined(
    text: &[u8],
    shared: &Shared,
    pieces: Pieces<'_>,
    name: &(impl Fn() -> String + Sync),
) -> WordTable {
    fn halve(text: &[u8], part: Range<usize>, count: &(impl Fn(Range<usize>) + Sync)) {
        match words::halves(text, part.clone()) {
            Some((left, right)) => {
                heist::join(|| halve(text, left, count), || halve(text, right, count));
            }
            None => count(part),
        }
    }
    let unused = Mutex::new(Vec::new());
    halve(text, 0..text.len(), &|part| {
        let table = unused.lock().expect(UNPOISONED).pop();
        let mut table: WordTable = table.unwrap_or_else(|| shared.table());
        pieces.item(name, || table.count(text, part));
        unused.lock().expect(UNPOISONED).push(table);
    });
    let mut tables = unused.into_inner().expect(UNPOISONED).into_iter();
    let mut merged = tables.next().unwrap_or_default();
    for table in tables {
        merged.merge(text, &table);
        shared.recycle(table);
    }
    merged
}
