//! How idle workers fall asleep and are woken. `README.md` has the protocol.

mod counts;
mod guest;
mod lookout;
#[cfg(all(test, heist_loom))]
mod model;
mod protocol;
mod search;
#[cfg(all(test, not(heist_loom)))]
mod tests;

pub(crate) use protocol::{Bell, Jobs, Sleep};
pub(crate) use search::Searcher;
