//! The output of Ray's workers: it comes in pieces from the side-car, and goes on line by line.

use std::collections::HashMap;
use std::sync::Arc;

use heist_sync::Mutex;
use serde::Deserialize;

use crate::log::lines::Lines;
use crate::log::{LogOrigin, Logs};
use crate::planner::NodeId;

/// A piece of output, as the side-car announces it.
#[derive(Debug, Deserialize)]
pub(super) struct Piece {
    node: NodeId,
    /// The number of the call or host, unless it was printed between two.
    whose: Option<u64>,
    /// 0 for the standard output, 1 for the standard error.
    stream: usize,
}

/// The calls and hosts that may print.
#[derive(Debug)]
pub(super) struct Printed {
    logs: Logs,
    open: Mutex<HashMap<u64, Open>>,
}

#[derive(Debug)]
struct Open {
    origin: [Arc<LogOrigin>; 1],
    /// Of the first piece.
    node: Option<NodeId>,
    streams: [Lines; 2],
}

impl Printed {
    pub(super) fn new(logs: Logs) -> Arc<Self> {
        let open = Mutex::default();
        Arc::new(Self { logs, open })
    }

    /// The output of `number` is that of `origin` from now on.
    pub(super) fn begin(&self, number: u64, origin: Arc<LogOrigin>) {
        let open = Open {
            origin: [origin],
            node: None,
            streams: Default::default(),
        };
        self.open.lock().insert(number, open);
    }

    pub(super) fn take(&self, piece: Piece, bytes: &[u8]) {
        let mut all = self.open.lock();
        let open = piece.whose.and_then(|number| all.get_mut(&number));
        let Some(open) = open else {
            // Nothing more will come of these lines.
            let mut lines = Lines::default();
            let say = |line: &[u8], goes_on| self.logs.say(&piece.node, &[], line, goes_on);
            lines.take(bytes, say);
            return lines.rest(say);
        };
        // No worker says anything of a third.
        if let Some(lines) = open.streams.get_mut(piece.stream) {
            let say = |line: &[u8], goes_on| {
                self.logs.say(&piece.node, &open.origin, line, goes_on);
            };
            lines.take(bytes, say);
        }
        open.node.get_or_insert(piece.node);
    }

    /// Nothing more comes of `number`: the lines without an end are told.
    pub(super) fn end(&self, number: u64) {
        let ended = self.open.lock().remove(&number);
        let Some(Open {
            origin,
            node: Some(node),
            streams,
        }) = ended
        else {
            return;
        };
        for mut lines in streams {
            lines.rest(|line, goes_on| self.logs.say(&node, &origin, line, goes_on));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::log::LogLine;

    #[test]
    fn lines_are_cut_apart_by_stream_and_by_call() {
        let (sender, told) = mpsc::channel();
        let logs = Logs::new(Some(Box::new(move |line: &LogLine| {
            sender.send(line.to_string()).expect("the test waits");
        })));
        let printed = Printed::new(logs.clone());
        for call in [7, 8] {
            let function = "sums::add".to_owned();
            let trace = None;
            let origin = LogOrigin::Call {
                function,
                call,
                trace,
            };
            printed.begin(call, Arc::new(origin));
        }
        let say = |whose, stream, text: &str| {
            let node = NodeId::from("n1");
            let piece = Piece {
                node,
                whose,
                stream,
            };
            printed.take(piece, text.as_bytes());
        };
        say(Some(7), 0, "one\ntw");
        say(Some(7), 1, "err");
        say(Some(8), 0, "other\n");
        say(Some(7), 0, "o\nrest");
        say(None, 0, "between");
        printed.end(7);
        say(Some(7), 0, "late");
        printed.end(8);
        logs.close();
        let heard: Vec<_> = told.try_iter().collect();
        let expected = [
            "[n1 add#7] one",
            "[n1 add#8] other",
            "[n1 add#7] two",
            "[n1] between",
            "[n1 add#7] rest",
            "[n1 add#7] err",
            "[n1] late",
        ];
        assert_eq!(heard, expected);
    }
}
