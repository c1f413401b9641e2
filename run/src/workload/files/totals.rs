//! The words of all files together, in shards that can be merged in parallel.

use std::ops::Range;

use hashbrown::HashTable;

use super::words::WordTable;

/// The shard of a word is named by six bits of its hash.
const SHARDS: usize = 64;

/// The count of each word in all parts of files that one worker has read.
pub(super) struct Totals {
    shards: Vec<Shard>,
}

impl Default for Totals {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Self { shards }
    }
}

/// The words whose hash names this shard.
#[derive(Default)]
pub(super) struct Shard {
    entries: HashTable<Entry>,
    /// The words one after the other, in lower case: one allocation for all.
    letters: Vec<u8>,
}

struct Entry {
    hash: u64,
    count: u64,
    letters: Range<usize>,
}

/// Findings about the words of some shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) distinct: u64,
    pub(super) top: Option<Top>,
}

/// The most frequent word; of several, the first in the order of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Top {
    pub(super) word: Vec<u8>,
    pub(super) count: u64,
}

impl Totals {
    /// Adds the words of a text.
    pub(super) fn add(&mut self, text: &[u8], table: &WordTable) {
        for entry in table.entries() {
            // The top bits choose the place inside a table, and the bottom ones
            // where the search begins; the middle is free.
            let shard = (entry.hash >> 32) as usize % SHARDS;
            self.shards[shard].add(entry.hash, entry.word(text), entry.count);
        }
    }

    /// The findings about all words.
    pub(super) fn summary(&self) -> Summary {
        let shards = self.shards.iter().map(Shard::summary);
        shards.fold(Summary::default(), Summary::plus)
    }

    /// The first shards of all, the second shards of all, and so on.
    pub(super) fn transpose(all: impl Iterator<Item = Self>) -> Vec<Vec<Shard>> {
        let mut transposed: Vec<Vec<Shard>> = (0..SHARDS).map(|_| Vec::new()).collect();
        for totals in all {
            for (row, shard) in transposed.iter_mut().zip(totals.shards) {
                row.push(shard);
            }
        }
        transposed
    }
}

/// Merges shards of the same number, and sums them up.
pub(super) fn merge(mut shards: Vec<Shard>) -> Summary {
    // The fewest words move when all go to the largest.
    shards.sort_by_key(|shard| shard.entries.len());
    let Some(mut merged) = shards.pop() else {
        return Summary::default();
    };
    for shard in shards {
        for entry in &shard.entries {
            merged.add(
                entry.hash,
                &shard.letters[entry.letters.clone()],
                entry.count,
            );
        }
    }
    merged.summary()
}

impl Shard {
    fn add(&mut self, hash: u64, word: &[u8], count: u64) {
        let letters = &mut self.letters;
        let same = |entry: &Entry| {
            entry.hash == hash && letters[entry.letters.clone()].eq_ignore_ascii_case(word)
        };
        if let Some(entry) = self.entries.find_mut(hash, same) {
            entry.count += count;
            return;
        }
        let begin = letters.len();
        letters.extend(word.iter().map(u8::to_ascii_lowercase));
        let letters = begin..letters.len();
        let entry = Entry {
            hash,
            count,
            letters,
        };
        self.entries.insert_unique(hash, entry, |entry| entry.hash);
    }

    /// The findings about the words of this shard.
    fn summary(&self) -> Summary {
        let word = |entry: &Entry| &self.letters[entry.letters.clone()];
        let top = self
            .entries
            .iter()
            .max_by(|a, b| a.count.cmp(&b.count).then_with(|| word(b).cmp(word(a))));
        Summary {
            distinct: self.entries.len() as u64,
            top: top.map(|entry| Top {
                word: word(entry).to_vec(),
                count: entry.count,
            }),
        }
    }
}

impl Summary {
    /// Merges these findings with those about other words, all of which must differ from these.
    pub(super) fn plus(self, other: Self) -> Self {
        let distinct = self.distinct + other.distinct;
        let top = [self.top, other.top]
            .into_iter()
            .flatten()
            .max_by(|a, b| a.count.cmp(&b.count).then_with(|| b.word.cmp(&a.word)));
        Self { distinct, top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(totals: &mut Totals, text: &[u8]) {
        let mut table = WordTable::default();
        table.count(text, 0..text.len());
        totals.add(text, &table);
    }

    #[test]
    fn totals_of_two_workers_merge_into_those_of_one() {
        let texts: [&[u8]; 3] = [b"The the cat", b"a CAT and a dog", b"dog 17 dog"];
        let [mut one, mut left, mut right] = [(); 3].map(|()| Totals::default());
        for (number, text) in texts.iter().enumerate() {
            add(&mut one, text);
            add(if number == 1 { &mut left } else { &mut right }, text);
        }
        let merged = Totals::transpose([left, right].into_iter());
        let merged = merged
            .into_iter()
            .map(merge)
            .fold(Summary::default(), Summary::plus);
        let expected = Top {
            word: b"dog".to_vec(),
            count: 3,
        };
        assert_eq!(
            merged,
            Summary {
                distinct: 6,
                top: Some(expected)
            }
        );
        assert_eq!(merged, one.summary());
    }

    #[test]
    fn of_equally_frequent_words_the_first_in_order_wins_across_shards() {
        let mut totals = Totals::default();
        let words: Vec<String> = (0..300).map(|number| format!("w{number:03}")).collect();
        add(&mut totals, words.join(" ").as_bytes());
        let summary = totals.summary();
        assert_eq!(summary.distinct, 300);
        assert_eq!(summary.top.expect("there are words").word, b"w000");
    }
}
