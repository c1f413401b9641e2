//! Reads whole inputs up to a limit, as one may be an endless device.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads the file at `path`.
///
/// # Errors
///
/// Fails, naming the limit, if there is more.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?, bytes_max)
}

/// As [`read`], from any input.
///
/// # Errors
///
/// Fails, naming the limit, if there is more.
pub fn read_from(input: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= bytes_max {
        return Ok(bytes);
    }
    let why = format!("it has more than {bytes_max} bytes, and that is the most that is read");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// As [`read`], if it is text.
///
/// # Errors
///
/// Fails, naming the limit, if there is more, or if it is no UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read(path, bytes_max)?)
}

/// Bytes as text.
///
/// # Errors
///
/// Fails if they are no UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let why = format!("it is no UTF-8: {error}");
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_may_be() {
        assert_eq!(read_from(&b"abc"[..], 3).expect("three bytes"), b"abc");
        let error = read_from(io::repeat(0), 3).expect_err("it has no end");
        assert!(error.to_string().contains("more than 3 bytes"), "{error}");
    }
}
