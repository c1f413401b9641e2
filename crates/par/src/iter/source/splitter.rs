//! `split`: pieces of data that a closure knows how to split.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::iter::adaptor::debug_without_closures;
use crate::part::Part;

/// So many pieces at most, if each can be split in two.
const PIECES_MAX: usize = 1024;

/// So many of them may stay in one if no worker is hungry.
const TOGETHER: usize = 16;

/// Gives pieces of `data`, made by splitting it again and again: `splitter` makes two of one, in
/// their order, or gives it back with `None` if it is not worth splitting.
///
/// It is split into some dozens of pieces, and up to a thousand if workers are hungry.
///
/// # Examples
///
/// ```
/// use heist::iter::split;
/// use heist::prelude::*;
///
/// let words: Vec<&str> = (0..300).map(|_| "word").collect();
/// let pieces = split(&words[..], |piece| match piece.len() {
///     0..=20 => (piece, None),
///     len => (&piece[..len / 2], Some(&piece[len / 2..])),
/// });
/// assert_eq!(pieces.map(|piece| piece.len()).sum::<usize>(), 300);
/// ```
pub fn split<D, S>(data: D, splitter: S) -> Split<D, S>
where
    D: Send,
    S: Fn(D) -> (D, Option<D>) + Sync,
{
    Split {
        data: vec![Piece {
            data,
            wanted: PIECES_MAX,
        }],
        splitter: Arc::new(splitter),
    }
}

/// Pieces of data: see [`split`].
#[derive(Clone)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct Split<D, S> {
    /// The pieces that are left, the last first.
    data: Vec<Piece<D>>,
    splitter: Arc<S>,
}

debug_without_closures!(Split<D; S> { data });

/// A piece that may be split.
#[derive(Clone, Debug)]
struct Piece<D> {
    data: D,
    /// Into how many it may be split; 1 if it is to stay whole.
    wanted: usize,
}

impl<D, S> Split<D, S>
where
    S: Fn(D) -> (D, Option<D>),
{
    /// Puts the piece, or what it was split into, in the place of the first.
    fn push_split(&mut self, Piece { data, wanted }: Piece<D>) {
        let (lower, upper) = (self.splitter)(data);
        let wanted = match upper {
            Some(_) => wanted / 2,
            None => 1,
        };
        let upper = upper.map(|data| Piece { data, wanted });
        let lower = Piece {
            data: lower,
            wanted,
        };
        self.data.extend(upper);
        self.data.push(lower);
    }
}

impl<D, S> Part for Split<D, S>
where
    D: Send,
    S: Fn(D) -> (D, Option<D>) + Sync + Send,
{
    type Output = D;

    #[inline]
    fn steps(&self) -> usize {
        self.data.iter().map(|piece| piece.wanted).sum()
    }

    fn split(&mut self) -> Option<Self> {
        if let [Piece { wanted: 2.., .. }] = self.data[..] {
            let piece = self.data.pop()?;
            self.push_split(piece);
        }
        let lower = self.data.split_off(self.data.len() / 2);
        let data = std::mem::replace(&mut self.data, lower);
        let splitter = Arc::clone(&self.splitter);
        (!data.is_empty()).then_some(Self { data, splitter })
    }

    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(D) -> ControlFlow<()>,
    {
        while *budget > 0 {
            let Some(piece) = self.data.pop() else {
                break;
            };
            if piece.wanted > TOGETHER {
                self.push_split(piece);
            } else {
                *budget -= 1;
                consume(piece.data)?;
            }
        }
        ControlFlow::Continue(())
    }
}
