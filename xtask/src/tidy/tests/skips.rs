//! Tests that end early say why.

use super::{assert_caught, assert_clean, LIB};

/// A file with a test of these lines.
fn test(lines: &str) -> String {
    format!("//! The head.\n\n#[test]\n#[ignore = \"slow\"]\nfn works() {{\n{lines}\n}}\n")
}

#[test]
fn a_test_that_ends_early_says_why() {
    for (lines, line) in [
        ("    if !exists() {\n        return;\n    }\n    work();", 7),
        (
            "    let Some(tool) = tool() else { return };\n    work(tool);",
            6,
        ),
        (
            "    match tool() {\n        Ok(tool) => work(tool),\n        Err(_) => return,\n    }",
            8,
        ),
        (
            "    if !exists() {\n        return eprintln!(\"no tool\");\n    }",
            7,
        ),
        // Said of another.
        (
            "    said(skipped);\n    if !exists() {\n        return;\n    }",
            8,
        ),
    ] {
        assert_caught(
            &[(LIB, &test(lines))],
            &format!("{LIB}:{line}"),
            "a test ends early",
        );
    }
    for lines in [
        "    if !exists() {\n        say(\"test skipped: no tool\");\n        return;\n    }",
        "    let Some(tool) = tool_or_skipped() else {\n        return;\n    };",
        "    let leaf = |n: u32| {\n        if n == 0 {\n            return;\n        }\n    };",
        "    let leaf = |n: u32| {\n        return n;\n    };",
    ] {
        assert_clean(&[(LIB, &test(lines))]);
    }
    let other = "//! The head.\n\nfn leaf() {\n    if done() {\n        return;\n    }\n}\n";
    assert_clean(&[(LIB, other)]);
}

#[test]
fn a_reason_is_not_left_to_the_harness() {
    let place = format!("{LIB}:6");
    for print in ["eprintln!(", "writeln!(io::stderr(), "] {
        let lines = format!("    {print}\"test skipped: no tool\");");
        assert_caught(&[(LIB, &test(&lines))], &place, "keeps this line to itself");
    }
}
