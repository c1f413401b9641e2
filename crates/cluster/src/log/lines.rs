//! From bytes that a process prints to lines that are harmless.

/// The longest line; what is longer is cut.
pub(crate) const LINE_BYTES_MAX: usize = 8 << 10;

/// Cuts bytes into lines, which end with a line feed, a carriage return, or both.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// The last byte was a carriage return, whose line feed may follow.
    is_returned: bool,
}

impl Lines {
    /// Gives each line that ends in `bytes` to `tell`, and whether the next goes on with it.
    pub(crate) fn take(&mut self, bytes: &[u8], mut tell: impl FnMut(&[u8], bool)) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match part {
                [text @ .., end @ (b'\n' | b'\r')] => (text, Some(*end)),
                text => (text, None),
            };
            let is_rest = self.is_returned && part == b"\n";
            self.is_returned = end == Some(b'\r');
            self.begun.extend_from_slice(text);
            while self.begun.len() > LINE_BYTES_MAX {
                let cut = boundary(&self.begun);
                tell(&self.begun[..cut], true);
                self.begun.drain(..cut);
            }
            if end.is_some() && !is_rest {
                tell(&self.begun, false);
                self.begun.clear();
            }
        }
    }

    /// Gives what has come of a line that has no end.
    pub(crate) fn rest(&mut self, mut tell: impl FnMut(&[u8], bool)) {
        if !self.begun.is_empty() {
            tell(&self.begun, false);
            self.begun.clear();
        }
        self.is_returned = false;
    }
}

/// Where to cut a line that is too long: not within a character, if it is text.
fn boundary(line: &[u8]) -> usize {
    let is_inside = |at: &usize| line[*at] & 0xc0 == 0x80;
    let near = (LINE_BYTES_MAX - 3..=LINE_BYTES_MAX).rev();
    near.into_iter()
        .find(|at| !is_inside(at))
        .unwrap_or(LINE_BYTES_MAX)
}

/// Text that does nothing to a terminal: control characters but tabs, and those that change the
/// direction of what follows, are spelt out.
pub(crate) fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains(is_harmful) {
        return text.into_owned();
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        match is_harmful(sign) {
            true => harmless.extend(sign.escape_default()),
            false => harmless.push(sign),
        }
    }
    harmless
}

fn is_harmful(sign: char) -> bool {
    let turns =
        matches!(sign, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (sign.is_control() && sign != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(parts: &[&[u8]]) -> Vec<(String, bool)> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        let mut tell = |text: &[u8], goes_on| found.push((harmless(text), goes_on));
        for part in parts {
            lines.take(part, &mut tell);
        }
        lines.rest(&mut tell);
        found
    }

    fn texts(parts: &[&[u8]]) -> Vec<String> {
        lines(parts).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn lines_are_whole_however_their_bytes_come() {
        let text = b"one\ntwo\r\n\nfour \xc3\xa4\rfive";
        let whole = texts(&[text]);
        assert_eq!(whole, ["one", "two", "", "four ä", "five"]);
        for at in 0..=text.len() {
            let (left, right) = text.split_at(at);
            assert_eq!(texts(&[left, b"", right]), whole, "cut at {at}");
        }
    }

    #[test]
    fn a_line_without_an_end_comes_in_parts_and_nothing_of_it_is_lost() {
        let text = "ä€𝄞".repeat(10_000);
        let parts: Vec<_> = text.as_bytes().chunks(777).collect();
        let found = lines(&parts);
        let joined: String = found.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(joined, text, "no character is cut");
        let (last, before) = found.split_last().expect("there are parts");
        assert!(before
            .iter()
            .all(|(text, goes_on)| *goes_on && text.len() <= LINE_BYTES_MAX));
        assert!(!last.1);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_and_harm_nothing() {
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        for line in texts(&[&bytes]) {
            assert!(!line.contains(is_harmful));
            assert!(line.len() <= 10 * LINE_BYTES_MAX);
        }
        let continuations = vec![0x80; 3 * LINE_BYTES_MAX];
        assert_eq!(texts(&[&continuations]).len(), 3, "it is cut all the same");
    }

    #[test]
    fn escape_sequences_are_spelt_out() {
        let shown = texts(&[b"\x1b]0;title\x07 \x1b[2J\tred \x7f \xe2\x80\xae"]);
        assert_eq!(
            shown,
            [r"\u{1b}]0;title\u{7} \u{1b}[2J".to_owned() + "\t" + r"red \u{7f} \u{202e}"]
        );
    }
}
