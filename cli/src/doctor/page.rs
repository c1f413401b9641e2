//! Labelled rows of text, wrapped behind their labels.

use std::io::{self, Write};

const LABEL_WIDTH: usize = 10;
const LINE_WIDTH: usize = 98;

/// Writes rows to `out`; what has no label is written to `out` directly.
pub(crate) struct Page<'a, W> {
    pub(crate) out: &'a mut W,
}

impl<W: Write> Page<'_, W> {
    pub(crate) fn row(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut label = label;
        for line in wrap(text, LINE_WIDTH - LABEL_WIDTH - 4) {
            writeln!(self.out, "  {label:LABEL_WIDTH$}  {line}")?;
            label = "";
        }
        Ok(())
    }

    pub(crate) fn rows(&mut self, label: &str, texts: Vec<String>) -> io::Result<()> {
        let mut label = label;
        for text in texts {
            self.row(label, &text)?;
            label = "";
        }
        Ok(())
    }

    /// A text without a label, whose further lines are set in.
    pub(crate) fn hanging(&mut self, text: &str) -> io::Result<()> {
        let mut indent = 2;
        for line in wrap(text, LINE_WIDTH - 4) {
            writeln!(self.out, "{:indent$}{line}", "")?;
            indent = 4;
        }
        Ok(())
    }
}

/// Breaks the text at spaces; the spaces within a line stay as they are.
fn wrap(text: &str, width: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while rest.chars().count() > width {
        let fits = rest
            .char_indices()
            .take(width + 1)
            .filter(|(_, char)| *char == ' ')
            .last();
        let Some((at, _)) = fits.or_else(|| rest.char_indices().find(|(_, char)| *char == ' '))
        else {
            break;
        };
        lines.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    lines.push(rest);
    lines
}
