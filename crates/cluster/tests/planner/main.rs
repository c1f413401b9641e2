//! The planner: its rule, its properties, and how it fares in a simulated fleet.

mod errata;
mod fleet;
mod fleet_by_hand;
mod flight;
mod properties;
mod rule;
