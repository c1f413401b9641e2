//! A connection whose other end is in the same test.

use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use heist_sync::thread;

use super::*;
use crate::protocol::Outcome;

/// A watchdog, and no bar.
const PATIENCE: Duration = Duration::from_secs(60);
/// More than goes into a socket that nobody reads.
const LARGE_BYTES: usize = 4 << 20;

fn pair() -> (Arc<Link>, UnixStream) {
    let poller = Poller::start().expect("a thread");
    linked(&poller, drop)
}

fn linked(
    poller: &Arc<Poller>,
    on_close: impl FnOnce(Closing) + Send + 'static,
) -> (Arc<Link>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let (input, output) = directions(ours);
    let name = "the other end".to_owned();
    let link = Link::open(poller, name, input, output, Limits::default(), on_close);
    (link.expect("a connection"), theirs)
}

fn request(payload_bytes: usize) -> Frame {
    Frame::new(&"a request", vec![1; payload_bytes])
}

fn answer(id: u64, payload_bytes: usize) -> Vec<u8> {
    let outcome = Outcome::Done;
    Frame::new(&Answer { id, outcome }, vec![2; payload_bytes]).to_bytes()
}

/// The reply to the first answer sends a large request, which the other end does not read
/// before it has written a large answer.
#[test]
fn a_reply_that_sends_much_keeps_no_answer_waiting() {
    let (link, mut theirs) = pair();
    let other_end = thread::spawn(move || {
        let input = theirs.try_clone().expect("a second handle");
        let mut frames = FrameReader::new(input, Limits::default());
        frames.read().expect("the first request");
        frames.read().expect("the second request");
        for answer in [answer(1, 0), answer(2, LARGE_BYTES)] {
            theirs.write_all(&answer).expect("it is read");
        }
        frames.read().expect("the third request");
        theirs.write_all(&answer(3, 0)).expect("it is read");
    });
    let (sender, answers) = mpsc::channel();
    let noting = move |id| -> Reply {
        let sender = sender.clone();
        Box::new(move |answer| sender.send((id, answer.is_ok())).unwrap_or_default())
    };
    let again = Arc::clone(&link);
    let (first, second, third) = (noting(1), noting(2), noting(3));
    let sending = Box::new(move |answer| {
        again.send(3, request(LARGE_BYTES), third);
        first(answer);
    });
    link.send(1, request(0), sending);
    link.send(2, request(0), second);
    for id in 1..=3 {
        let answered = answers.recv_timeout(PATIENCE);
        assert_eq!(answered, Ok((id, true)), "the answer {id} never came");
    }
    other_end.join().expect("the other end has read all");
}

#[test]
fn a_request_that_is_not_answered_is_not_sent_again() {
    let (link, _theirs) = pair();
    let (sender, answers) = mpsc::channel();
    link.send(1, request(0), Box::new(|_| ()));
    let refused = Box::new(move |answer| drop(sender.send(answer)));
    link.send(1, request(0), refused);
    let answer = answers.recv_timeout(PATIENCE).expect("it did not wait");
    let error = answer.expect_err("it was asked before").to_string();
    assert!(error.contains("has not answered"), "{error}");
}

#[test]
fn nothing_waits_for_an_end_that_does_not_read() {
    let (link, theirs) = pair();
    let (sender, sent) = mpsc::channel();
    let (reply, told) = mpsc::channel();
    thread::spawn(move || {
        let reply = Box::new(move |answer| drop(reply.send(answer)));
        link.send(1, request(LARGE_BYTES), reply);
        link.close();
        let refused = Box::new(move |answer| drop(sender.send(answer)));
        link.send(2, request(0), refused);
    });
    let refused = sent.recv_timeout(PATIENCE).expect("it did not wait");
    let error = refused.expect_err("the connection is closed").to_string();
    assert!(error.contains("told to end"), "{error}");
    drop(theirs);
    let lost = told.recv_timeout(PATIENCE).expect("it is told");
    assert!(lost.is_err_and(|error| error.is_node_death()));
}
/// Bytes without end, from a descriptor that is always ready.
struct Endless(UnixStream);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(0);
        Ok(buffer.len())
    }
}

impl AsFd for Endless {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[test]
fn one_that_says_very_much_keeps_no_other_waiting() {
    let poller = Poller::start().expect("a thread");
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(b"ready").expect("it has room");
    let output = ours.try_clone().expect("a second handle");
    let (name, limits) = ("the loud one".to_owned(), Limits::default());
    let loud = Link::open(&poller, name, Endless(ours), output, limits, drop);
    let loud = loud.expect("a connection");
    let (link, mut theirs) = linked(&poller, drop);
    let (sender, answers) = mpsc::channel();
    link.send(1, request(0), Box::new(move |it| drop(sender.send(it))));
    theirs.write_all(&answer(1, 0)).expect("it has room");
    let answered = answers.recv_timeout(PATIENCE);
    assert!(
        answered.is_ok_and(|answer| answer.is_ok()),
        "it had no turn"
    );
    loud.end("it is enough".to_owned());
}

#[test]
fn a_request_that_is_read_is_a_sign_of_life_and_one_that_lies_there_is_none() {
    let (link, theirs) = pair();
    link.send(1, request(LARGE_BYTES), Box::new(|_| ()));
    assert_eq!(link.signs(), 0, "nobody has read");
    let mut frames = FrameReader::new(theirs, Limits::default());
    frames.read().expect("the request");
    let began = Instant::now();
    while link.signs() == 0 {
        assert!(
            began.elapsed() < PATIENCE,
            "it was read, and there is no sign"
        );
        thread::yield_now();
    }
}

#[test]
fn an_answer_that_panics_ends_its_connection_and_no_other() {
    let poller = Poller::start().expect("a thread");
    let (sender, closed) = mpsc::channel();
    let on_close = move |closing: Closing| drop(sender.send(closing.why.clone()));
    let (link, mut theirs) = linked(&poller, on_close);
    link.send(
        1,
        request(0),
        Box::new(|_| panic!("an answer that is not liked")),
    );
    theirs.write_all(&answer(1, 0)).expect("it has room");
    let why = closed.recv_timeout(PATIENCE).expect("it ends");
    assert!(why.contains("could not go on"), "{why}");
    let (link, mut theirs) = linked(&poller, drop);
    let (sender, answers) = mpsc::channel();
    link.send(1, request(0), Box::new(move |it| drop(sender.send(it))));
    theirs.write_all(&answer(1, 0)).expect("it has room");
    let answered = answers.recv_timeout(PATIENCE);
    assert!(answered.is_ok_and(|answer| answer.is_ok()));
}

#[test]
fn an_end_tells_all_waiters_once_it_is_known_why() {
    let poller = Poller::start().expect("a thread");
    let (sender, closed) = mpsc::channel();
    let (link, theirs) = linked(&poller, move |closing| drop(sender.send(closing)));
    let (told, reasons) = mpsc::channel();
    let note = move |told: &mpsc::Sender<_>| -> Reply {
        let told = told.clone();
        Box::new(move |answer| drop(told.send(answer)))
    };
    link.send(1, request(0), note(&told));
    drop(theirs);
    let closing = closed.recv_timeout(PATIENCE).expect("it ends");
    // It cannot be written any more, and waits for the reason like the others.
    link.send(2, request(0), note(&told));
    assert!(reasons.try_recv().is_err(), "the reason is not known");
    closing.tell(&End {
        why: "it aborted".to_owned(),
        is_own_doing: false,
    });
    link.send(3, request(0), note(&told));
    for expected in ["it aborted", "it aborted", "closed"] {
        let told = reasons.recv_timeout(PATIENCE).expect("each is told");
        let error = told.expect_err("there is no answer").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A stream that has no room, and of which the system does not say when it has.
struct Unwatched(std::fs::File);

impl io::Write for Unwatched {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Unwatched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[test]
fn a_connection_whose_output_cannot_be_watched_ends_with_the_reason() {
    let poller = Poller::start().expect("a thread");
    let (ours, _theirs) = UnixStream::pair().expect("a pair of sockets");
    let output = Unwatched(tempfile::tempfile().expect("a file"));
    let name = "the other end".to_owned();
    let link = Link::open(&poller, name, ours, output, Limits::default(), drop);
    let (sender, answered) = mpsc::channel();
    let reply = Box::new(move |answer: Result<Frame, _>| {
        sender.send(answer.err()).unwrap_or_default();
    });
    link.expect("it can be read").send(1, request(0), reply);
    let error = answered.recv_timeout(PATIENCE).expect("the wait ends");
    let error = error.expect("there is no answer").to_string();
    assert!(error.contains("its stream cannot be watched"), "{error}");
}
