//! The books: each closure and each planned panic is entered once and closed once.

use std::any::Any;
use std::fmt;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A thing that is counted.
#[derive(Clone, Copy)]
enum Line {
    Made,
    Run,
    Dropped,
    Thrown,
    PayloadsGone,
    ThrownToHandlers,
    Handled,
}

const LINES: usize = 7;

/// Several, or all threads would take turns at one cache line, which orders them.
static SHARDS: [Shard; 16] = [const { Shard([const { AtomicU64::new(0) }; LINES]) }; 16];

#[repr(align(128))]
struct Shard([AtomicU64; LINES]);

thread_local! {
    static SHARD: usize = {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) as usize % SHARDS.len()
    };
}

fn count(line: Line) {
    let shard = &SHARDS[SHARD.with(|shard| *shard)];
    shard.0[line as usize].fetch_add(1, Ordering::Relaxed);
}

/// The sums in the books.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums([u64; LINES]);

impl Sums {
    pub(crate) fn read() -> Self {
        let sum = |line: usize| {
            let shards = SHARDS.iter();
            shards
                .map(|shard| shard.0[line].load(Ordering::Relaxed))
                .sum()
        };
        Self(std::array::from_fn(sum))
    }

    /// How many closures were made.
    pub(crate) fn closures(&self) -> u64 {
        self.0[Line::Made as usize]
    }

    /// How many panics were planned and came.
    pub(crate) fn panics(&self) -> u64 {
        self.0[Line::Thrown as usize]
    }

    /// True if whatever was entered is closed.
    pub(crate) fn balance(&self) -> bool {
        let [made, run, dropped, thrown, gone, to_handlers, handled] = self.0;
        made == run && made == dropped && thrown == gone && to_handlers == handled
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [made, run, dropped, thrown, gone, to_handlers, handled] = self.0;
        write!(
            f,
            "closures: {made} made, {run} run, {dropped} dropped; panics: {thrown} thrown, \
             {gone} payloads dropped; nobody waited for {to_handlers}, handlers got {handled}"
        )
    }
}

/// The entry of one closure, which carries it, and runs it once. `N` bytes long, and two.
pub(crate) struct Entry<const N: usize> {
    state: u8,
    mark: u8,
    cargo: [u8; N],
}

const WAITS: u8 = 0x5A;
const HAS_RUN: u8 = 0xA5;
const GONE: u8 = 0xDD;

impl<const N: usize> Entry<N> {
    pub(crate) fn new(mark: u8) -> Self {
        count(Line::Made);
        Self {
            state: WAITS,
            mark,
            cargo: [mark; N],
        }
    }

    /// The closure runs.
    pub(crate) fn run(&mut self) {
        if self.state != WAITS {
            complain(format!(
                "a closure with {N} bytes ran in state {:#x}",
                self.state
            ));
        }
        if self.cargo.iter().any(|byte| *byte != self.mark) {
            complain(format!(
                "the {N} bytes of a closure changed before it ran: not all are {:#x}",
                self.mark
            ));
        }
        self.state = HAS_RUN;
        count(Line::Run);
    }
}

impl<const N: usize> Drop for Entry<N> {
    fn drop(&mut self) {
        if self.state != HAS_RUN {
            complain(format!(
                "a closure with {N} bytes was dropped in state {:#x}",
                self.state
            ));
        }
        self.state = GONE;
        count(Line::Dropped);
    }
}

/// The payload of a planned panic.
pub(crate) struct Planned {
    /// The operation that it belongs to.
    op: u64,
}

impl Drop for Planned {
    fn drop(&mut self) {
        count(Line::PayloadsGone);
    }
}

/// Panics, for somebody who waits for the operation.
pub(crate) fn throw(op: u64) -> ! {
    count(Line::Thrown);
    panic_any(Planned { op })
}

/// Panics in a job that nobody waits for.
pub(crate) fn throw_to_handler(op: u64) -> ! {
    count(Line::ThrownToHandlers);
    throw(op)
}

/// The panic handler of all pools.
pub(crate) fn handle(payload: Box<dyn Any + Send>) {
    match payload.downcast::<Planned>() {
        Ok(_) => count(Line::Handled),
        Err(other) => complain(format!("a panic handler got {}", text(&*other))),
    }
}

/// Runs the operation; `None` if its planned panic comes out.
pub(crate) fn caught<R>(op: u64, run: impl FnOnce() -> R) -> Option<R> {
    let payload = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => return Some(result),
        Err(payload) => payload,
    };
    match payload.downcast::<Planned>() {
        Ok(planned) if planned.op == op => {}
        Ok(planned) => complain(format!(
            "the operation {op:#x} ended with the panic of {:#x}",
            planned.op
        )),
        Err(other) => complain(format!(
            "the operation {op:#x} ended with the panic {}",
            text(&*other)
        )),
    }
    None
}

/// Planned panics say nothing on standard error.
pub(crate) fn silence_planned_panics() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Planned>() {
            loud(info);
        }
    }));
}

/// The message of a panic's payload.
pub(crate) fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return format!("{text:?}");
    }
    match payload.downcast_ref::<String>() {
        Some(text) => format!("{text:?}"),
        None => "without text".to_owned(),
    }
}

static COMPLAINTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Something went wrong: the run will end after this round.
pub(crate) fn complain(what: String) {
    let mut complaints = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    complaints.push(what);
}

/// All complaints so far.
pub(crate) fn complaints() -> Vec<String> {
    let complaints = COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner);
    complaints.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test: the books are one for the process.
    #[test]
    fn the_books_balance_when_all_closures_and_payloads_are_gone_and_misuse_is_told() {
        silence_planned_panics();
        let mut entry = Entry::<40>::new(7);
        assert!(!Sums::read().balance());
        entry.run();
        drop(entry);
        assert_eq!(caught(1, || 5), Some(5));
        assert_eq!(caught(2, || throw(2)), None::<()>);
        handle(catch_unwind(|| -> () { throw_to_handler(3) }).unwrap_err());
        let sums = Sums::read();
        assert!(sums.balance(), "{sums}");
        assert_eq!((sums.closures(), sums.panics()), (1, 2));
        assert!(complaints().is_empty());

        caught(4, || throw(5));
        drop(Entry::<1>::new(1));
        assert!(!Sums::read().balance(), "one closure never ran");
        let mut twice = Entry::<1>::new(1);
        twice.run();
        twice.run();
        drop(twice);
        let mut changed = Entry::<2>::new(1);
        changed.cargo[1] = 0;
        changed.run();
        drop(changed);
        let says = complaints();
        assert_eq!(says.len(), 4, "{says:?}");
        assert!(
            says[0].contains("0x4 ended with the panic of 0x5"),
            "{says:?}"
        );
        assert!(says[1].contains("dropped in state 0x5a"), "{says:?}");
        assert!(says[2].contains("ran in state 0xa5"), "{says:?}");
        assert!(says[3].contains("changed before it ran"), "{says:?}");
    }
}
