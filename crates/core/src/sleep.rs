//! How idle workers fall asleep and are woken. `README.md` has the protocol.

mod caller;
mod counts;
mod driven;
mod lookout;
#[cfg(all(test, heist_loom))]
mod model;
mod protocol;
mod reserve;
mod resize;
mod resting;
mod sequence;
mod several;
#[cfg(all(test, not(heist_loom)))]
mod tests;
mod watch;

pub(crate) use driven::Nap;
pub(crate) use protocol::{Jobs, Sleep, Sleeper};
pub(crate) use sequence::Searcher;
pub(crate) use several::Looks;
