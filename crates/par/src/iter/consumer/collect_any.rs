//! Collects into a vector, whether the number of items is known or not.

use super::{collect_into, Chunks};
use crate::part::Part;

/// All items in their order.
pub(crate) fn collect<P: Part>(part: P) -> Vec<P::Output> {
    let mut vec = Vec::new();
    collect_onto(&mut vec, part);
    vec
}

/// Appends all items to the vector.
pub(crate) fn collect_onto<T, P>(vec: &mut Vec<T>, part: P)
where
    T: Send,
    P: Part<Output = T>,
{
    match part.known_len() {
        Some(len) => collect_into(vec, part, len),
        None => Chunks::of(part).move_to(vec),
    }
}
