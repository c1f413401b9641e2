//! The parts into which a file is cut, so that a large one is work for several threads and none
//! has to lie in memory as a whole.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use blake3::hazmat::{
    merge_subtrees_non_root, merge_subtrees_root, ChainingValue, HasherExt, Mode,
};

use super::totals::Totals;
use super::words::{is_in_word, WordTable};

/// The size of a part. A power of two of BLAKE3's chunks of a KiB, so that each part is a subtree
/// of the hash of its file.
pub(super) const PART_BYTES: u64 = 128 << 10;

/// A word that straddles the end of a part belongs to the next one, if it begins at most so far
/// before that end. A longer one is cut there.
const LOOK_BACK: u64 = 4 << 10;

/// The findings about one part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) words: u64,
    node: Node,
}

/// The contribution of a part to the hash of its file.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Whole(blake3::Hash),
    Subtree(ChainingValue),
}

/// The number of parts of a file of this size; also an empty one has a part.
pub(super) fn count(bytes: u64) -> usize {
    let parts = bytes.div_ceil(PART_BYTES).max(1);
    usize::try_from(parts).expect("a file has fewer parts than memory has bytes")
}

/// The hash of a file from its parts in order.
pub(super) fn hash<'a>(parts: impl Iterator<Item = &'a Part>) -> blake3::Hash {
    let mut nodes = Vec::new();
    for part in parts {
        match part.node {
            Node::Whole(hash) => return hash,
            Node::Subtree(node) => nodes.push(node),
        }
    }
    let (left, right) = nodes.split_at(left_subtree(nodes.len()));
    merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash)
}

fn subtree(nodes: &[ChainingValue]) -> ChainingValue {
    match nodes {
        [node] => *node,
        _ => {
            let (left, right) = nodes.split_at(left_subtree(nodes.len()));
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

/// How many of two or more parts are in the left subtree: the largest power of two that leaves
/// some.
fn left_subtree(parts: usize) -> usize {
    parts.next_power_of_two() / 2
}

/// The buffer and tables of one thread that reads parts one after the other.
#[derive(Default)]
pub(super) struct Reader {
    buffer: Vec<u8>,
    table: WordTable,
    pub(super) totals: Totals,
}

impl Reader {
    /// Reads and examines one of `parts` parts of a file.
    pub(super) fn read(&mut self, path: &Path, part: usize, parts: usize) -> io::Result<Part> {
        let is_last = part + 1 == parts;
        let begin = part as u64 * PART_BYTES;
        let before = if part == 0 { 0 } else { LOOK_BACK };
        let mut file = File::open(path)?;
        if part > 0 {
            file.seek(SeekFrom::Start(begin - before))?;
        }
        self.buffer.clear();
        file.take(before + PART_BYTES)
            .read_to_end(&mut self.buffer)?;
        let read = self.buffer.len() as u64;
        let least = match is_last {
            true => u64::from(part > 0),
            false => PART_BYTES,
        };
        if read < before + least {
            let why = "it became shorter while it was read";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        let text = &self.buffer[..];
        let first = before as usize;
        let begins = cut(text, first);
        let ends = if is_last {
            text.len()
        } else {
            cut(text, text.len())
        };
        self.table.clear();
        self.table.count(text, begins..ends);
        self.totals.add(text, &self.table);
        let mut hasher = blake3::Hasher::new();
        let node = match parts {
            1 => Node::Whole(hasher.update(text).finalize()),
            _ => {
                hasher.set_input_offset(begin).update(&text[first..]);
                Node::Subtree(hasher.finalize_non_root())
            }
        };
        Ok(Part {
            bytes: read - before,
            lines: self.table.lines(),
            words: self.table.words(),
            node,
        })
    }
}

/// Where the words before `end` end that do not straddle it.
fn cut(text: &[u8], end: usize) -> usize {
    let from = end.saturating_sub(LOOK_BACK as usize);
    let gap = text[from..end].iter().rposition(|&byte| !is_in_word(byte));
    gap.map_or(end, |gap| from + gap + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `text` part by part: all parts, and the summary of the words.
    fn read(text: &[u8]) -> (Vec<Part>, Totals) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        let parts = count(text.len() as u64);
        let mut reader = Reader::default();
        let read = (0..parts).map(|part| reader.read(file.path(), part, parts));
        (
            read.collect::<Result<_, _>>().expect("readable"),
            reader.totals,
        )
    }

    #[test]
    fn the_hash_of_the_parts_is_the_hash_of_the_file() {
        let mut random = fastrand::Rng::with_seed(3);
        let part = PART_BYTES as usize;
        for bytes in [
            0,
            1,
            part - 1,
            part,
            part + 1,
            2 * part,
            3 * part + 5,
            7 * part,
            8 * part,
        ] {
            let text: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
            let (parts, _) = read(&text);
            assert_eq!(hash(parts.iter()), blake3::hash(&text), "{bytes} bytes");
            assert_eq!(
                parts.iter().map(|part| part.bytes).sum::<u64>(),
                bytes as u64
            );
        }
    }

    #[test]
    fn words_and_lines_are_counted_once_wherever_the_file_is_cut() {
        let mut random = fastrand::Rng::with_seed(7);
        let text: Vec<u8> = (0..3 * PART_BYTES + 77)
            .map(|_| *random.choice(b"aB \n\xc3").expect("there are some"))
            .collect();
        let (parts, totals) = read(&text);
        let mut whole = WordTable::default();
        whole.count(&text, 0..text.len());
        assert_eq!(
            parts.iter().map(|part| part.words).sum::<u64>(),
            whole.words()
        );
        assert_eq!(
            parts.iter().map(|part| part.lines).sum::<u64>(),
            whole.lines()
        );
        let mut expected = Totals::default();
        expected.add(&text, &whole);
        assert_eq!(totals.summary(), expected.summary());
    }

    #[test]
    fn a_word_without_an_end_is_cut_where_the_part_ends() {
        let (parts, _) = read(&vec![b'w'; 2 * PART_BYTES as usize + 1]);
        let words: Vec<u64> = parts.iter().map(|part| part.words).collect();
        assert_eq!(words, [1, 1, 1]);
    }

    #[test]
    fn a_file_that_has_become_shorter_is_an_error() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), vec![0; PART_BYTES as usize + 1]).expect("written");
        let error = Reader::default()
            .read(file.path(), 1, 3)
            .expect_err("too short");
        assert!(error.to_string().contains("became shorter"), "{error}");
    }
}
