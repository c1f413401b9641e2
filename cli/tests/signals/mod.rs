//! Whether signals to end reach the programs that a test starts: what ignores them hands that down.

use std::fs;
use std::io::{self, Write as _};

/// True, and says so, if this process was started so that it ignores SIGHUP, SIGINT or SIGTERM.
pub(crate) fn skipped_as_they_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    let to_end = [1, 2, 15].map(|signal| 1_u64 << (signal - 1));
    let is_ignored = ignored.is_some_and(|set| to_end.iter().any(|signal| set & signal != 0));
    if is_ignored {
        let reason = "test skipped: signals to end are ignored, as by nohup\n";
        let _ = io::stderr().write_all(reason.as_bytes());
    }
    is_ignored
}
