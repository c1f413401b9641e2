//! The protocol between a driver and its workers: frames in a stream of bytes, and the messages in
//! them.
//!
//! A frame is the four bytes of [`MAGIC`], the length of a header (4 bytes, little endian),
//! the length of a payload (8 bytes), the header and the payload. The header says what the
//! message is ([`Request`] and [`Answer`], in postcard's form); the payload is what the
//! backend carries without looking at it: arguments, results, the state of a job.
//!
//! A reader never has to give up a connection because of what it read. A frame that is larger than
//! allowed is passed over, and so are bytes that begin no frame; both are reported, and the next
//! frame is read as usual.

use serde::{de::DeserializeOwned, Serialize};

pub(crate) mod backoff;
pub(crate) mod clock;
pub(crate) mod cpus;
pub(crate) mod environment;
pub(crate) mod fingerprint;
mod frame;
pub(crate) mod job_folder;
mod message;
pub(crate) mod needs;
pub(crate) mod object_id;
pub(crate) mod outgoing;
pub(crate) mod reading;
pub(crate) mod refusal;
pub(crate) mod trace;

pub use frame::{write_frame, Frame, FrameReader, Limits, ReadError, MAGIC, PAYLOAD_VARIABLE};
pub use message::{Answer, Ask, JobOutcome, Outcome, Request};

/// The usual form of a value, in bytes.
///
/// # Errors
///
/// Says what was wrong if serde cannot write the value.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|error| error.to_string())
}

/// How many bytes [`encode`] would write; it costs less.
///
/// # Errors
///
/// Says what was wrong if serde cannot write the value.
pub(crate) fn encoded_bytes(value: &impl Serialize) -> Result<u64, String> {
    let size = postcard::ser_flavors::Size::default();
    let bytes = postcard::serialize_with_flavor(value, size).map_err(|error| error.to_string())?;
    Ok(bytes as u64)
}

/// The value of some bytes.
///
/// # Errors
///
/// Says what was wrong if they are no `T`, or more than one.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|error| error.to_string())?;
    match rest.len() {
        0 => Ok(value),
        bytes => Err(format!("{bytes} bytes are left over")),
    }
}
