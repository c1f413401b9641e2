//! The last that a process printed, which may say why it ended.

use super::lines::harmless;

/// How much is kept.
const BYTES: usize = 1 << 14;

/// How many lines of that are shown.
const LINES_SHOWN: usize = 3;

/// Parts of lines that say why a process ends; a long backtrace may follow.
const TELLING: [&str; 4] = [
    "memory allocation of",
    "has overflowed its stack",
    "panicked at",
    "terminate called",
];

/// The end of what was printed.
#[derive(Debug, Default)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let surplus = self.0.len().saturating_sub(BYTES);
        self.0.drain(..surplus);
    }

    /// The lines that tell most, on one line and without signs that move a cursor.
    pub(crate) fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<_> = lines.collect();
        let tells = |line: &&str| TELLING.iter().any(|telling| line.contains(telling));
        let first = lines.iter().rposition(tells);
        let first = first.unwrap_or(lines.len().saturating_sub(LINES_SHOWN));
        let shown: Vec<_> = lines.into_iter().skip(first).take(LINES_SHOWN).collect();
        harmless(shown.join("; ").as_bytes())
    }

    /// The same, behind what is known besides.
    pub(crate) fn shown_behind(&self, known: String) -> String {
        match self.shown() {
            words if words.is_empty() => known,
            words => format!("{known}; it said last: {words}"),
        }
    }
}
