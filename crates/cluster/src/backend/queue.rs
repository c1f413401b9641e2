//! The queue for room on the nodes, for a backend that places work itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use heist_core::Priority;

use super::turns::Turns;
use super::{BackendError, Cpus, Needs, Node, Placement};
use crate::planner::NodeId;
use crate::protocol::needs::{there_are, wanted};

/// Work that waits for room, the most urgent and oldest first, and the free room of each node.
///
/// Items with the same needs stand in one line, so that the next item is found among the heads of
/// the lines, however many wait.
#[derive(Debug)]
pub(super) struct Queue<T> {
    nodes: Vec<Place>,
    places: HashMap<NodeId, usize>,
    /// The nodes that take work, by their free room; of equals the first is last.
    ready: BTreeSet<(Cpus, Reverse<usize>)>,
    lines: HashMap<Wish, BTreeMap<u64, T>>,
    /// The line of each waiting item, by its number.
    waiting: HashMap<u64, Wish>,
    /// The first item of each line, by priority.
    heads: [BTreeMap<u64, Head>; 3],
    turns: Turns,
    hold: Option<Hold>,
    /// How often a head may be passed over before a node is held for it.
    passed_max: u32,
    next_number: u64,
}

/// The first item of a line.
#[derive(Debug)]
struct Head {
    wish: Wish,
    /// How many items have taken room that it lacks since it is the first.
    passed: u32,
}

/// A node on which nothing else takes what this item lacks, until it has begun. Without this, one
/// that wants all of a node would wait for as long as there are small ones.
#[derive(Clone, Copy, Debug)]
struct Hold {
    number: u64,
    at: usize,
}

#[derive(Debug)]
struct Place {
    node: Node,
    cpus: Cpus,
    free: Cpus,
    /// The resources beside processors, and those of them that are free.
    needs: Needs,
    free_needs: Needs,
    /// The share of lasting items, which will not be free soon.
    lasting: Cpus,
    lasting_needs: Needs,
    /// The number of items placed there.
    taken: u32,
    standing: Standing,
}

/// So many processors, and more, on such a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wish {
    cpus: Cpus,
    needs: Needs,
    node: Option<usize>,
    is_pinned: bool,
    priority: Priority,
}

/// Whether a node takes work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ready,
    /// The node is expected to be ready.
    Starting,
    /// The node will not be ready again, for this reason.
    GivenUp(String),
}

/// Room on a node, given back with [`Queue::release`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) node: NodeId,
    pub(super) cpus: Cpus,
    pub(super) needs: Needs,
    /// It is had for long; see [`Queue::keep`].
    pub(super) is_lasting: bool,
}

impl Place {
    /// Whether there is room now.
    fn has_room(&self, wish: &Wish) -> bool {
        let has_memory = match self.needs.memory_bytes {
            // The amount is unknown.
            0 => true,
            _ => wish.needs.memory_bytes <= self.free_needs.memory_bytes,
        };
        has_memory && self.free >= wish.cpus && wish.needs.fits(&self.free_needs)
    }

    /// Whether there will be room once all that does not last has ended.
    fn will_have_room(&self, wish: &Wish) -> bool {
        let mut there = self.needs.clone();
        there.memory_bytes = there
            .memory_bytes
            .saturating_sub(self.lasting_needs.memory_bytes);
        let mut cpus = self.lasting;
        cpus += wish.cpus;
        let has_memory =
            self.needs.memory_bytes == 0 || wish.needs.memory_bytes <= there.memory_bytes;
        for (name, count) in &mut there.named {
            let taken = self.lasting_needs.named.get(name).copied();
            *count = count.saturating_sub(taken.unwrap_or(0));
        }
        cpus <= self.cpus && has_memory && wish.needs.fits(&there)
    }

    /// Whether some of what `waiting` needs is not there any more when `other` has its part.
    fn is_rival(&self, waiting: &Wish, other: &Wish) -> bool {
        let mut both = waiting.cpus;
        both += other.cpus;
        let lacks =
            |there: u64, one: u64, other: u64| other > 0 && there < one.saturating_add(other);
        let (one, two) = (&waiting.needs, &other.needs);
        let lacks_memory = self.needs.memory_bytes > 0
            && one.memory_bytes > 0
            && lacks(
                self.free_needs.memory_bytes,
                one.memory_bytes,
                two.memory_bytes,
            );
        let lacks_named = one.named.iter().any(|(name, count)| {
            let of = |needs: &Needs| needs.named.get(name).copied().unwrap_or(0);
            lacks(of(&self.free_needs).into(), (*count).into(), of(two).into())
        });
        let lacks_cpus = other.cpus > Cpus::from(0) && self.free < both;
        lacks_cpus || lacks_memory || lacks_named
    }

    /// Takes some of the resources beside processors, or gives them back.
    fn change_needs(&mut self, some: &Needs, change: fn(u64, u64) -> u64) {
        let free = &mut self.free_needs;
        if self.needs.memory_bytes > 0 {
            free.memory_bytes = change(free.memory_bytes, some.memory_bytes);
        }
        for (name, count) in &some.named {
            if let Some(free) = free.named.get_mut(name) {
                let changed = change(u64::from(*free), u64::from(*count));
                *free = u32::try_from(changed).unwrap_or(u32::MAX);
            }
        }
    }
}

impl<T> Queue<T> {
    /// Nodes with so many processors, and each with `each` beside them.
    pub(super) fn new(nodes: impl IntoIterator<Item = (NodeId, Cpus)>, each: &Needs) -> Self {
        let place = |(id, cpus): (NodeId, Cpus)| Place {
            node: Node {
                memory_bytes: each.memory_bytes,
                resources: each.named.clone(),
                ..Node::new(id, cpus.into())
            },
            needs: each.clone(),
            free_needs: each.clone(),
            lasting: Cpus::from(0),
            lasting_needs: Needs::default(),
            cpus,
            free: cpus,
            taken: 0,
            standing: Standing::Ready,
        };
        let nodes: Vec<_> = nodes.into_iter().map(place).collect();
        let numbered = nodes.iter().enumerate();
        Self {
            places: numbered
                .clone()
                .map(|(at, place)| (place.node.id.clone(), at))
                .collect(),
            ready: numbered
                .map(|(at, place)| (place.free, Reverse(at)))
                .collect(),
            nodes,
            lines: HashMap::new(),
            waiting: HashMap::new(),
            heads: Default::default(),
            turns: Turns::default(),
            hold: None,
            passed_max: Turns::PASSED_MAX,
            next_number: 0,
        }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(|place| &place.node)
    }

    /// The index of the node.
    pub(super) fn place(&self, node: &NodeId) -> Option<usize> {
        self.places.get(node).copied()
    }

    /// Lets `item` wait for room, unless there never will be enough. Returns its number.
    pub(super) fn push(
        &mut self,
        cpus: Cpus,
        placement: &Placement,
        item: T,
    ) -> Result<u64, (BackendError, T)> {
        let node = placement.node.as_ref();
        let place = node.and_then(|node| self.place(node));
        let is_pinned = placement.is_pinned && node.is_some();
        let wish = Wish {
            cpus,
            needs: placement.needs.clone(),
            node: place,
            is_pinned,
            priority: placement.priority,
        };
        let admitted = match (node.filter(|_| is_pinned), place) {
            (Some(node), None) => Err(self.too_much(&wish, Some(node))),
            _ => self.admit(&wish),
        };
        if let Err(error) = admitted {
            return Err((error, item));
        }
        let number = self.next_number;
        self.next_number += 1;
        let line = self.lines.entry(wish.clone()).or_default();
        if line.is_empty() {
            let head = Head {
                wish: wish.clone(),
                passed: 0,
            };
            self.heads[wish.priority as usize].insert(number, head);
        }
        line.insert(number, item);
        self.waiting.insert(number, wish);
        Ok(number)
    }

    /// Whether there will ever be such room.
    fn admit(&self, wish: &Wish) -> Result<(), BackendError> {
        let wanted = wish.node.filter(|_| wish.is_pinned);
        let meant = match wanted {
            Some(at) => &self.nodes[at..=at],
            None => &self.nodes[..],
        };
        let mut why = Vec::new();
        let has = |place: &&Place| place.cpus >= wish.cpus && wish.needs.fits(&place.needs);
        for place in meant.iter().filter(has) {
            match &place.standing {
                Standing::GivenUp(reason) => {
                    why.push(format!("{} was given up: {reason}", place.node.id));
                }
                Standing::Ready | Standing::Starting => return Ok(()),
            }
        }
        if why.is_empty() {
            let node = wanted.map(|at| &self.nodes[at].node.id);
            return Err(self.too_much(wish, node));
        }
        Err(BackendError::impossible(why.join("; ")))
    }

    /// The error of a request for more than there is.
    fn too_much(&self, wish: &Wish, node: Option<&NodeId>) -> BackendError {
        let nodes = self.nodes.iter();
        let nodes = nodes.map(|it| (&it.node.id as _, &it.cpus as _, &it.needs));
        let (there, wanted) = (there_are(nodes), wanted(&wish.cpus, &wish.needs));
        let place = node.map_or_else(|| "any node".to_owned(), ToString::to_string);
        BackendError::impossible(format!(
            "{wanted} were wanted on {place}; there are {there}"
        ))
    }

    /// The most urgent item that has room now, of equals the oldest, and its room.
    pub(super) fn pop(&mut self) -> Option<(Room, T)> {
        let (number, at) = self.next()?;
        let wish = self.waiting.get(&number)?.clone();
        let item = self.remove(number)?;
        let waits = |other| !self.heads[other as usize].is_empty();
        self.turns.begun(wish.priority, waits);
        let Wish { cpus, needs, .. } = wish;
        self.change(at, |place| {
            place.free -= cpus;
            place.change_needs(&needs, u64::saturating_sub);
            place.taken += 1;
        });
        let room = Room {
            node: self.nodes[at].node.id.clone(),
            cpus,
            needs,
            is_lasting: false,
        };
        Some((room, item))
    }

    /// The number of the item that comes next, and its node.
    fn next(&mut self) -> Option<(u64, usize)> {
        if let Some(hold) = self.hold {
            let held = self.waiting.get(&hold.number);
            if let Some(at) = held.and_then(|wish| self.best(wish, None)) {
                return Some((hold.number, at));
            }
        }
        let mut passed = Vec::new();
        for priority in self.turns.order() {
            for (number, head) in &self.heads[priority as usize] {
                let Some(at) = self.best(&head.wish, self.hold) else {
                    passed.push((*number, priority));
                    continue;
                };
                let (number, wish) = (*number, head.wish.clone());
                self.pass_over(&passed, &wish, at);
                // It may be held from now on, and not for this one.
                return match self.best(&wish, self.hold) {
                    Some(at) => Some((number, at)),
                    None => self.next(),
                };
            }
        }
        None
    }

    /// Notes that these heads let another item have its room at a node.
    fn pass_over(&mut self, passed: &[(u64, Priority)], other: &Wish, at: usize) {
        for (number, priority) in passed {
            let Some(head) = self.heads[*priority as usize].get_mut(number) else {
                continue;
            };
            let wish = &head.wish;
            let is_meant = !wish.is_pinned || wish.node == Some(at);
            let place = &self.nodes[at];
            if !is_meant || !place.will_have_room(wish) || !place.is_rival(wish, other) {
                continue;
            }
            head.passed = head.passed.saturating_add(1);
            if head.passed > self.passed_max && self.hold.is_none() {
                let number = *number;
                let meant = match wish.node.filter(|_| wish.is_pinned) {
                    Some(at) => at..at + 1,
                    None => 0..self.nodes.len(),
                };
                let can = |at: &usize| {
                    let place = &self.nodes[*at];
                    place.standing == Standing::Ready && place.will_have_room(wish)
                };
                let emptiest = meant.filter(can).max_by_key(|at| self.nodes[*at].free);
                self.hold = emptiest.map(|at| Hold { number, at });
            }
        }
    }

    /// The wished-for node, or the one with the most room.
    fn best(&self, wish: &Wish, hold: Option<Hold>) -> Option<usize> {
        let held = hold.and_then(|hold| Some((hold.at, self.waiting.get(&hold.number)?)));
        let has_room = |at: usize| {
            let is_held =
                |(held, other): (usize, &Wish)| held == at && self.nodes[at].is_rival(other, wish);
            self.nodes[at].has_room(wish) && !held.is_some_and(is_held)
        };
        if let Some(at) = wish.node {
            let (is_free, standing) = (has_room(at), &self.nodes[at].standing);
            if is_free && *standing == Standing::Ready {
                return Some(at);
            }
            // A node that starts will have room in a moment.
            if wish.is_pinned || (is_free && *standing == Standing::Starting) {
                return None;
            }
        }
        let emptiest = self.ready.iter().rev();
        let mut enough = emptiest.take_while(|(free, _)| *free >= wish.cpus);
        let found = enough.find(|(_, Reverse(at))| has_room(*at));
        found.map(|(_, Reverse(at))| *at)
    }

    /// Changes a node, and the order of the nodes with it.
    fn change(&mut self, at: usize, how: impl FnOnce(&mut Place)) {
        let place = &mut self.nodes[at];
        self.ready.remove(&(place.free, Reverse(at)));
        how(place);
        if place.standing == Standing::Ready {
            self.ready.insert((place.free, Reverse(at)));
        }
    }

    /// Notes that the item in this room may stay for hours, so that nobody waits for it who could
    /// have another node.
    pub(super) fn keep(&mut self, room: &mut Room) {
        room.is_lasting = true;
        if let Some(at) = self.place(&room.node) {
            let place = &mut self.nodes[at];
            place.lasting += room.cpus;
            let lasting = &mut place.lasting_needs;
            lasting.memory_bytes = lasting.memory_bytes.saturating_add(room.needs.memory_bytes);
            for (name, count) in &room.needs.named {
                let lasting = lasting.named.entry(name.clone()).or_default();
                *lasting = lasting.saturating_add(*count);
            }
        }
        self.hold = None;
    }

    pub(super) fn release(&mut self, room: &Room) {
        if let Some(at) = self.place(&room.node) {
            if room.is_lasting {
                let place = &mut self.nodes[at];
                place.lasting -= room.cpus;
                let lasting = &mut place.lasting_needs;
                lasting.memory_bytes = lasting.memory_bytes.saturating_sub(room.needs.memory_bytes);
                for (name, count) in &room.needs.named {
                    if let Some(lasting) = lasting.named.get_mut(name) {
                        *lasting = lasting.saturating_sub(*count);
                    }
                }
            }
            self.change(at, |place| {
                place.free += room.cpus;
                place.change_needs(&room.needs, u64::saturating_add);
                place.taken -= 1;
            });
        }
    }

    /// The number of items placed on a node.
    pub(super) fn taken(&self, node: &NodeId) -> u32 {
        self.place(node).map_or(0, |at| self.nodes[at].taken)
    }

    /// Notes the status of a node. Returns the items that now wait in vain, and why.
    pub(super) fn set_standing(
        &mut self,
        node: &NodeId,
        standing: Standing,
    ) -> Vec<(BackendError, T)> {
        self.hold = None;
        if let Some(at) = self.place(node) {
            self.change(at, |place| {
                place.node.is_alive = !matches!(standing, Standing::GivenUp(_));
                place.standing = standing;
            });
        }
        let refused = |wish: &Wish| Some((wish.clone(), self.admit(wish).err()?));
        let refused: Vec<_> = self.lines.keys().filter_map(refused).collect();
        let mut in_vain = Vec::new();
        for (wish, error) in refused {
            for number in self.numbers(&wish) {
                let item = self.remove(number);
                in_vain.extend(item.map(|item| (number, error.clone(), item)));
            }
        }
        in_vain.sort_by_key(|(number, ..)| *number);
        let told = in_vain.into_iter().map(|(_, error, item)| (error, item));
        told.collect()
    }

    fn numbers(&self, wish: &Wish) -> Vec<u64> {
        let line = self.lines.get(wish).into_iter();
        line.flat_map(|line| line.keys().copied()).collect()
    }

    /// Takes out the item of this number, if it waits.
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let wish = self.waiting.remove(&number)?;
        let line = self.lines.get_mut(&wish)?;
        let item = line.remove(&number);
        let head = line.first_key_value().map(|(head, _)| *head);
        let heads = &mut self.heads[wish.priority as usize];
        if heads.remove(&number).is_some() {
            let next = |wish| Head { wish, passed: 0 };
            heads.extend(head.map(|head| (head, next(wish.clone()))));
        }
        self.hold = self.hold.filter(|hold| hold.number != number);
        if head.is_none() {
            self.lines.remove(&wish);
        }
        item
    }

    /// Takes out all that waits.
    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting.clear();
        self.hold = None;
        self.heads = Default::default();
        let lines = std::mem::take(&mut self.lines);
        lines
            .into_values()
            .flat_map(BTreeMap::into_values)
            .collect()
    }
}

#[cfg(test)]
#[path = "queue/tests.rs"]
mod tests;
