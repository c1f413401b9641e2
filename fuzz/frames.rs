//! Bytes that a fuzzer chose, as what a worker reads: nothing of it may panic, block, or make
//! the frame behind it unreadable.

#![no_main]

use heist_cluster::protocol::{Answer, Ask, Frame, FrameReader, Limits, ReadError, Request};
use heist_cluster::Fingerprint;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read_stream(bytes);
    answer(Frame { header: bytes.to_vec(), payload: bytes.to_vec() });
    // The same bytes as arguments and state of a request that is meant for this program.
    let fingerprint = Fingerprint::of_this_program();
    let name = String::from_utf8_lossy(bytes).into_owned();
    let (job, epoch) = (bytes.len() as u64, 0);
    for ask in [
        Ask::Call { function: "frames::nothing".to_owned(), cpus: 1, trace: None },
        Ask::Call { function: name.clone(), cpus: 1, trace: None },
        Ask::Start { job, epoch, kind: name.clone(), cpus: 1, trace: None },
        Ask::Pause { job, epoch },
        Ask::FromJson { name: "frames::nothing".to_owned() },
        Ask::ToJson { name },
    ] {
        let request = Request { id: 7, fingerprint, ask };
        assert_eq!(answer(Frame::new(&request, bytes.to_vec())), 7);
    }
});

/// A function whose arguments have most forms that arguments can have.
#[heist_cluster::remote]
fn nothing(text: String, list: Vec<Option<(u8, i64)>>, number: f64) -> (String, usize, bool) {
    (text, list.len(), number.is_nan())
}

/// All frames in a stream, with small limits; a good frame behind it is read, unless the
/// bytes end within a frame of their own.
fn read_stream(bytes: &[u8]) {
    let limits = Limits { header_bytes_max: 64, payload_bytes_max: 64 };
    let last = Frame::new(&"the last", b"whole".to_vec());
    let stream = [bytes, &last.to_bytes()].concat();
    let mut frames = FrameReader::new(stream.as_slice(), limits);
    let (mut reads, mut is_last) = (0, false);
    loop {
        reads += 1;
        assert!(reads <= stream.len() + 1, "each read uses up bytes");
        match frames.read() {
            Ok(frame) => {
                assert!(frame.header.len() <= 64 && frame.payload.len() <= 64);
                is_last = frame == last;
            }
            Err(ReadError::Closed) => break,
            Err(error) if error.is_passing() => is_last = false,
            // The bytes announced more than there was, and took the last frame with them.
            Err(_) => return,
        }
    }
    let announces = bytes.windows(4).any(|four| four == b"HST1");
    assert!(is_last || announces, "the good frame was read");
}

/// Has a worker answer, and says to which request.
fn answer(frame: Frame) -> u64 {
    let answer = heist_cluster::__private::answer(frame);
    answer.understand::<Answer>().expect("a worker's answer can be understood").id
}
