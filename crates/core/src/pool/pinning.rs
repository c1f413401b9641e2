//! The assignment of processors to the workers of a pinned pool, and the errors of settings that
//! cannot be met.

use std::io;

use heist_sync::{
    allowed_processors, bind_current_thread, processor_list, set_thread_nice, thread,
    usable_processors, NumaNode, Topology,
};

use crate::base::error::ThreadPoolBuildError;
use crate::pool::choices::{Callers, Pin};
use crate::pool::settings::Settings;
use crate::state::{Pinned, Placement};

/// The niceness that a thread can have.
const NICE: std::ops::RangeInclusive<i8> = -20..=19;

impl Pin {
    /// The processors that workers are bound to, in the order of the workers.
    ///
    /// # Errors
    ///
    /// Fails if there are none, or if one of them does not exist or is not open to the process.
    fn processors(
        &self,
        topology: &Topology,
        allowed: &[usize],
    ) -> Result<Vec<usize>, ThreadPoolBuildError> {
        let list = processor_list;
        let error = |text| Err(ThreadPoolBuildError::placement(text));
        let only_allowed = |processors: &[usize], of: String| {
            open(topology.core_by_core(processors), &of, allowed)
        };
        match self {
            Self::No => Ok(Vec::new()),
            Self::Cpus(processors) if processors.is_empty() => {
                error("a pool was to be pinned to no processors; name one for each worker".into())
            }
            Self::Cpus(processors) => {
                let is_open = |processor: &usize| allowed.contains(processor);
                let Some(first) = processors.iter().find(|processor| !is_open(processor)) else {
                    return Ok(processors.clone());
                };
                let why = if topology.processors().any(|known| known == *first) {
                    "is outside of the affinity mask of the process"
                } else {
                    "does not exist or is switched off"
                };
                error(format!(
                    "a pool was to be pinned to processor {first}, which {why}; accepted are {}",
                    list(allowed)
                ))
            }
            Self::Node(id) => {
                let nodes = topology.nodes();
                match nodes.iter().find(|node| node.id() == *id) {
                    Some(node) => only_allowed(node.processors(), format!("NUMA node {id}")),
                    None => error(format!(
                        "a pool was to be pinned to NUMA node {id}; the nodes with processors are {}",
                        list(&nodes.iter().map(NumaNode::id).collect::<Vec<_>>())
                    )),
                }
            }
            Self::Class(class) => {
                let classes = topology.classes();
                match classes.get(*class) {
                    Some(cores) => only_allowed(cores.processors(), format!("core class {class}")),
                    None => error(format!(
                        "a pool was to be pinned to core class {class}; the last that this machine has is {}",
                        classes.len() - 1
                    )),
                }
            }
        }
    }
}

/// The allowed ones among these processors.
fn open(
    mut processors: Vec<usize>,
    of: &str,
    allowed: &[usize],
) -> Result<Vec<usize>, ThreadPoolBuildError> {
    let all = processor_list(&processors);
    processors.retain(|processor| allowed.contains(processor));
    if processors.is_empty() {
        let allowed = processor_list(allowed);
        return Err(ThreadPoolBuildError::placement(format!(
            "a pool was to be pinned to {of}, which has processors {all}; the process may use {allowed} only"
        )));
    }
    Ok(processors)
}

impl Settings {
    /// The number of workers, if the pool is pinned and none was given; and the placement of the
    /// threads.
    ///
    /// # Errors
    ///
    /// Fails if the system would refuse that, or another setting contradicts it.
    pub(super) fn place(&self) -> Result<(usize, Placement), ThreadPoolBuildError> {
        let nice = self.nice;
        if let Some(nice) = nice.filter(|nice| !NICE.contains(nice)) {
            let text = format!("a niceness of {nice} was asked for; accepted are -20 to 19");
            return Err(ThreadPoolBuildError::placement(text));
        }
        let pinned = self.pinned()?;
        if pinned.is_some() || nice.is_some() {
            let processors = pinned.as_ref().map(|pinned| pinned.processors.clone());
            try_out(processors.unwrap_or_default(), nice)?;
        }
        let workers = pinned.as_ref().map_or(0, |pinned| pinned.processors.len());
        Ok((workers, Placement { pinned, nice }))
    }

    fn pinned(&self) -> Result<Option<Pinned>, ThreadPoolBuildError> {
        let setting = match (&self.pin, self.callers) {
            (Pin::No, _) => return Ok(None),
            (_, Some(Callers::Participate)) => "callers that participate were",
            _ if self.use_current_thread => "use_current_thread was",
            _ => "",
        };
        if !setting.is_empty() {
            return Err(ThreadPoolBuildError::placement(format!(
                "a pinned pool was asked for, whose workers are threads of its own, and {setting} asked for as well; leave one of the two out"
            )));
        }
        let topology = self.topology.clone().unwrap_or_else(Topology::detect);
        let mut processors = self.pin.processors(&topology, &allowed_processors())?;
        let places = processors.len();
        if self.num_threads > places {
            return Err(ThreadPoolBuildError::placement(format!(
                "a pool of {} workers was to be pinned to processors {}, one each; accepted are at most {places}",
                self.num_threads,
                processor_list(&processors)
            )));
        }
        let workers = match (self.num_threads, &self.pin) {
            (0, Pin::Cpus(_)) => places,
            (0, _) => places.min(usable_processors()),
            (told, _) => told,
        };
        processors.truncate(workers);
        Ok(Some(Pinned {
            processors,
            topology,
        }))
    }
}

/// Tries the binding and the niceness of the pool's threads on a thread: only the system knows
/// whether it allows them.
fn try_out(processors: Vec<usize>, nice: Option<i8>) -> Result<(), ThreadPoolBuildError> {
    let attempt = move || -> Result<(), (String, io::Error)> {
        for processor in processors {
            bind_current_thread(&[processor])
                .map_err(|error| (format!("be bound to processor {processor}"), error))?;
        }
        nice.map_or(Ok(()), set_thread_nice)
            .map_err(|error| (format!("have the niceness {}", nice.unwrap_or(0)), error))
    };
    let thread = thread::Builder::new().spawn(attempt);
    let tried = thread.map_err(|error| ThreadPoolBuildError::thread(0, 1, error))?;
    let outcome = tried.join().unwrap_or(Ok(()));
    outcome.map_err(|(wish, error)| {
        let hint = match error.kind() {
            io::ErrorKind::Unsupported => "; heist can do that on Linux only",
            io::ErrorKind::PermissionDenied => "; the process may not ask for it",
            _ => "",
        };
        ThreadPoolBuildError::placement(format!(
            "the threads of a pool were to {wish}, which the system refuses: {error}{hint}"
        ))
    })
}

#[cfg(all(test, target_os = "linux", not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::path::Path;
    use std::sync::{mpsc, Arc};

    use heist_sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ops::join::join;
    use crate::pool::builder::ThreadPoolBuilder;
    use crate::pool::thread_pool::ThreadPool;

    fn machine(name: &str) -> Topology {
        let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sync/tests/machines");
        Topology::read(&machines.join(name)).expect("it is recorded")
    }

    fn processors(pin: &Pin, topology: &Topology, allowed: &[usize]) -> Result<Vec<usize>, String> {
        let chosen = pin.processors(topology, allowed);
        chosen.map_err(|error| error.to_string())
    }

    #[test]
    fn a_node_and_a_class_are_taken_core_by_core_as_far_as_they_are_allowed() {
        let all: Vec<usize> = (0..32).collect();
        let sockets = machine("two-sockets.txt");
        let second: Vec<usize> = (8..16).chain(24..32).collect();
        assert_eq!(processors(&Pin::Node(1), &sockets, &all), Ok(second));
        assert_eq!(
            processors(&Pin::Node(1), &sockets, &[0, 24, 9, 8]),
            Ok(vec![8, 9, 24])
        );
        let hybrid = machine("hybrid.txt");
        let p: Vec<usize> = (0..12).step_by(2).chain((1..12).step_by(2)).collect();
        assert_eq!(processors(&Pin::Class(0), &hybrid, &all), Ok(p));
        assert_eq!(
            processors(&Pin::Class(1), &hybrid, &all),
            Ok((12..20).collect())
        );
    }

    #[test]
    fn a_node_of_which_nothing_is_allowed_is_refused_with_the_mask() {
        let sockets = machine("two-sockets.txt");
        let text = processors(&Pin::Node(1), &sockets, &[0, 1, 2]).unwrap_err();
        assert!(
            text.contains("processors 8-15,24-31") && text.contains("0-2 only"),
            "{text}"
        );
        let text = processors(&Pin::Node(2), &sockets, &[0]).unwrap_err();
        assert!(
            text.ends_with("the nodes with processors are 0-1"),
            "{text}"
        );
    }

    /// The workers of a pool of 32 on that machine, by distance from worker 0, and a compensation
    /// worker.
    #[test]
    fn victims_come_by_distance_and_compensation_workers_with_the_farthest() {
        let pinned = Pinned {
            processors: (0..32).collect(),
            topology: machine("two-sockets.txt"),
        };
        let placement = Placement {
            pinned: Some(pinned),
            nice: None,
        };
        let neighbours = placement.neighbours(0, 33).expect("several classes");
        assert_eq!(neighbours.classes(), 3);
        let mut rng = crate::policy::Rng::new(1);
        let round: Vec<_> = neighbours.victims(&mut rng).collect();
        let sweep = &round[round.len() - 32..];
        assert_eq!(sweep[0].worker, 16, "the SMT sibling");
        let in_class = |class| sweep.iter().filter(move |victim| victim.class == class);
        assert_eq!(in_class(1).count(), 14);
        assert!(in_class(2)
            .all(|victim| (8..16).contains(&victim.worker) || (24..=32).contains(&victim.worker)));
        assert!(
            placement.neighbours(32, 33).is_none(),
            "it may run anywhere"
        );
    }

    /// A pool of workers that are not equally far apart, if these are not all on one processor.
    fn uneven_pool(processors: Vec<usize>) -> ThreadPool {
        let builder = ThreadPoolBuilder::new().pin(Pin::Cpus(processors));
        let pool = builder.topology(machine("far-apart.txt")).build();
        pool.expect("a pool")
    }

    #[test]
    fn a_private_job_of_a_silent_owner_is_taken_from_the_farthest_class() {
        const JOBS: usize = 20;
        let all = allowed_processors();
        // The others are nearer to each other than to worker 0, for all of them.
        let pool = uneven_pool(vec![all[all.len() - 1], all[0], all[0], all[0]]);
        for _ in 0..200 {
            let (say, heard) = mpsc::channel();
            // Only this worker has jobs, and it never calls the pool.
            pool.job().only_on(0).spawn(move || {
                let ran = Arc::new(AtomicUsize::new(0));
                // The first is made public for those who sleep; the others are not.
                for _ in 0..JOBS {
                    let ran = Arc::clone(&ran);
                    crate::spawn(move || _ = ran.fetch_add(1, Ordering::Release));
                }
                while ran.load(Ordering::Acquire) < JOBS {
                    std::thread::yield_now();
                }
                say.send(()).expect("a listener");
            });
            heard.recv().expect("the job is found");
        }
    }

    #[test]
    fn joins_among_far_workers_run_each_leaf_once() {
        fn leaves(depth: u32) -> u64 {
            if depth == 0 {
                return 1;
            }
            let (a, b) = join(|| leaves(depth - 1), || leaves(depth - 1));
            a + b
        }
        let turns = allowed_processors().into_iter().cycle();
        let pool = uneven_pool(turns.take(8).collect());
        for _ in 0..20 {
            assert_eq!(pool.install(|| leaves(12)), 4_096);
        }
        pool.shutdown();
    }
}
