//! The parallel methods of strings give what those of `str` give.

use heist_par::prelude::*;
use heist_par::str::Pattern;

use crate::pieces::{assert_gives, in_pieces, pool, Chance};

/// Texts without ends, with nothing but ends, with characters of all widths, long ones, and others
/// that chance has made.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "a",
        ",",
        ",,",
        "a,",
        ",a",
        "a,b",
        "ä",
        "𝄞",
        "𝄞,𝄞",
        "\n",
        "\r\n",
        "\r",
        "a\r",
        "a\r\nb",
        "a\rb\n",
        "\n\n",
        " ",
        "\u{2009}",
        " a  b\tc\u{2009}d\n",
        "Zażółć gęślą jaźń",
    ]
    .map(String::from)
    .to_vec();
    texts.extend([100, 3000].map(|n| "word, and другие\r\n".repeat(n)));
    texts.extend([1, 2, 3, 7, 100, 10_000].map(|n| "x".repeat(n)));
    let chars: Vec<char> = "ab,; \t\r\n\u{2009}äж𝄞".chars().collect();
    for seed in 0..60 {
        let mut chance = Chance::new(seed);
        let len = chance.below(40);
        texts.push((0..len).map(|_| chars[chance.below(chars.len())]).collect());
    }
    texts
}

#[test]
fn characters_bytes_and_units_are_those_of_str() {
    for text in &texts() {
        assert_gives(&text.par_chars(), &text.chars().collect::<Vec<_>>());
        assert_gives(&text.par_bytes(), &text.bytes().collect::<Vec<_>>());
        let indices: Vec<_> = text.char_indices().collect();
        assert_gives(&text.par_char_indices(), &indices);
        let units: Vec<_> = text.encode_utf16().collect();
        assert_gives(&text.par_encode_utf16(), &units);
    }
}

#[test]
fn lines_and_words_are_those_of_str() {
    for text in &texts() {
        assert_gives(&text.par_lines(), &text.lines().collect::<Vec<_>>());
        let words: Vec<_> = text.split_whitespace().collect();
        assert_gives(&text.par_split_whitespace(), &words);
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        assert_gives(&text.par_split_ascii_whitespace(), &words);
    }
}

/// Compares with what `str` does for a closure, which each pattern is equal to.
fn assert_splits_like<P: Pattern + Clone>(pattern: &P, like: impl Fn(char) -> bool + Copy) {
    for text in &texts() {
        let split: Vec<_> = text.split(like).collect();
        assert_gives(&text.par_split(pattern.clone()), &split);
        let split: Vec<_> = text.split_inclusive(like).collect();
        assert_gives(&text.par_split_inclusive(pattern.clone()), &split);
        let split: Vec<_> = text.split_terminator(like).collect();
        assert_gives(&text.par_split_terminator(pattern.clone()), &split);
        let matches: Vec<_> = text.matches(like).collect();
        assert_gives(&text.par_matches(pattern.clone()), &matches);
        let matches: Vec<_> = text.match_indices(like).collect();
        assert_gives(&text.par_match_indices(pattern.clone()), &matches);
    }
}

#[test]
fn pieces_at_a_character_are_those_of_str() {
    assert_splits_like(&',', |c| c == ',');
    assert_splits_like(&'𝄞', |c| c == '𝄞');
}

#[test]
fn pieces_at_one_of_several_characters_are_those_of_str() {
    let like = |c| c == 'ж' || c == ',';
    assert_splits_like(&['ж', ','], like);
    assert_splits_like(&&['ж', ','], like);
    assert_splits_like(&&['ж', ','][..], like);
}

#[test]
fn pieces_where_a_closure_says_so_are_those_of_str() {
    assert_splits_like(&char::is_whitespace, char::is_whitespace);
    // The type of the argument is known from the trait.
    let pieces = "a-b+c".par_split(|c| c == '-' || c == '+');
    assert_eq!(pool().install(|| pieces.count()), 3);
}

#[test]
fn a_drained_range_is_given_and_the_rest_stays() {
    for text in texts() {
        let boundaries: Vec<_> = (0..=text.len())
            .filter(|&i| text.is_char_boundary(i))
            .collect();
        let mut chance = Chance::new(7);
        for _ in 0..5 {
            let (a, b) = (
                chance.below(boundaries.len()),
                chance.below(boundaries.len()),
            );
            let range = boundaries[a.min(b)]..boundaries[a.max(b)];
            let (mut here, mut there) = (text.clone(), text.clone());
            let capacity = here.capacity();
            let drained: String = there.drain(range.clone()).collect();
            let items = in_pieces(here.par_drain(range.clone()), &mut chance);
            assert_eq!(items.into_iter().collect::<String>(), drained);
            assert_eq!((&here, here.capacity()), (&there, capacity));
        }
    }
}

#[test]
fn a_drain_that_is_dropped_takes_its_range_with_it() {
    let mut text = "hello world".to_string();
    drop(text.par_drain(5..));
    assert_eq!(text, "hello");
    drop(text.par_drain(..=0));
    assert_eq!(text, "ello");
}

#[test]
#[should_panic(expected = "must lie within 0..5")]
fn a_drain_beyond_the_end_is_refused() {
    drop("hello".to_string().par_drain(3..6));
}

#[test]
fn debug_shows_the_text_that_is_left_and_no_closure() {
    let lines = format!("{:?}", "a b".par_split(|c| c == ' '));
    assert_eq!(lines, r#"Split { text: "a b", .. }"#);
    assert_eq!(
        format!("{:?}", "a\nb".par_lines()),
        r#"Lines { text: "a\nb", .. }"#
    );
}
