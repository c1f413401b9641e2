//! The suite on Slurm, inside of `cargo lab cluster with slurm -- cargo test ..`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heist_cluster::planner::NodeId;
use heist_cluster::{remote, Cluster, JobOptions, RemoteFuture, Slurm};
use heist_cluster_suite::calls;
use heist_cluster_suite::crashes;
use heist_cluster_suite::jobs::Counting;
use heist_cluster_suite::logs;
use heist_cluster_suite::stage::PATIENCE;
use heist_cluster_suite::until;
use heist_cluster_suite::world::{self, World};

heist_cluster_suite::suite!(OnSlurm);

struct OnSlurm;

impl World for OnSlurm {
    type Backend = Slurm;
    const TASK: Duration = Duration::from_millis(500);
    const TAKES_TURNS: bool = true;

    fn backend(folder: &Path) -> Slurm {
        Slurm::new()
            .under_test_harness()
            .environment(["CARGO_PKG_NAME"])
            .folder(folder.join("shared"))
    }

    fn absence() -> Option<String> {
        let missing = ["SLURM_CONF", "HEIST_LAB"]
            .into_iter()
            .find(|name| std::env::var_os(name).is_none());
        missing.map(|name| format!("{name} is not set; `cargo lab cluster with slurm` sets it"))
    }

    fn kill(_: &Cluster, node: &NodeId) {
        world::disturb(&["kill", "slurm", node.as_str()]);
    }

    fn revive(_: &Cluster, node: &NodeId) {
        world::disturb(&["start", "slurm", node.as_str()]);
    }
}

/// A variable of the worker's environment.
#[remote]
fn variable(name: String) -> Option<String> {
    std::env::var(name).ok()
}

/// Cargo has set both for this program.
#[test]
fn functions_have_of_our_environment_only_what_they_need() {
    world::on::<OnSlurm>(|stage| {
        let there = |name: &str| stage.cluster.call(variable, name.to_owned()).get();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert_eq!(there("CARGO_MANIFEST_DIR"), Ok(None));
        let wished = env!("CARGO_PKG_NAME").to_owned();
        assert_eq!(there("CARGO_PKG_NAME"), Ok(Some(wished)));
        assert_eq!(there("PATH"), Ok(std::env::var("PATH").ok()));
    });
}

#[test]
fn lines_come_from_the_nodes() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    logs::lines_come_with_their_origin(OnSlurm::backend(folder.path()), false);
    logs::lines_come_while_their_call_runs(OnSlurm::backend(folder.path()));
    logs::lines_of_jobs_come_with_their_attempt(OnSlurm::backend(folder.path()));
}

/// Calls that want different things share the workers of one connection.
#[test]
fn calls_of_different_kinds_share_a_connection() {
    world::on::<OnSlurm>(|stage| {
        calls::many_calls_come_back(stage.cluster);
        calls::a_function_has_a_pool(stage.cluster);
        calls::a_pinned_call_runs_where_it_should(stage.cluster);
        calls::shared_data_reaches_all_calls(stage.cluster);
    });
}

/// Slurm does not notice it.
#[test]
fn calls_at_a_stopped_worker_go_elsewhere_or_say_why_they_do_not() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let slurm = OnSlurm::backend(folder.path()).lost_after(Duration::from_secs(2));
    calls::calls_at_a_stopped_worker_end(&Cluster::connect(slurm).expect("Slurm can be used"));
}

/// Slurm takes a while to kill a worker, and the next call must not come to that one.
#[test]
fn a_killed_call_takes_no_other_with_it() {
    world::on::<OnSlurm>(|stage| {
        let calls = stage.cluster.anywhere().retries(0);
        for _ in 0..30 {
            let killed = calls.call(calls::add, (1, 2));
            killed.cancel();
            killed.kill();
            for _ in 0..10 {
                assert_eq!(calls.call(calls::add, (1, 2)).get(), Ok(3));
            }
        }
    });
}

#[test]
fn a_stopped_worker_holds_up_nobody() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::connect(OnSlurm::backend(folder.path())).expect("Slurm can be used");
    calls::a_stopped_worker_holds_up_nobody(cluster);
}

/// Slurm itself would let a pinned call wait until its node comes back.
#[test]
fn a_call_pinned_to_a_dead_node_is_an_error() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let slurm = OnSlurm::backend(folder.path()).lost_after(Duration::from_secs(2));
    let cluster = Cluster::connect(slurm).expect("Slurm can be used");
    let n3 = NodeId::from("n3");
    let bound = cluster.pin("n3");
    assert_eq!(bound.call(calls::add, (1, 2)).get(), Ok(3));
    OnSlurm::kill(&cluster, &n3);
    let test = || {
        for _ in 0..2 {
            let mut call = bound.call(calls::add, (1, 2));
            let answer = call.wait_timeout(PATIENCE).expect("an answer");
            let error = answer.expect_err("the node is dead");
            assert!(error.is_node_death(), "{error}");
        }
        assert_eq!(cluster.call(calls::add, (1, 2)).get(), Ok(3));
    };
    world::whatever_happens(test, || OnSlurm::revive(&cluster, &n3));
    until("n3 to be used again", || {
        bound.call(calls::add, (1, 2)).get() == Ok(3)
    });
}

/// Options that `sbatch` and `srun` do not know are errors that quote them.
#[test]
fn slurm_is_quoted_when_it_refuses() {
    let Some(_turn) = world::turn_or_skipped::<OnSlurm>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let slurm = OnSlurm::backend(folder.path()).arguments(["--no-such-option"]);
    let cluster = Cluster::connect(slurm).expect("nothing was asked of it yet");
    let error = cluster.call(calls::add, (1, 2)).get();
    let error = error.expect_err("srun fails").to_string();
    assert!(error.contains("--no-such-option"), "{error}");
    let job = cluster.submit(Counting::new(3, 1), JobOptions::new("refused"));
    let answer = job.expect("submit").wait_timeout(PATIENCE);
    let error = answer.expect("an answer").expect_err("sbatch fails");
    assert!(error.to_string().contains("--no-such-option"), "{error}");
}

/// A batch job that ends before its work does is lost, and the job goes on from its last state:
/// whether somebody cancels it in Slurm or its process is killed.
#[test]
fn a_job_that_others_end_goes_on() {
    world::on::<OnSlurm>(|stage| {
        let counting = Counting::new(3000, 1000);
        let options = JobOptions::new("ended by others");
        let options = options.checkpoint_every(Duration::from_millis(500));
        let job = stage.cluster.submit(counting.clone(), options);
        let job = job.expect("submit");
        for (losses, how) in [(1, "--full"), (2, "--signal=KILL")] {
            let again = job.wait_until(PATIENCE, |status| {
                status.losses + 1 == losses && status.node.is_some()
            });
            assert!(again.is_some(), "attempt {losses} runs");
            let mut scancel = Command::new("scancel");
            let status = scancel.args([how, "--name=ended by others"]).status();
            assert!(status.expect("scancel starts").success());
            let lost = job.wait_until(PATIENCE, |status| status.losses >= losses);
            assert!(lost.is_some(), "attempt {losses} is lost");
        }
        assert_eq!(job.wait_timeout(PATIENCE), Some(Ok(counting.expected())));
    });
}

/// Calls and jobs go on while Slurm's controller is away, and when it has come back.
#[test]
fn results_survive_a_restart_of_the_controller() {
    world::on::<OnSlurm>(|stage| {
        let controller = Controller::found();
        let counting = Counting::new(6000, 1000);
        let submit = |name: &str| {
            let job = stage
                .cluster
                .submit(counting.clone(), JobOptions::new(name));
            job.expect("submit")
        };
        let before = submit("before");
        let runs = before.wait_until(PATIENCE, |status| status.node.is_some());
        assert!(runs.is_some(), "it runs");
        let work = |seed| stage.cluster.call(calls::work_for, (seed, 300));
        let calls: Vec<_> = (0..20).map(work).collect();
        assert!(work(20).get().is_ok(), "workers are there");
        controller.end();
        let meanwhile = submit("meanwhile");
        let early = meanwhile.wait_timeout(Duration::from_secs(3));
        controller.begin();
        assert_eq!(early, None, "nobody could place it");
        for call in calls {
            assert!(call.get().is_ok());
        }
        for job in [before, meanwhile] {
            assert_eq!(job.wait_timeout(PATIENCE), Some(Ok(counting.expected())));
        }
    });
}

/// The process of Slurm's controller, as the test cluster has started it.
struct Controller {
    process: String,
    /// The file with the addresses of all hosts.
    hosts: PathBuf,
    line: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Controller {
    fn found() -> Self {
        let conf = PathBuf::from(std::env::var_os("SLURM_CONF").expect("the cluster sets it"));
        let process = std::fs::read_to_string(conf.with_file_name("slurmctld.pid"));
        let process = process.expect("it runs").trim().to_owned();
        let parts = |name: &str| -> Vec<OsString> {
            let bytes = std::fs::read(format!("/proc/{process}/{name}")).expect("it runs");
            let parts = bytes.split(|byte| *byte == 0);
            let parts = parts.filter(|part| !part.is_empty());
            parts
                .map(|part| OsStr::from_bytes(part).to_owned())
                .collect()
        };
        let assigned = |part: OsString| {
            let (name, value) = part.to_str()?.split_once('=')?;
            Some((name.into(), value.into()))
        };
        let variables = parts("environ").into_iter();
        Self {
            line: parts("cmdline"),
            environment: variables.filter_map(assigned).collect(),
            hosts: conf.with_file_name("hosts"),
            process,
        }
    }

    fn end(&self) {
        let killed = Command::new("kill").args(["-TERM", &self.process]).status();
        assert!(killed.expect("kill starts").success());
    }

    fn begin(&self) {
        let there = r#"hostname "$HEIST_HOST" && mount --bind "$0" /etc/hosts && exec setsid "$@""#;
        let mut command = Command::new("unshare");
        command
            .args(["--uts", "--mount", "--propagation", "slave"])
            .args(["sh", "-c", there])
            .arg(&self.hosts)
            .args(&self.line)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // The test cluster ends it.
        drop(command.spawn().expect("it starts again"));
    }
}

#[test]
fn killed_calls_give_their_processors_back() {
    world::on::<OnSlurm>(|stage| {
        let cluster = stage.cluster;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let cpus: f64 = cluster
            .nodes()
            .expect("nodes")
            .iter()
            .map(|node| node.cpus)
            .sum();
        let files: Vec<_> = (0..cpus as u32)
            .map(|call| folder.join(format!("never-ends-{call}")))
            .collect();
        let calls: Vec<_> = files
            .iter()
            .map(|file| cluster.call(calls::never_end, file.clone()))
            .collect();
        let deadline = Instant::now() + Duration::from_secs(60);
        for file in files {
            while std::fs::remove_file(&file).is_err() {
                assert!(Instant::now() < deadline, "not all calls have begun");
                std::thread::yield_now();
            }
        }
        calls.iter().for_each(RemoteFuture::kill);
        calls::many_calls_come_back(cluster);
    });
}

#[test]
fn the_error_says_that_there_was_no_stack() {
    world::on::<OnSlurm>(crashes::the_error_says_that_there_was_no_stack);
}
