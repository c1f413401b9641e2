//! Rooms and those who wait for them.

use proptest::prelude::*;

use super::*;

fn queue(nodes: &[(&str, u32)]) -> Queue<&'static str> {
    let node = |(name, cpus): &(&str, u32)| (NodeId::from(*name), Cpus::from(*cpus));
    Queue::new(nodes.iter().map(node), &Needs::default())
}

fn wish(node: &str, is_pinned: bool) -> Placement {
    Placement {
        node: Some(NodeId::from(node)),
        is_pinned,
        ..Placement::default()
    }
}

fn anywhere() -> Placement {
    Placement::default()
}

/// All that has room now: who, and where.
fn placed(queue: &mut Queue<&'static str>) -> Vec<(&'static str, String)> {
    let mut placed = Vec::new();
    while let Some((room, item)) = queue.pop() {
        placed.push((item, room.node.to_string()));
    }
    placed
}

fn at(item: &'static str, node: &str) -> (&'static str, String) {
    (item, node.to_owned())
}

#[test]
fn the_emptiest_node_is_taken_and_of_equals_the_first() {
    let mut queue = queue(&[("a", 2), ("b", 3)]);
    for item in ["1", "2", "3", "4", "5", "6"] {
        queue
            .push(Cpus::from(1), &anywhere(), item)
            .expect("it is possible");
    }
    let expected = [
        at("1", "b"),
        at("2", "a"),
        at("3", "b"),
        at("4", "a"),
        at("5", "b"),
    ];
    assert_eq!(placed(&mut queue), expected, "six do not fit");
}

#[test]
fn a_wish_is_met_if_there_is_room_and_a_pin_waits_for_it() {
    let mut queue = queue(&[("a", 1), ("b", 1)]);
    for (placement, item) in [
        (wish("b", false), "wish"),
        (wish("b", false), "second wish"),
        (wish("b", true), "pin"),
    ] {
        queue
            .push(Cpus::from(1), &placement, item)
            .expect("it is possible");
    }
    assert_eq!(
        placed(&mut queue),
        [at("wish", "b"), at("second wish", "a")]
    );
    queue.release(&Room {
        node: NodeId::from("b"),
        cpus: Cpus::from(1),
        needs: Needs::default(),
        is_lasting: false,
    });
    assert_eq!(placed(&mut queue), [at("pin", "b")]);
}

#[test]
fn what_never_fits_is_refused_with_what_there_is() {
    let mut queue = queue(&[("a", 2), ("b", 1)]);
    let (error, item) = queue
        .push(Cpus::from(3), &anywhere(), "large")
        .expect_err("it fits nowhere");
    assert_eq!(item, "large");
    assert!(error.to_string().contains("a (2), b (1)"), "{error}");
    assert!(queue
        .push(Cpus::from(2), &wish("b", true), "pinned")
        .is_err());
    assert!(
        queue.push(Cpus::from(2), &wish("b", false), "wish").is_ok(),
        "it fits elsewhere"
    );
    assert!(queue
        .push(Cpus::from(1), &wish("c", true), "nowhere")
        .is_err());
}

#[test]
fn a_node_that_is_not_ready_gets_nothing() {
    let mut queue = queue(&[("a", 2), ("b", 1)]);
    queue.set_standing(&NodeId::from("a"), Standing::Starting);
    for item in ["1", "2"] {
        queue
            .push(Cpus::from(1), &anywhere(), item)
            .expect("it is possible");
    }
    assert_eq!(placed(&mut queue), [at("1", "b")]);
    queue.set_standing(&NodeId::from("a"), Standing::Ready);
    assert_eq!(placed(&mut queue), [at("2", "a")]);
}

#[test]
fn a_wish_waits_for_a_node_that_starts() {
    let mut queue = queue(&[("a", 1), ("b", 1)]);
    queue.set_standing(&NodeId::from("a"), Standing::Starting);
    for item in ["1", "2"] {
        queue
            .push(Cpus::from(1), &wish("a", false), item)
            .expect("it is possible");
    }
    assert_eq!(placed(&mut queue), []);
    queue.set_standing(&NodeId::from("a"), Standing::Ready);
    assert_eq!(placed(&mut queue), [at("1", "a"), at("2", "b")]);
}

#[test]
fn those_who_can_only_have_a_node_that_is_given_up_are_told_why() {
    let mut queue = queue(&[("a", 2), ("b", 1)]);
    let wishes = [
        (2, anywhere(), "large"),
        (1, wish("a", true), "pinned"),
        (1, wish("a", false), "wish"),
        (1, anywhere(), "small"),
    ];
    for (cpus, placement, item) in wishes {
        let pushed = queue.push(Cpus::from(cpus), &placement, item);
        pushed.expect("it is possible");
    }
    let given_up = Standing::GivenUp("it is on fire".to_owned());
    let in_vain = queue.set_standing(&NodeId::from("a"), given_up);
    let (errors, items): (Vec<_>, Vec<_>) = in_vain.into_iter().unzip();
    assert_eq!(items, ["large", "pinned"]);
    for error in errors {
        assert_eq!(error.to_string(), "a was given up: it is on fire");
    }
    let (error, _) = queue
        .push(Cpus::from(1), &wish("a", true), "late")
        .expect_err("it waits for nothing");
    assert!(error.to_string().contains("on fire"), "{error}");
    assert_eq!(placed(&mut queue), [at("wish", "b")]);
}

#[test]
fn a_large_one_lets_smaller_ones_pass_and_can_be_taken_back() {
    let mut queue = queue(&[("a", 2)]);
    queue
        .push(Cpus::from(1), &anywhere(), "first")
        .expect("it is possible");
    let large = queue
        .push(Cpus::from(2), &anywhere(), "large")
        .expect("it is possible");
    queue
        .push(Cpus::from(1), &anywhere(), "small")
        .expect("it is possible");
    assert_eq!(placed(&mut queue), [at("first", "a"), at("small", "a")]);
    assert_eq!(queue.remove(large), Some("large"));
    assert_eq!(queue.remove(large), None);
}

#[test]
fn parts_of_a_processor_leave_a_whole_one() {
    let mut queue = queue(&[("a", 1)]);
    for part in [0.3, 0.1] {
        let part = Cpus::try_from(part).expect("an amount");
        queue
            .push(part, &anywhere(), "part")
            .expect("it is possible");
    }
    let rooms: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    assert_eq!(rooms.len(), 2);
    rooms.iter().for_each(|(room, _)| queue.release(room));
    queue
        .push(Cpus::from(1), &anywhere(), "whole")
        .expect("it is possible");
    assert_eq!(placed(&mut queue), [at("whole", "a")]);
}

/// Pushes an item, and keeps two small ones running on node "a" until it has begun or `turns` have
/// passed. Returns how many small ones have begun before it.
fn small_ones_before(queue: &mut Queue<&'static str>, large: &Placement, turns: u32) -> u32 {
    let small = wish("a", true);
    let push = |queue: &mut Queue<_>, cpus: u32, placement, item| {
        let pushed = queue.push(Cpus::from(cpus), placement, item);
        pushed.expect("it is possible");
    };
    let mut running = std::collections::VecDeque::new();
    for turn in 0..turns {
        push(queue, 1, &small, "small");
        push(queue, 1, &small, "small");
        if turn == 2 {
            push(queue, 2, large, "large");
        }
        while let Some((room, item)) = queue.pop() {
            if item == "large" {
                return turn;
            }
            running.push_back(room);
        }
        running
            .pop_front()
            .iter()
            .for_each(|room| queue.release(room));
    }
    turns
}

#[test]
fn small_ones_do_not_pass_a_large_one_for_ever() {
    for priority in [Priority::High, Priority::Normal, Priority::Low] {
        let mut queue = queue(&[("a", 2), ("b", 1)]);
        let large = Placement {
            priority,
            ..anywhere()
        };
        let before = small_ones_before(&mut queue, &large, 1000);
        assert!(before < 40, "{before} before one of {priority:?}");
        let hold = queue.hold;
        assert!(hold.is_none(), "it has begun, and {hold:?} is left");
    }
}

#[test]
fn nothing_is_held_for_one_that_waits_for_what_lasts() {
    let mut queue = queue(&[("a", 2)]);
    queue
        .push(Cpus::try_from(0.5).expect("an amount"), &anywhere(), "job")
        .expect("it is possible");
    let (mut room, _) = queue.pop().expect("there is room");
    queue.keep(&mut room);
    let before = small_ones_before(&mut queue, &wish("a", true), 50);
    assert_eq!(
        (before, queue.hold.is_none()),
        (50, true),
        "small ones go on"
    );
    queue.release(&room);
    let lasting = (queue.nodes[0].lasting, &queue.nodes[0].lasting_needs);
    assert_eq!(lasting, (Cpus::from(0), &Needs::default()));
    let before = small_ones_before(&mut queue, &wish("a", true), 50);
    assert!(before < 50, "it has its turn once the job has ended");
}

#[test]
fn a_node_is_held_only_for_what_is_lacking() {
    let each = Needs::new(0, &[("gpu".to_owned(), 1)].into());
    let mut queue = Queue::new([(NodeId::from("a"), Cpus::from(4))], &each);
    let gpu = Placement {
        needs: each,
        ..anywhere()
    };
    for item in ["on the gpu", "waits for the gpu"] {
        queue
            .push(Cpus::from(1), &gpu, item)
            .expect("it is possible");
    }
    let (busy, item) = queue.pop().expect("there is room");
    assert_eq!(item, "on the gpu");
    for _ in 0..100 {
        queue
            .push(Cpus::from(1), &anywhere(), "small")
            .expect("it is possible");
        let (room, item) = queue.pop().expect("processors are free");
        assert_eq!(item, "small");
        queue.release(&room);
    }
    queue.release(&busy);
    assert_eq!(placed(&mut queue), [at("waits for the gpu", "a")]);
}

/// One line in which everybody looks at every node.
#[derive(Default)]
struct Naive {
    /// Free processors, and whether it takes work or will do so in a moment.
    nodes: Vec<(u32, bool)>,
    waiting: Vec<(usize, u32, Option<usize>, bool)>,
}

impl Naive {
    fn pop(&mut self) -> Option<(usize, usize)> {
        let best = |nodes: &[(u32, bool)], cpus, wish: Option<usize>, is_pinned| {
            match wish {
                Some(at) if nodes[at].0 >= cpus && nodes[at].1 => return Some(at),
                Some(at) if is_pinned || nodes[at].0 >= cpus && !nodes[at].1 => return None,
                _ => {}
            }
            let ready = (0..nodes.len()).rev();
            let ready = ready.filter(|at| nodes[*at].0 >= cpus && nodes[*at].1);
            ready.max_by_key(|at| nodes[*at].0)
        };
        let mut waiting = self.waiting.iter().enumerate();
        let (turn, at) = waiting.find_map(|(turn, (_, cpus, wish, is_pinned))| {
            Some((turn, best(&self.nodes, *cpus, *wish, *is_pinned)?))
        })?;
        let (item, cpus, ..) = self.waiting.remove(turn);
        self.nodes[at].0 -= cpus;
        Some((item, at))
    }
}

proptest! {
    /// The lines give everybody the turn and the place that one line would.
    #[test]
    fn many_lines_are_as_good_as_one(
        steps in proptest::collection::vec((0..6_u8, 0..3_usize, 0..3_u32, any::<bool>()), 1..120),
    ) {
        let names = ["a", "b", "c"];
        let nodes = names.iter().zip(1..);
        let nodes = nodes.map(|(name, cpus)| (NodeId::from(*name), Cpus::from(cpus + 1)));
        let mut queue = Queue::new(nodes, &Needs::default());
        // The one line is never too long for anybody.
        queue.passed_max = u32::MAX;
        let mut naive = Naive { nodes: vec![(2, true), (3, true), (4, true)], waiting: Vec::new() };
        let (mut numbers, mut rooms) = (Vec::new(), Vec::new());
        for (item, (what, at, cpus, flag)) in steps.into_iter().enumerate() {
            let id = NodeId::from(names[at]);
            match what {
                0 | 1 => {
                    let wish = (what == 0).then_some(at);
                    let placement = Placement {
                        node: wish.map(|_| id),
                        is_pinned: flag && wish.is_some(),
                        ..Placement::default()
                    };
                    if let Ok(number) = queue.push(Cpus::from(cpus), &placement, item) {
                        numbers.push((number, item));
                        naive.waiting.push((item, cpus, wish, placement.is_pinned));
                    }
                }
                2 => {
                    let standing = if flag { Standing::Ready } else { Standing::Starting };
                    prop_assert!(queue.set_standing(&id, standing).is_empty());
                    naive.nodes[at].1 = flag;
                }
                3 if !rooms.is_empty() => {
                    let (room, at, cpus): (Room, usize, u32) = rooms.remove(0);
                    queue.release(&room);
                    naive.nodes[at].0 += cpus;
                }
                4 if !numbers.is_empty() => {
                    let (number, item) = numbers.remove(numbers.len() / 2);
                    let waits = naive.waiting.iter().position(|waiting| waiting.0 == item);
                    prop_assert_eq!(queue.remove(number), waits.map(|_| item));
                    waits.map(|turn| naive.waiting.remove(turn));
                }
                _ => {
                    let before: Vec<_> = naive.waiting.clone();
                    let expected = naive.pop();
                    let found = queue.pop();
                    let taken = found.as_ref().map(|(room, item)| (*item, queue.place(&room.node).unwrap()));
                    prop_assert_eq!(taken, expected);
                    if let Some((room, item)) = found {
                        let cpus = before.iter().find(|waiting| waiting.0 == item).map_or(0, |it| it.1);
                        rooms.push((room, taken.unwrap().1, cpus));
                    }
                }
            }
        }
        prop_assert_eq!(queue.drain().len(), naive.waiting.len());
    }
    /// All room is given back at some time; then there is as much as in the beginning.
    #[test]
    fn taking_and_giving_back_leaves_exactly_what_there_was(
        cpus in 1..5_u32,
        steps in proptest::collection::vec((0.0..2.5_f64, any::<proptest::sample::Index>()), 1..60),
    ) {
        let mut queue = queue(&[("a", cpus), ("b", 2)]);
        let mut taken = Vec::new();
        for (part, given_back) in steps {
            let part = Cpus::try_from(part).expect("an amount");
            // More than any node has is refused, and takes nothing.
            let _ = queue.push(part, &anywhere(), "part");
            taken.extend(std::iter::from_fn(|| queue.pop()));
            if !taken.is_empty() && given_back.index(2) == 0 {
                let (room, _) = taken.swap_remove(given_back.index(taken.len()));
                queue.release(&room);
            }
        }
        loop {
            taken.drain(..).for_each(|(room, _)| queue.release(&room));
            taken.extend(std::iter::from_fn(|| queue.pop()));
            if taken.is_empty() {
                break;
            }
        }
        let all = wish("a", true);
        queue.push(Cpus::from(cpus), &all, "all").expect("it is possible");
        prop_assert_eq!(placed(&mut queue), [at("all", "a")]);
    }
}

#[test]
fn resources_are_counted_and_given_back_and_hold_up_nobody_else() {
    let each = |gpus| Needs::new(100, &[("gpu".to_owned(), gpus)].into());
    let nodes = ["a", "b"].map(|name| (NodeId::from(name), Cpus::from(8)));
    let mut queue = Queue::new(nodes, &each(2));
    let with = |memory_bytes, gpus| Placement {
        needs: Needs::new(memory_bytes, &[("gpu".to_owned(), gpus)].into()),
        ..Placement::default()
    };
    let wishes = [
        (with(0, 2), "1"),
        (with(0, 2), "2"),
        (with(0, 1), "3"),
        (with(100, 0), "4"),
        (with(60, 0), "5"),
        (with(60, 0), "6"),
    ];
    for (placement, item) in &wishes {
        queue
            .push(Cpus::from(1), placement, *item)
            .expect("a node has as much");
    }
    let (mut rooms, mut items) = (Vec::new(), Vec::new());
    while let Some((room, item)) = queue.pop() {
        rooms.push(room);
        items.push(item);
    }
    assert_eq!(
        items,
        ["1", "2", "4", "5"],
        "3 wants a gpu, 6 more than is left"
    );
    for room in &rooms {
        queue.release(room);
    }
    let free = queue.nodes.iter().map(|place| place.free_needs.clone());
    assert_eq!(free.collect::<Vec<_>>(), [each(2), each(2)]);
    assert_eq!(placed(&mut queue).len(), 2);
    let refused = queue.push(Cpus::from(1), &with(0, 3), "7");
    let (error, _) = refused.expect_err("nobody has three");
    assert_eq!(
        error.to_string(),
        "1 processors, 3 of gpu were wanted on any node; there are \
         a (8, 1 MiB of memory, 2 of gpu), b (8, 1 MiB of memory, 2 of gpu)"
    );
}
