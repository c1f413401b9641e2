//! The parallel iterators over a string.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::pattern::Pattern;
use super::text::{Anywhere, Behind, Text};
use crate::part::Part;

/// Iterators over a text, each of which may be cut at certain places, and gives certain items of
/// any piece between two of them. All steps are bytes.
macro_rules! text_iterators {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$param:ident> $pattern:ident)? -> $item:ty,
        cut $places:expr, |$text:ident| $items:expr;
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone)]
        #[must_use = "a parallel iterator does nothing until it is consumed"]
        pub struct $name<'ch $(, $param: Pattern)?> {
            text: Text<'ch>,
            $($pattern: Arc<$param>,)?
        }

        impl<'ch $(, $param: Pattern)?> $name<'ch $(, $param)?> {
            pub(super) fn new(text: &'ch str $(, $pattern: $param)?) -> Self {
                let text = Text::new(text);
                $(let $pattern = Arc::new($pattern);)?
                Self { text $(, $pattern)? }
            }
        }

        impl<'ch $(, $param: Pattern)?> Part for $name<'ch $(, $param)?> {
            type Output = $item;

            #[inline]
            fn steps(&self) -> usize {
                self.text.rest.len()
            }

            fn split(&mut self) -> Option<Self> {
                $(let $pattern = &self.$pattern;)?
                let text = self.text.split(&$places)?;
                Some(Self { text $(, $pattern: Arc::clone($pattern))? })
            }

            #[inline]
            fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
            where
                C: FnMut($item) -> ControlFlow<()>,
            {
                $(let $pattern = &self.$pattern;)?
                let $text = self.text.front(budget, &$places);
                $items.try_for_each(consume)
            }

            #[inline]
            fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
            where
                Op: FnMut(Folded, $item) -> Folded,
            {
                $(let $pattern = &self.$pattern;)?
                let $text = self.text.front(budget, &$places);
                $items.fold(init, op)
            }
        }

        debug_text!($name $($param)?);
    )* };
}

/// `Debug`, which shows the text that is left, and no closures.
macro_rules! debug_text {
    ($name:ident $($param:ident)?) => {
        impl$(<$param: Pattern>)? fmt::Debug for $name<'_ $(, $param)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("text", &self.text.rest)
                    .finish_non_exhaustive()
            }
        }
    };
}

text_iterators! {
    /// Characters: see [`par_chars`](super::ParallelString::par_chars).
    Chars -> char, cut Anywhere, |text| text.rest.chars();

    /// Characters and where they are: see
    /// [`par_char_indices`](super::ParallelString::par_char_indices).
    CharIndices -> (usize, char), cut Anywhere,
        |text| text.rest.char_indices().map(|(i, char)| (text.at + i, char));

    /// Bytes: see [`par_bytes`](super::ParallelString::par_bytes).
    Bytes -> u8, cut Anywhere, |text| text.rest.bytes();

    /// Units of UTF-16: see [`par_encode_utf16`](super::ParallelString::par_encode_utf16).
    EncodeUtf16 -> u16, cut Anywhere, |text| text.rest.encode_utf16();

    /// Pieces with their ends: see
    /// [`par_split_inclusive`](super::ParallelString::par_split_inclusive).
    SplitInclusive<P> separator -> &'ch str, cut Behind(&**separator),
        |text| separator.split_inclusive(text.rest);

    /// Pieces that have an end: see
    /// [`par_split_terminator`](super::ParallelString::par_split_terminator).
    SplitTerminator<P> terminator -> &'ch str, cut Behind(&**terminator),
        |text| terminator.split_terminator(text.rest);

    /// Lines: see [`par_lines`](super::ParallelString::par_lines).
    Lines -> &'ch str, cut Behind(&'\n'), |text| lines(text.rest);

    /// Words: see [`par_split_whitespace`](super::ParallelString::par_split_whitespace).
    SplitWhitespace -> &'ch str, cut Behind(&char::is_whitespace),
        // `split_whitespace` is the same, but takes 1.4 of the instructions in a `fold` here.
        |text| text.rest.split(char::is_whitespace).filter(|word| !word.is_empty());

    /// Words between white space of ASCII: see
    /// [`par_split_ascii_whitespace`](super::ParallelString::par_split_ascii_whitespace).
    SplitAsciiWhitespace -> &'ch str, cut Behind(&|char: char| char.is_ascii_whitespace()),
        |text| text.rest.split_ascii_whitespace();

    /// Characters that match: see [`par_matches`](super::ParallelString::par_matches).
    Matches<P> pattern -> &'ch str, cut Anywhere, |text| pattern.matches(text.rest);

    /// Characters that match, and where they are: see
    /// [`par_match_indices`](super::ParallelString::par_match_indices).
    MatchIndices<P> pattern -> (usize, &'ch str), cut Anywhere,
        |text| pattern.match_indices(text.rest).map(|(i, found)| (text.at + i, found));
}

/// As [`str::lines`], whose search the compiler leaves out of line here.
#[inline]
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut begin = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
    let has_end = text.is_empty() || text.ends_with('\n');
    let last = (!has_end).then_some(text.len());
    ends.chain(last).map(move |end| {
        let line = &text[begin..end];
        begin = end;
        let Some(line) = line.strip_suffix('\n') else {
            return line;
        };
        line.strip_suffix('\r').unwrap_or(line)
    })
}

/// Pieces between separators: see [`par_split`](super::ParallelString::par_split).
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Split<'ch, P: Pattern> {
    text: Text<'ch>,
    separator: Arc<P>,
    /// Whether the last piece is in here, which comes without a separator behind it and may be
    /// empty.
    has_last: bool,
}

debug_text!(Split P);

impl<'ch, P: Pattern> Split<'ch, P> {
    pub(super) fn new(text: &'ch str, separator: P) -> Self {
        Self {
            text: Text::new(text),
            separator: Arc::new(separator),
            has_last: true,
        }
    }

    /// Cuts off what the budget allows, and charges it.
    #[inline]
    fn front(&mut self, budget: &mut usize) -> Front<'ch> {
        let len = self.text.front_len(budget, &Behind(&*self.separator));
        if len.is_none() && std::mem::take(&mut self.has_last) {
            // Even if the text is empty, this was a step.
            *budget = budget.saturating_sub(1);
            return Front::WithLast(std::mem::take(&mut self.text.rest));
        }
        let len = len.unwrap_or(self.text.rest.len());
        Front::Ended(self.text.cut_front(len).rest)
    }
}

/// The first pieces of a text.
enum Front<'ch> {
    /// The last piece is among them, without a separator behind it.
    WithLast(&'ch str),
    /// Each has a separator behind it.
    Ended(&'ch str),
}

impl<'ch, P: Pattern> Part for Split<'ch, P> {
    type Output = &'ch str;

    #[inline]
    fn steps(&self) -> usize {
        self.text.rest.len() + usize::from(self.has_last)
    }

    fn split(&mut self) -> Option<Self> {
        let text = self.text.split(&Behind(&*self.separator))?;
        Some(Self {
            text,
            separator: Arc::clone(&self.separator),
            has_last: std::mem::take(&mut self.has_last),
        })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, consume: C) -> ControlFlow<()>
    where
        C: FnMut(&'ch str) -> ControlFlow<()>,
    {
        match self.front(budget) {
            Front::WithLast(text) => self.separator.split(text).try_for_each(consume),
            Front::Ended(text) => self.separator.split_terminator(text).try_for_each(consume),
        }
    }

    #[inline]
    fn run_fold<Folded, Op>(&mut self, budget: &mut usize, init: Folded, op: Op) -> Folded
    where
        Op: FnMut(Folded, &'ch str) -> Folded,
    {
        match self.front(budget) {
            Front::WithLast(text) => self.separator.split(text).fold(init, op),
            Front::Ended(text) => self.separator.split_terminator(text).fold(init, op),
        }
    }
}
