//! A text that is worked off from its beginning, and may be cut.

use super::pattern::Pattern;

/// The rest of a text.
#[derive(Clone, Debug)]
pub(crate) struct Text<'ch> {
    pub(crate) rest: &'ch str,
    /// The number of bytes before it.
    pub(crate) at: usize,
}

impl<'ch> Text<'ch> {
    pub(crate) fn new(rest: &'ch str) -> Self {
        Self { rest, at: 0 }
    }

    /// Cuts the upper half off, if there is a place for it.
    pub(crate) fn split(&mut self, places: &impl Places) -> Option<Self> {
        let middle = floor_char_boundary(self.rest, self.rest.len() / 2);
        let place = places
            .first_behind(self.rest, middle)
            .filter(|&place| place < self.rest.len())
            .or_else(|| places.last_until(self.rest, middle))?;
        let lower = self.cut_front(place);
        Some(std::mem::replace(self, lower))
    }

    /// Cuts the beginning off: see [`front_len`](Self::front_len).
    #[inline]
    pub(crate) fn front(&mut self, budget: &mut usize, places: &impl Places) -> Self {
        let len = self.front_len(budget, places);
        self.cut_front(len.unwrap_or(self.rest.len()))
    }

    /// The first place after as many bytes as the budget allows, which it charges. `None` if that
    /// is all of the text.
    #[inline]
    pub(crate) fn front_len(&self, budget: &mut usize, places: &impl Places) -> Option<usize> {
        let place = match *budget {
            0 => Some(0),
            steps if steps >= self.rest.len() => None,
            steps => places.first_behind(self.rest, floor_char_boundary(self.rest, steps - 1)),
        };
        *budget -= place.unwrap_or(self.rest.len()).min(*budget);
        place
    }

    /// Cuts so many bytes off at the beginning.
    pub(crate) fn cut_front(&mut self, len: usize) -> Self {
        let (front, rest) = self.rest.split_at(len);
        let at = self.at;
        (self.rest, self.at) = (rest, at + len);
        Self { rest: front, at }
    }
}

/// The places where a text may be cut.
pub(crate) trait Places {
    /// The first place behind the character that begins at `from`, or behind a later one.
    fn first_behind(&self, text: &str, from: usize) -> Option<usize>;

    /// The last place before `until` or there, but not at the beginning.
    fn last_until(&self, text: &str, until: usize) -> Option<usize>;
}

/// Between any two characters.
pub(crate) struct Anywhere;

impl Places for Anywhere {
    #[inline]
    fn first_behind(&self, text: &str, from: usize) -> Option<usize> {
        end_of_char(text, from)
    }

    fn last_until(&self, _text: &str, until: usize) -> Option<usize> {
        (until > 0).then_some(until)
    }
}

/// Behind a character that matches.
pub(crate) struct Behind<'p, P>(pub(crate) &'p P);

impl<P: Pattern> Places for Behind<'_, P> {
    #[inline]
    fn first_behind(&self, text: &str, from: usize) -> Option<usize> {
        let found = from + self.0.find_in(&text[from..])?;
        end_of_char(text, found)
    }

    fn last_until(&self, text: &str, until: usize) -> Option<usize> {
        let found = self.0.rfind_in(&text[..until])?;
        end_of_char(text, found)
    }
}

/// Behind the character that begins there, if there is one.
#[inline]
fn end_of_char(text: &str, begin: usize) -> Option<usize> {
    let char = text[begin..].chars().next()?;
    Some(begin + char.len_utf8())
}

/// The last boundary between characters before `index` or there.
#[inline]
fn floor_char_boundary(text: &str, index: usize) -> usize {
    // At 0 there is one.
    let mut boundaries = (0..=index).rev().filter(|&i| text.is_char_boundary(i));
    boundaries.next().unwrap_or(0)
}
