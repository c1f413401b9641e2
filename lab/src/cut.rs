//! Parts of published source files: their tests, and those without some.

/// The text without the functions of these names, which stand at the margin, and without
/// the calls of macros there that make them: those that end with the name.
pub(crate) fn without_functions(text: &str, names: &[&str]) -> String {
    let mut kept = String::new();
    // Attributes and blank lines belong to the item that follows.
    let mut pending = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        if inside {
            inside = line.trim_end() != "}";
            continue;
        }
        if line.starts_with("#[") {
            pending.push_str(line);
            continue;
        }
        inside = names
            .iter()
            .any(|name| line.starts_with(&format!("fn {name}()")));
        let is_call = !line.starts_with(' ')
            && names
                .iter()
                .any(|name| line.trim_end().ends_with(&format!(", {name});")));
        if !inside && !is_call {
            kept.push_str(&pending);
            kept.push_str(line);
        }
        pending.clear();
    }
    kept + &pending
}

/// The text from its first test on: the tests stand behind the rest.
pub(crate) fn tests_at_the_end(text: &str) -> &str {
    let starts = ["\n#[test]\n", "\n#[cfg(test)]\n"];
    let starts = starts.iter().filter_map(|mark| text.find(mark));
    starts.min().map_or("", |start| &text[start + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_functions_are_cut_out_with_their_attributes() {
        let text = "use a;\n\n#[test]\n#[cfg(unix)]\nfn workers_stop() {\n    {\n    }\n}\n\n\
                    #[test]\nfn stays() {\n}\n\n#[test]\nfn sleeper_stop() {\n}\n";
        let kept = without_functions(text, &["workers_stop", "sleeper_stop"]);
        assert_eq!(kept, "use a;\n\n\n#[test]\nfn stays() {\n}\n\n");
    }

    #[test]
    fn calls_of_macros_that_make_the_named_functions_are_cut_out() {
        let text = "sort!(one, stays);\nsort!(other, goes);\n    sort!(a, goes);\n";
        let kept = without_functions(text, &["goes"]);
        assert_eq!(kept, "sort!(one, stays);\n    sort!(a, goes);\n");
    }

    #[test]
    fn the_tests_begin_at_the_first_mark_of_one() {
        let text = "fn a() {}\n\n#[test]\nfn b() {}\n\n#[cfg(test)]\nmod c {}\n";
        assert_eq!(tests_at_the_end(text), &text[11..]);
        assert_eq!(tests_at_the_end("fn a() {}\n"), "");
    }
}
