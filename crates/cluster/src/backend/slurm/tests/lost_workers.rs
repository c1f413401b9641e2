//! Workers for calls whose driver dies.

use super::*;
use crate::log::LogOrigin;

/// The processes whose command line has these words in it.
fn processes(words: &[&str]) -> Vec<(u32, String)> {
    let line = |pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
    };
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_all = |(_, line): &(u32, String)| words.iter().all(|word| line.contains(word));
    pids.filter_map(line).filter(has_all).collect()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "waited for {what}");
        thread::yield_now();
    }
}

fn signal(name: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", name, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{kill:?}");
}

/// A worker that waits for a place hears nothing of its driver: the guardian ends it, or else the
/// next driver.
#[test]
fn the_workers_of_a_lost_driver_end_wherever_they_are() {
    let Some(_cluster) = Fixture::find() else {
        return;
    };
    let mut all_nodes = command("srun")
        .args(["--quiet", "--nodes=3", "--exclusive", "sh", "-c"])
        .args(["echo here; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("srun");
    let here = BufReader::new(all_nodes.stdout.take().expect("a pipe"));
    assert_eq!(here.lines().next().expect("a line").expect("text"), "here");
    for is_guarded in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lost = lost_driver("lost_workers::calling_driver", folder.path())
            .stderr(Stdio::null())
            .spawn()
            .expect("a driver");
        let own = || {
            let entries = fs::read_dir(folder.path()).expect("a folder").flatten();
            let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.find(|name| name.starts_with("driver-"))
        };
        until("a driver", || own().is_some());
        let name = name_of(Path::new(&own().expect("it is there")));
        let queued = || {
            let mut squeue = command("squeue");
            output(squeue.args(["--noheader", &format!("--name={name}")])).expect("Slurm is there")
        };
        until("a worker to wait", || !queued().is_empty());
        // It is not ended by anything that a program could still do at its end.
        signal("STOP", lost.id());
        if !is_guarded {
            let guards = processes(&["trap", &name]);
            assert_eq!(guards.len(), 1, "{guards:?}");
            signal("KILL", guards[0].0);
        }
        lost.kill().expect("it is a child");
        lost.wait().expect("it is a child");
        let next = (!is_guarded).then(|| connect(Slurm::new().folder(folder.path())));
        until("the worker to leave Slurm", || queued().is_empty());
        until("srun to end", || processes(&[&name]).is_empty());
        drop(next);
    }
    drop(all_nodes.stdin.take());
    assert!(all_nodes.wait().expect("it is a child").success());
}

/// A driver that is lost with a call which waits for a place.
#[test]
fn calling_driver() {
    let Some(folder) = std::env::var_os(LOST_DRIVER) else {
        return;
    };
    let backend = connect(Slurm::new().folder(folder));
    let call = CallSpec {
        id: 1,
        request: protocol::Request::frame(
            1,
            Fingerprint::of_this_program(),
            protocol::Ask::Hello,
            Vec::new(),
        ),
        cpus: 1,
        placement: Placement::default(),
        objects: Vec::new(),
        origin: Arc::new(LogOrigin::Call {
            function: "hello".to_owned(),
            call: 1,
            trace: None,
        }),
    };
    let (sender, answered) = mpsc::channel();
    backend.call(call, Box::new(move |answer| drop(sender.send(answer))));
    let answer = answered.recv();
    panic!("the driver was to be lost before: {answer:?}");
}
