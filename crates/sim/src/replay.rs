//! A recorded DAG on any number of workers, event by event, in nanoseconds.
//!
//! A program that ran with `HEIST_DAG` has left its strands and which came behind which. Here they
//! run again, on as many workers as are asked for: whoever ends a strand goes on with one that it
//! was the last to hold up, offers the others, and looks for work with victims in the runtime's own
//! order if there is none. So the questions can be put which the program itself cannot answer: how
//! fast it would be on more cores, and how fast if one of its functions were faster (the latter is
//! that of Yoga and Nagarakatte, "A fast causal profiler for task parallel programs", ESEC/FSE
//! 2017).
//!
//! The strands are as long on any number of workers as they were where they were recorded: memory
//! that is short, and locks, are not in the model.

mod machine;
mod members;
mod run;

use heist_event::dag::{After, Dag};

pub use self::machine::{Costs, Machine, Replayed};
use self::run::Run;

/// Runs the DAG. The same seed gives the same outcome. `None` if some path in it has no end, or
/// leads to a node that is not there.
///
/// # Panics
///
/// Panics without workers, and if a speed is not above zero.
///
/// # Cost
///
/// Time proportional to the nodes, with the logarithm of the workers, and to the looks; memory to
/// the nodes and the workers.
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::{replay, Machine};
///
/// let strand = |work, before| Node { work, span: work, before, ..Node::default() };
/// let nodes = vec![strand(1_000, [0; 2]), strand(90_000, [1, 0]), strand(80_000, [1, 0])];
/// let dag = Dag { nodes, ..Dag::default() };
/// let ns = |workers| replay(&dag, &Machine::new(workers), 1).map(|outcome| outcome.ns);
/// assert_eq!(ns(1), Some(171_000));
/// assert_eq!(ns(2), Some(91_000));
/// ```
#[must_use]
pub fn replay(dag: &Dag, machine: &Machine, seed: u64) -> Option<Replayed> {
    Some(Plan::new(dag)?.run(dag, machine, seed))
}

/// The order of a DAG's nodes, made once for many runs.
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::{faster, Machine, Plan};
///
/// let dag = Dag { nodes: vec![Node { work: 80, span: 80, ..Node::default() }], ..Dag::default() };
/// let plan = Plan::new(&dag).ok_or("it cannot run")?;
/// assert_eq!(plan.run(&dag, &Machine::new(1), 1).ns, 80);
/// assert_eq!(plan.run(&faster(&dag, &[0], 4.0), &Machine::new(1), 1).ns, 20);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    after: After,
    /// How many nodes each one waits for.
    waits: Vec<u32>,
}

impl Plan {
    /// That of this DAG; `None` as in [`replay`].
    #[must_use]
    pub fn new(dag: &Dag) -> Option<Self> {
        let after = dag.after()?;
        after.order()?;
        let waits = after.waits();
        Some(Self { after, waits })
    }

    /// As [`replay`]. The nodes' times may differ from those of the DAG of which this is the plan.
    ///
    /// # Panics
    ///
    /// As [`replay`], and if the DAG has another number of nodes.
    #[must_use]
    pub fn run(&self, dag: &Dag, machine: &Machine, seed: u64) -> Replayed {
        assert!(machine.workers > 0, "a DAG needs one worker at least");
        let is_positive = |&(_, speed): &(usize, f64)| speed > 0.0;
        assert!(
            machine.slow.iter().all(is_positive),
            "a worker that stands still ends nothing"
        );
        assert_eq!(dag.nodes.len() + 1, self.waits.len(), "it is another DAG");
        let mut run = Run::new(dag, &self.after, self.waits.clone(), machine, seed);
        let nodes = 1..self.waits.len() as u32;
        run.begin_with(nodes.filter(|&at| self.waits[at as usize] == 0));
        run.finish()
    }
}

/// The DAG if the strands of these sites were so many times as fast.
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::faster;
///
/// let strand = |site, work| Node { site, work, span: work, before: [0; 2] };
/// let dag = Dag { nodes: vec![strand(0, 100), strand(1, 100)], ..Dag::default() };
/// assert_eq!(faster(&dag, &[1], 4.0).work(), 125);
/// ```
#[must_use]
pub fn faster(dag: &Dag, sites: &[u16], times: f64) -> Dag {
    let mut dag = dag.clone();
    let mut is_faster = vec![false; 1 << u16::BITS];
    sites
        .iter()
        .for_each(|&site| is_faster[usize::from(site)] = true);
    let nodes = dag.nodes.iter_mut();
    for node in nodes.filter(|node| is_faster[usize::from(node.site)]) {
        node.work = (node.work as f64 / times).round() as i64;
        node.span = ((node.span as f64 / times).round() as i64).min(node.work);
    }
    dag
}

/// How much of the longest path is in strands of each site, by its place; `None` as in [`replay`].
///
/// # Examples
///
/// ```
/// use heist_event::dag::{Dag, Node};
/// use heist_sim::replay::longest_path;
///
/// let strand = |site, work, before| Node { site, work, span: work, before };
/// let nodes = vec![strand(0, 5, [0; 2]), strand(1, 70, [1, 0]), strand(2, 60, [1, 0])];
/// let sites = vec![(String::new(), String::new()); 3];
/// assert_eq!(longest_path(&Dag { nodes, sites, ..Dag::default() }), Some(vec![5, 70, 0]));
/// ```
#[must_use]
pub fn longest_path(dag: &Dag) -> Option<Vec<i64>> {
    let after = dag.after()?;
    // When each node can begin at the earliest, and which one it waits for then.
    let mut begins = vec![(0, 0); dag.nodes.len() + 1];
    let mut last = (0, 0);
    for at in after.order()? {
        let (begin, _): (i64, u32) = begins[at as usize];
        let end = begin.saturating_add(dag.nodes[at as usize - 1].span);
        last = last.max((end, at));
        for &later in after.of(at) {
            let begin = &mut begins[later as usize];
            *begin = (*begin).max((end, at));
        }
    }
    let mut of_sites = vec![0; dag.sites.len()];
    let (_, mut at) = last;
    while at != 0 {
        let node = &dag.nodes[at as usize - 1];
        if let Some(sum) = of_sites.get_mut(usize::from(node.site)) {
            *sum += node.span;
        }
        at = begins[at as usize].1;
    }
    Some(of_sites)
}

#[cfg(test)]
mod tests {
    use heist_core::policy::Rng;
    use heist_event::dag::Node;

    use super::*;

    /// A tree of joins with leaves of so much work, which differ by the numbers of a seed.
    fn tree(dag: &mut Dag, before: u32, depth: u32, rng: &mut Rng) -> u32 {
        let mut push = |work, site, before| {
            let node = Node {
                site,
                work,
                span: work,
                before,
            };
            dag.nodes.push(node);
            dag.nodes.len() as u32
        };
        if depth == 0 {
            let work = 1_000 + rng.below(40_000) as i64;
            return push(work, 1, [before, 0]);
        }
        let fork = push(20, 0, [before, 0]);
        let one = tree(dag, fork, depth - 1, rng);
        let other = tree(dag, fork, depth - 1, rng);
        dag.nodes.push(Node {
            before: [one, other],
            ..Node::default()
        });
        dag.nodes.len() as u32
    }

    fn of_depth(depth: u32) -> Dag {
        let mut dag = Dag {
            sites: vec![(String::new(), String::new()); 2],
            ..Dag::default()
        };
        tree(&mut dag, 0, depth, &mut Rng::new(7));
        dag
    }

    #[test]
    fn a_greedy_scheduler_keeps_the_bounds_of_graham_and_one_worker_takes_all_work() {
        let dag = of_depth(10);
        let (work, span) = (dag.work() as u64, dag.span().unwrap() as u64);
        for workers in [1, 2, 3, 8, 64, 4_096] {
            let machine = Machine {
                costs: Costs {
                    probe_ns: 0,
                    steal_ns: 0,
                    search_ns: u64::MAX,
                    wake_ns: 0,
                },
                ..Machine::new(workers)
            };
            let outcome = replay(&dag, &machine, 3).unwrap();
            assert_eq!(outcome.busy_ns, work);
            let p = workers as u64;
            let (least, most) = (span.max(work.div_ceil(p)), work / p + span);
            assert!(
                (least..=most).contains(&outcome.ns),
                "{workers}: {outcome:?}"
            );
        }
        assert_eq!(replay(&dag, &Machine::new(1), 1).unwrap().ns, work);
    }

    #[test]
    fn jobs_of_a_serial_site_run_one_after_the_other_and_slow_workers_take_longer() {
        let dag = of_depth(6);
        let work = dag.work() as u64;
        let serial = Machine {
            serial: vec![0, 1],
            ..Machine::new(4)
        };
        assert_eq!(replay(&dag, &serial, 1).unwrap().ns, work);
        let slow = Machine {
            slow: vec![(0, 0.5)],
            ..Machine::new(1)
        };
        let twice = replay(&dag, &slow, 1).unwrap().ns;
        assert!(twice.abs_diff(2 * work) <= dag.nodes.len() as u64);
    }

    #[test]
    fn many_pieces_at_once_are_handed_out_by_halves() {
        let piece = |before| Node {
            work: 20_000,
            span: 20_000,
            before: [before, 0],
            site: 0,
        };
        let mut nodes = vec![Node::default()];
        nodes.extend((0..1_024).map(|_| piece(1)));
        let dag = Dag {
            nodes,
            ..Dag::default()
        };
        let outcome = replay(&dag, &Machine::new(16), 1).unwrap();
        let ideal = dag.work() as u64 / 16;
        assert!(outcome.ns < ideal + ideal / 10, "{outcome:?}");
        assert!(outcome.steals < 300, "{outcome:?}");
    }

    #[test]
    fn the_longest_path_is_told_by_site_and_is_the_span() {
        let dag = of_depth(5);
        let of_sites = longest_path(&dag).unwrap();
        assert_eq!(of_sites.iter().sum::<i64>(), dag.span().unwrap());
        assert!(
            of_sites[0] <= 5 * 20 && of_sites[1] >= 1_000,
            "{of_sites:?}"
        );
    }

    #[test]
    fn a_circle_cannot_run() {
        let node = |before| Node {
            before,
            ..Node::default()
        };
        let dag = Dag {
            nodes: vec![node([2, 0]), node([1, 0])],
            ..Dag::default()
        };
        assert_eq!(replay(&dag, &Machine::new(2), 1), None);
        assert!(Plan::new(&dag).is_none());
        assert_eq!(longest_path(&dag), None);
    }
}
