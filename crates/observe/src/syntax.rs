//! Why a file is no JSON, in words: it is empty, it was cut off, or it never was.

/// Says why `text` could not be read.
pub(crate) fn fault(text: &str, error: &serde_json::Error) -> String {
    if text.trim().is_empty() {
        "it is empty".to_owned()
    } else if error.is_eof() {
        format!("it is cut off ({error})")
    } else {
        error.to_string()
    }
}

/// Says in which field a value is wrong, or is missing from the whole.
pub(crate) fn in_field(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    }
}
