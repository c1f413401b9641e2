//! Text, from characters and from pieces of text.

use std::borrow::Cow;
use std::collections::LinkedList;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use super::collections::from_empty;
use crate::driver::drive;
use crate::iter::consumer::Reduce;
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};

/// The texts of the parts that were joined, and the text of the present part.
type Texts = (LinkedList<String>, String);

impl ParallelExtend<char> for String {
    fn par_extend<I>(&mut self, iter: I)
    where
        I: IntoParallelIterator<Item = char>,
    {
        let push = |texts: &mut Texts, character| {
            texts.1.push(character);
            ControlFlow::Continue(())
        };
        let append = |(full, last): &mut Texts, mut upper: Texts| {
            if !upper.1.is_empty() {
                full.push_back(std::mem::replace(last, upper.1));
                full.append(&mut upper.0);
            }
        };
        let reduce = Reduce::new(&Texts::default, &push, &append);
        let (mut texts, last) = drive(iter.into_par_iter(), reduce).into_result();
        texts.push_back(last);
        self.reserve(texts.iter().map(Self::len).sum());
        self.extend(texts);
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
