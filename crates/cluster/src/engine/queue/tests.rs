//! Rooms and those who wait for them.

use super::*;

fn queue(nodes: &[(&str, f64)]) -> Queue<&'static str> {
    let node = |(name, cpus): &(&str, f64)| Node::new(NodeId::from(*name), *cpus);
    Queue::new(nodes.iter().map(node).collect())
}

fn wish(node: &str, is_pinned: bool) -> Placement {
    Placement {
        node: Some(NodeId::from(node)),
        is_pinned,
        near: Vec::new(),
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
    let mut queue = queue(&[("a", 2.0), ("b", 3.0)]);
    for item in ["1", "2", "3", "4", "5", "6"] {
        queue.push(1.0, anywhere(), item).expect("it is possible");
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
    let mut queue = queue(&[("a", 1.0), ("b", 1.0)]);
    for (placement, item) in [
        (wish("b", false), "wish"),
        (wish("b", false), "second wish"),
        (wish("b", true), "pin"),
    ] {
        queue.push(1.0, placement, item).expect("it is possible");
    }
    assert_eq!(
        placed(&mut queue),
        [at("wish", "b"), at("second wish", "a")]
    );
    queue.release(&Room {
        node: NodeId::from("b"),
        cpus: 1.0,
    });
    assert_eq!(placed(&mut queue), [at("pin", "b")]);
}

#[test]
fn what_never_fits_is_refused_with_what_there_is() {
    let mut queue = queue(&[("a", 2.0), ("b", 1.0)]);
    let (error, item) = queue
        .push(3.0, anywhere(), "large")
        .expect_err("it fits nowhere");
    assert_eq!(item, "large");
    assert!(error.to_string().contains("a (2), b (1)"), "{error}");
    assert!(queue.push(2.0, wish("b", true), "pinned").is_err());
    assert!(
        queue.push(2.0, wish("b", false), "wish").is_ok(),
        "it fits elsewhere"
    );
    assert!(queue.push(1.0, wish("c", true), "nowhere").is_err());
}

#[test]
fn a_dead_node_gets_nothing() {
    let mut queue = queue(&[("a", 2.0), ("b", 1.0)]);
    queue.set_alive(&NodeId::from("a"), false);
    for item in ["1", "2"] {
        queue.push(1.0, anywhere(), item).expect("it is possible");
    }
    assert_eq!(placed(&mut queue), [at("1", "b")]);
    queue.set_alive(&NodeId::from("a"), true);
    assert_eq!(placed(&mut queue), [at("2", "a")]);
}

#[test]
fn a_large_one_lets_smaller_ones_pass_and_can_be_taken_back() {
    let mut queue = queue(&[("a", 2.0)]);
    queue
        .push(1.0, anywhere(), "first")
        .expect("it is possible");
    queue
        .push(2.0, anywhere(), "large")
        .expect("it is possible");
    queue
        .push(1.0, anywhere(), "small")
        .expect("it is possible");
    assert_eq!(placed(&mut queue), [at("first", "a"), at("small", "a")]);
    assert_eq!(queue.remove(|item| *item == "large"), Some("large"));
    assert_eq!(queue.remove(|item| *item == "large"), None);
}
