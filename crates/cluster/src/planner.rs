//! The rebalancer's decisions: which job moves where, or why none does.
//!
//! [`Planner::decide`] takes what was measured on the nodes and on the jobs and answers
//! with one [`Decision`]: at most one move, and for everything that was refused the
//! [`Reason`]. It is plain code over plain data. Time is an argument, so that a live
//! driver and a simulation run the same rule, and the same calls give the same answers,
//! in whatever order the samples stand.
//!
//! # The rule
//!
//! A node is **known** while its newest sample is fresh and enough samples in a row have come since
//! it appeared, or since a move last ended there. A node that is not known is not taken for idle:
//! it neither gives nor takes a job.
//!
//! The **level** of a node is its smoothed utilisation. A node is **hot** when its level
//! has been [`Config::hot_level`] or more for [`Config::sustained_samples`] samples in a
//! row. Of these samples the lowest level counts for a source, and the highest for a target:
//! what lasted, not what peaked. It takes twice as many samples each time that the node has
//! given a job and has not calmed down below [`Config::low_water`] since, unless it is in an
//! emergency; and each time that its heat has passed with nobody's help, until it has been
//! calm for long.
//!
//! A node may **take** a job when it is colder than the hot one by [`Config::spread`], and
//! stays below the low-water mark with the job. It must also end no higher than the level
//! that the source is left at: so under a constant load no job is ever moved back, whatever
//! the thresholds are. The spread is taken between the two nodes of a move and not against
//! the fleet: a mean and a deviation never see the hotter of two nodes, and where there are
//! many they find no more. A fleet that is at ease but for one idle node has no hot spot,
//! because the level in itself must be high too.
//!
//! Hot nodes are tried in turn, the hottest first, each with all its jobs and all targets.
//! Of the first that can give something, the pair with the largest **gain** is chosen:
//!
//! - benefit: the waiting that the source gets rid of, times how long it would have lasted.
//!   Below the low-water mark no job waits; a CPU of load on a full node makes another one
//!   wait whole; in between it grows evenly. It lasts as long as the job, which is what the
//!   job says is left, or else its age (Harchol-Balter and Downey, 1997, found that a process
//!   lives on for about as long as it has lived), and never longer than [`Config::horizon`];
//! - cost: what the job does not do during pause, transfer and cold start, and what one CPU
//!   at each end does meanwhile, to pack and unpack it.
//!
//! Both are CPU-seconds of a node of speed 1. The benefit must be [`Config::payback`] times
//! the cost. Others reap it, while the job pays: no job may lose more of its own life than
//! [`Config::loss_max`], where what it gains by leaving an overloaded node is deducted.
//!
//! A utilisation may be the share of the CPUs in use, which 100 % caps, or count what waits for
//! them as well, and the planner finds out which: a node that was ever measured well above 100 %
//! counts what waits, and there a job wants as much more than it uses as the level says, unless all
//! jobs together use far more CPUs than the node has, as on a part of a larger machine. On another
//! one that is full nothing tells how much waits. A job that leaves takes off the level what it
//! uses, and may want as much at its target as it was said to need.
//!
//! The **use** of a job is believed once it was measured [`Config::usage_samples`] times. Until
//! then it may be [`Config::estimate_error`] times as large as it was said to be. CPUs are counted
//! by use, for they can be shared; memory and named resources by what was asked for or is used,
//! whichever is more; memory only on nodes that say how much they have. A job that is in flight
//! counts at both ends: at its source it is on the way out, at its target it has its place already.
//!
//! # Examples
//!
//! ```
//! use heist_cluster::planner::{Config, JobSample, NodeSample, Outcome, Planner, Resources};
//! use std::time::Duration;
//!
//! let mut planner = Planner::new(Config::default())?;
//! let mut decision = None;
//! for second in 1..=5 {
//!     let now = Duration::from_secs(second);
//!     let node = |name, utilisation| {
//!         NodeSample::new(name, now, Resources::cpus(8.0), utilisation)
//!     };
//!     let nodes = [node("hot", 0.95), node("cold", 0.20)];
//!     let mut job = JobSample::new("etl-7", "hot", now, Resources::cpus(2.0));
//!     job.used_cpus = Some(2.0);
//!     job.running_for = Some(Duration::from_secs(300));
//!     decision = Some(planner.decide(now, &nodes, &[job]));
//! }
//! let Outcome::Move(chosen) = decision.unwrap().outcome else { panic!("nothing moves") };
//! assert_eq!(chosen.to.as_str(), "cold");
//! planner.move_started(Duration::from_secs(5), &chosen)?;
//! // The job pauses, travels, and runs again; `move_failed` if it does not.
//! planner.move_ended(Duration::from_secs(7), &chosen.job)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod candidate;
mod config;
mod decision;
mod fleet;
mod id;
mod ledger;
mod node_state;
mod ns;
mod pair;
mod reason;
mod sample;
mod sentence;
mod targets;
mod track;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

pub use config::{Config, ConfigError};
pub use decision::{Decision, Move, Outcome};
pub use id::{JobId, NodeId};
pub use ledger::MoveError;
pub use reason::Reason;
pub use sample::{Fault, JobSample, Mobility, NodeSample, Priority, Resources};

use fleet::Fleet;
use ledger::Ledger;
use node_state::PlacedJob;
use track::{JobTrack, NodeTrack};

/// Decides which job moves, and remembers between two decisions what that takes: smoothed
/// levels, moves in flight, cool-downs. The [module](self) has the rule and an example.
#[derive(Clone, Debug)]
pub struct Planner {
    config: Config,
    last: Duration,
    nodes: BTreeMap<NodeId, NodeTrack>,
    jobs: HashMap<JobId, JobTrack>,
    ledger: Ledger,
}

impl Planner {
    /// A planner that knows nothing yet.
    ///
    /// # Errors
    ///
    /// Fails if a setting is outside of its range or contradicts another.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::planner::{Config, Planner};
    ///
    /// let mut config = Config::default();
    /// config.low_water = 2.0; // more than the whole of a node
    /// assert_eq!(Planner::new(config).unwrap_err().setting(), "low_water");
    /// assert!(Planner::new(Config::default()).is_ok());
    /// ```
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            last: Duration::ZERO,
            nodes: BTreeMap::new(),
            jobs: HashMap::new(),
            ledger: Ledger::default(),
        })
    }

    /// The settings with which it was made; [`Config`] has an example.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Takes in what was measured and decides.
    ///
    /// `now` is the time since some start, the same start for all calls and for the times of
    /// the samples. `jobs` is everything that runs. A node without a sample in this call
    /// keeps its last one until that is stale. A sample that cannot be believed is left out,
    /// with a reason in the decision.
    ///
    /// The planner proposes and does not act: a caller that makes the move says so by
    /// [`move_started`](Self::move_started).
    ///
    /// The cost is that of sorting the samples, and for each hot node its jobs times the kinds of
    /// nodes that could take one, nodes of a kind being equally strong; more only where many are
    /// short of what a job needs. A million jobs take some seconds.
    pub fn decide(&mut self, now: Duration, nodes: &[NodeSample], jobs: &[JobSample]) -> Decision {
        let mut reasons = Vec::new();
        if now < self.last {
            reasons.push(Reason::clock_went_back(now, self.last));
            return Decision::stay(reasons);
        }
        self.last = now;
        self.take_nodes(now, nodes, &mut reasons);
        let placed_jobs = self.take_jobs(now, jobs, &mut reasons);
        self.forget(now);
        let fleet = Fleet {
            now,
            config: &self.config,
            nodes: &self.nodes,
            jobs: &self.jobs,
            ledger: &self.ledger,
            placed_jobs: &placed_jobs,
        };
        fleet.choose(reasons)
    }

    /// The move begins: from now on it counts at both ends, against the limits, and for the
    /// job's cool-down; the [module](self) has an example.
    ///
    /// # Errors
    ///
    /// Fails if the job is on its way already.
    pub fn move_started(&mut self, now: Duration, chosen: &Move) -> Result<(), MoveError> {
        self.ledger.start(now, chosen)?;
        self.jobs.entry(chosen.job.clone()).or_default().moves += 1;
        if let Some(source) = self.nodes.get_mut(&chosen.from) {
            source.fired();
        }
        Ok(())
    }

    /// The job runs on the target. Both nodes are measured anew; the [module](self) has an example.
    ///
    /// # Errors
    ///
    /// Fails if no move of this job is in flight.
    pub fn move_ended(&mut self, now: Duration, job: &JobId) -> Result<(), MoveError> {
        let to = self.finish(now, job)?;
        let track = self.jobs.entry(job.clone()).or_default();
        track.place = Some((to, now));
        Ok(())
    }

    /// The move was given up, wherever the job runs now. It counts like one that ended; the
    /// [module](self) has an example.
    ///
    /// # Errors
    ///
    /// Fails if no move of this job is in flight.
    pub fn move_failed(&mut self, now: Duration, job: &JobId) -> Result<(), MoveError> {
        self.finish(now, job).map(|_| ())
    }

    fn finish(&mut self, now: Duration, job: &JobId) -> Result<NodeId, MoveError> {
        let over = self.ledger.finish(job)?;
        for node in [&over.from, &over.to] {
            if let Some(track) = self.nodes.get_mut(node) {
                track.restart(now);
            }
        }
        let track = self.jobs.entry(job.clone()).or_default();
        track.last_seen = track.last_seen.max(now);
        track.cool_down(now, self.config.job_cool_down);
        Ok(over.to)
    }

    fn take_nodes(&mut self, now: Duration, nodes: &[NodeSample], reasons: &mut Vec<Reason>) {
        let twice = repeated(nodes.iter().map(|sample| &sample.node));
        let mut sorted: Vec<&NodeSample> = nodes.iter().collect();
        sorted.sort_by(|a, b| a.node.cmp(&b.node));
        sorted.dedup_by(|a, b| a.node == b.node);
        for sample in sorted {
            let fault = if twice.contains(&sample.node) {
                Some(Fault::Repeated)
            } else {
                let fault = sample.fault(now, self.config.stale_after);
                fault.or_else(|| {
                    let track = self.nodes.entry(sample.node.clone()).or_default();
                    track.observe(sample, &self.config)
                })
            };
            if let Some(fault) = fault {
                let node = sample.node.clone();
                reasons.push(Reason::NodeSampleRejected { node, fault });
            }
        }
    }

    /// Learns from the jobs' samples, and says where each job is.
    fn take_jobs<'a>(
        &mut self,
        now: Duration,
        jobs: &'a [JobSample],
        reasons: &mut Vec<Reason>,
    ) -> Vec<PlacedJob<'a>> {
        let mut sorted: Vec<&JobSample> = jobs.iter().collect();
        sorted.sort_by(|a, b| (&a.job, &a.node).cmp(&(&b.job, &b.node)));
        // Each job asks for its node: a look by hash is a tenth of one through the ordered map.
        let tracks: HashMap<&NodeId, &NodeTrack> = self.nodes.iter().collect();
        let mut placed_jobs = Vec::with_capacity(sorted.len());
        for (index, &sample) in sorted.iter().enumerate() {
            let neighbours = [index.checked_sub(1), Some(index + 1)];
            let mut neighbours = neighbours.into_iter().flatten();
            let is_same = |at: usize| sorted.get(at).is_some_and(|other| other.job == sample.job);
            let fault = if neighbours.any(is_same) {
                Some(Fault::Repeated)
            } else {
                sample.fault(now, self.config.stale_after)
            };
            let mut node = sample.node.clone();
            if let Some(fault) = fault.clone() {
                let job = sample.job.clone();
                reasons.push(Reason::JobSampleRejected { job, fault });
            } else {
                let track = self.jobs.entry(sample.job.clone()).or_default();
                track.seen(now);
                node = track.place_of(sample);
                let at = tracks.get(&node).copied();
                if let (Some(at), None) = (at, self.ledger.in_flight(&sample.job)) {
                    track.observe(sample, at, self.config.smoothing);
                }
            }
            placed_jobs.push(PlacedJob {
                sample,
                node,
                is_sound: fault.is_none(),
            });
        }
        // The same rejected sample twice is one reason.
        reasons.dedup();
        placed_jobs
    }

    /// Drops what has not been heard of for so long that nothing depends on it any more.
    fn forget(&mut self, now: Duration) {
        let kept = self.config.stale_after.max(self.config.rate_window);
        let is_recent = |at: Duration| now.saturating_sub(at) <= kept;
        let ledger = &mut self.ledger;
        ledger.forget(now, self.config.rate_window);
        self.nodes.retain(|_, track| is_recent(track.last_at));
        self.jobs.retain(|job, track| {
            let is_bound = ledger.in_flight(job).is_some() || track.cool_until > now;
            is_bound || is_recent(track.last_seen)
        });
    }
}

/// The ids that occur more than once.
fn repeated<'a, T: Ord + Clone + 'a>(ids: impl Iterator<Item = &'a T>) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| !seen.insert(*id)).cloned().collect()
}
