//! Rules for links in documents: each leads to a file of the repository, and to a heading that is
//! there; the book has every chapter in its summary and links to none but its own chapters.

use std::collections::HashMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::repository::{File, Repository, Violation};

/// The chapters of the book.
const BOOK: &str = "book/src/";

/// The list of the chapters.
const SUMMARY: &str = "book/src/SUMMARY.md";

/// The folder of the documentation of the libraries, seen from a chapter. It is made from the
/// sources, so `cargo xtask book` follows the links into it.
pub(crate) const API: &str = "api/";

/// A link or an image in a document.
#[derive(Debug)]
pub(crate) struct Link {
    /// Where it leads: a path, perhaps with an anchor, or an address.
    pub(crate) to: String,
    /// Where it begins in the text.
    at: usize,
}

/// The links of a document, with those of the files that it includes left out.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let links = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(Link {
            to: dest_url.into_string(),
            at: range.start,
        }),
        _ => None,
    });
    links.collect()
}

pub(super) fn check(repository: &Repository, found: &mut Vec<Violation>) {
    let mut headings: HashMap<&str, Vec<String>> = HashMap::new();
    for file in repository.ending(".md") {
        headings.insert(&file.path, anchors(&file.text));
    }
    for file in repository.ending(".md") {
        // Records stay as they were written.
        if file.path.split('/').any(|name| name == "record") {
            continue;
        }
        for link in links(&file.text) {
            if let Some(what) = fault(repository, &headings, file, &link.to) {
                let line = 1 + file.text[..link.at].matches('\n').count();
                found.push(file.violation(line, what));
            }
        }
        check_includes(repository, file, found);
    }
    check_summary(repository, found);
}

/// The reason why a link leads nowhere, if so.
fn fault(
    repository: &Repository,
    headings: &HashMap<&str, Vec<String>>,
    file: &File,
    to: &str,
) -> Option<String> {
    let in_book = file.path.starts_with(BOOK);
    let is_elsewhere = to.contains("://") || to.starts_with("mailto:");
    if is_elsewhere || in_book && to.starts_with(API) {
        return None;
    }
    let (path, anchor) = to
        .split_once('#')
        .map_or((to, None), |(path, anchor)| (path, Some(anchor)));
    let target = match path {
        "" => Some(file.path.clone()),
        _ => resolved(file.folder(), path),
    };
    let is_there = target.as_ref().is_some_and(|target| {
        let folder = format!("{}/", target.trim_end_matches('/'));
        let mut files = repository.files.iter();
        files.any(|file| file.path == *target || file.path.starts_with(&folder))
    });
    let Some(target) = target.filter(|_| is_there) else {
        return Some(format!(
            "the link to `{to}` leads to nothing in the repository"
        ));
    };
    if in_book && !target.starts_with(BOOK) {
        return Some(format!(
            "the link to `{to}` leaves the book, whose readers may have only that; name the file \
             in backticks, from the root"
        ));
    }
    let anchor = anchor?;
    let known = headings.get(&*target)?;
    let is_known = known.iter().any(|known| known == anchor);
    (!is_known).then(|| format!("{target} has no heading `#{anchor}`"))
}

/// A path from a folder, which is empty or ends in `/`, as one from the root; none if it leads out.
fn resolved(folder: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = folder.split_terminator('/').collect();
    for name in path.split('/') {
        match name {
            "." | "" => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// The anchors of the headings, as forges and mdBook make them.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::End(TagEnd::Heading(_)), Some(title)) => {
                anchors.push(anchor(title));
                heading = None;
            }
            (Event::Text(text) | Event::Code(text), Some(title)) => title.push_str(&text),
            _ => {}
        }
    }
    anchors
}

fn anchor(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|char| match char {
        ' ' => Some('-'),
        '-' | '_' => Some(char),
        _ => char.is_alphanumeric().then(|| char.to_ascii_lowercase()),
    });
    kept.collect()
}

/// Each file that a chapter includes is there.
fn check_includes(repository: &Repository, file: &File, found: &mut Vec<Violation>) {
    if !file.path.starts_with(BOOK) {
        return;
    }
    for (at, line) in file.text.lines().enumerate() {
        let included = line.strip_prefix("{{#include ");
        let Some(path) = included.and_then(|rest| rest.strip_suffix("}}")) else {
            continue;
        };
        let target = resolved(file.folder(), path);
        if target.and_then(|path| repository.file(&path)).is_none() {
            found.push(file.violation(at + 1, format!("the included `{path}` is not there")));
        }
    }
}

/// Each chapter is in the summary.
fn check_summary(repository: &Repository, found: &mut Vec<Violation>) {
    let Some(summary) = repository.file(SUMMARY) else {
        return;
    };
    let listed = links(&summary.text);
    for file in repository.ending(".md") {
        let Some(name) = file.path.strip_prefix(BOOK) else {
            continue;
        };
        if file.path != SUMMARY && !listed.iter().any(|link| link.to == name) {
            found.push(summary.violation(1, format!("the chapter `{name}` is not in the summary")));
        }
    }
}
