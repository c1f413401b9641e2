//! Lines and rows of files of any size, of which no line needs more than a little memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use heist_run::usage::Usage;

/// The longest line that is read.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The first bytes of a file that gzip has made.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of UTF-16, of either order: what PowerShell's `>` writes.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// The mark that some programs put before UTF-8, and that belongs to no row.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A file, line by line.
pub(super) struct Lines {
    input: Box<dyn BufRead>,
    name: String,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens a file, or standard input for `-`.
    pub(super) fn open(path: &Path) -> Result<Self, Usage> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin {
            "stdin".to_owned()
        } else {
            path.display().to_string()
        };
        let cannot = |error: io::Error| {
            Usage(format!(
                "cannot read the trace {name}: {error}; accepted is a file, or - for \
                           stdin"
            ))
        };
        let input: Box<dyn Read> = if is_stdin {
            Box::new(io::stdin())
        } else {
            let file = File::open(path).map_err(cannot)?;
            if file.metadata().map_err(cannot)?.is_dir() {
                return Err(cannot(io::Error::other("it is a folder")));
            }
            Box::new(file)
        };
        let mut lines = Self::of(input, name);
        let head = lines.input.fill_buf();
        let head = head.map(|head| {
            let is_utf_16 = UTF_16.iter().any(|mark| head.starts_with(mark));
            (head.starts_with(&GZIP), is_utf_16)
        });
        let (what, through) = match head.map_err(|error| lines.broken(&error))? {
            (true, _) => ("compressed", "zcat"),
            (_, true) => ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
            _ => return Ok(lines),
        };
        let name = &lines.name;
        Err(Usage(format!(
            "the trace {name} is {what}; accepted is text in UTF-8: {through} {name} | heist sim \
             fleet --trace FORMAT:-"
        )))
    }

    pub(super) fn of(input: impl Read + 'static, name: String) -> Self {
        Self {
            input: Box::new(BufReader::with_capacity(1 << 16, input)),
            name,
            line: Vec::new(),
            number: 0,
        }
    }

    fn broken(&self, error: &io::Error) -> Usage {
        let (name, line) = (&self.name, self.number + 1);
        Usage(format!(
            "cannot read the trace {name} at line {line}: {error}"
        ))
    }

    /// The next line that is not empty, without its end.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, Usage> {
        loop {
            self.line.clear();
            let limit = LINE_BYTES_MAX as u64 + 2;
            let mut input = (&mut self.input).take(limit);
            let read = input.read_until(b'\n', &mut self.line);
            if read.map_err(|error| self.broken(&error))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.number == 1 && self.line.starts_with(&MARK) {
                self.line.drain(..MARK.len());
            }
            while self
                .line
                .last()
                .is_some_and(|end| matches!(end, b'\n' | b'\r'))
            {
                self.line.pop();
            }
            if self.line.len() > LINE_BYTES_MAX {
                let (name, line) = (&self.name, self.number);
                return Err(Usage(format!(
                    "the trace {name} has more than {LINE_BYTES_MAX} bytes in line {line}; \
                     accepted are lines of a row each"
                )));
            }
            if !self.line.is_empty() {
                return Ok(Some(&self.line));
            }
        }
    }

    /// The place of the next line that is not empty.
    pub(super) fn place_of_next(&mut self) -> String {
        loop {
            let empty = match self.input.fill_buf() {
                Ok([b'\n', ..]) => 1,
                Ok([b'\r', b'\n', ..]) => 2,
                // An error is told by whoever reads the line.
                _ => break,
            };
            self.input.consume(empty);
            self.number += 1;
        }
        format!("{} line {}", self.name, self.number + 1)
    }
}

/// The columns of a CSV table: by its heads, or in the order in which they are published.
#[derive(Debug)]
pub(super) struct Columns {
    names: &'static [&'static str],
    places: Vec<Option<usize>>,
    is_known: bool,
}

impl Columns {
    pub(super) fn new(names: &'static [&'static str]) -> Self {
        Self {
            names,
            places: (0..names.len()).map(Some).collect(),
            is_known: false,
        }
    }

    /// Whether the first row, which this is, has the heads.
    pub(super) fn takes_heads(&mut self, row: &[&str]) -> bool {
        if self.is_known {
            return false;
        }
        self.is_known = true;
        let same = |cell: &str, name: &str| cell.eq_ignore_ascii_case(name);
        let place = |name: &&str| row.iter().position(|cell| same(cell, name));
        let places: Vec<_> = self.names.iter().map(place).collect();
        let found = places.iter().flatten().count();
        if found < 2 {
            return false;
        }
        self.places = places;
        true
    }

    /// The cell of a column; an empty text if there is none.
    pub(super) fn cell<'r>(&self, row: &[&'r str], column: usize) -> &'r str {
        let place = self.places.get(column).copied().flatten();
        place
            .and_then(|place| row.get(place))
            .copied()
            .unwrap_or("")
    }
}

/// The cells of a row. The traces quote nothing that has a comma in it.
pub(super) fn cells(line: &[u8]) -> Option<Vec<&str>> {
    let line = std::str::from_utf8(line).ok()?;
    let cells = line.split(',').map(|cell| cell.trim().trim_matches('"'));
    Some(cells.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Lines {
        Lines::of(io::Cursor::new(text.to_vec()), "t".to_owned())
    }

    #[test]
    fn lines_come_without_their_ends_and_empty_ones_not_at_all() {
        let mut lines = lines(b"a,b\r\n\n\"c\", d");
        assert_eq!(lines.next().expect("a line"), Some(&b"a,b"[..]));
        let line = lines.next().expect("a line").expect("it is there").to_vec();
        assert_eq!(cells(&line), Some(vec!["c", "d"]));
        assert_eq!(lines.place_of_next(), "t line 4");
        assert_eq!(lines.next().expect("the end"), None);
    }

    #[test]
    fn a_mark_before_the_text_belongs_to_no_line() {
        let mut lines = lines(b"\xef\xbb\xbfa\r\n\n\r\nb");
        assert_eq!(lines.next().expect("a line"), Some(&b"a"[..]));
        assert_eq!(lines.place_of_next(), "t line 4");
        assert_eq!(lines.next().expect("a line"), Some(&b"b"[..]));
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_it_fills_the_memory() {
        let mut lines = Lines::of(io::repeat(b'x').take(100 << 20), "t".to_owned());
        let error = lines.next().expect_err("it is too long").0;
        assert!(error.contains("1048576 bytes in line 1"), "{error}");
        assert!(lines.line.capacity() < 4 << 20);
    }

    #[test]
    fn columns_are_found_by_their_heads_or_by_their_order() {
        let mut columns = Columns::new(&["one", "two"]);
        assert!(columns.takes_heads(&["Two", "x", "one"]));
        assert_eq!(columns.cell(&["b", "", "a"], 0), "a");
        let mut columns = Columns::new(&["one", "two"]);
        assert!(!columns.takes_heads(&["1", "2"]));
        assert_eq!(columns.cell(&["1", "2"], 1), "2");
        assert_eq!(columns.cell(&["1"], 1), "");
    }
}
