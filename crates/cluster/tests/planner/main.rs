//! The planner: its rule, its properties, and how it fares in simulated fleets.

mod brute;
mod errata;
mod fleet;
mod fleet_by_hand;
mod flight;
mod properties;
mod rule;
