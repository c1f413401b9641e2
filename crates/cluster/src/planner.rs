//! The rebalancer's decisions: which job moves where, or why none does.
