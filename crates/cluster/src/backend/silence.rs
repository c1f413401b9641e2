//! The silence of a worker, after which it is lost.
//!
//! Its signs of life are counted and no clock is asked: a driver that was stopped itself finds its
//! workers alive.

use super::link::Link;
use super::Reply;
use crate::protocol::{Ask, Request};
use crate::Fingerprint;

/// How often a worker is looked at in the time for which it may be silent.
pub(crate) const LOOKS: u32 = 4;

/// The number of the request that asks for a sign of life. No other request has it.
const HELLO: u64 = u64::MAX - 1;

/// Asks a worker for a sign of life.
pub(crate) fn greet(link: &Link, fingerprint: Fingerprint, reply: Reply) {
    let request = Request::frame(HELLO, fingerprint, Ask::Hello, Vec::new());
    link.send(HELLO, request, reply);
}

/// How long a worker has been silent.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// The signs of life when they were last looked at.
    signs: u64,
    /// How often in a row there was no new one.
    looks: u32,
}

/// The state of a worker, by its signs of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pulse {
    /// There was a sign since the last look; another one should be asked for.
    Heard,
    Silent,
    /// It was silent for too long.
    Lost,
}

impl Silence {
    /// Looks at a worker, which has given so many signs of life.
    pub(crate) fn look(&mut self, signs: u64) -> Pulse {
        self.looks = match signs == self.signs {
            true => self.looks.saturating_add(1),
            false => 0,
        };
        self.signs = signs;
        match self.looks {
            0 => Pulse::Heard,
            LOOKS.. => Pulse::Lost,
            _ => Pulse::Silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_lost_when_it_has_been_silent_for_so_many_looks_in_a_row() {
        let mut silence = Silence::default();
        for _ in 1..LOOKS {
            assert_eq!(silence.look(0), Pulse::Silent);
        }
        assert_eq!(silence.look(7), Pulse::Heard);
        for _ in 1..LOOKS {
            assert_eq!(silence.look(7), Pulse::Silent);
        }
        assert_eq!(silence.look(7), Pulse::Lost);
        assert_eq!(silence.look(7), Pulse::Lost, "it is until it is heard");
        assert_eq!(silence.look(8), Pulse::Heard);
        assert_eq!(silence.look(8), Pulse::Silent);
    }
}
