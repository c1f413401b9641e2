//! JSON that a terminal can show.

/// A line of JSON with its control characters as JSON escapes them.
pub(super) fn as_json(line: &str) -> String {
    let escaped = |sign: char| match sign.is_control() {
        true => format!("\\u{:04x}", u32::from(sign)),
        false => sign.to_string(),
    };
    line.chars().map(escaped).collect()
}
