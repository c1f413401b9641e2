//! The worlds in which the suite is run: a backend each, with somebody who can kill its nodes.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heist_cluster::backend::BackendOptions;
use heist_cluster::event::ClusterEvent;
use heist_cluster::planner::NodeId;
use heist_cluster::{Cluster, Options};

use crate::jobs;
use crate::stage::{self, Stage};

/// A backend with three nodes of two processors, called n1 to n3.
pub trait World {
    /// How to reach it.
    type Backend: BackendOptions;

    /// How long the tasks take in whose middle a node dies.
    const TASK: Duration;

    /// The backend; what a driver leaves for the next one is in `folder`.
    fn backend(folder: &Path) -> Self::Backend;

    /// Why the suite cannot be run here, if it cannot.
    fn absence() -> Option<String> {
        None
    }

    /// True if tests would disturb each other.
    const TAKES_TURNS: bool;

    /// True if a connection takes so long that tests which want nothing special of theirs have the
    /// same one, in turn. The backend then needs no folder.
    const SHARES: bool = false;

    /// Everything on a node dies.
    fn kill(cluster: &Cluster, node: &NodeId);

    /// The node is there again.
    fn revive(cluster: &Cluster, node: &NodeId);
}

/// Runs a test in the world `W`, or says why not.
///
/// # Panics
///
/// If the test does, or the backend cannot be reached.
pub fn on<W: World>(test: impl FnOnce(&Stage<'_>)) {
    static SHARED: Mutex<Option<(Cluster, Receiver<ClusterEvent>)>> = Mutex::new(None);
    let Some(_turn) = turn_or_skipped::<W>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let shared = || SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = shared().take();
    let (cluster, events) = known.unwrap_or_else(|| connect::<W>(Options::new(), folder.path()));
    // Those are the test's before.
    events.try_iter().for_each(drop);
    test(&Stage {
        cluster: &cluster,
        events: &events,
        folder: folder.path(),
    });
    // A test that has failed takes its connection with it.
    if W::SHARES {
        *shared() = Some((cluster, events));
    }
}

/// As [`on`], on a connection of its own with these options.
///
/// # Panics
///
/// As [`on`].
pub fn on_its_own<W: World>(options: Options, test: impl FnOnce(&Stage<'_>)) {
    let Some(_turn) = turn_or_skipped::<W>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (cluster, events) = connect::<W>(options, folder.path());
    test(&Stage {
        cluster: &cluster,
        events: &events,
        folder: folder.path(),
    });
}

fn connect<W: World>(options: Options, folder: &Path) -> (Cluster, Receiver<ClusterEvent>) {
    let (options, events) = stage::listening(options);
    let cluster = Cluster::connect_with(W::backend(folder), options);
    (cluster.expect("the backend can be reached"), events)
}

/// Waits for a test's turn, if there are turns; `None` if the backend is not here.
#[must_use]
pub fn turn_or_skipped<W: World>() -> Option<Option<MutexGuard<'static, ()>>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if let Some(reason) = W::absence() {
        // The caller of the tests may have closed it.
        let line = format!("test skipped: {reason}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        return None;
    }
    // A test that failed has left nothing behind.
    let take = || ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Some(W::TAKES_TURNS.then(take))
}

/// As [`on`], for a test in which a node is killed; it is revived in the end.
///
/// # Panics
///
/// As [`on`].
pub fn on_dying<W: World>(test: impl FnOnce(&Stage<'_>, &dyn Fn(&NodeId))) {
    let killed = RefCell::new(None);
    on::<W>(|stage| {
        let kill = |node: &NodeId| {
            W::kill(stage.cluster, node);
            killed.replace(Some(node.clone()));
        };
        whatever_happens(
            || test(stage, &kill),
            || {
                if let Some(node) = killed.take() {
                    W::revive(stage.cluster, &node);
                }
            },
        );
    });
}

/// Runs a test, and then `tidy_up` even if it has failed: the next one begins with three nodes.
///
/// # Panics
///
/// If one of them does.
pub fn whatever_happens(test: impl FnOnce(), tidy_up: impl FnOnce()) {
    let tested = panic::catch_unwind(AssertUnwindSafe(test));
    tidy_up();
    if let Err(panic) = tested {
        panic::resume_unwind(panic);
    }
}

/// The program that starts, kills and cuts off nodes of real backends.
#[must_use]
pub fn lab() -> Option<OsString> {
    std::env::var_os("HEIST_LAB")
}

/// Has that program do something.
///
/// # Panics
///
/// If it cannot.
pub fn disturb(what: &[&str]) {
    let lab = lab().expect("a test cluster has set HEIST_LAB");
    let mut command = Command::new(lab);
    command.arg("cluster").args(what).stdout(Stdio::null());
    let status = command.status().expect("the program starts");
    assert!(status.success(), "{what:?}: {status}");
}

/// Where a process of a test program is to be a driver.
const DRIVER: &str = "HEIST_SUITE_DRIVER";

/// A driver that is going to be lost, if this process is to be one.
///
/// # Panics
///
/// If it is not lost.
pub fn driver_process<W: World>() {
    if let Some(folder) = std::env::var_os(DRIVER) {
        let folder = Path::new(&folder);
        let options = Options::new().store(folder.join("store")).events(folder);
        let backend = W::backend(folder);
        let cluster = Cluster::connect_with(backend, options).expect("a cluster");
        jobs::a_driver_to_be_lost(&cluster, &hurry(folder));
    }
}

/// A driver is killed in the middle of a job; the store is locked while it lives, and another
/// driver goes on with the job from its checkpoint.
///
/// # Panics
///
/// If that is not so.
pub fn a_durable_job_goes_on_after_its_driver_is_lost<W: World>() {
    let Some(_turn) = turn_or_skipped::<W>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let mut driver = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "driver_process", "--nocapture"])
        .env(DRIVER, folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("a driver");
    crate::until("a checkpoint", || has_checkpoint(folder.path()));
    let backend = W::backend(folder.path());
    let refused = Cluster::connect_with(backend, Options::new().store(&store)).map(|_| ());
    assert!(refused.is_err_and(|error| error.to_string().contains("in use by another driver")));
    driver.kill().expect("the driver runs");
    driver.wait().expect("the driver is dead");
    let (options, events) = stage::listening(Options::new().store(&store));
    let backend = W::backend(folder.path());
    let cluster = Cluster::connect_with(backend, options).expect("a cluster");
    jobs::a_durable_job_goes_on(&cluster, &events, &hurry(folder.path()));
}

/// The file at which the orphaned job hurries.
fn hurry(folder: &Path) -> PathBuf {
    folder.join("hurry")
}

/// True if a job in the store has a younger state than its first, which is there before `job.json`,
/// and some of it was done by then.
fn has_checkpoint(folder: &Path) -> bool {
    let written = |path: &Path| {
        std::fs::metadata(path)
            .and_then(|data| data.modified())
            .ok()
    };
    let jobs = std::fs::read_dir(folder.join("store"))
        .into_iter()
        .flatten();
    let mut jobs = jobs.flatten().map(|entry| entry.path());
    let is_younger = jobs.any(|job| {
        let first = written(&job.join("job.json"));
        first.is_some() && written(&job.join("checkpoint")) > first
    });
    let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    let is_progress = |event: &str| {
        event.contains(r#""event":"checkpoint""#) && !event.contains(r#""progress":0.0,"#)
    };
    is_younger && events.lines().any(is_progress)
}

/// The tests that every backend passes, in the world `$world`.
#[macro_export]
macro_rules! suite {
    ($world:ty) => {
        heist_cluster::test_worker!();

        $crate::suite!(@calls $world:
            arguments_and_results_arrive, errors_and_panics_are_values, the_input_of_a_function_is_empty, a_function_has_a_pool, calls_on_one_node_run_together,
            shared_data_reaches_all_calls, a_pinned_call_runs_where_it_should,
            cancelled_calls_end, a_cancelled_call_can_be_killed, calls_end_at_their_deadline,
            a_deaf_call_is_killed_after_its_deadline, many_calls_come_back,
            a_result_is_given_once);
        $crate::suite!(@claims $world: urgent_calls_come_first, no_call_is_passed_over_for_ever,
            a_large_call_has_its_turn);
        $crate::suite!(@hostile $world: what_nobody_has_is_refused, extremes_are_possible);
        $crate::suite!(@odd_names $world: names_are_free);
        $crate::suite!(@chunks $world:
            a_range_is_covered_once, a_list_keeps_its_order, progress_grows_to_the_whole,
            a_chunk_that_panics_ends_all);
        $crate::suite!(@jobs $world: jobs_end, a_cancelled_job_ends, jobs_end_at_their_deadline,
            deaf_jobs_can_be_killed, a_job_uses_shared_data);
        $crate::suite!(@stage crashes $world: work_that_ends_its_worker_twice_is_not_run_again,
            the_error_says_that_there_was_no_memory);
        $crate::suite!(@stage sharing $world: parts_of_a_processor_add_up,
            checkpoints_are_taken_while_jobs_come_and_go);
        $crate::suite!(@world names $world: any_text_names_a_job, a_name_stands_for_its_last_job);
        $crate::suite!(@traces $world: a_function_knows_its_trace, a_job_knows_its_trace);

        #[test]
        fn results_survive_the_death_of_a_node() {
            $crate::world::on_dying::<$world>(|stage, kill| {
                let task = <$world as $crate::world::World>::TASK;
                let node = heist_cluster::planner::NodeId::from("n3");
                $crate::calls::results_survive(stage.cluster, 120, task, || kill(&node));
            });
        }

        #[test]
        fn a_job_with_much_state_moves() {
            $crate::world::on::<$world>(|stage| {
                let (standstill, pausing) = $crate::jobs::a_job_moves(stage, 64 << 20);
                $crate::report_standstill(pausing, standstill);
            });
        }

        #[test]
        fn a_checkpoint_can_be_asked_for() {
            $crate::world::on::<$world>($crate::jobs::a_checkpoint_can_be_asked_for);
        }

        #[test]
        fn a_job_survives_its_node() {
            $crate::world::on_dying::<$world>(|stage, kill| {
                $crate::jobs::a_job_survives_its_node(stage, "killed", kill);
            });
        }

        #[test]
        fn a_paused_state_survives_its_node() {
            $crate::world::on_dying::<$world>($crate::jobs::a_paused_state_survives_its_node);
        }

        #[test]
        fn large_payloads_pass_both_ways() {
            let options = heist_cluster::Options::new()
                .rebalance($crate::jobs::quick_planner())
                .sample_every(std::time::Duration::from_millis(250));
            $crate::world::on_its_own::<$world>(options, |stage| {
                $crate::calls::large_payloads_pass_both_ways(stage.cluster);
            });
        }

        #[test]
        fn a_cancelled_call_gives_its_memory_back() {
            let options = heist_cluster::Options::new().calls_bytes_max(600);
            let test = $crate::hostile::a_cancelled_call_gives_its_memory_back;
            $crate::world::on_its_own::<$world>(options, test);
        }

        #[test]
        fn the_rebalancer_moves_jobs() {
            let options = heist_cluster::Options::new()
                .rebalance($crate::jobs::quick_planner())
                .sample_every(std::time::Duration::from_millis(500));
            $crate::world::on_its_own::<$world>(options, $crate::jobs::the_rebalancer_moves_jobs);
        }

        /// The driver that is going to be lost, in a process of its own; passes everywhere else.
        #[test]
        fn driver_process() {
            $crate::world::driver_process::<$world>();
        }

        #[test]
        fn a_durable_job_goes_on_after_its_driver_is_lost() {
            $crate::world::a_durable_job_goes_on_after_its_driver_is_lost::<$world>();
        }
    };
    (@stage $room:ident $world:ty: $($test:ident),*) => {$(
        #[test]
        fn $test() {
            $crate::world::on::<$world>($crate::$room::$test);
        }
    )*};
    (@world $room:ident $world:ty: $($test:ident),*) => {$(
        #[test]
        fn $test() {
            $crate::$room::$test::<$world>();
        }
    )*};
    (@$room:ident $world:ty: $($test:ident),*) => {$(
        #[test]
        fn $test() {
            $crate::world::on::<$world>(|stage| {
                $crate::$room::$test(stage.cluster);
            });
        }
    )*};
}
