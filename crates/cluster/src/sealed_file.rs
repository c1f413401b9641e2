//! Files that show whether they are damaged: a header and a payload, with a checksum of both.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::protocol::{self, Frame, FrameReader, Limits};
use crate::whole_file;

/// Writes the file `name` in `folder`; it is on disk when this returns.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    header: &impl Serialize,
    payload: &[u8],
) -> io::Result<()> {
    let header = protocol::encode(header).map_err(io::Error::other)?;
    let sum = checksum(&header, payload);
    let sealed = Frame::new(&(header, sum), Vec::new()).header;
    whole_file::write(folder, name, true, |file| {
        protocol::write_frame(file, &sealed, payload)
    })
}

/// Reads such a file.
///
/// # Errors
///
/// Says why it cannot be read, or that it is not as it was written.
pub(crate) fn read<H: DeserializeOwned>(path: &Path) -> Result<(H, Vec<u8>), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut frames = FrameReader::new(BufReader::new(file), Limits::default());
    let frame = frames.read().map_err(|error| error.to_string())?;
    let (header, sum): (Vec<u8>, u64) = frame.understand()?;
    if sum != checksum(&header, &frame.payload) {
        return Err("its checksum is not that of its content".to_owned());
    }
    Ok((protocol::decode(&header)?, frame.payload))
}

/// A number that changes if one of the words of eight bytes does, and most probably if several do.
fn checksum(header: &[u8], payload: &[u8]) -> u64 {
    [header, payload].iter().fold(0, |sum, part| {
        part.chunks(8)
            .fold(step(sum, part.len() as u64), |sum, bytes| {
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                step(sum, u64::from_le_bytes(word))
            })
    })
}

/// With the same sum, other words give other sums; with the same word, other sums do.
fn step(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_damage_of_a_byte_and_no_missing_end_goes_unseen() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let payload: Vec<u8> = (0..100).collect();
        write(folder.path(), "file", &(7_u32, 0.5_f64), &payload).expect("it is written");
        let read = read::<(u32, f64)>;
        assert_eq!(read(&path), Ok(((7, 0.5), payload)));
        let whole = fs::read(&path).expect("it is there");
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                fs::write(&path, &damaged).expect("it is written");
                assert!(read(&path).is_err(), "byte {at} with {flip:x}");
            }
            fs::write(&path, &whole[..at]).expect("it is written");
            assert!(read(&path).is_err(), "{at} bytes");
        }
    }
}
