//! Frames of all sorts, whole and damaged.

use super::*;
use crate::protocol::encode;

fn read_all(bytes: &[u8], limits: Limits) -> Vec<Result<Frame, String>> {
    let mut reader = FrameReader::new(bytes, limits);
    let mut read = Vec::new();
    loop {
        match reader.read() {
            Ok(frame) => read.push(Ok(frame)),
            Err(ReadError::Closed) => return read,
            Err(error) => {
                let is_passing = error.is_passing();
                read.push(Err(error.to_string()));
                if !is_passing {
                    return read;
                }
            }
        }
    }
}

fn frame(header: &str, payload: &[u8]) -> Frame {
    Frame::new(&header, payload.to_vec())
}

#[test]
fn frames_come_out_as_they_went_in() {
    let frames = [
        frame("", b""),
        frame("a", b"HST1HST1"),
        frame("b", &[7; 5000]),
    ];
    let bytes: Vec<u8> = frames.iter().flat_map(Frame::to_bytes).collect();
    let read: Result<Vec<_>, _> = read_all(&bytes, Limits::default()).into_iter().collect();
    assert_eq!(read.as_deref(), Ok(frames.as_slice()));
}

#[test]
fn bytes_that_begin_no_frame_are_reported_and_the_next_frame_is_read() {
    let wanted = frame("after", b"x");
    let mut bytes = b"printed by a library\nHST".to_vec();
    bytes.extend(wanted.to_bytes());
    let read = read_all(&bytes, Limits::default());
    assert!(
        read[0]
            .as_ref()
            .is_err_and(|error| error.contains("24 bytes")),
        "{read:?}"
    );
    assert_eq!(read[1..], [Ok(wanted)]);
}

#[test]
fn an_oversized_payload_is_passed_over_and_its_header_is_kept() {
    let limits = Limits {
        header_bytes_max: 16,
        payload_bytes_max: 10,
    };
    let mut bytes = frame("big", &[0; 11]).to_bytes();
    bytes.extend(frame("next", b"ok").to_bytes());
    let mut reader = FrameReader::new(bytes.as_slice(), limits);
    let Err(ReadError::Oversized {
        header: Some(header),
        ..
    }) = reader.read()
    else {
        panic!("the payload has 11 bytes, and 10 are allowed");
    };
    assert_eq!(decode::<String>(&header), Ok("big".to_owned()));
    assert_eq!(reader.read().ok(), Some(frame("next", b"ok")));
}

#[test]
fn an_oversized_header_is_passed_over_with_its_payload() {
    let limits = Limits {
        header_bytes_max: 8,
        payload_bytes_max: 10,
    };
    let mut bytes = frame("more than eight bytes", b"payload").to_bytes();
    bytes.extend(frame("next", b"ok").to_bytes());
    let read = read_all(&bytes, limits);
    assert!(read[0].is_err(), "{read:?}");
    assert_eq!(read[1..], [Ok(frame("next", b"ok"))]);
}

#[test]
fn a_stream_that_ends_within_a_frame_is_an_error() {
    let bytes = frame("cut", b"payload").to_bytes();
    for end in 1..bytes.len() {
        let read = read_all(&bytes[..end], Limits::default());
        assert!(matches!(read.as_slice(), [Err(_)]), "{end}: {read:?}");
    }
}

#[test]
fn an_announced_length_reserves_no_memory_of_that_size() {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend((u64::MAX / 2).to_le_bytes());
    bytes.extend(b"head and a short payload");
    let limits = Limits {
        header_bytes_max: 100,
        payload_bytes_max: u64::MAX,
    };
    assert!(matches!(read_all(&bytes, limits).as_slice(), [Err(_)]));
}

#[test]
fn bytes_left_over_are_no_value() {
    let mut bytes = encode(&7_u64).unwrap();
    assert_eq!(decode::<u64>(&bytes), Ok(7));
    bytes.push(0);
    assert!(decode::<u64>(&bytes).is_err_and(|error| error.contains("left over")));
}

/// A stream that has no byte ready every other time, and otherwise one.
struct Drips<'a> {
    bytes: &'a [u8],
    is_dry: bool,
}

impl Read for Drips<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_dry = !self.is_dry;
        match self.is_dry {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => (&mut self.bytes).take(1).read(buffer),
        }
    }
}

#[test]
fn a_stream_that_has_nothing_ready_is_read_on_where_it_was() {
    let limits = Limits {
        header_bytes_max: 16,
        payload_bytes_max: 10,
    };
    let mut bytes = b"noise".to_vec();
    let parts = [
        frame("first", b"payload"),
        frame("big", &[1; 11]),
        frame("a header that is too long", b"x"),
        frame("", b""),
    ];
    bytes.extend(parts.iter().flat_map(Frame::to_bytes));
    bytes.extend(b"HST");
    let dripping = Drips {
        bytes: &bytes,
        is_dry: false,
    };
    let mut reader = FrameReader::new(dripping, limits);
    let mut read = Vec::new();
    loop {
        match reader.read() {
            Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(ReadError::Closed) => break,
            other => read.push(other.map_err(|error| error.to_string())),
        }
    }
    assert_eq!(read, read_all(&bytes, limits));
    assert_eq!(read.len(), 6, "{read:?}");
}
