//! JSON that is written by hand: the programs that write it are to carry no library for that.

use std::fmt::{self, Write};

/// JSON in the making: two levels of it have a line for each member.
#[derive(Default)]
pub(crate) struct Json {
    text: String,
    depth: usize,
    /// True if the present object has no member yet.
    is_first: bool,
}

impl Json {
    pub(crate) fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.text.push('{');
        self.depth += 1;
        self.is_first = true;
        members(self);
        self.depth -= 1;
        self.is_first = false;
        self.text
            .push_str(if self.depth == 0 { "\n}" } else { " }" });
    }

    pub(crate) fn key(&mut self, key: &str) {
        let comma = if self.is_first { "" } else { "," };
        let space = if self.depth == 1 { "\n  " } else { " " };
        self.is_first = false;
        self.put(format_args!("{comma}{space}\"{key}\": "));
    }

    pub(crate) fn named(&mut self, key: &str, members: impl FnOnce(&mut Self)) {
        self.key(key);
        self.object(members);
    }

    pub(crate) fn array<T>(&mut self, key: &str, items: &[T], members: impl Fn(&mut Self, &T)) {
        self.key(key);
        self.text.push('[');
        for (n, item) in items.iter().enumerate() {
            self.text.push_str(match (n, self.depth) {
                (0, 1) => "\n    ",
                (_, 1) => ",\n    ",
                (0, _) => "",
                (..) => ", ",
            });
            self.object(|json| members(json, item));
        }
        self.text.push(']');
    }

    pub(crate) fn number(&mut self, key: &str, value: impl fmt::Display) {
        self.key(key);
        self.put(format_args!("{value}"));
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.quoted(value);
    }

    fn quoted(&mut self, value: &str) {
        self.text.push('"');
        for c in value.chars() {
            match c {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(c);
                }
                c if c < ' ' => self.put(format_args!("\\u{:04x}", u32::from(c))),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, key: &str, values: &[String]) {
        self.key(key);
        self.text.push('[');
        for (n, value) in values.iter().enumerate() {
            self.text.push_str(if n == 0 { "" } else { ", " });
            self.quoted(value);
        }
        self.text.push(']');
    }

    /// The document, which ends with a line end.
    pub(crate) fn finish(mut self) -> String {
        self.text.push('\n');
        self.text
    }

    /// The text of an object whose last members are written behind it, piece by piece.
    pub(crate) fn unfinished(self) -> String {
        let open = self.text.trim_end_matches('}').trim_end();
        open.to_owned()
    }

    fn put(&mut self, what: fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = self.text.write_fmt(what);
    }
}
