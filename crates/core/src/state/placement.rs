//! The processors that the workers of a pinned pool are bound to, and the niceness of its threads.

use heist_sync::{bind_current_thread, set_thread_nice, Distance, Topology};

use crate::policy::Neighbours;

/// The system's treatment of the threads of a pool.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    pub(crate) pinned: Option<Pinned>,
    pub(crate) nice: Option<i8>,
}

/// The processors of a pinned pool.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// The processor of each worker.
    pub(crate) processors: Vec<usize>,
    pub(crate) topology: Topology,
}

impl Placement {
    /// Called first on the thread of the worker with this index. A compensation worker may run
    /// wherever one of the workers does, since it works in the place of any.
    ///
    /// The system has just let another thread do the same. If it refuses now, the processor has
    /// been taken away since; then the thread runs where the system lets it, as one does whose
    /// processor is taken away later.
    pub(crate) fn settle(&self, index: usize) {
        if let Some(pinned) = &self.pinned {
            let all = &pinned.processors;
            _ = bind_current_thread(all.get(index..=index).unwrap_or(all));
        }
        if let Some(nice) = self.nice {
            _ = set_thread_nice(nice);
        }
    }

    /// The neighbours of this worker among so many workers of both kinds. `None` if all are equally
    /// near as far as is known: for compensation workers, and in pools that are not pinned.
    pub(crate) fn neighbours(&self, thief: usize, workers: usize) -> Option<Neighbours> {
        let Pinned {
            processors,
            topology,
        } = self.pinned.as_ref()?;
        let here = *processors.get(thief)?;
        let to = |processor: &usize| topology.distance(here, *processor);
        // A compensation worker may be anywhere among them.
        let farthest = processors.iter().map(to).max().unwrap_or(Distance::Node);
        let neighbours = Neighbours::new(thief, workers, |worker| {
            processors.get(worker).map_or(farthest, to)
        });
        Some(neighbours).filter(|neighbours| neighbours.classes() > 1)
    }
}
