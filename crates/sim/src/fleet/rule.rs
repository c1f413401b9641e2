//! The contract of rules that decide which job moves, and the simple ones.

use heist_cluster::planner::Mobility;

use super::draw::Draw;
use super::view::View;

/// A move that a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The job, by its place among [`Setup::jobs`](super::Setup::jobs).
    pub job: u32,
    /// The node to which it should go.
    pub to: u32,
}

/// A rule that is asked again and again for one move, and is told how its moves went.
pub trait Rule {
    /// One move or none.
    fn decide(&mut self, view: &View<'_>) -> Option<Order>;

    /// The move that was wanted last begins. One that cannot be is not begun.
    fn started(&mut self, _now_ns: u64, _job: u32) {}

    /// The job runs on the target.
    fn ended(&mut self, _now_ns: u64, _job: u32) {}

    /// The move failed, since a node died.
    fn failed(&mut self, _now_ns: u64, _job: u32) {}
}

/// A rule without memory.
#[derive(Clone, Debug)]
pub enum Plain {
    /// Nothing moves.
    None,
    /// The rule that is often taught: if hottest and coldest node differ by 30 %, the hottest gives
    /// the job that is cheapest to move, if by the estimate it does not end below the coldest then.
    Taught,
    /// Each node above 80 % pushes its cheapest job to the coldest node.
    Push,
    /// The coldest node, if it is below 50 %, pulls the largest job from the hottest.
    Pull,
    /// Once in ten decisions some job goes anywhere.
    Random(Draw),
}

impl Rule for Plain {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        match self {
            Self::None => None,
            Self::Taught => taught(view),
            Self::Push => push(view),
            Self::Pull => pull(view),
            Self::Random(draw) => random(view, draw),
        }
    }
}

/// The jobs of a node that may be moved, by their places.
fn movable<'v>(view: &View<'v>, node: u32) -> impl Iterator<Item = u32> + 'v {
    let view = *view;
    view.jobs_on(node).filter(move |&job| {
        let facts = view.facts(job);
        facts.mobility == Mobility::Movable && !facts.priority.is_protected()
    })
}

fn cheapest(view: &View<'_>, node: u32) -> Option<u32> {
    movable(view, node).min_by_key(|&job| (view.facts(job).state_bytes, job))
}

fn taught(view: &View<'_>) -> Option<Order> {
    let levels = view.by_level();
    let (&(to, coldest), &(from, hottest)) = (levels.first()?, levels.last()?);
    if hottest - coldest < 0.3 {
        return None;
    }
    let job = cheapest(view, from)?;
    let all = view.setup().nodes[from as usize].cpus as f64;
    let size = view.facts(job).estimate as f64 / all;
    (coldest + size <= hottest - size).then_some(Order { job, to })
}

fn push(view: &View<'_>) -> Option<Order> {
    let levels = view.by_level();
    let &(to, coldest) = levels.first()?;
    let is_hot = |&&(_, level): &&(u32, f64)| level > 0.8 && coldest < 0.8;
    let hot = levels.iter().filter(is_hot);
    // The first by number, as each would act for itself.
    let mut hot: Vec<u32> = hot.map(|&(node, _)| node).collect();
    hot.sort_unstable();
    let job = hot.into_iter().find_map(|node| cheapest(view, node))?;
    Some(Order { job, to })
}

fn pull(view: &View<'_>) -> Option<Order> {
    let levels = view.by_level();
    let (&(to, coldest), &(from, hottest)) = (levels.first()?, levels.last()?);
    if coldest > 0.5 || hottest < 0.8 {
        return None;
    }
    let job = movable(view, from).max_by_key(|&job| (view.facts(job).estimate, job))?;
    Some(Order { job, to })
}

fn random(view: &View<'_>, draw: &mut Draw) -> Option<Order> {
    let nodes = view.setup().nodes.len();
    let (from, to) = (draw.below(nodes) as u32, draw.below(nodes) as u32);
    let jobs: Vec<u32> = movable(view, from).collect();
    if !draw.is(0.1) || jobs.is_empty() {
        return None;
    }
    let job = jobs[draw.below(jobs.len())];
    Some(Order { job, to })
}
