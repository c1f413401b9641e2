//! The terminal on which people read: how wide it is, and text that does nothing to it.

use console::Term;

/// The width for which output is made that goes to no terminal, or to one that does not tell.
const WIDTH: usize = 80;

/// How many columns standard output has.
#[must_use]
pub fn width() -> usize {
    let out = Term::stdout();
    let size = out.is_term().then(|| out.size_checked()).flatten();
    size.map_or(WIDTH, |(_, columns)| columns.into())
}

/// The columns that a table may take: those of a terminal; elsewhere there is no end, so that
/// programs find whole names.
#[must_use]
pub fn room() -> usize {
    match Term::stdout().is_term() {
        true => width(),
        false => usize::MAX,
    }
}

/// The text with control characters escaped.
#[must_use]
pub fn harmless(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let spelt = |sign: char| match sign {
        sign if sign.is_control() => sign.escape_default().to_string(),
        sign => sign.to_string(),
    };
    text.chars().map(spelt).collect()
}

/// The text on a line of at most `width` columns; a sign at its end says that there is more.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    let text = harmless(text);
    if text.chars().count() <= width {
        return text;
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// The text without its middle if it is wider than that: names of one kind often begin alike, and
/// differ at the end.
#[must_use]
pub fn without_middle(text: &str, width: usize) -> String {
    let text = harmless(text);
    let signs = text.chars().count();
    if signs <= width {
        return text;
    }
    let kept = width.saturating_sub(1);
    let (first, last) = (kept - kept / 2, kept / 2);
    let begin = text.chars().take(first);
    begin
        .chain(['…'])
        .chain(text.chars().skip(signs - last))
        .collect()
}

/// The words of a text on lines of at most `width` columns.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelt_out() {
        assert_eq!(harmless("a\x1b[31mb\u{9b}"), "a\\u{1b}[31mb\\u{9b}");
        assert_eq!(harmless("plain größe"), "plain größe");
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("\x1babc", 6), "\\u{1b…");
    }

    #[test]
    fn a_long_name_keeps_its_ends() {
        assert_eq!(without_middle("etl-7", 5), "etl-7");
        assert_eq!(without_middle("etl-long-17", 6), "etl…17");
        assert_eq!(without_middle("etl-long-17", 0), "…");
    }

    #[test]
    fn a_text_is_wrapped_between_words() {
        assert_eq!(wrapped("ab cd ef", 5), ["ab cd", "ef"]);
        assert_eq!(wrapped("abcdefgh ij", 5), ["abcdefgh", "ij"]);
    }
}
