//! Many machines: remote tasks over an existing distributed engine, and jobs that migrate
//! while they run when that pays.

#![forbid(unsafe_code)]

pub mod planner;
