//! Parallel iterators over the collections of the standard library.
//!
//! Maps, sets and linked lists cannot be cut into parts: before anything runs in parallel, their
//! items (or references to them) are moved into a vector, one by one. Heaps and double-ended queues
//! are gone through where they lie. All are indexed.

pub mod binary_heap;
pub mod btree_map;
pub mod btree_set;
pub mod hash_map;
pub mod hash_set;
pub mod linked_list;
pub mod vec_deque;
