//! Workers for calls whose driver or `srun` is lost.

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

fn signal(name: &str, pid: u32) {
    assert_ne!(pid, 0, "that would be all of us");
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", name, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{kill:?}");
}

/// Takes all nodes until its input is closed.
fn take_all_nodes() -> std::process::Child {
    let mut all_nodes = command("srun")
        .args(["--quiet", "--nodes=3", "--exclusive", "sh", "-c"])
        .args(["echo here; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("srun");
    let here = BufReader::new(all_nodes.stdout.take().expect("a pipe"));
    assert_eq!(here.lines().next().expect("a line").expect("text"), "here");
    all_nodes
}

/// A worker that waits for a place hears nothing of its driver: the guardian ends it, or else the
/// next driver.
#[test]
fn the_workers_of_a_lost_driver_end_wherever_they_are() {
    let Some(_cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let mut all_nodes = take_all_nodes();
    for is_guarded in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lost = lost_driver("lost_workers::calling_driver", folder.path())
            .stderr(Stdio::null())
            .spawn()
            .expect("a driver");
        until("a driver", || driver_of(folder.path()).is_some());
        let name = driver_of(folder.path()).expect("it is there");
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
#[ignore = "is a driver that is lost; run by another test"]
fn calling_driver() {
    let folder = std::env::var_os(LOST_DRIVER).expect("another test runs it");
    let backend = connect(Slurm::new().folder(folder));
    let answer = hello(&backend, 1).recv();
    panic!("the driver was to be lost before: {answer:?}");
}

/// Neither Slurm nor the worker notices that: the worker is heard no more.
#[test]
fn a_call_whose_srun_is_stopped_fails_and_nothing_of_it_stays() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let folder = cluster.folder.path();
    let slurm = Slurm::new().lost_after(Duration::from_secs(2));
    let backend = connect(slurm.folder(folder));
    let answered = |answer: Receiver<_>| answer.recv_timeout(PATIENCE).expect("an end");
    assert!(answered(hello(&backend, 1)).is_ok());
    let name = format!("--job-name={}", driver_of(folder).expect("it is there"));
    let sruns = processes(&["srun", &name]);
    assert!(!sruns.is_empty());
    sruns.iter().for_each(|(pid, _)| signal("STOP", *pid));
    let error = answered(hello(&backend, 2)).expect_err("nobody answers");
    assert!(error.is_node_death(), "{error}");
    assert!(
        error.to_string().contains("it was silent for 2s"),
        "{error}"
    );
    assert!(answered(hello(&backend, 3)).is_ok());
    let is_there =
        |(pid, _): &(u32, String)| processes(&["srun", &name]).iter().any(|it| it.0 == *pid);
    // Its helper, which was stopped as well, is left to the guardian.
    drop(backend);
    until("what was stopped to end", || !sruns.iter().any(is_there));
}

/// Slurm has placed the worker, and nothing is heard of it, as if its node had died just then.
#[test]
fn a_call_whose_srun_is_stopped_before_its_worker_begins_gets_another() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let folder = cluster.folder.path();
    let mut all_nodes = take_all_nodes();
    let slurm = Slurm::new().lost_after(Duration::from_secs(2));
    let backend = connect(slurm.folder(folder));
    let answer = hello(&backend, 1);
    until("a driver", || driver_of(folder).is_some());
    let name = format!("--job-name={}", driver_of(folder).expect("it is there"));
    let queued = || {
        !batch::placed(&name["--job-name=".len()..])
            .expect("it runs")
            .is_empty()
    };
    until("a worker to wait", queued);
    let sruns = processes(&["srun", &name]);
    assert!(!sruns.is_empty());
    sruns.iter().for_each(|(pid, _)| signal("STOP", *pid));
    // Slurm places it now.
    drop(all_nodes.stdin.take());
    assert!(all_nodes.wait().expect("it is a child").success());
    let answer = answer.recv_timeout(PATIENCE).expect("the wait ends");
    assert!(answer.is_ok(), "{answer:?}");
    let is_there =
        |(pid, _): &(u32, String)| processes(&["srun", &name]).iter().any(|it| it.0 == *pid);
    drop(backend);
    until("what was stopped to end", || !sruns.iter().any(is_there));
}

/// Slurm's controller may have been away when a worker ended, and then it keeps its room.
#[test]
fn room_of_which_nobody_knows_ends_with_the_driver() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let backend = cluster.connect();
    let answer = hello(&backend, 1).recv_timeout(PATIENCE);
    assert!(answer.is_ok_and(|answer| answer.is_ok()));
    let name = driver_of(cluster.folder.path()).expect("it is there");
    let mut unknown = command("srun")
        .args([&format!("--job-name={name}"), "--comment=heist-worker-99"])
        .args(["sleep", "600"])
        .stderr(Stdio::null())
        .spawn()
        .expect("srun");
    let has = |worker| {
        batch::placed(&name)
            .expect("Slurm is there")
            .contains_key(&worker)
    };
    until("the room to be had", || has(99));
    backend.close();
    until("the room to be free", || !has(99) && !has(0));
    unknown.wait().expect("it is a child");
}

/// Slurm says that it runs, and it is heard no more.
#[test]
fn a_job_whose_process_is_stopped_goes_on_in_another() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let folder = cluster.folder.path();
    let slurm = Slurm::new().lost_after(Duration::from_secs(4));
    let backend = connect(slurm.folder(folder));
    let job = Driven::new(&backend, 8, 600);
    job.start(0, None);
    job.runs(0);
    job.is_done_up_to(0);
    let number = cluster.slurm_job(8);
    signal("STOP", process_of(number.expect("it was submitted")));
    let error = job.is_lost(0);
    assert!(error.is_node_death(), "{error}");
    assert!(error.to_string().contains("silent for 4s"), "{error}");
    backend.stop(8, 0);
    job.start(1, None);
    job.runs(1);
    assert_ne!(
        cluster.slurm_job(8),
        number,
        "the silent one is not adopted"
    );
    job.finishes(1, 600);
}

/// The process of this program that Slurm runs for a batch job.
fn process_of(slurm_job: u64) -> u32 {
    let this = std::env::current_exe().expect("this program");
    let all = processes(&[this.to_str().expect("text")]);
    let variable = format!("SLURM_JOB_ID={slurm_job}");
    let is_ours = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|it| it == variable.as_bytes())
    };
    let mut ours = all.into_iter().map(|(pid, _)| pid).filter(is_ours);
    ours.next().expect("its process is on this machine")
}

/// The name of the workers of the driver whose folder lies in this one.
fn driver_of(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut folders = entries.map(|entry| entry.path());
    let own = folders.find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("driver-"))
    })?;
    Some(name_of(&own))
}

/// A call of the worker itself.
fn hello(backend: &Arc<dyn Backend>, id: u64) -> Receiver<Result<Frame, BackendError>> {
    let call = CallSpec {
        id,
        request: protocol::Request::frame(
            id,
            Fingerprint::of_this_program(),
            protocol::Ask::Hello,
            Vec::new(),
        ),
        cpus: 1,
        placement: Placement::default(),
        objects: Vec::new(),
        origin: Arc::new(LogOrigin::Call {
            function: "hello".to_owned(),
            call: id,
            trace: None,
        }),
    };
    let (sender, answered) = mpsc::channel();
    backend.call(call, Box::new(move |answer| drop(sender.send(answer))));
    answered
}
