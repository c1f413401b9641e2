//! A text taken apart into lines, words and fields.

use std::fmt::Write;

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

pub(crate) struct StrSplit {
    text: String,
}

impl Demo for StrSplit {
    /// The longest line, the letters in words, and how many fields are empty.
    type Output = [usize; 3];

    fn new(request: &Request) -> Result<Self, String> {
        let mut text = String::new();
        for number in numbers(request.len("words")?) {
            let gap = [" ", "  ", "\t", ",", ",,", "\n"][(number >> 60) as usize % 6];
            // Numbers of one to nine digits are the words.
            let word = (number & 0xFFFF_FFFF) % 10u64.pow(1 + (number >> 32) as u32 % 9);
            write!(text, "{word}{gap}").map_err(|error| error.to_string())?;
        }
        Ok(Self { text })
    }

    fn serial(&self) -> Self::Output {
        [
            self.text.lines().map(str::len).max().unwrap_or(0),
            self.text.split_whitespace().map(str::len).sum(),
            self.text
                .split(',')
                .filter(|field| field.is_empty())
                .count(),
        ]
    }

    fn parallel(&self) -> Self::Output {
        let fields = self.text.par_split(',');
        [
            self.text.par_lines().map(str::len).max().unwrap_or(0),
            self.text.par_split_whitespace().map(str::len).sum(),
            fields.filter(|field| field.is_empty()).count(),
        ]
    }

    fn checksum(output: Self::Output) -> u64 {
        fingerprint(output.map(|number| number as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_see_the_same_lines_words_and_fields() {
        agreed::<StrSplit>("words=10000");
        let text = "ab,,c\nd  e,".to_owned();
        assert_eq!(StrSplit { text }.parallel(), [5, 8, 2]);
    }
}
