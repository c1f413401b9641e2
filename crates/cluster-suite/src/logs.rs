//! Tests of what functions and jobs print.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

use heist_cluster::backend::BackendOptions;
use heist_cluster::{
    job, remote, Cluster, Job, JobContext, JobOptions, LogLine, LogOrigin, Options, RemoteFuture,
    Stop,
};
use serde::{Deserialize, Serialize};

use crate::stage::PATIENCE;
use crate::until;

/// Prints lines, the last of which has no end.
#[remote]
pub fn print(lines: Vec<String>) {
    let mut text = lines.join("\n");
    text.push_str("\nto be continued");
    std::io::stdout()
        .write_all(text.as_bytes())
        .expect("it is a pipe");
}

/// Prints so many bytes of all kinds, without the end of a line.
#[remote]
pub fn print_bytes(bytes: usize) -> usize {
    let all: Vec<u8> = (1..=255)
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    let all: Vec<u8> = all.into_iter().cycle().take(bytes).collect();
    std::io::stderr().write_all(&all).expect("it is a pipe");
    bytes
}

/// Prints a line, and another one when somebody has made the file.
#[remote]
pub fn print_twice(file: PathBuf) {
    let say = |line: &str| std::io::stdout().write_all(line.as_bytes());
    say("the first\n").expect("somebody listens");
    until("the file", || file.exists());
    say("the second\n").expect("somebody listens");
}

/// Prints what it is and which attempt.
#[derive(Debug, Serialize, Deserialize)]
pub struct Chatty;

#[job]
impl Job for Chatty {
    type Out = u32;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<u32, Stop> {
        let line = format!("this is attempt {}\n", context.epoch());
        std::io::stdout()
            .write_all(line.as_bytes())
            .map_err(Stop::fail)?;
        Ok(context.epoch())
    }
}

/// A cluster whose lines can be received.
fn listening(backend: impl BackendOptions) -> (Cluster, Receiver<LogLine>) {
    let (sender, lines) = mpsc::channel();
    let options = Options::new().on_log(move |line| sender.send(line.clone()).unwrap_or_default());
    let cluster = Cluster::connect_with(backend, options).expect("the backend can be reached");
    (cluster, lines)
}

/// Those that are left.
fn rest(cluster: Cluster, lines: &Receiver<LogLine>) -> Vec<LogLine> {
    drop(cluster);
    // The listener has gone with it.
    let mut all = Vec::new();
    while let Ok(line) = lines.recv_timeout(PATIENCE) {
        all.push(line);
    }
    all
}

fn calls_of(line: &LogLine) -> Vec<u64> {
    let call = |origin: &LogOrigin| match origin {
        LogOrigin::Call { call, .. } => Some(*call),
        _ => None,
    };
    line.origins
        .iter()
        .filter_map(|origin| call(origin))
        .collect()
}

/// Of calls that have a worker for themselves each line comes once, with its node and with a call;
/// the right one, if that `is_exact`.
pub fn lines_come_with_their_origin(backend: impl BackendOptions, is_exact: bool) {
    let (cluster, lines) = listening(backend);
    let both = cluster.pin("n2").cpus(2);
    let mut expected = Vec::new();
    for at in 0..10 {
        let mut said: Vec<_> = (0..100).map(|line| format!("{at}.{line}")).collect();
        let call = both.call(print, said.clone());
        said.push("to be continued".to_owned());
        expected.extend(said.into_iter().map(|text| (vec![call.number()], text)));
        call.get().expect("it prints");
    }
    let all = rest(cluster, &lines);
    let ours = all.iter().filter(|line| !line.origins.is_empty());
    let ours: Vec<_> = ours
        .map(|line| (calls_of(line), line.text.clone()))
        .collect();
    if is_exact {
        assert_eq!(ours, expected);
    } else {
        // A line without an end may have the next call's first line behind it, and goes with the
        // worker if it is the last. Lines of the worker's test harness may come when the first call
        // has begun.
        let text = |lines: Vec<(_, String)>| lines.into_iter().map(|(_, text)| text);
        let ours: String = text(ours).skip_while(|text| text != "0.0").collect();
        let expected: String = text(expected).collect();
        let missing = expected.strip_prefix(&ours);
        assert!(
            matches!(missing, Some("" | "to be continued")),
            "of {all:#?} {missing:?} is missing"
        );
    }
    assert!(all
        .iter()
        .all(|line| line.origins.is_empty() || line.node.as_str() == "n2"));
}

/// Bytes of all kinds without an end, more than may wait for a listener.
pub fn bytes_without_an_end_come_in_harmless_parts(backend: impl BackendOptions) {
    const BYTES: usize = 1 << 20;
    let (cluster, lines) = listening(backend);
    let call = cluster.call(print_bytes, BYTES);
    let number = call.number();
    assert_eq!(call.get(), Ok(BYTES));
    let ours = rest(cluster, &lines);
    let ours: Vec<_> = ours
        .iter()
        .filter(|line| calls_of(line) == [number])
        .collect();
    assert!(ours.len() as u64 + ours.iter().map(|line| line.left_out).sum::<u64>() >= 128);
    let harmless = |line: &&&LogLine| {
        !line
            .text
            .chars()
            .any(|sign| sign.is_control() && sign != '\t')
    };
    assert_eq!(ours.iter().filter(harmless).count(), ours.len());
    assert!(ours.iter().any(|line| line.goes_on));
}

/// A line comes while its call runs, and those of the end come before the cluster ends.
pub fn lines_come_while_their_call_runs(backend: impl BackendOptions) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("heard");
    let (cluster, lines) = listening(backend);
    let call = cluster.pin("n2").call(print_twice, file.clone());
    let heard = |text: &str| loop {
        let line = lines.recv_timeout(PATIENCE).expect("it is printed");
        if line.text == text {
            return line;
        }
    };
    assert_eq!(calls_of(&heard("the first")), [call.number()]);
    std::fs::write(&file, "").expect("the folder is there");
    call.get().expect("it prints");
    let rest = rest(cluster, &lines);
    assert!(rest.iter().any(|line| line.text == "the second"));
}

/// Of calls that print a line each and run at once, each line comes with its own call, where a
/// process runs one at a time.
pub fn short_calls_print_under_their_own_numbers(backend: impl BackendOptions, count: usize) {
    let (cluster, lines) = listening(backend);
    // The first tell how long they take.
    for _ in 0..20 {
        let call = cluster.call(print, Vec::new());
        call.get().expect("it prints");
    }
    let calls: Vec<_> = (0..count)
        .map(|at| cluster.call(print, vec![format!("short {at}")]))
        .collect();
    let mut expected: Vec<_> = calls.iter().map(RemoteFuture::number).enumerate().collect();
    for call in calls {
        call.get().expect("it prints");
    }
    let mut heard: Vec<_> = rest(cluster, &lines)
        .iter()
        .filter_map(|line| {
            let at = line.text.strip_prefix("short ")?.parse().ok()?;
            let [call] = calls_of(line)[..] else {
                return None;
            };
            Some((at, call))
        })
        .collect();
    heard.sort_unstable();
    expected.sort_unstable();
    assert_eq!(heard, expected);
}

/// Lines of a job come with its name and attempt.
pub fn lines_of_jobs_come_with_their_attempt(backend: impl BackendOptions) {
    let (cluster, lines) = listening(backend);
    let job = cluster
        .submit(Chatty, JobOptions::new("chatty"))
        .expect("a job");
    assert_eq!(job.wait_timeout(PATIENCE), Some(Ok(0)));
    let all = rest(cluster, &lines);
    let said: Vec<_> = all
        .iter()
        .filter(|line| line.text == "this is attempt 0")
        .collect();
    let [said] = said.as_slice() else {
        panic!("it was said {} times among {all:?}", said.len());
    };
    assert_eq!(said.origins.len(), 1);
    assert_eq!(said.origins[0].to_string(), "job chatty, attempt 0");
}
