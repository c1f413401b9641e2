//! A worker that is sent what it should not be: it answers with an error, and serves on.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use heist_cluster::protocol::{Answer, Ask, Frame, FrameReader, Limits, Outcome, Request};
use heist_cluster::{remote, Cluster, Fingerprint, JobOptions, Local, Refusal, RemoteError};
use heist_cluster_suite::calls;
use heist_cluster_suite::jobs::Counting;
use serde_bytes::ByteBuf;

heist_cluster::test_worker!();

/// A worker process, and our end of its socket.
struct Worker {
    process: Child,
    socket: UnixStream,
    frames: FrameReader<UnixStream>,
}

impl Worker {
    fn start() -> Self {
        Self::accepting(1000)
    }

    /// One that accepts payloads of so many bytes.
    fn accepting(payload_bytes: usize) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let process = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "heist_cluster_worker", "--nocapture"])
            .env("HEIST_CLUSTER_WORKER", "socket")
            .env("HEIST_CLUSTER_PAYLOAD_MAX", payload_bytes.to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .expect("a worker");
        let frames = FrameReader::new(
            ours.try_clone().expect("a second handle"),
            Limits::default(),
        );
        let mut worker = Self {
            process,
            socket: ours,
            frames,
        };
        // The test harness says something before the worker takes over, but not here.
        worker.works();
        worker
    }

    fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the worker reads");
    }

    fn ask(&mut self, id: u64, ask: Ask, payload: Vec<u8>) {
        let fingerprint = Fingerprint::of_this_program();
        let request = Request {
            id,
            fingerprint,
            ask,
        };
        self.send(&Frame::new(&request, payload).to_bytes());
    }

    fn answer(&mut self) -> (Answer, Vec<u8>) {
        let frame = self.frames.read().expect("the worker answers");
        (frame.understand().expect("an answer"), frame.payload)
    }

    /// The refusal in the next answer, and its request.
    fn refusal(&mut self) -> (u64, Refusal) {
        match self.answer() {
            (
                Answer {
                    id,
                    outcome: Outcome::Refused(refusal),
                },
                _,
            ) => (id, refusal),
            (answer, _) => panic!("it was not refused: {answer:?}"),
        }
    }

    /// The connection is usable.
    fn works(&mut self) {
        let function = "heist_cluster_suite::calls::add".to_owned();
        // Two and three, as varints.
        self.ask(
            99,
            Ask::Call {
                function,
                cpus: 1,
                trace: None,
            },
            vec![2, 3],
        );
        let (answer, payload) = self.answer();
        assert!(
            matches!(
                answer,
                Answer {
                    id: 99,
                    outcome: Outcome::Returned { .. }
                }
            ),
            "{answer:?}"
        );
        assert_eq!(payload, [5]);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It ends when its socket closes, at the latest.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn bytes_that_are_no_frame_are_reported() {
    let mut worker = Worker::start();
    worker.send(b"GET / HTTP/1.1\r\n\r\n");
    worker.ask(1, Ask::Usage { with_family: false }, Vec::new());
    let (id, refusal) = worker.refusal();
    assert_eq!(id, 0, "nobody knows which request that was");
    assert!(refusal.to_string().contains("18 bytes"), "{refusal}");
    assert_eq!(worker.answer().0.id, 1);
    worker.works();
}

#[test]
fn a_header_that_is_no_request_is_refused() {
    let mut worker = Worker::start();
    worker.send(
        &Frame {
            header: vec![0xff; 40],
            payload: b"x".to_vec(),
        }
        .to_bytes(),
    );
    let (id, refusal) = worker.refusal();
    assert_eq!(id, 0);
    assert!(matches!(refusal, Refusal::Malformed { .. }), "{refusal:?}");
    worker.works();
}

#[test]
fn oversized_parts_are_refused() {
    let mut worker = Worker::start();
    worker.send(
        &Frame {
            header: vec![1; 2 << 20],
            payload: Vec::new(),
        }
        .to_bytes(),
    );
    assert_eq!(worker.refusal().0, 0);
    let function = "heist_cluster_suite::calls::echo".to_owned();
    worker.ask(
        8,
        Ask::Call {
            function,
            cpus: 1,
            trace: None,
        },
        vec![0; 1001],
    );
    let (id, refusal) = worker.refusal();
    assert_eq!(id, 8, "the header was read");
    assert!(
        refusal.to_string().contains("at most 1048576 and 1000"),
        "{refusal}"
    );
    worker.works();
}

#[test]
fn what_a_worker_does_not_know_is_refused() {
    let mut worker = Worker::start();
    for (id, ask) in [
        (
            1,
            Ask::Call {
                function: "no::such".to_owned(),
                cpus: 1,
                trace: None,
            },
        ),
        (
            2,
            Ask::Start {
                job: 1,
                epoch: 0,
                kind: "no::such".to_owned(),
                cpus: 1,
                trace: None,
            },
        ),
        (
            3,
            Ask::FromJson {
                name: "no::such".to_owned(),
            },
        ),
        (4, Ask::Pause { job: 1, epoch: 0 }),
        (
            5,
            Ask::Start {
                job: 1,
                epoch: 0,
                kind: "heist_cluster_suite::calls::add".to_owned(),
                cpus: 1,
                trace: None,
            },
        ),
        (
            6,
            Ask::Call {
                function: "heist_cluster_suite::jobs::Counting".to_owned(),
                cpus: 1,
                trace: None,
            },
        ),
    ] {
        worker.ask(id, ask, Vec::new());
        let (answered, refusal) = worker.refusal();
        assert_eq!(answered, id);
        assert!(!refusal.to_string().is_empty());
    }
    worker.works();
}

#[test]
fn arguments_and_states_of_another_form_are_refused() {
    let mut worker = Worker::start();
    let function = "heist_cluster_suite::calls::add".to_owned();
    for payload in [Vec::new(), vec![2], vec![2, 3, 4], vec![0xff; 30]] {
        worker.ask(
            1,
            Ask::Call {
                function: function.clone(),
                cpus: 1,
                trace: None,
            },
            payload,
        );
        let (_, refusal) = worker.refusal();
        assert!(matches!(refusal, Refusal::Malformed { .. }), "{refusal:?}");
    }
    let kind = "heist_cluster_suite::jobs::Counting".to_owned();
    worker.ask(
        2,
        Ask::Start {
            job: 1,
            epoch: 0,
            kind,
            cpus: 1,
            trace: None,
        },
        vec![0xff; 30],
    );
    assert!(matches!(worker.refusal(), (2, Refusal::Malformed { .. })));
    worker.works();
}

#[test]
fn a_driver_built_from_other_code_is_refused() {
    let mut worker = Worker::start();
    let fingerprint = Fingerprint::parse("0123456789abcdef").expect("16 digits");
    let request = Request {
        id: 5,
        fingerprint,
        ask: Ask::Usage { with_family: false },
    };
    worker.send(&Frame::new(&request, Vec::new()).to_bytes());
    let (id, refusal) = worker.refusal();
    assert_eq!(id, 5);
    assert!(
        refusal
            .to_string()
            .contains("the driver is build 0123456789abcdef"),
        "{refusal}"
    );
    worker.works();
}

/// The driver writes large requests before it reads any of the large answers, and asks for
/// something in between that the worker answers at once.
#[test]
fn a_worker_reads_on_while_nobody_reads_its_answers() {
    const REQUESTS: u64 = 4;
    let mut worker = Worker::accepting(8 << 20);
    // A watchdog: the worker is to read all of it.
    let patience = Some(Duration::from_secs(60));
    worker.socket.set_write_timeout(patience).expect("a socket");
    worker.socket.set_read_timeout(patience).expect("a socket");
    // The number of bytes as a varint, and the bytes.
    let mut payload = vec![0x80, 0x80, 0x80, 2];
    payload.resize(payload.len() + (4 << 20), 7);
    for id in 1..=REQUESTS {
        let function = "heist_cluster_suite::calls::mirror".to_owned();
        worker.ask(
            id,
            Ask::Call {
                function,
                cpus: 1,
                trace: None,
            },
            payload.clone(),
        );
        worker.ask(id + 100, Ask::Usage { with_family: false }, Vec::new());
    }
    let mut ids: Vec<_> = (0..2 * REQUESTS)
        .map(|_| worker.answer())
        .map(|(answer, result)| {
            assert!(answer.id > 100 || result == payload, "{}", answer.id);
            answer.id
        })
        .collect();
    ids.sort_unstable();
    let asked = (1..=REQUESTS).chain(101..=100 + REQUESTS);
    assert!(asked.eq(ids.iter().copied()), "{ids:?}");
    worker.works();
}

/// The tests need the suite's library, that one needs the others, by a path, and those need
/// what `Cargo.lock` says.
#[test]
fn a_fingerprint_covers_what_a_program_needs() {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "heist_cluster_worker", "--nocapture"])
        .env("HEIST_CLUSTER_WORKER", "describe")
        .output()
        .expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    for part in [
        "the sources of the package heist-cluster-suite",
        "the sources of the package heist-cluster",
        "the sources of the package heist-core",
        "the versions in Cargo.lock that heist-cluster-suite needs",
        "the form of what `heist_cluster_suite::calls::add` takes or gives",
        "`heist_cluster_suite::jobs::Counting`",
    ] {
        assert!(said.contains(&format!("\"{part}\":")), "{part}: {said}");
    }
}

#[test]
fn a_younger_attempt_is_not_replaced_by_an_older_one() {
    let mut worker = Worker::start();
    let kind = "heist_cluster_suite::jobs::Counting".to_owned();
    let start = |epoch| Ask::Start {
        job: 3,
        epoch,
        kind: kind.clone(),
        cpus: 1,
        trace: None,
    };
    worker.ask(1, start(2), Vec::new());
    assert!(matches!(worker.refusal(), (1, Refusal::Malformed { .. })));
    worker.ask(2, start(1), Vec::new());
    assert_eq!(
        worker.refusal(),
        (
            2,
            Refusal::Superseded {
                job: 3,
                epoch: 1,
                by: 2
            }
        )
    );
    worker.works();
}

#[test]
fn a_variable_that_is_no_number_is_an_error() {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "heist_cluster_worker", "--nocapture"])
        .env("HEIST_CLUSTER_WORKER", "socket")
        .env("HEIST_CLUSTER_PAYLOAD_MAX", "much")
        .stdin(Stdio::null())
        .output()
        .expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("HEIST_CLUSTER_PAYLOAD_MAX is \"much\""),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// Arguments, results and states of more than the limit are errors that name it, and
/// what comes after is well.
#[test]
fn a_driver_names_the_limit_of_what_is_too_large() {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "alone_parts_are_too_large",
            "--nocapture",
            "--ignored",
        ])
        .env("HEIST_CLUSTER_PAYLOAD_MAX", "100000")
        .output()
        .expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
#[ignore = "run in a process of its own"]
fn alone_parts_are_too_large() {
    const TOO_MANY: usize = 200_000;
    let cluster = Cluster::connect(Local::new().under_test_harness()).expect("a worker");
    let large = || ByteBuf::from(vec![0; TOO_MANY]);
    let of_job = JobOptions::new("large");
    let job = cluster.submit(Counting::new(1, 1).ballast(TOO_MANY), of_job);
    let said = |refused: Option<RemoteError>| refused.expect("it is too large").to_string();
    for error in [
        said(cluster.call(calls::mirror, large()).get().err()),
        said(cluster.call(zeros, TOO_MANY).get().err()),
        job.map(|_| ()).expect_err("it is too large").to_string(),
    ] {
        assert!(error.contains("HEIST_CLUSTER_PAYLOAD_MAX"), "{error}");
        assert!(error.contains("100000"), "{error}");
        assert_eq!(cluster.call(calls::add, (1, 2)).get(), Ok(3));
    }
}

/// So many bytes.
#[remote]
fn zeros(count: usize) -> ByteBuf {
    ByteBuf::from(vec![0; count])
}

#[test]
fn the_driver_says_why_a_call_was_refused() {
    let cluster = Cluster::connect(Local::new().under_test_harness()).expect("a worker");
    let program = heist_cluster::ForeignProgram::inspect("/bin/true").map(|_| ());
    assert!(program.is_err_and(|error| error.to_string().contains("heist_cluster::init()")));
    let too_many = cluster
        .on("n1")
        .cpus(100_000)
        .call(calls::add, (1, 2))
        .get();
    assert!(
        matches!(too_many, Err(RemoteError::Backend { .. })),
        "{too_many:?}"
    );
}
