//! Links in documents, and the chapters of the book.

use super::{assert_caught, assert_clean};

const SUMMARY: (&str, &str) = ("book/src/SUMMARY.md", "- [One](one.md)\n");
const MAP: (&str, &str) = ("ARCHITECTURE.md", "crates/ deque/ workloads/ book/ `.ci`\n");

#[test]
fn links_that_lead_to_files_folders_headings_and_elsewhere_are_fine() {
    assert_clean(&[
        (
            "README.md",
            "[a](cli/notes.md) [b](cli) [c](https://nowhere.example) [d](#two-words)\n\n\
             [e](cli/notes.md#the-head-of-it)\n\n## Two `words`\n",
        ),
        (
            "cli/notes.md",
            "# The head, of it\n\n[up](../README.md)\n\n    [no](link)\n",
        ),
    ]);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    for (text, says) in [
        ("\n[a](cli/absent.md)\n", "`cli/absent.md` leads to nothing"),
        ("\n[a](../README.md)\n", "leads to nothing"),
        ("# Head\n[a](#heed)\n", "no heading `#heed`"),
        (
            "\n[a][1]\n\n[1]: absent.md\n",
            "`absent.md` leads to nothing",
        ),
    ] {
        assert_caught(&[("README.md", text)], "README.md:2", says);
    }
}

#[test]
fn a_chapter_that_is_not_in_the_summary_is_found() {
    let one = ("book/src/one.md", "# One\n");
    assert_clean(&[MAP, SUMMARY, one]);
    assert_caught(
        &[MAP, SUMMARY, one, ("book/src/two.md", "# Two\n")],
        "book/src/SUMMARY.md:1",
        "`two.md` is not in the summary",
    );
}

#[test]
fn the_book_links_to_itself_and_to_the_documentation_of_the_libraries_only() {
    let chapter = |text| [MAP, SUMMARY, ("book/src/one.md", text)];
    assert_clean(&chapter("[a](one.md) [b](api/heist/index.html)\n"));
    assert_caught(
        &chapter("[a](../../CHANGELOG.md)\n"),
        "book/src/one.md:1",
        "leaves the book",
    );
    assert_caught(
        &chapter("{{#include ../../absent.md}}\n"),
        "book/src/one.md:1",
        "the included `../../absent.md` is not there",
    );
}

#[test]
fn a_file_that_the_book_names_is_there() {
    let chapter = |text| [MAP, SUMMARY, ("book/src/one.md", text)];
    assert_clean(&chapter("See `book/src/one.md`.\n"));
    assert_caught(
        &chapter("\nSee `bench/absent.md`.\n"),
        "book/src/one.md:2",
        "`bench/absent.md` is not there",
    );
}
