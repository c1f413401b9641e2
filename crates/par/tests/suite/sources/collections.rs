//! Collections, by value and by reference.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};

use heist_par::prelude::*;

use super::{in_pieces, numbers, together, Dice, SIZES};

#[test]
fn slices_arrays_boxes_and_vectors_give_their_items() {
    for len in SIZES {
        let mut items = numbers(len);
        let mut boxed = items.clone().into_boxed_slice();
        let copy = items.clone();
        check_indexed!(items.par_iter(), &copy);
        check_indexed!(items.par_iter_mut().map(|item| *item), copy.clone());
        check_indexed!(items.clone().into_par_iter(), copy.clone());
        check_indexed!(boxed.par_iter(), &copy);
        check_indexed!((&boxed).into_par_iter(), &copy);
        check_indexed!((&mut boxed).into_par_iter().map(|item| *item), copy.clone());
        check_indexed!(boxed.clone().into_par_iter(), copy.clone());
    }
    let mut array = [3, 1, 4, 1, 5];
    check_indexed!(array.par_iter(), &[3, 1, 4, 1, 5]);
    check_indexed!(array.par_iter_mut().map(|item| *item), [3, 1, 4, 1, 5]);
    check_indexed!(array.into_par_iter(), [3, 1, 4, 1, 5]);
    check_indexed!([(); 7].into_par_iter(), [(); 7]);
    check_indexed!(<[String; 0]>::default().into_par_iter(), [""; 0]);
}

#[test]
fn options_and_results_give_one_item_or_none() {
    let (mut some, mut none) = (Some("loot".to_owned()), None::<String>);
    check_indexed!(some.clone().into_par_iter(), ["loot"]);
    check_indexed!(none.clone().into_par_iter(), [""; 0]);
    check_indexed!(some.par_iter(), ["loot"]);
    check_indexed!(none.par_iter(), [""; 0]);
    check_indexed!(some.par_iter_mut().map(|item| item.clone()), ["loot"]);
    check_indexed!(none.par_iter_mut().map(|item| item.clone()), [""; 0]);
    let (mut good, mut bad) = (Ok::<_, ()>(7), Err::<u32, _>("bad"));
    check_indexed!(good.into_par_iter(), [7]);
    check_indexed!(bad.into_par_iter(), [0; 0]);
    check_indexed!(good.par_iter(), [&7]);
    check_indexed!(bad.par_iter(), [&0; 0]);
    check_indexed!(good.par_iter_mut().map(|item| *item), [7]);
    check_indexed!(bad.par_iter_mut().map(|item| *item), [0; 0]);
}

#[test]
fn collections_give_their_items_in_their_order() {
    for len in SIZES {
        let items = numbers(len);
        let mut set = BTreeSet::from_iter(items.clone());
        check_indexed!(set.par_iter(), &set);
        check_indexed!(set.clone().into_par_iter(), set.clone());
        let hashed = HashSet::<u32>::from_iter(items.clone());
        check_indexed!(hashed.par_iter(), &hashed);
        check_indexed!(
            hashed.clone().into_par_iter().map(|_| ()),
            hashed.iter().map(|_| ())
        );
        set.clear();

        let mut map = BTreeMap::from_iter(items.iter().copied().zip(items.clone()));
        let copy = map.clone();
        check_indexed!(map.par_iter(), &map);
        check_indexed!(map.clone().into_par_iter(), map.clone());
        check_indexed!(
            map.par_iter_mut().map(|(key, value)| (*key, *value)),
            copy.clone()
        );
        let mut hashed = HashMap::<u32, u32>::from_iter(copy.clone());
        check_indexed!(hashed.par_iter(), &hashed);
        let mut owned = together(hashed.clone().into_par_iter());
        owned.sort_unstable();
        assert_eq!(owned, Vec::from_iter(copy));
        hashed.par_iter_mut().for_each(|(key, value)| *value += key);
        assert!(hashed.iter().all(|(key, value)| *value == 2 * key));

        let mut list = LinkedList::from_iter(items.clone());
        check_indexed!(list.par_iter(), &items);
        check_indexed!(list.par_iter_mut().map(|item| *item), items.clone());
        check_indexed!(list.clone().into_par_iter(), items.clone());

        let heap = BinaryHeap::from(items.clone());
        check_indexed!(heap.par_iter(), &heap);
        check_indexed!(heap.clone().into_par_iter(), heap.clone());
    }
}

#[test]
fn a_queue_gives_its_items_in_their_order_wherever_it_begins() {
    for len in SIZES {
        for turned in [0, 1, len / 2, len] {
            let mut queue = VecDeque::from(numbers(len));
            for _ in 0..turned.min(len) {
                let front = queue.pop_front().unwrap();
                queue.push_back(front);
            }
            let items = Vec::from_iter(queue.iter().copied());
            check_indexed!(queue.par_iter(), &items);
            check_indexed!(queue.par_iter_mut().map(|item| *item), items.clone());
            check_indexed!(queue.clone().into_par_iter(), items.clone());
        }
    }
}
