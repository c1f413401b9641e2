//! The counter of the words of a text, whole or in parts.
//!
//! A word is a maximal run of ASCII letters, digits and bytes from 0x80 on
//! (whatever is not ASCII counts as a letter), with ASCII letters lower-cased.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A text is counted in parts of about this size.
const PART_BYTES: usize = 64 << 10;

/// A table with more room than this is not used again: emptying it would cost
/// more than a small file does.
const ROOM_MAX: usize = 1 << 15;

/// The count of each word in the parts of one text counted so far.
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
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) count: u64,
    /// Where the word first occurs; there it may have capitals.
    first: Range<usize>,
}

/// The most frequent word; of several, the first in the order of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Top {
    pub(super) word: Vec<u8>,
    pub(super) count: u64,
}

impl WordTable {
    /// Adds the words and lines of a part of `text`, which no word may straddle.
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

    /// Adds what another table counted in other parts of the same text.
    pub(super) fn merge(&mut self, text: &[u8], other: &Self) {
        self.words += other.words;
        self.lines += other.lines;
        for entry in &other.entries {
            let word = &text[entry.first.clone()];
            let same = |mine: &Entry| {
                mine.hash == entry.hash && text[mine.first.clone()].eq_ignore_ascii_case(word)
            };
            self.entries
                .entry(entry.hash, same, |entry| entry.hash)
                .and_modify(|mine| mine.count += entry.count)
                .or_insert_with(|| entry.clone());
        }
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

    /// The most frequent word.
    pub(super) fn top(&self, text: &[u8]) -> Option<Top> {
        let count = self.entries.iter().map(|entry| entry.count).max()?;
        let words = self.entries.iter().filter(|entry| entry.count == count);
        let word = words
            .map(|entry| entry.word(text).to_ascii_lowercase())
            .min()?;
        Some(Top { word, count })
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

/// Cuts `text` into parts of about [`PART_BYTES`], for one thread to count one
/// after the other.
pub(super) fn parts(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        if from >= text.len() {
            return None;
        }
        let wanted = (from + PART_BYTES).min(text.len());
        let rest = text[wanted..].iter();
        let to = wanted + rest.take_while(|&&byte| is_in_word(byte)).count();
        let part = from..to;
        from = to;
        Some(part)
    })
}

/// The two halves of a part, cut between words; none if the part is small, or
/// hardly more than one word.
pub(super) fn halves(text: &[u8], part: Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    if part.len() < 2 * PART_BYTES {
        return None;
    }
    let middle = part.start + part.len() / 2;
    let cut = boundary(text, part.clone(), middle)?;
    Some((part.start..cut, cut..part.end))
}

/// The position inside `part` nearest after `wanted`, else nearest before it,
/// at which a cut divides no word.
fn boundary(text: &[u8], part: Range<usize>, wanted: usize) -> Option<usize> {
    let gap = |&at: &usize| !is_in_word(text[at]);
    let after = (wanted..part.end).find(gap);
    after
        .or_else(|| (part.start..wanted).rev().find(gap))
        .filter(|&cut| cut > part.start)
}

fn is_in_word(byte: u8) -> bool {
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

    #[test]
    fn of_equally_frequent_words_the_first_in_order_is_the_top() {
        let text = b"pear Apple pear apple fig";
        let top = counted(text).top(text).expect("there are words");
        assert_eq!(
            top,
            Top {
                word: b"apple".to_vec(),
                count: 2
            }
        );
    }

    #[test]
    fn a_text_without_words_has_no_top() {
        assert_eq!(counted(b"... \n").top(b"... \n"), None);
    }

    #[test]
    fn a_single_long_word_cannot_be_halved() {
        let word = vec![b'w'; 5 * PART_BYTES];
        assert_eq!(halves(&word, 0..word.len()), None);
        assert_eq!(parts(&word).next(), Some(0..word.len()));
    }

    #[test]
    fn a_long_text_is_halved_between_words() {
        let text = b"four".repeat(PART_BYTES);
        let mut text = text;
        text[10] = b' ';
        let (left, right) = halves(&text, 0..text.len()).expect("there is a gap");
        assert_eq!((left, right), (0..10, 10..text.len()));
    }

    proptest! {
        #[test]
        fn counting_agrees_with_the_naive_way(text in vec(any::<u8>(), 0..400)) {
            prop_assert_eq!(contents(&text, &counted(&text)), naive(&text));
        }

        #[test]
        fn counting_in_parts_into_several_tables_equals_counting_at_once(
            // Few different bytes, so that words repeat and cuts hit them.
            text in vec(prop_oneof![Just(b'a'), Just(b'B'), Just(b' '), Just(b'\n'), any::<u8>()], 0..600),
            cuts in vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let mut borders = vec![0, text.len()];
            for cut in cuts {
                if !text.is_empty() {
                    borders.extend(boundary(&text, 0..text.len(), cut.index(text.len())));
                }
            }
            borders.sort_unstable();
            let mut tables = [WordTable::default(), WordTable::default(), WordTable::default()];
            for (number, ends) in borders.windows(2).enumerate() {
                tables[number % 3].count(&text, ends[0]..ends[1]);
            }
            let [mut merged, second, third] = tables;
            merged.merge(&text, &second);
            merged.merge(&text, &third);
            prop_assert_eq!(contents(&text, &merged), naive(&text));
            prop_assert_eq!(merged.top(&text), counted(&text).top(&text));
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

    #[test]
    fn the_parts_of_a_text_cover_it_and_divide_no_word() {
        let mut random = fastrand::Rng::with_seed(5);
        let text: Vec<u8> = (0..5 * PART_BYTES).map(|_| random.u8(..)).collect();
        let mut table = WordTable::default();
        let mut end = 0;
        for part in parts(&text) {
            assert_eq!(part.start, end);
            end = part.end;
            table.count(&text, part);
        }
        assert_eq!(end, text.len());
        assert_eq!(contents(&text, &table), naive(&text));
    }
}
