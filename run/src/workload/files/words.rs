//! The counter of the words of a text.
//!
//! A word is a maximal run of ASCII letters, digits and bytes from 0x80 on
//! (whatever is not ASCII counts as a letter), with ASCII letters lower-cased.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A table with more room than this is not used again: emptying it would cost
/// more than a small file does.
const ROOM_MAX: usize = 1 << 15;

/// The count of each word in one text.
///
/// The words are slices of the text, which each method is given again: a table
/// that outlives the text can be used for the next one.
#[derive(Default)]
pub(super) struct WordTable {
    entries: HashTable<Entry>,
    words: u64,
    lines: u64,
    /// The word being looked up, in lower case.
    lower: Vec<u8>,
}

/// One word and its count.
pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) count: u64,
    /// Where the word first occurs; there it may have capitals.
    first: Range<usize>,
}

impl WordTable {
    /// Adds the words and lines in `part` of the text.
    pub(super) fn count(&mut self, text: &[u8], part: Range<usize>) {
        let bytes = &text[part.clone()];
        self.lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let mut at = part.start;
        for word in bytes.split(|&byte| !is_in_word(byte)) {
            if !word.is_empty() {
                self.count_word(text, at..at + word.len());
            }
            at += word.len() + 1;
        }
    }

    fn count_word(&mut self, text: &[u8], word: Range<usize>) {
        self.words += 1;
        self.lower.clear();
        self.lower
            .extend(text[word.clone()].iter().map(u8::to_ascii_lowercase));
        let hash = hash(&self.lower);
        let same = |entry: &Entry| {
            entry.hash == hash && text[entry.first.clone()].eq_ignore_ascii_case(&self.lower)
        };
        self.entries
            .entry(hash, same, |entry| entry.hash)
            .or_insert(Entry {
                hash,
                count: 0,
                first: word,
            })
            .into_mut()
            .count += 1;
    }

    /// Makes the table ready for another text.
    pub(super) fn clear(&mut self) {
        if self.entries.capacity() > ROOM_MAX {
            self.entries = HashTable::new();
        } else {
            self.entries.clear();
        }
        self.words = 0;
        self.lines = 0;
    }

    /// The number of words counted.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// The number of line ends counted.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Every word once, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}

impl Entry {
    /// The word as it first occurs, perhaps with capitals.
    pub(super) fn word<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.first.clone()]
    }
}

/// True for the bytes that words consist of.
pub(super) fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The hash of a word in lower case.
fn hash(lower: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one(lower)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The contents of a table, in a form that can be compared.
    fn contents(text: &[u8], table: &WordTable) -> (u64, u64, BTreeMap<Vec<u8>, u64>) {
        let words = table
            .entries()
            .map(|entry| (entry.word(text).to_ascii_lowercase(), entry.count));
        (table.lines, table.words, words.collect())
    }

    fn counted(text: &[u8]) -> WordTable {
        let mut table = WordTable::default();
        table.count(text, 0..text.len());
        table
    }

    /// Words counted letter by letter, without slices, hashes and tables.
    fn naive(text: &[u8]) -> (u64, u64, BTreeMap<Vec<u8>, u64>) {
        let mut counts = BTreeMap::new();
        let (mut word, mut words) = (Vec::new(), 0);
        for &byte in text.iter().chain(b" ") {
            if byte.is_ascii_alphanumeric() || byte >= 128 {
                word.push(byte.to_ascii_lowercase());
            } else if !word.is_empty() {
                words += 1;
                *counts.entry(std::mem::take(&mut word)).or_default() += 1;
            }
        }
        let lines = text.iter().filter(|&&byte| byte == 10).count() as u64;
        (lines, words, counts)
    }

    #[test]
    fn capitals_and_bytes_beyond_ascii_are_parts_of_words() {
        let text = "Größe größe GRÖSSE x2 X2,x-2\n".as_bytes();
        let (lines, words, counts) = contents(text, &counted(text));
        assert_eq!((lines, words), (1, 7));
        assert_eq!(counts["größe".as_bytes()], 2);
        assert_eq!(counts["grÖsse".as_bytes()], 1, "only ASCII is lower-cased");
        assert_eq!(counts[&b"x2"[..]], 2);
    }

    proptest! {
        #[test]
        fn counting_agrees_with_the_naive_way(text in vec(any::<u8>(), 0..400)) {
            prop_assert_eq!(contents(&text, &counted(&text)), naive(&text));
        }

        #[test]
        fn a_table_that_was_used_before_counts_like_a_new_one(
            before in vec(any::<u8>(), 0..200),
            text in vec(any::<u8>(), 0..200),
        ) {
            let mut table = counted(&before);
            table.clear();
            table.count(&text, 0..text.len());
            prop_assert_eq!(contents(&text, &table), naive(&text));
        }
    }
}
