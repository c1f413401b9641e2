//! The limits of a pool: its workers, and the slots of their deques.

use heist_sync::{address_space_limit, thread_limit};

use crate::base::error::ThreadPoolBuildError;

/// The most workers that a pool can have: 65,535.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// assert_eq!(heist::max_num_threads(), 65_535);
/// ```
#[must_use]
pub const fn max_num_threads() -> usize {
    // The sleep protocol counts workers, and as many compensation, in twenty bits.
    u16::MAX as usize
}

/// The bytes of a slot.
const SLOT_SIZE: usize = 64;

/// Slots for spawned jobs: many where address space is plentiful, since they are reserved, and
/// become memory when they are needed. Jobs beyond go to the injector.
const SLOTS_FOR_SPAWNED: usize = if cfg!(any(heist_loom, heist_shuttle)) {
    32
} else if cfg!(all(any(unix, windows), target_pointer_width = "64")) {
    1 << 20
} else {
    1 << 14
};

/// Slots that are kept for joins: as many as common stacks have room for. Joins beyond are not
/// lent, and run in place.
pub(crate) const RESERVED_SLOTS: usize = if cfg!(any(heist_loom, heist_shuttle)) {
    32
} else if cfg!(target_pointer_width = "64") {
    (8 << 20) / STACK_OF_A_JOIN
} else {
    1 << 14
};

/// The most slots for joins, of a large stack.
const MOST_SLOTS_FOR_JOINS: usize = 1 << 21;

/// The least that a join takes of the stack, in bytes.
const STACK_OF_A_JOIN: usize = 64;

/// More workers than this are checked against the limits before they start: starting them all, only
/// to find that the last one fails, takes long.
const MANY_WORKERS: usize = 256;

/// The slots of each worker's deque, in a pool of so many workers: enough that spawned jobs rarely
/// go to the injector, and one for each join that a stack has room for. If the process's address
/// space is limited, at most an eighth of it is for the deques.
pub(crate) fn slots(workers: usize, stack_size: Option<usize>) -> usize {
    let joins = RESERVED_SLOTS.max(stack_size.unwrap_or(0) / STACK_OF_A_JOIN);
    let plenty = SLOTS_FOR_SPAWNED + joins.min(MOST_SLOTS_FOR_JOINS);
    let fair = address_space_limit().map_or(u64::MAX, |bytes| {
        bytes / 8 / workers as u64 / SLOT_SIZE as u64
    });
    plenty
        .min(usize::try_from(fair).unwrap_or(usize::MAX))
        .max(1)
}

/// Refuses more workers, and compensation workers, than the system can have threads.
pub(crate) fn refuse_absurd(
    workers: usize,
    compensation: usize,
) -> Result<(), ThreadPoolBuildError> {
    let (all, most) = (workers.saturating_add(compensation), max_num_threads());
    let refused = |limit, setting| {
        let error = ThreadPoolBuildError::too_many(workers, compensation, limit, setting);
        Err(error)
    };
    if all > most {
        return refused(most as u64, "max_num_threads");
    }
    match thread_limit().filter(|_| all > MANY_WORKERS) {
        Some(limit) if all as u64 > limit.threads => refused(limit.threads, limit.setting),
        _ => Ok(()),
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn more_workers_than_there_can_be_are_refused_with_the_limit() {
        let text = refuse_absurd(65_536, 0).unwrap_err().to_string();
        assert!(
            text.contains("65536 workers") && text.contains("at most 65535"),
            "{text}"
        );
        if let Some(limit) = thread_limit() {
            let most = usize::try_from(limit.threads).unwrap_or(usize::MAX);
            if (MANY_WORKERS..max_num_threads()).contains(&most) {
                let text = refuse_absurd(most + 1, 0).unwrap_err().to_string();
                assert!(text.contains(limit.setting), "{text}");
                assert!(refuse_absurd(most, 0).is_ok());
            }
        }
        assert!(refuse_absurd(MANY_WORKERS, 0).is_ok());
    }
}
