//! The place of a call in a trace, which passes from callers to functions.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The place of a call in a distributed trace, in the form of the W3C's header `traceparent`: what
/// a caller sets ([`Calls::trace`](crate::Calls::trace), [`JobOptions::trace`](crate::JobOptions::trace)),
/// the function reads ([`CallContext::trace`](crate::CallContext::trace)).
///
/// Nothing here records or sends spans. A program that does passes the header of its current span
/// to a call, and begins a child span in the function.
///
/// # Examples
///
/// ```
/// use heist_cluster::Trace;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let caller: Trace = header.parse()?;
/// assert_eq!(caller.to_string(), header);
/// assert_eq!(caller.trace_id(), 0x4bf92f3577b34da6a3ce929d0e0e4736);
///
/// // A span of one's own below it.
/// let below = caller.child();
/// assert_eq!(below.trace_id(), caller.trace_id());
/// assert_ne!(below.span_id(), caller.span_id());
/// assert!(below.is_sampled());
///
/// // Without a caller.
/// assert_ne!(Trace::random().trace_id(), Trace::random().trace_id());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Trace {
    /// Its halves, the higher one first.
    trace_id: [u64; 2],
    span_id: NonZeroU64,
    flags: u8,
}

impl Trace {
    /// The first span of a new trace, which is sampled.
    #[must_use]
    pub fn random() -> Self {
        Self {
            trace_id: [random(), random()].map(u64::from),
            span_id: random(),
            flags: 1,
        }
    }

    /// Another span of the same trace.
    #[must_use]
    pub fn child(self) -> Self {
        Self {
            span_id: random(),
            ..self
        }
    }

    /// The number of the whole trace, which is not 0.
    #[must_use]
    pub fn trace_id(self) -> u128 {
        let [high, low] = self.trace_id.map(u128::from);
        (high << 64) | low
    }

    /// The number of the caller's span, which is not 0.
    #[must_use]
    pub fn span_id(self) -> u64 {
        self.span_id.get()
    }

    /// True if the caller may have recorded its span.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.flags & 1 != 0
    }
}

fn random() -> NonZeroU64 {
    // Hashers of the library are random.
    NonZeroU64::new(RandomState::new().hash_one(0)).unwrap_or(NonZeroU64::MIN)
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace_id, span_id) = (self.trace_id(), self.span_id);
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", self.flags)
    }
}

impl FromStr for Trace {
    /// Says what is accepted.
    type Err = String;

    /// Reads a header. Of a later version than 00 the fields of that one are read, as the standard
    /// says.
    fn from_str(header: &str) -> Result<Self, String> {
        let read = || {
            let (version, rest) = (header.get(..2)?, header.get(2..)?);
            let (fields, further) = (rest.get(..53)?, rest.get(53..)?);
            let mut fields = fields.strip_prefix('-')?.split('-');
            let trace_id = u128::from_str_radix(hex(fields.next()?, 32)?, 16).ok()?;
            let span_id = u64::from_str_radix(hex(fields.next()?, 16)?, 16).ok()?;
            let flags = u8::from_str_radix(hex(fields.next()?, 2)?, 16).ok()?;
            let is_over = match hex(version, 2)? {
                "00" => further.is_empty(),
                "ff" => false,
                _ => further.is_empty() || further.starts_with('-'),
            };
            (trace_id != 0 && is_over).then_some(Self {
                trace_id: [(trace_id >> 64) as u64, trace_id as u64],
                span_id: NonZeroU64::new(span_id)?,
                flags,
            })
        };
        read().ok_or_else(|| {
            format!(
                "{header:?} is no traceparent; version, trace, span and flags were expected, such \
                 as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            )
        })
    }
}

/// The text, if it has so many digits, and no capital ones.
fn hex(text: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == digits && text.bytes().all(is_digit)).then_some(text)
}

impl TryFrom<String> for Trace {
    type Error = String;

    fn try_from(header: String) -> Result<Self, String> {
        header.parse()
    }
}

impl From<Trace> for String {
    fn from(trace: Trace) -> Self {
        trace.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        for _ in 0..100 {
            let trace = Trace::random().child();
            assert_eq!(trace.to_string().parse(), Ok(trace));
        }
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-further";
        let trace: Trace = later.parse().expect("a later version");
        assert!(!trace.is_sampled() && trace.to_string().starts_with("00-4bf9"));
    }

    #[test]
    fn what_is_no_header_is_refused_with_an_example() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for header in [
            String::new(),
            "00".to_owned(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-0"),
            format!("00-{trace}-{span}-01-"),
            format!("00-{trace}-{span}-01-further"),
            format!("ff-{trace}-{span}-01"),
            format!("cc-{trace}-{span}-01further"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{}-{span}-01", "+".repeat(32)),
            format!("00-{}-{span}-01", "ä".repeat(16)),
            format!("00_{trace}_{span}_01"),
        ] {
            let refused = header.parse::<Trace>().expect_err(&header);
            assert!(refused.contains("such as 00-4bf9"), "{refused}");
        }
    }
}
