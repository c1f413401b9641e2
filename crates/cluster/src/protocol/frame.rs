//! Frames: how messages are cut out of a stream of bytes.

use std::fmt;
use std::io::{self, Read, Write};

use serde::{de::DeserializeOwned, Serialize};

use super::decode;

/// The first bytes of each frame.
pub const MAGIC: [u8; 4] = *b"HST1";

/// Magic and two lengths.
const PREFIX_BYTES: usize = 16;

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

    /// The header, decoded.
    ///
    /// # Errors
    ///
    /// Says what was wrong if it is no `T`, or more than one.
    pub fn understand<T: DeserializeOwned>(&self) -> Result<T, String> {
        decode(&self.header)
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
    let header_bytes = u32::try_from(header.len())
        .map_err(|_| io::Error::other(format!("a header of {} bytes", header.len())))?;
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..4].copy_from_slice(&MAGIC);
    prefix[4..8].copy_from_slice(&header_bytes.to_le_bytes());
    prefix[8..].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    writer.write_all(&prefix)?;
    writer.write_all(header)?;
    writer.write_all(payload)
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
    /// The usual ones, or what [`PAYLOAD_VARIABLE`] says of payloads.
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
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    limits: Limits,
    /// The stream is just behind the magic of a frame.
    is_in_frame: bool,
}

impl<R: Read> FrameReader<R> {
    /// Reads from `stream` what the `limits` admit.
    pub fn new(stream: R, limits: Limits) -> Self {
        Self {
            stream,
            limits,
            is_in_frame: false,
        }
    }

    /// The next frame.
    ///
    /// # Errors
    ///
    /// See [`ReadError`]; after those that are [passing](ReadError::is_passing) the next
    /// call reads what follows.
    pub fn read(&mut self) -> Result<Frame, ReadError> {
        if !self.is_in_frame {
            let passed_over = self.find_magic()?;
            self.is_in_frame = true;
            if passed_over > 0 {
                return Err(ReadError::NoFrame { bytes: passed_over });
            }
        }
        self.is_in_frame = false;
        let (header_bytes, payload_bytes) = self.lengths()?;
        let limits = self.limits;
        let oversized = |header| ReadError::Oversized {
            header_bytes,
            payload_bytes,
            limits,
            header,
        };
        if header_bytes > limits.header_bytes_max {
            self.pass_over(u64::from(header_bytes))?;
            self.pass_over(payload_bytes)?;
            return Err(oversized(None));
        }
        let header = self.take(u64::from(header_bytes))?;
        if payload_bytes > limits.payload_bytes_max {
            self.pass_over(payload_bytes)?;
            return Err(oversized(Some(header)));
        }
        let payload = self.take(payload_bytes)?;
        Ok(Frame { header, payload })
    }

    /// Goes to behind the next magic, and says how many bytes came before it.
    fn find_magic(&mut self) -> Result<u64, ReadError> {
        let mut window = [0; MAGIC.len()];
        let mut have = 0;
        let mut passed_over = 0;
        loop {
            while have < window.len() {
                match self.stream.read(&mut window[have..]) {
                    Ok(0) if have == 0 && passed_over == 0 => return Err(ReadError::Closed),
                    Ok(0) => {
                        let bytes = passed_over + have as u64;
                        return Err(ReadError::NoFrame { bytes });
                    }
                    Ok(bytes) => have += bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(ReadError::Io(error)),
                }
            }
            if window == MAGIC {
                return Ok(passed_over);
            }
            window.copy_within(1.., 0);
            have -= 1;
            passed_over += 1;
        }
    }

    fn lengths(&mut self) -> Result<(u32, u64), ReadError> {
        let mut header = [0; 4];
        let mut payload = [0; 8];
        self.stream.read_exact(&mut header).map_err(ReadError::Io)?;
        self.stream
            .read_exact(&mut payload)
            .map_err(ReadError::Io)?;
        Ok((u32::from_le_bytes(header), u64::from_le_bytes(payload)))
    }

    /// The next bytes. Memory grows with what has come, not with what was announced.
    fn take(&mut self, bytes: u64) -> Result<Vec<u8>, ReadError> {
        let reserved = bytes.min(RESERVED_BYTES_MAX);
        let mut taken = Vec::with_capacity(usize::try_from(reserved).unwrap_or_default());
        let read = self.stream.by_ref().take(bytes).read_to_end(&mut taken);
        whole(read.map(|bytes| bytes as u64), bytes).map(|()| taken)
    }

    fn pass_over(&mut self, bytes: u64) -> Result<(), ReadError> {
        let passed = io::copy(&mut self.stream.by_ref().take(bytes), &mut io::sink());
        whole(passed, bytes)
    }
}

/// Whether all of the `wanted` bytes were there.
fn whole(read: io::Result<u64>, wanted: u64) -> Result<(), ReadError> {
    match read {
        Ok(bytes) if bytes == wanted => Ok(()),
        Ok(bytes) => Err(ReadError::Io(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the stream ended {bytes} bytes into a part of {wanted}"),
        ))),
        Err(error) => Err(ReadError::Io(error)),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
