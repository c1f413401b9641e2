//! Frames: how messages are cut out of a stream of bytes.

use std::fmt;
use std::io::{self, Read, Write};

use serde::{de::DeserializeOwned, Serialize};

use super::decode;

/// The first bytes of each frame.
pub const MAGIC: [u8; 4] = *b"HST1";

/// Magic and two lengths.
const PREFIX_BYTES: usize = 16;

/// Both lengths.
const LENGTHS_BYTES: usize = PREFIX_BYTES - MAGIC.len();

/// How much of a payload memory is reserved for before its bytes have come.
const RESERVED_BYTES_MAX: u64 = 1 << 20;

/// One message, whole but not yet understood; [`Frame::new`] has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Says what the message is.
    pub header: Vec<u8>,
    /// The bytes that it carries.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame with `header`, written down.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::protocol::{Frame, FrameReader, Limits};
    ///
    /// let frame = Frame::new(&("sum", 3_u32), b"payload".to_vec());
    /// let bytes = frame.to_bytes();
    /// let read = FrameReader::new(bytes.as_slice(), Limits::default()).read().unwrap();
    /// assert_eq!(read.understand::<(String, u32)>().unwrap(), ("sum".to_owned(), 3));
    /// ```
    #[must_use]
    pub fn new(header: &impl Serialize, payload: Vec<u8>) -> Self {
        // Headers are our own types, which postcard can write.
        let header = postcard::to_stdvec(header).unwrap_or_default();
        Self { header, payload }
    }

    /// The header, decoded; [`Frame::new`] has an example.
    ///
    /// # Errors
    ///
    /// Says what was wrong if it is no `T`, or more than one.
    pub fn understand<T: DeserializeOwned>(&self) -> Result<T, String> {
        decode(&self.header)
    }

    /// The bytes in front of its payload.
    ///
    /// # Errors
    ///
    /// Fails if the header is longer than four bytes can say.
    pub(crate) fn head(&self) -> io::Result<Vec<u8>> {
        let prefix = prefix(&self.header, &self.payload)?;
        Ok([&prefix, self.header.as_slice()].concat())
    }

    /// The frame as it goes through a stream.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PREFIX_BYTES + self.header.len() + self.payload.len());
        // A vector takes whatever is written to it.
        let _ = write_frame(&mut bytes, &self.header, &self.payload);
        bytes
    }
}

/// Writes a frame.
///
/// # Errors
///
/// Those of `writer`; and if the header is longer than four bytes can say.
///
/// # Examples
///
/// ```
/// use heist_cluster::protocol::{write_frame, FrameReader, Limits, ReadError};
///
/// let mut stream = b"noise".to_vec();
/// write_frame(&mut stream, b"header", b"payload")?;
/// let mut reader = FrameReader::new(stream.as_slice(), Limits::default());
/// let noise = reader.read().unwrap_err();
/// assert!(noise.is_passing() && matches!(noise, ReadError::NoFrame { bytes: 5 }));
/// assert_eq!(reader.read().unwrap().payload, b"payload");
/// assert!(matches!(reader.read(), Err(ReadError::Closed)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_frame(writer: &mut impl Write, header: &[u8], payload: &[u8]) -> io::Result<()> {
    writer.write_all(&prefix(header, payload)?)?;
    writer.write_all(header)?;
    writer.write_all(payload)
}

/// The bytes in front of a header.
fn prefix(header: &[u8], payload: &[u8]) -> io::Result<[u8; PREFIX_BYTES]> {
    let header_bytes = u32::try_from(header.len())
        .map_err(|_| io::Error::other(format!("a header of {} bytes", header.len())))?;
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..4].copy_from_slice(&MAGIC);
    prefix[4..8].copy_from_slice(&header_bytes.to_le_bytes());
    prefix[8..].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    Ok(prefix)
}

/// How large a frame may be.
///
/// # Examples
///
/// ```
/// use heist_cluster::protocol::Limits;
///
/// let limits = Limits::from_environment()?;
/// assert_eq!(limits, Limits::default(), "HEIST_CLUSTER_PAYLOAD_MAX is not set");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a header.
    pub header_bytes_max: u32,
    /// Bytes of a payload.
    pub payload_bytes_max: u64,
}

impl Default for Limits {
    /// A mebibyte for the header and four gibibytes for the payload.
    fn default() -> Self {
        Self {
            header_bytes_max: 1 << 20,
            payload_bytes_max: 4 << 30,
        }
    }
}

/// Says how many bytes a payload may have, in drivers and in the workers that inherit it.
pub const PAYLOAD_VARIABLE: &str = "HEIST_CLUSTER_PAYLOAD_MAX";

impl Limits {
    /// The usual ones, or what [`PAYLOAD_VARIABLE`] says of payloads; [`Limits`] has an example.
    ///
    /// # Errors
    ///
    /// Says what was expected if the variable is no number of bytes.
    pub fn from_environment() -> Result<Self, String> {
        let mut limits = Self::default();
        if let Some(value) = std::env::var_os(PAYLOAD_VARIABLE) {
            let bytes = value.to_str().and_then(|value| value.parse().ok());
            limits.payload_bytes_max = bytes.ok_or_else(|| {
                format!("{PAYLOAD_VARIABLE} is {value:?}; a number of bytes was expected")
            })?;
        }
        Ok(limits)
    }

    /// Whether a payload can be sent.
    ///
    /// # Errors
    ///
    /// Says how large it is, and how large it may be.
    pub(crate) fn admit(self, what: &str, payload: &[u8]) -> Result<(), String> {
        let (bytes, most) = (payload.len() as u64, self.payload_bytes_max);
        if bytes <= most {
            return Ok(());
        }
        Err(format!(
            "{what} have {bytes} bytes, and at most {most} can be sent; share large data with \
             put, or set {PAYLOAD_VARIABLE} for the driver and its workers"
        ))
    }
}

/// Why no frame was read; [`write_frame`] has an example.
#[derive(Debug)]
pub enum ReadError {
    /// The stream ended between two frames.
    Closed,
    /// The stream failed, or ended within a frame.
    Io(io::Error),
    /// These bytes began no frame and were passed over; the stream is at the next one.
    NoFrame {
        /// How many.
        bytes: u64,
    },
    /// A frame was too large and was passed over; the stream is at the next one.
    Oversized {
        /// Of its header.
        header_bytes: u32,
        /// Of its payload.
        payload_bytes: u64,
        /// The limits that it exceeds.
        limits: Limits,
        /// The header, if that alone was within the limits: it says whom to answer.
        header: Option<Vec<u8>>,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the other side closed the connection"),
            Self::Io(error) => write!(f, "could not read a frame: {error}"),
            Self::NoFrame { bytes } => write!(
                f,
                "passed over {bytes} bytes that begin no frame; a frame begins with \"HST1\""
            ),
            Self::Oversized {
                header_bytes,
                payload_bytes,
                limits,
                ..
            } => write!(
                f,
                "passed over a frame with a header of {header_bytes} and a payload of \
                 {payload_bytes} bytes; at most {} and {} are accepted",
                limits.header_bytes_max, limits.payload_bytes_max
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    /// True if the next frame can be read.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::NoFrame { .. } | Self::Oversized { .. })
    }
}

/// Cuts a stream into frames; [`write_frame`] has an example.
///
/// The stream may be one that does not block: after an error of the kind
/// [`WouldBlock`](io::ErrorKind::WouldBlock), the next call goes on where the last one stopped.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    limits: Limits,
    place: Place,
}

/// A place in the stream.
#[derive(Debug)]
enum Place {
    Between(Gap),
    /// Behind the magic of a frame, with so many bytes of its lengths.
    Lengths([u8; LENGTHS_BYTES], usize),
    /// In a header.
    Header(Lengths, Vec<u8>),
    /// In a payload, behind its header.
    Payload(Lengths, Vec<u8>, Vec<u8>),
    /// So many bytes before the end of a frame that is too large. Its header, if that is not.
    Oversized(Lengths, u64, Option<Vec<u8>>),
}

/// The bytes between two frames: normally none.
#[derive(Debug, Default)]
struct Gap {
    window: [u8; MAGIC.len()],
    have: usize,
    passed_over: u64,
}

/// The lengths of a frame.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    header: u32,
    payload: u64,
}

impl<R: Read> FrameReader<R> {
    /// Reads from `stream` what the `limits` admit.
    pub fn new(stream: R, limits: Limits) -> Self {
        Self {
            stream,
            limits,
            place: Place::Between(Gap::default()),
        }
    }

    pub(crate) fn stream_mut(&mut self) -> &mut R {
        &mut self.stream
    }

    /// The next frame.
    ///
    /// # Errors
    ///
    /// See [`ReadError`]; after those that are [passing](ReadError::is_passing) the next
    /// call reads what follows.
    pub fn read(&mut self) -> Result<Frame, ReadError> {
        loop {
            self.place = match &mut self.place {
                Place::Between(gap) => {
                    let passed_over = gap.find_magic(&mut self.stream)?;
                    self.place = Place::Lengths([0; LENGTHS_BYTES], 0);
                    match passed_over {
                        0 => continue,
                        bytes => return Err(ReadError::NoFrame { bytes }),
                    }
                }
                Place::Lengths(lengths, have) => {
                    while *have < LENGTHS_BYTES {
                        *have += some(&mut self.stream, &mut lengths[*have..])?;
                    }
                    Lengths::decode(*lengths).admitted(self.limits)
                }
                Place::Header(lengths, header) => {
                    fill(&mut self.stream, header, u64::from(lengths.header))?;
                    let (lengths, header) = (*lengths, std::mem::take(header));
                    match lengths.payload <= self.limits.payload_bytes_max {
                        true => Place::Payload(lengths, header, reserved(lengths.payload)),
                        false => Place::Oversized(lengths, lengths.payload, Some(header)),
                    }
                }
                Place::Payload(lengths, header, payload) => {
                    fill(&mut self.stream, payload, lengths.payload)?;
                    let (header, payload) = (std::mem::take(header), std::mem::take(payload));
                    self.place = Place::Between(Gap::default());
                    return Ok(Frame { header, payload });
                }
                Place::Oversized(lengths, left, header) => {
                    pass_over(&mut self.stream, left)?;
                    let error = ReadError::Oversized {
                        header_bytes: lengths.header,
                        payload_bytes: lengths.payload,
                        limits: self.limits,
                        header: header.take(),
                    };
                    self.place = Place::Between(Gap::default());
                    return Err(error);
                }
            }
        }
    }
}

impl Gap {
    /// Goes to behind the next magic, and says how many bytes came before it.
    fn find_magic(&mut self, stream: &mut impl Read) -> Result<u64, ReadError> {
        loop {
            while self.have < self.window.len() {
                match stream.read(&mut self.window[self.have..]) {
                    Ok(0) => {
                        let gap = std::mem::take(self);
                        let bytes = gap.passed_over + gap.have as u64;
                        return Err(match bytes {
                            0 => ReadError::Closed,
                            bytes => ReadError::NoFrame { bytes },
                        });
                    }
                    Ok(bytes) => self.have += bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(ReadError::Io(error)),
                }
            }
            if self.window == MAGIC {
                return Ok(self.passed_over);
            }
            self.window.copy_within(1.., 0);
            self.have -= 1;
            self.passed_over += 1;
        }
    }
}

impl Lengths {
    fn decode(bytes: [u8; LENGTHS_BYTES]) -> Self {
        let [a, b, c, d, payload @ ..] = bytes;
        Self {
            header: u32::from_le_bytes([a, b, c, d]),
            payload: u64::from_le_bytes(payload),
        }
    }

    /// The place behind them.
    fn admitted(self, limits: Limits) -> Place {
        let header_bytes = u64::from(self.header);
        match self.header <= limits.header_bytes_max {
            true => Place::Header(self, reserved(header_bytes)),
            false => Place::Oversized(self, header_bytes.saturating_add(self.payload), None),
        }
    }
}

/// Memory for so many bytes. It grows with those that come, not with those that are announced.
fn reserved(bytes: u64) -> Vec<u8> {
    let bytes = bytes.min(RESERVED_BYTES_MAX);
    Vec::with_capacity(usize::try_from(bytes).unwrap_or_default())
}

/// Reads at least one byte.
fn some(stream: &mut impl Read, buffer: &mut [u8]) -> Result<usize, ReadError> {
    loop {
        match stream.read(buffer) {
            Ok(0) => return Err(cut(0, buffer.len() as u64)),
            Ok(bytes) => return Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ReadError::Io(error)),
        }
    }
}

/// Reads until `taken` has so many `bytes`.
fn fill(stream: &mut impl Read, taken: &mut Vec<u8>, bytes: u64) -> Result<(), ReadError> {
    let left = bytes - taken.len() as u64;
    let read = stream.by_ref().take(left).read_to_end(taken);
    read.map_err(ReadError::Io)?;
    match taken.len() as u64 {
        have if have == bytes => Ok(()),
        have => Err(cut(have, bytes)),
    }
}

/// Reads the bytes that are `left`.
fn pass_over(stream: &mut impl Read, left: &mut u64) -> Result<(), ReadError> {
    let mut rest = stream.by_ref().take(*left);
    let passed = io::copy(&mut rest, &mut io::sink());
    let before = std::mem::replace(left, rest.limit());
    passed.map_err(ReadError::Io)?;
    match *left {
        0 => Ok(()),
        left => Err(cut(before - left, before)),
    }
}

/// The stream ended within a part.
fn cut(have: u64, bytes: u64) -> ReadError {
    ReadError::Io(io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the stream ended {have} bytes into a part of {bytes}"),
    ))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
