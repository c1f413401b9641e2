//! A file in two halves, of which one is always whole, whenever its writer is killed.
//!
//! The writer fills the halves in turns. Each begins with a line that says the version of this
//! form, the number of the writing (its *generation*), the length of the text behind it, and a
//! checksum of both. A half that was not written to its end has a wrong checksum; the other one is
//! whole then, since it is not touched meanwhile.
//!
//! ```
//! use heist_event::halves::{self, HALF};
//!
//! let mut file = vec![0; 2 * HALF];
//! for generation in 1..=3 {
//!     let (at, bytes) = halves::half(generation, "some text").expect("it is short");
//!     file[at..at + bytes.len()].copy_from_slice(&bytes);
//! }
//! assert_eq!(halves::newest(&file), Ok((3, "some text")));
//! ```

use std::error::Error;
use std::fmt;
use std::str;

/// The room of a half, in bytes.
pub const HALF: usize = 1 << 20;

/// The version of this form.
const VERSION: u64 = 1;

const MAGIC: &str = "heist-live";

/// The longest first line: the words with numbers of 20 digits at most.
const HEAD_MAX: usize = 100;

/// The reason why there is no text in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// Neither half begins as one does.
    Foreign,
    /// It was written in another version of the form.
    Version(u64),
    /// No half is whole. The writer has written both while the file was read, or somebody else has
    /// changed it.
    NotWhole,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(f, "it does not begin with \"{MAGIC}\""),
            Self::Version(version) => write!(
                f,
                "its form has version {version}, and this program reads version {VERSION}; use the \
                 heist of the program that wrote it"
            ),
            Self::NotWhole => f.write_str("neither of its halves is whole"),
        }
    }
}

impl Error for Unreadable {}

/// The half with this text: the place in the file where it goes, and its bytes. `None` if there is
/// no room for it.
#[must_use]
pub fn half(generation: u64, text: &str) -> Option<(usize, Vec<u8>)> {
    let (length, sum) = (text.len(), checksum(generation, text.as_bytes()));
    let head = format!("{MAGIC} {VERSION} {generation} {length} {sum:016x}\n");
    let bytes = [head.as_bytes(), text.as_bytes()].concat();
    let at = if generation % 2 == 0 { 0 } else { HALF };
    (bytes.len() <= HALF).then_some((at, bytes))
}

/// The text that was written last, and its generation.
///
/// # Errors
///
/// Says why there is none.
pub fn newest(file: &[u8]) -> Result<(u64, &str), Unreadable> {
    let (first, second) = file.split_at(file.len().min(HALF));
    let halves = [read(first), read(second)];
    let whole = halves
        .iter()
        .flatten()
        .max_by_key(|(generation, _)| generation);
    whole.copied().ok_or_else(|| {
        let whys = halves.map(Result::unwrap_err);
        let is_foreign = |why| why == Unreadable::Foreign;
        let why = whys.into_iter().find(|&why| !is_foreign(why));
        why.unwrap_or(Unreadable::Foreign)
    })
}

/// The generation and the text of a half.
fn read(half: &[u8]) -> Result<(u64, &str), Unreadable> {
    let head = half[..half.len().min(HEAD_MAX)].split(|&byte| byte == b'\n');
    let head = head.into_iter().next().unwrap_or_default();
    let words = str::from_utf8(head).map_err(|_| Unreadable::Foreign)?;
    let mut words = words.split(' ');
    if words.next() != Some(MAGIC) {
        return Err(Unreadable::Foreign);
    }
    let mut number = || words.next()?.parse::<u64>().ok();
    let version = number().ok_or(Unreadable::NotWhole)?;
    if version != VERSION {
        return Err(Unreadable::Version(version));
    }
    let (generation, length) = number().zip(number()).ok_or(Unreadable::NotWhole)?;
    let sum = words
        .next()
        .and_then(|word| u64::from_str_radix(word, 16).ok());
    let length = usize::try_from(length).ok();
    let body = &half[half.len().min(head.len() + 1)..];
    let body = length.and_then(|length| body.get(..length));
    let text = body
        .filter(|body| sum == Some(checksum(generation, body)))
        .and_then(|body| str::from_utf8(body).ok());
    Ok((generation, text.ok_or(Unreadable::NotWhole)?))
}

/// The 64-bit FNV-1a of the generation and the text. It is to tell a half that is not whole, and
/// not to keep anybody from making one.
fn checksum(generation: u64, text: &[u8]) -> u64 {
    let all = generation.to_le_bytes();
    let all = all.iter().chain(text);
    all.fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with the writings of these generations, of which the last got so far.
    fn written(texts: &[&str], bytes_of_last: usize) -> Vec<u8> {
        let mut file = Vec::new();
        for (generation, text) in (1..).zip(texts) {
            let (at, bytes) = half(generation, text).expect("it is short");
            let is_last = generation == texts.len() as u64;
            let bytes = &bytes[..if is_last {
                bytes_of_last.min(bytes.len())
            } else {
                bytes.len()
            }];
            file.resize(file.len().max(at + bytes.len()), 0);
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        file
    }

    #[test]
    fn a_half_that_was_written_in_part_leaves_the_one_before() {
        let texts = ["the first", "the second one", "now the third"];
        let (_, whole) = half(3, texts[2]).expect("it is short");
        for bytes in 1..whole.len() {
            let file = written(&texts, bytes);
            assert_eq!(newest(&file), Ok((2, texts[1])), "{bytes} bytes");
        }
        assert_eq!(newest(&written(&texts, whole.len())), Ok((3, texts[2])));
    }

    #[test]
    fn a_file_that_was_cut_off_or_changed_is_unreadable_and_says_why() {
        let whole = written(&["the first", "the second one"], usize::MAX);
        assert_eq!(newest(&whole), Ok((2, "the second one")));
        assert_eq!(newest(&whole[..HALF]), Ok((2, "the second one")));
        for bytes in [0, 5, HEAD_MAX / 4] {
            assert!(newest(&whole[..bytes]).is_err(), "{bytes} bytes");
        }
        assert_eq!(newest(&[]), Err(Unreadable::Foreign));
        assert_eq!(newest(&[b'x'; 3 * HALF]), Err(Unreadable::Foreign));
        let changed = |from: &str, to: &str| {
            let (_, bytes) = half(4, "some text").expect("it is short");
            let text = String::from_utf8(bytes)
                .expect("it is text")
                .replace(from, to);
            newest(text.as_bytes()).map(|(generation, text)| (generation, text.to_owned()))
        };
        assert_eq!(changed("some", "same"), Err(Unreadable::NotWhole));
        assert_eq!(changed(" 4 ", " 6 "), Err(Unreadable::NotWhole));
        assert_eq!(changed(" 9 ", " 99 "), Err(Unreadable::NotWhole));
        let long = format!(" {} ", u64::MAX);
        assert_eq!(changed(" 9 ", &long), Err(Unreadable::NotWhole));
        assert_eq!(changed("live 1", "live 2"), Err(Unreadable::Version(2)));
        assert_eq!(changed("live 1", "live x"), Err(Unreadable::NotWhole));
        assert_eq!(changed("heist-live", "heist"), Err(Unreadable::Foreign));
    }

    #[test]
    fn a_text_for_which_there_is_no_room_is_refused() {
        assert!(half(1, &"x".repeat(HALF - HEAD_MAX)).is_some());
        assert_eq!(half(1, &"x".repeat(HALF)), None);
    }
}
