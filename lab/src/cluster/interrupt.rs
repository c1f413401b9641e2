//! The wish to stop, by Ctrl-C or by SIGTERM, heard where stopping leaves nothing behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Notes signals, which then no longer end this process.
#[derive(Clone, Debug)]
pub(super) struct Interrupt {
    /// The last signal, or 0.
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGHUP, SIGINT, SIGTERM] {
            let value = usize::try_from(number)?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), value)
                .with_context(|| format!("could not listen for the signal {number}"))?;
        }
        Ok(Self { signal })
    }

    /// The number of the signal that came, if one did.
    pub(super) fn signal(&self) -> Option<u8> {
        // A flag that nothing else hangs on.
        let signal = self.signal.load(Ordering::Relaxed);
        u8::try_from(signal).ok().filter(|signal| *signal != 0)
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        match self.signal() {
            None => Ok(()),
            Some(signal) => anyhow::bail!("interrupted by signal {signal}"),
        }
    }
}
