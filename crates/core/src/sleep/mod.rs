//! How idle workers fall asleep and are woken. `README.md` has the protocol.

#[cfg(all(test, heist_loom))]
mod model;
mod protocol;

pub(crate) use protocol::{Bell, Sleep};
