//! The queue for room on the nodes, for a backend that places work itself.

use std::collections::VecDeque;

use super::{BackendError, Cpus, Node, Placement};
use crate::planner::NodeId;

/// Work that waits for room, oldest first, and the free room of each node.
#[derive(Debug)]
pub(super) struct Queue<T> {
    nodes: Vec<Place>,
    waiting: VecDeque<Waiting<T>>,
}

#[derive(Debug)]
struct Place {
    node: Node,
    cpus: Cpus,
    free: Cpus,
    /// How many have room there.
    taken: u32,
    standing: Standing,
}

/// Whether a node takes work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ready,
    /// It is expected to be ready.
    Starting,
    /// It will not be ready again, for this reason.
    GivenUp(String),
}

#[derive(Debug)]
struct Waiting<T> {
    cpus: Cpus,
    placement: Placement,
    item: T,
}

/// Room on a node, given back with [`Queue::release`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) node: NodeId,
    pub(super) cpus: Cpus,
}

impl<T> Queue<T> {
    pub(super) fn new(nodes: impl IntoIterator<Item = (NodeId, Cpus)>) -> Self {
        let place = |(id, cpus): (NodeId, Cpus)| Place {
            node: Node::new(id, cpus.into()),
            cpus,
            free: cpus,
            taken: 0,
            standing: Standing::Ready,
        };
        Self {
            nodes: nodes.into_iter().map(place).collect(),
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(|place| &place.node)
    }

    /// Lets `item` wait for room, unless there never will be enough.
    pub(super) fn push(
        &mut self,
        cpus: Cpus,
        placement: Placement,
        item: T,
    ) -> Result<(), (BackendError, T)> {
        if let Err(error) = self.admit(cpus, &placement) {
            return Err((error, item));
        }
        self.waiting.push_back(Waiting {
            cpus,
            placement,
            item,
        });
        Ok(())
    }

    /// Whether there will ever be such room.
    fn admit(&self, cpus: Cpus, placement: &Placement) -> Result<(), BackendError> {
        let wanted = placement.node.as_ref().filter(|_| placement.is_pinned);
        let is_meant =
            |place: &&Place| place.cpus >= cpus && wanted.is_none_or(|id| place.node.id == *id);
        let mut why = Vec::new();
        for place in self.nodes.iter().filter(is_meant) {
            match &place.standing {
                Standing::GivenUp(reason) => {
                    why.push(format!("{} was given up: {reason}", place.node.id));
                }
                Standing::Ready | Standing::Starting => return Ok(()),
            }
        }
        if !why.is_empty() {
            return Err(BackendError::impossible(why.join("; ")));
        }
        let names: Vec<_> = self
            .nodes
            .iter()
            .map(|place| format!("{} ({})", place.node.id, place.cpus))
            .collect();
        let place = wanted.map_or_else(|| "any node".to_owned(), ToString::to_string);
        Err(BackendError::impossible(format!(
            "{cpus} processors were wanted on {place}; there are {}",
            names.join(", ")
        )))
    }

    /// The oldest item that has room now, and its room.
    pub(super) fn pop(&mut self) -> Option<(Room, T)> {
        let found = self.waiting.iter().enumerate().find_map(|(at, waiting)| {
            let place = self.best(waiting.cpus, &waiting.placement)?;
            Some((at, place))
        });
        let (at, place) = found?;
        let Waiting { cpus, item, .. } = self.waiting.remove(at)?;
        let place = &mut self.nodes[place];
        place.free -= cpus;
        place.taken += 1;
        Some((
            Room {
                node: place.node.id.clone(),
                cpus,
            },
            item,
        ))
    }

    /// The wished-for node, or the one with the most room.
    fn best(&self, cpus: Cpus, placement: &Placement) -> Option<usize> {
        let fits = |place: &Place| place.standing == Standing::Ready && place.free >= cpus;
        let wanted = placement.node.as_ref();
        let wanted = wanted.and_then(|id| self.nodes.iter().position(|place| place.node.id == *id));
        if let Some(at) = wanted.filter(|at| fits(&self.nodes[*at])) {
            return Some(at);
        }
        // A node that starts will have room in a moment.
        let is_coming = |place: &Place| place.standing == Standing::Starting && place.free >= cpus;
        if placement.is_pinned || wanted.is_some_and(|at| is_coming(&self.nodes[at])) {
            return None;
        }
        let fitting = (0..self.nodes.len()).filter(|at| fits(&self.nodes[*at]));
        // Of equals the first, so that placement can be foretold.
        fitting.rev().max_by_key(|at| self.nodes[*at].free)
    }

    pub(super) fn release(&mut self, room: &Room) {
        if let Some(place) = self
            .nodes
            .iter_mut()
            .find(|place| place.node.id == room.node)
        {
            place.free += room.cpus;
            place.taken -= 1;
        }
    }

    /// How many have room on a node.
    pub(super) fn taken(&self, node: &NodeId) -> u32 {
        let mut places = self.nodes.iter();
        let place = places.find(|place| place.node.id == *node);
        place.map_or(0, |place| place.taken)
    }

    /// Notes how a node stands. Returns those who wait in vain from now on, and why.
    pub(super) fn set_standing(
        &mut self,
        node: &NodeId,
        standing: Standing,
    ) -> Vec<(BackendError, T)> {
        if let Some(place) = self.nodes.iter_mut().find(|place| place.node.id == *node) {
            place.node.is_alive = !matches!(standing, Standing::GivenUp(_));
            place.standing = standing;
        }
        let mut in_vain = Vec::new();
        for waiting in std::mem::take(&mut self.waiting) {
            match self.admit(waiting.cpus, &waiting.placement) {
                Ok(()) => self.waiting.push_back(waiting),
                Err(error) => in_vain.push((error, waiting.item)),
            }
        }
        in_vain
    }

    /// Takes out what waits and fits `is_meant`.
    pub(super) fn remove(&mut self, mut is_meant: impl FnMut(&T) -> bool) -> Option<T> {
        let at = self
            .waiting
            .iter()
            .position(|waiting| is_meant(&waiting.item))?;
        self.waiting.remove(at).map(|waiting| waiting.item)
    }

    /// Takes out all that waits.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting.drain(..).map(|waiting| waiting.item)
    }
}

#[cfg(test)]
#[path = "queue/tests.rs"]
mod tests;
