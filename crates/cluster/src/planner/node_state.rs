//! A known node with what runs there: its two levels, and what it has to spare.

use std::collections::BTreeMap;

use super::id::NodeId;
use super::ledger::Ledger;
use super::sample::{JobSample, NodeSample, Resources};
use super::track::NodeTrack;

/// Jobs that were measured to use so many times the CPUs of their node may owe that to the measure.
const GIVEN_BY_NOISE_MAX: f64 = 1.25;

/// A job where it is.
pub(super) struct PlacedJob<'a> {
    pub(super) sample: &'a JobSample,
    pub(super) node: NodeId,
    /// A job whose sample is not believed does not move, but takes its place all the same.
    pub(super) is_sound: bool,
}

/// A known node.
pub(super) struct NodeState<'a> {
    pub(super) node: &'a NodeId,
    pub(super) track: &'a NodeTrack,
    pub(super) placed_jobs: Vec<&'a PlacedJob<'a>>,
    /// The lasting part of the level, without jobs that are leaving: the measure of a source.
    pub(super) level_without: f64,
    /// The highest recent level, with jobs that are arriving: the measure of a target.
    pub(super) level_with: f64,
    /// How many times its CPUs the node gives to its jobs, as they were measured: more than once if
    /// it is a part of a larger machine that does not hold it to its CPUs.
    given: f64,
    sample: &'a NodeSample,
    /// Resources of the jobs that are there; a job that is leaving has not left yet.
    resident: Resources,
    /// Resources that are set aside for arriving jobs.
    arriving: Resources,
}

impl<'a> NodeState<'a> {
    pub(super) fn new(
        node: &'a NodeId,
        track: &'a NodeTrack,
        sample: &'a NodeSample,
        placed_jobs: Vec<&'a PlacedJob<'a>>,
        ledger: &Ledger,
    ) -> Self {
        let (mut resident, mut arriving) = (Resources::default(), Resources::default());
        let (mut leaving_cpus, mut used_cpus) = (0.0, 0.0);
        for placed in &placed_jobs {
            used_cpus += placed.sample.used_cpus.unwrap_or(0.0);
            // A job in flight counts by the ledger, wherever its sample says it is.
            if ledger.in_flight(&placed.sample.job).is_none() {
                let named = &placed.sample.demand.named;
                add(&mut resident, placed.sample.memory_bytes(), named);
            }
        }
        for flying in ledger.all_in_flight() {
            let reserved = &flying.reserved;
            if flying.from == *node {
                leaving_cpus += reserved.cpus;
                add(&mut resident, reserved.memory_bytes, &reserved.named);
            }
            if flying.to == *node {
                arriving.cpus += reserved.cpus;
                add(&mut arriving, reserved.memory_bytes, &reserved.named);
            }
        }
        let mut state = Self {
            node,
            track,
            placed_jobs,
            level_without: track.lowest(),
            level_with: track.highest(),
            given: used_cpus / sample.capacity.cpus,
            sample,
            resident,
            arriving,
        };
        state.level_without = (state.level_without - state.share(leaving_cpus)).max(0.0);
        state.level_with += state.share(state.arriving.cpus);
        state
    }

    /// How much more than it gets a job wants on this node at this level: above 100 % each gets
    /// that much less, as far as the node gives no more than it has.
    pub(super) fn squeeze(&self, level: f64) -> f64 {
        let given = if self.given > GIVEN_BY_NOISE_MAX {
            self.given
        } else {
            1.0
        };
        (level / given).max(1.0)
    }

    /// The share of the node that this many CPUs of speed 1 are.
    pub(super) fn share(&self, cpus: f64) -> f64 {
        cpus / self.strength()
    }

    /// The node's CPUs, counted in those of speed 1.
    pub(super) fn strength(&self) -> f64 {
        self.sample.capacity.cpus * self.sample.speed
    }

    /// Memory for jobs that are still to come. A node without memory is one of whose memory nothing
    /// is known.
    pub(super) fn free_memory_bytes(&self) -> u64 {
        let measured = self.sample.used_memory_bytes.unwrap_or(0);
        match self.sample.capacity.memory_bytes {
            0 => u64::MAX,
            all => all
                .saturating_sub(self.resident.memory_bytes.max(measured))
                .saturating_sub(self.arriving.memory_bytes),
        }
    }

    /// The first resource that is too scarce for the job: its name, the need, and what is free.
    pub(super) fn shortage(
        &self,
        sample: &JobSample,
        reserved: &Resources,
    ) -> Option<(String, f64, f64)> {
        // Use decides about CPUs, but a job that asks for more than there are at all does
        // not belong here.
        if sample.demand.cpus > self.strength() {
            return Some(("cpus".to_owned(), sample.demand.cpus, self.strength()));
        }
        let capacity = &self.sample.capacity;
        let free = self.free_memory_bytes();
        if reserved.memory_bytes > free {
            let needed = reserved.memory_bytes as f64;
            return Some(("memory_bytes".to_owned(), needed, free as f64));
        }
        reserved.named.iter().find_map(|(name, &needed)| {
            let of = |resources: &Resources| resources.named.get(name).copied().unwrap_or(0.0);
            let free = of(capacity) - of(&self.resident) - of(&self.arriving);
            (needed > 0.0 && needed > free).then(|| (name.clone(), needed, free.max(0.0)))
        })
    }
}

/// Adds what can be added: an amount that is no number counts as nothing here, and is
/// reported where the samples are checked.
fn add(sum: &mut Resources, memory_bytes: u64, named: &BTreeMap<String, f64>) {
    sum.memory_bytes = sum.memory_bytes.saturating_add(memory_bytes);
    for (name, &amount) in named {
        if amount > 0.0 {
            *sum.named.entry(name.clone()).or_default() += amount;
        }
    }
}
