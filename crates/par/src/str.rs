//! Parallel iterators over strings.

mod iter;
mod pattern;
pub(crate) mod text;

pub use iter::{
    Bytes, CharIndices, Chars, EncodeUtf16, Lines, MatchIndices, Matches, Split,
    SplitAsciiWhitespace, SplitInclusive, SplitTerminator, SplitWhitespace,
};
pub use pattern::Pattern;

/// The parallel versions of methods of `str`; each has an example.
///
/// Texts are cut between characters, near the middle, and where pieces are asked for, between them.
/// A [`Pattern`] is a `char`, a slice or an array of them, or a closure that tells whether a
/// `char` matches.
pub trait ParallelString {
    /// The string itself.
    fn as_parallel_string(&self) -> &str;

    /// Gives the characters.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("straße".par_chars().filter(|c| !c.is_ascii()).count(), 1);
    /// ```
    fn par_chars(&self) -> Chars<'_> {
        Chars::new(self.as_parallel_string())
    }

    /// Gives the characters, each with the index of its first byte.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let places: Vec<_> = "äöü".par_char_indices().collect();
    /// assert_eq!(places, [(0, 'ä'), (2, 'ö'), (4, 'ü')]);
    /// ```
    fn par_char_indices(&self) -> CharIndices<'_> {
        CharIndices::new(self.as_parallel_string())
    }

    /// Gives the bytes. Those of one character are given by one worker; if that does not matter,
    /// `as_bytes().par_iter()` can do more.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("abc".par_bytes().map(u32::from).sum::<u32>(), 97 + 98 + 99);
    /// ```
    fn par_bytes(&self) -> Bytes<'_> {
        Bytes::new(self.as_parallel_string())
    }

    /// Gives the string in UTF-16. Both halves of a character are given by one worker.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let units: Vec<u16> = "a𝄞".par_encode_utf16().collect();
    /// assert_eq!(units, [0x61, 0xd834, 0xdd1e]);
    /// ```
    fn par_encode_utf16(&self) -> EncodeUtf16<'_> {
        EncodeUtf16::new(self.as_parallel_string())
    }

    /// Gives what lies between characters that match.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let fields: Vec<_> = "a:b::c:".par_split(':').collect();
    /// assert_eq!(fields, ["a", "b", "", "c", ""]);
    /// ```
    fn par_split<P: Pattern>(&self, separator: P) -> Split<'_, P> {
        Split::new(self.as_parallel_string(), separator)
    }

    /// As [`par_split`](Self::par_split), with the character that matched at the end of each piece.
    /// Nothing comes after the last.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let sentences: Vec<_> = "Go. Stop!".par_split_inclusive(['.', '!']).collect();
    /// assert_eq!(sentences, ["Go.", " Stop!"]);
    /// ```
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> SplitInclusive<'_, P> {
        SplitInclusive::new(self.as_parallel_string(), separator)
    }

    /// As [`par_split`](Self::par_split), without the empty piece at the end if the last character
    /// matches.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let commands: Vec<_> = "open;read;close;".par_split_terminator(';').collect();
    /// assert_eq!(commands, ["open", "read", "close"]);
    /// ```
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> SplitTerminator<'_, P> {
        SplitTerminator::new(self.as_parallel_string(), terminator)
    }

    /// Gives the lines, without their ends, which are `\n` or `\r\n`.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let lengths: Vec<_> = "one\r\nthree\n".par_lines().map(str::len).collect();
    /// assert_eq!(lengths, [3, 5]);
    /// ```
    fn par_lines(&self) -> Lines<'_> {
        Lines::new(self.as_parallel_string())
    }

    /// Gives the words: what lies between white space, which is never empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("  to be\tor not\nto be ".par_split_whitespace().count(), 6);
    /// ```
    fn par_split_whitespace(&self) -> SplitWhitespace<'_> {
        SplitWhitespace::new(self.as_parallel_string())
    }

    /// As [`par_split_whitespace`](Self::par_split_whitespace), where only the white space of ASCII
    /// counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let words: Vec<_> = "10\u{a0}km away".par_split_ascii_whitespace().collect();
    /// assert_eq!(words, ["10\u{a0}km", "away"]);
    /// ```
    fn par_split_ascii_whitespace(&self) -> SplitAsciiWhitespace<'_> {
        SplitAsciiWhitespace::new(self.as_parallel_string())
    }

    /// Gives the characters that match, each as a string.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// assert_eq!("a1b22".par_matches(char::is_numeric).collect::<Vec<_>>(), ["1", "2", "2"]);
    /// ```
    fn par_matches<P: Pattern>(&self, pattern: P) -> Matches<'_, P> {
        Matches::new(self.as_parallel_string(), pattern)
    }

    /// Gives the characters that match, each as a string and with the index of its first byte.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let commas: Vec<_> = "a,b,c".par_match_indices(',').map(|(i, _)| i).collect();
    /// assert_eq!(commas, [1, 3]);
    /// ```
    fn par_match_indices<P: Pattern>(&self, pattern: P) -> MatchIndices<'_, P> {
        MatchIndices::new(self.as_parallel_string(), pattern)
    }
}

impl ParallelString for str {
    #[inline]
    fn as_parallel_string(&self) -> &str {
        self
    }
}
