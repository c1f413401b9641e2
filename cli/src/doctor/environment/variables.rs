//! The table of all environment variables that any part of heist reads.
//!
//! A test looks through the sources for variables that are not here.

use std::ffi::OsStr;
use std::path::Path;

use heist_event::schedule::Wanted;
use serde::Serialize;

/// A variable as it is known before the environment is looked at.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) read_by: Reader,
    pub(super) changes: &'static str,
    pub(super) accepts: &'static str,
    pub(super) rule: Rule,
}

/// Which part of heist reads a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reader {
    /// Every pool, when it is built.
    Pools,
    /// The stand-in for rayon-core, and nothing else.
    StandIn,
    /// `heist::schedule::check`, in tests.
    Tests,
    /// `heist-cluster` and `heist cluster`.
    Clusters,
}

/// The values that the reader of a variable accepts, and the effect of others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Every value; it is passed on to a stricter reader.
    Any,
    /// Others are an error; the text says what does not start then.
    Refuses(fn(&OsStr) -> bool, &'static str),
    /// Others count as unset; the text says for whom.
    Ignores(fn(&OsStr) -> bool, &'static str),
}

/// A variable that heist's own parts set for each other; no user needs to.
#[derive(Debug)]
pub(super) struct Internal {
    pub(super) name: &'static str,
    pub(super) why: &'static str,
}

pub(super) const NUM_THREADS: &str = "HEIST_NUM_THREADS";
pub(super) const RAYON_NUM_THREADS: &str = "RAYON_NUM_THREADS";
pub(super) const RECORD_EVENTS: &str = "HEIST_RECORD_EVENTS";

const NO_POOL: &str = "no pool starts with it";
const AS_RAYON: &str = "ignored, as by rayon";
const BY_RUNS: &str = "ignored by `heist cluster`";

pub(super) const KNOWN: [Definition; 26] = [
    Definition {
        name: NUM_THREADS,
        read_by: Reader::Pools,
        changes: "the number of workers of a pool that is built without saying how many",
        accepts: "a whole number from 0 to 65535; 0 or unset: one worker per usable core",
        rule: Rule::Refuses(|value| parse_workers(value).is_some(), NO_POOL),
    },
    Definition {
        name: RAYON_NUM_THREADS,
        read_by: Reader::Pools,
        changes: "the same, where HEIST_NUM_THREADS is unset",
        accepts: "a whole number from 0 to 65535; 0 or unset: one worker per usable core",
        rule: Rule::Refuses(|value| parse_workers(value).is_some(), NO_POOL),
    },
    Definition {
        name: "HEIST_BARRIER",
        read_by: Reader::Pools,
        changes: "how idle workers see what busy ones do: by membarrier, or by locks",
        accepts: "auto, membarrier or fence; auto or unset: membarrier where it is offered",
        rule: Rule::Refuses(
            |value| {
                ["auto", "membarrier", "fence"]
                    .iter()
                    .any(|it| value == *it)
            },
            NO_POOL,
        ),
    },
    Definition {
        name: RECORD_EVENTS,
        read_by: Reader::Pools,
        changes: "how many events each worker keeps, in pools that are built without saying",
        accepts: "a whole number from 0 to 4294967295; 0: none; unset: none, or 32768 with HEIST_TIMELINE",
        rule: Rule::Refuses(|value| parse_events(value).is_some(), NO_POOL),
    },
    Definition {
        name: "HEIST_GLOBAL",
        read_by: Reader::Pools,
        changes: "whether a call outside of any pool may build the global pool",
        accepts: "implicit or explicit; implicit or unset: it may",
        rule: Rule::Refuses(|value| value == "implicit" || value == "explicit", NO_POOL),
    },
    Definition {
        name: "HEIST_BANNER",
        read_by: Reader::Pools,
        changes: "whether each pool that starts says so in a line on standard error",
        accepts: "0 or 1; 0 or unset: no line",
        rule: Rule::Refuses(|value| value == "0" || value == "1", NO_POOL),
    },
    Definition {
        name: "HEIST_PROFILE",
        read_by: Reader::Pools,
        changes: "whether the program's work and span are measured, and written when it ends",
        accepts: "the name of a file that can be made, without its ending .json; unset: none",
        rule: Rule::Refuses(|value| !value.is_empty(), NO_POOL),
    },
    Definition {
        name: "HEIST_DAG",
        read_by: Reader::Pools,
        changes: "whether the DAG of the program's strands is written when it ends",
        accepts: "the name of a file that can be made, without its ending .dag.json; unset: none",
        rule: Rule::Refuses(|value| !value.is_empty(), NO_POOL),
    },
    Definition {
        name: "HEIST_TIMELINE",
        read_by: Reader::Pools,
        changes: "whether each worker's events are written when the program ends",
        accepts: "the name of a file that can be made, without its ending .timeline.json; unset: none",
        rule: Rule::Refuses(|value| !value.is_empty(), NO_POOL),
    },
    Definition {
        name: "HEIST_STALL",
        read_by: Reader::Pools,
        changes: "after how long a pool that stands still says who waits for whom",
        accepts: "a number of seconds from 0.1 to 86400; 0 or unset: never",
        rule: Rule::Refuses(|value| parse_patience(value).is_some(), NO_POOL),
    },
    Definition {
        name: "HEIST_SCHEDULE",
        read_by: Reader::Pools,
        changes: "which worker runs: one at a time, by a seed or a recorded schedule",
        accepts: "random:SEED, pct:SEED:d=DEPTH, replay:FILE, default; unset: all that can; Linux only",
        rule: Rule::Refuses(is_schedule, NO_POOL),
    },
    Definition {
        name: "HEIST_SCHEDULE_FILE",
        read_by: Reader::Pools,
        changes: "where the schedule of HEIST_SCHEDULE is recorded",
        accepts: "the name of a file that can be made; unset: nowhere",
        rule: Rule::Refuses(|value| !value.is_empty(), NO_POOL),
    },
    Definition {
        name: "HEIST_SCHEDULE_SEEDS",
        read_by: Reader::Tests,
        changes: "the number of seeds that each `heist::schedule::check` tries",
        accepts: "a number from 1; unset: what the test says, or 100",
        rule: Rule::Refuses(is_number_of_seeds, "no test with a check passes with it"),
    },
    Definition {
        name: "HEIST_LIVE",
        read_by: Reader::Pools,
        changes: "whether the program writes what its workers do, for `heist top`",
        accepts: "0 or 1; 0 or unset: it does not",
        rule: Rule::Refuses(|value| value == "0" || value == "1", NO_POOL),
    },
    Definition {
        name: "XDG_RUNTIME_DIR",
        read_by: Reader::Pools,
        changes: "in which folder the file for `heist top` is, below heist",
        accepts: "an absolute path; unset: heist-UID in the folder for temporary files",
        rule: Rule::Ignores(|value| Path::new(value).is_absolute(), "ignored"),
    },
    Definition {
        name: "RAYON_RS_NUM_CPUS",
        read_by: Reader::StandIn,
        changes: "the number of workers, where neither of the others says one",
        accepts: "a whole number; 0: one worker per usable core",
        rule: Rule::Ignores(|value| parse_as_rayon(value).is_some(), AS_RAYON),
    },
    Definition {
        name: "HEIST_CLUSTER_PAYLOAD_MAX",
        read_by: Reader::Clusters,
        changes: "how large the arguments or the result of a call may be",
        accepts: "a number of bytes; unset: 4 GiB",
        rule: Rule::Refuses(
            |value| value.to_str().is_some_and(|it| it.parse::<u64>().is_ok()),
            "no cluster starts with it",
        ),
    },
    Definition {
        name: "XDG_STATE_HOME",
        read_by: Reader::Clusters,
        changes: "where folders of runs, and those for Slurm, are made",
        accepts: "an absolute path; unset: .local/state in the home folder",
        rule: Rule::Ignores(|value| Path::new(value).is_absolute(), BY_RUNS),
    },
    Definition {
        name: "HOME",
        read_by: Reader::Clusters,
        changes: "the home folder, for where XDG_STATE_HOME is unset",
        accepts: "an absolute path",
        rule: Rule::Ignores(|value| Path::new(value).is_absolute(), BY_RUNS),
    },
    Definition {
        name: "RAY_ADDRESS",
        read_by: Reader::Clusters,
        changes: "which Ray cluster is used, unless the program says",
        accepts: "host:port or auto; auto, empty or unset: the one on this machine",
        rule: Rule::Refuses(
            |value| {
                let text = value.to_str();
                text.is_some_and(|address| !address.contains("://") && address != "local")
            },
            "the backend Ray does not start with it",
        ),
    },
    Definition {
        name: "HEIST_RAY_PYTHON",
        read_by: Reader::Clusters,
        changes: "which Python speaks to Ray",
        accepts: "a Python that has the cluster's release of Ray; empty or unset: python3",
        rule: Rule::Any,
    },
    Definition {
        name: "HEIST_CLUSTER_LIBRARY",
        read_by: Reader::Clusters,
        changes: "which library Ray's workers load",
        accepts: "the path of the program's cdylib; empty or unset: the one beside the program",
        rule: Rule::Any,
    },
    Definition {
        name: "RAY_grpc_client_keepalive_time_ms",
        read_by: Reader::Clusters,
        changes: "when Ray asks a silent node for an answer",
        accepts: "what Ray does; unset: heist sets 3000 for its own connection",
        rule: Rule::Any,
    },
    Definition {
        name: "RAY_grpc_client_keepalive_timeout_ms",
        read_by: Reader::Clusters,
        changes: "how long Ray waits for it",
        accepts: "what Ray does; unset: heist sets 3000 for its own connection",
        rule: Rule::Any,
    },
    Definition {
        name: "SLURM_CONF",
        read_by: Reader::Clusters,
        changes: "which cluster Slurm's commands speak to",
        accepts: "what Slurm does; it is passed on",
        rule: Rule::Any,
    },
    Definition {
        name: "SLURM_JOB_ID",
        read_by: Reader::Clusters,
        changes: "that Slurm's commands start without the variables of this allocation",
        accepts: "anything",
        rule: Rule::Any,
    },
];

pub(super) const INTERNAL: [Internal; 23] = [
    Internal {
        name: "ASAN_OPTIONS",
        why: "a test tells the address sanitizer by it that threads are there at the end",
    },
    Internal {
        name: "HEIST_SOAK_SEED",
        why: "`cargo xtask soak` gives the delays of one run by it",
    },
    Internal {
        name: "HEIST_CLUSTER_WORKER",
        why: "a driver makes the processes that it starts workers by it",
    },
    Internal {
        name: "HEIST_CLUSTER_NODE",
        why: "a driver tells a worker by it on which node it is",
    },
    Internal {
        name: "HEIST_CLUSTER_OBJECTS",
        why: "a driver tells a worker by it where shared data lies",
    },
    Internal {
        name: "HEIST_CLUSTER_DRIVER",
        why: "a driver tells a worker by it with whose end to end",
    },
    Internal {
        name: "SLURM_RESTART_COUNT",
        why: "Slurm tells a worker by it that its batch job was put back",
    },
    Internal {
        name: "HEIST_CLUSTER",
        why: "`cargo lab cluster` knows the processes of its test clusters by it",
    },
    Internal {
        name: "HEIST_NODE",
        why: "`cargo lab cluster` knows by it which node a process plays",
    },
    Internal {
        name: "HEIST_HOST",
        why: "`cargo lab cluster` knows by it which process plays a machine",
    },
    Internal {
        name: "HEIST_CLUSTER_STATE",
        why: "`cargo lab cluster` tells tests by it where its test cluster is described",
    },
    Internal {
        name: "HEIST_CLUSTER_NETNS",
        why: "`cargo lab cluster` tells tests by it that nodes can be cut off",
    },
    Internal {
        name: "HEIST_LAB",
        why: "`cargo lab cluster` tells tests by it which program disturbs the nodes",
    },
    Internal {
        name: "HEIST_FAULT",
        why: "the models of `cargo xtask model` plant a fault by it",
    },
    Internal {
        name: "HEIST_TEST_ABORTS",
        why: "tests set it for child processes that have to abort",
    },
    Internal {
        name: "HEIST_SUITE_DRIVER",
        why: "a test of clusters makes its own child process a driver by it",
    },
    Internal {
        name: "HEIST_SUITE_FORKED",
        why: "a test of clusters tells a driver by it where to say what it has started",
    },
    Internal {
        name: "HEIST_CLUSTER_TEST_LOST_DRIVER",
        why: "a test of Slurm makes its own child process a driver by it",
    },
    Internal {
        name: "HEIST_CHAOS",
        why: "`cargo lab cluster chaos` finds the processes that a run has left by it",
    },
    Internal {
        name: "LSAN_OPTIONS",
        why: "a test that forks tells the leak sanitizer by it that a child lacks stacks",
    },
    Internal {
        name: "HEIST_SCHEDULE_CHECK",
        why: "`heist::schedule::check` tells the processes that it makes by it whose they are",
    },
    Internal {
        name: "RUST_BACKTRACE",
        why: "a test of checks has panics tell a long backtrace by it",
    },
    Internal {
        name: "HEIST_FLEETS",
        why: "says how many fleets a test of the planner tries",
    },
];

/// The number of workers as heist reads it.
pub(super) fn parse_workers(value: &OsStr) -> Option<usize> {
    let workers = value.to_str()?.trim().parse().ok();
    workers.filter(|&workers| workers <= heist::max_num_threads())
}

/// A number of workers as rayon reads it, without trimming.
pub(super) fn parse_as_rayon(value: &OsStr) -> Option<usize> {
    value.to_str()?.parse().ok()
}

/// The number of seconds after which a stall is said, as heist reads it.
fn parse_patience(value: &OsStr) -> Option<f64> {
    let seconds = value.to_str()?.trim().parse().ok();
    seconds.filter(|&seconds| seconds == 0.0 || (0.1..=86_400.0).contains(&seconds))
}

/// True if it is a number of seeds, as `heist::schedule::check` reads it.
fn is_number_of_seeds(value: &OsStr) -> bool {
    let number = value.to_str().and_then(|value| value.parse::<u64>().ok());
    number.is_some_and(|seeds| seeds > 0)
}

/// True if it has the form of a schedule. The file is not looked at.
fn is_schedule(value: &OsStr) -> bool {
    value.to_str().and_then(Wanted::parse).is_some()
}

/// The number of events that each worker keeps, as heist reads it.
pub(super) fn parse_events(value: &OsStr) -> Option<u32> {
    value.to_str()?.trim().parse().ok()
}
