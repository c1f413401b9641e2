//! The collections that can be made of the items of a parallel iterator, or take them in.

mod collections;
mod failures;
mod pairs;
mod text;
mod vec;
