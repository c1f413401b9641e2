//! The planner: its rule, its properties, and every possible move of small fleets. Its fleets are
//! simulated in `heist-sim`.

mod brute;
mod errata;
mod fleet_by_hand;
mod flight;
mod properties;
mod rule;
