//! All findings of `heist doctor` in one value, printed as text or JSON.

use serde::Serialize;

use super::cgroup::Quotas;
use super::cpu_list::CpuList;
use super::environment::Environment;
use super::host::Host;
use super::place::Place;
use super::topology::Topology;
use super::tree::{Tree, Unreadable};

/// The machine, the settings, and what follows from both.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) heist_version: &'static str,
    pub(crate) host: Host,
    pub(crate) kernel: Option<String>,
    pub(crate) topology: Topology,
    /// `None` if the system has no files that say it.
    pub(crate) place: Option<Place>,
    pub(crate) quotas: Quotas,
    pub(crate) default_pool: DefaultPool,
    pub(crate) environment: Environment,
    pub(crate) unreadable: Vec<Unreadable>,
}

/// The pool with all defaults.
#[derive(Debug, Serialize)]
pub(crate) struct DefaultPool {
    /// `None` if it cannot start.
    pub(crate) workers: Option<usize>,
    /// Where the number comes from, or why the pool cannot start.
    pub(crate) reason: String,
    /// How a worker that goes to sleep makes sure that it misses no job.
    pub(crate) barrier: Option<String>,
}

impl Report {
    /// True if something of heist's does not start with these settings.
    pub(crate) fn has_trouble(&self) -> bool {
        self.environment.is_refused() || self.default_pool.workers.is_none()
    }

    pub(crate) fn new(host: Host, mut tree: Tree, environment: Environment) -> Self {
        let kernel = tree.parse("/proc/sys/kernel/osrelease", |text| Ok(text.to_owned()));
        let topology = Topology::read(&mut tree);
        let quotas = Quotas::read(&mut tree);
        let read = heist::Topology::read(tree.root());
        let place = read.ok();
        let place = place.map(|read| Place::new(&read, topology.affinity.as_ref()));
        Self {
            heist_version: env!("CARGO_PKG_VERSION"),
            default_pool: DefaultPool::new(&host, &topology, &quotas, &environment),
            host,
            kernel,
            topology,
            place,
            quotas,
            environment,
            unreadable: tree.into_unreadable(),
        }
    }
}

impl DefaultPool {
    fn new(host: &Host, topology: &Topology, quotas: &Quotas, environment: &Environment) -> Self {
        let built = match &host.default_pool {
            Ok(built) => built,
            Err(error) => {
                return Self {
                    workers: None,
                    reason: error.clone(),
                    barrier: None,
                }
            }
        };
        let reason = if let Some((_, variable)) = environment.asked_workers() {
            format!("{variable} asks for it")
        } else if host.available_parallelism.is_none() {
            "the system does not tell how many CPUs are usable".to_owned()
        } else {
            why(built.workers, topology, quotas)
        };
        Self {
            workers: Some(built.workers),
            reason,
            barrier: Some(built.barrier.to_string()),
        }
    }
}

/// Explains the number of workers by the facts, or names its source.
fn why(workers: usize, topology: &Topology, quotas: &Quotas) -> String {
    let allowed = topology.affinity.as_ref().map(CpuList::len);
    let quota = quotas.tightest();
    let whole_cpus = quota.map(|limit| usize::try_from(limit.whole_cpus()).unwrap_or(usize::MAX));
    match (allowed, whole_cpus, quota) {
        (Some(allowed), Some(whole_cpus), Some(limit))
            if whole_cpus < allowed && whole_cpus == workers =>
        {
            format!(
                "the CPU quota of {} CPUs counts as {whole_cpus}, tighter than the affinity mask \
                 of {allowed}",
                round(limit.cpus)
            )
        }
        (Some(allowed), Some(_), _) if allowed == workers => {
            "one per CPU of the affinity mask; the CPU quota is not tighter".to_owned()
        }
        (Some(allowed), None, _) if allowed == workers => {
            "one per CPU of the affinity mask; there is no CPU quota".to_owned()
        }
        _ => "as many as the standard library says are usable".to_owned(),
    }
}

/// A number of CPUs with two decimals at most.
pub(crate) fn round(cpus: f64) -> String {
    let text = format!("{cpus:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
