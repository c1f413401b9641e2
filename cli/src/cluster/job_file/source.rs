//! Where in a job file something is, for errors.

use std::fmt;
use std::ops::Range;

use heist_run::usage::Usage;

/// The text of a job file, for errors.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        1 + before.filter(|&&byte| byte == b'\n').count()
    }

    pub(super) fn error(&self, span: &Range<usize>, what: impl fmt::Display) -> Usage {
        at_line(self.name, self.line(span), what)
    }
}

pub(super) fn at_line(name: &str, line: usize, what: impl fmt::Display) -> Usage {
    Usage(format!("{name}:{line}: {what}"))
}
