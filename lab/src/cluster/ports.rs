//! The addresses at which the daemons of a cluster listen.

use std::net::TcpListener;

use anyhow::Context;

/// Fails if one of the ports is taken.
pub(super) fn demand_free(address: (&str, u16)) -> anyhow::Result<()> {
    TcpListener::bind(address).map(drop).with_context(|| {
        let (address, port) = address;
        format!(
            "could not start a cluster: it needs {address}:{port}, perhaps another user's has it"
        )
    })
}
