//! Text, from characters and from pieces of text.

use std::borrow::Cow;
use std::collections::LinkedList;
use std::ffi::{OsStr, OsString};
use std::mem;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::str;
use std::sync::Arc;

use super::collections::from_empty;
use crate::driver::{drive, Consumer};
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use crate::part::Part;

/// The texts of the parts that were joined, and the text of the present part.
#[derive(Default)]
struct Texts {
    full: LinkedList<String>,
    last: String,
}

impl Consumer<char> for Texts {
    #[inline]
    fn consume(&mut self, character: char) -> ControlFlow<()> {
        self.last.push(character);
        ControlFlow::Continue(())
    }

    /// Puts characters of ASCII down in an array first, since `push` writes three words for each.
    #[inline]
    fn take_grain<P>(&mut self, part: &mut P, budget: &mut usize) -> ControlFlow<()>
    where
        P: Part<Output = char>,
    {
        let (text, mut ascii, mut len) = (&mut self.last, [0; ASCII_LEN], 0);
        let flow = part.run(budget, |character| {
            match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => {
                    ascii[len] = byte;
                    len += 1;
                    if len == ASCII_LEN {
                        push_ascii(text, &ascii);
                        len = 0;
                    }
                }
                _ => {
                    push_ascii(text, &ascii[..len]);
                    len = 0;
                    text.push(character);
                }
            }
            ControlFlow::Continue(())
        });
        push_ascii(text, &ascii[..len]);
        flow
    }

    fn split(&mut self, _lower_len: Option<usize>) -> Self {
        Self::default()
    }

    fn merge(&mut self, mut upper: Self) {
        if !upper.last.is_empty() {
            let before = mem::replace(&mut self.last, upper.last);
            self.full.push_back(before);
            self.full.append(&mut upper.full);
        }
    }
}

const ASCII_LEN: usize = 128;

#[inline(never)]
fn push_ascii(text: &mut String, ascii: &[u8]) {
    text.push_str(str::from_utf8(ascii).expect("it is ASCII"));
}

impl ParallelExtend<char> for String {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = char>,
    {
        let Texts { mut full, last } = drive(iter.into_par_iter(), Texts::default());
        full.push_back(last);
        self.reserve(full.iter().map(Self::len).sum());
        self.extend(full);
    }
}

impl<'a> ParallelExtend<&'a char> for String {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = &'a char>,
    {
        self.par_extend(iter.into_par_iter().copied());
    }
}

macro_rules! extend {
    ($([$($params:tt)*] $text:ty: $item:ty;)*) => { $(
        impl<$($params)*> ParallelExtend<$item> for $text {
            fn par_extend<I>(&mut self, iter: I)
            where
                I: IntoParallelIterator<Item = $item>,
            {
                let pieces = iter.into_par_iter().collect_vec_list();
                self.reserve(pieces.iter().flatten().map(|piece| piece.len()).sum());
                self.extend(pieces.into_iter().flatten());
            }
        }
    )* };
}

extend! {
    ['a] String: &'a str;
    [] String: String;
    [] String: Box<str>;
    ['a] String: Cow<'a, str>;
    ['a] OsString: &'a OsStr;
    [] OsString: OsString;
    ['a] OsString: Cow<'a, OsStr>;
}

from_empty! {
    [] String: char;
    ['a] String: &'a char;
    ['a] String: &'a str;
    [] String: String;
    [] String: Box<str>;
    ['a] String: Cow<'a, str>;
    ['a] OsString: &'a OsStr;
    [] OsString: OsString;
    ['a] OsString: Cow<'a, OsStr>;
}

macro_rules! from_string {
    ($($text:ty),*) => { $(
        impl<T: Send> FromParallelIterator<T> for $text
        where
            String: FromParallelIterator<T>,
        {
            fn from_par_iter<I>(iter: I) -> Self
            where
                I: IntoParallelIterator<Item = T>,
            {
                String::from_par_iter(iter).into()
            }
        }
    )* };
}

from_string!(Box<str>, Rc<str>, Arc<str>);
