//! The parts that pages with figures share: sections, bars, tables, and a curve of speed-ups.

use serde_json::{json, Value};

use super::text;
use crate::words::percent;

/// The style of these parts.
pub(crate) const STYLE: &str = include_str!("figures.css");

/// The script that draws the curve, out of the field `curve` of the page's data.
pub(crate) const CURVE: &str = include_str!("curve.js");

/// Sentences as markup: names between backticks are code, and no line ends before a unit.
pub(crate) fn sentences(raw: &str) -> String {
    let mut markup = String::new();
    for (at, part) in raw.split('`').enumerate() {
        if at % 2 == 1 {
            markup.push_str(&format!("<code>{}</code>", text(part)));
            continue;
        }
        let mut part = text(part);
        for unit in ["%", "ns", "us", "ms", "s"] {
            for after in [" ", ".", ",", ":", ")"] {
                let with_unit = format!(" {unit}{after}");
                part = part.replace(&with_unit, &format!("&nbsp;{unit}{after}"));
            }
        }
        markup.push_str(&part);
    }
    markup
}

/// A part of the first screen.
pub(crate) fn section(name: &str, title: &str, body: &str) -> String {
    format!("<section class=\"{name}\">\n<h2>{title}</h2>\n{body}</section>\n")
}

/// Names with their values, in a row.
pub(crate) fn facts(facts: impl IntoIterator<Item = (String, String)>) -> String {
    let facts = facts.into_iter().map(|(label, value)| {
        let (label, value) = (text(&label), text(&value));
        format!("<div><dt>{label}</dt><dd>{value}</dd></div>\n")
    });
    format!("<dl class=\"facts\">\n{}</dl>\n", facts.collect::<String>())
}

/// A bar with its share, its name and what else is to be said.
pub(crate) fn bar(class: &str, share: f64, name: &str, note: &str) -> String {
    let width = (share * 100.0).clamp(0.0, 100.0);
    format!(
        "<li class=\"{class}\"><b>{}</b><span>{}</span><i style=\"--share:{width:.2}%\"></i>\
         <small>{}</small></li>\n",
        text(&percent(share)),
        text(name),
        text(note),
    )
}

/// A table, which scrolls if it is too wide.
pub(crate) fn table(title: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let title = text(title);
    let heads: String = heads
        .iter()
        .map(|head| format!("<th>{}</th>", text(head)))
        .collect();
    let rows: String = rows
        .iter()
        .map(|cells| {
            let (first, others) = cells.split_first().map_or(("", &[][..]), |(a, b)| (a, b));
            let others = others.iter().map(|cell| format!("<td>{}</td>", text(cell)));
            format!(
                "<tr><th>{}</th>{}</tr>\n",
                text(first),
                others.collect::<String>()
            )
        })
        .collect();
    format!(
        "<h2>{title}</h2>\n\
         <div class=\"wide\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\"><table>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// A line of the curve.
pub(crate) struct Line {
    /// Its name in the legend.
    pub(crate) name: &'static str,
    /// How it looks: a name that the script knows.
    pub(crate) look: &'static str,
    /// The speed-ups by numbers of workers, which grow.
    pub(crate) points: Vec<(u64, f64)>,
}

/// The section in which the script draws the curve.
pub(crate) fn curve(title: &str, is_drawn: bool) -> String {
    let body = if is_drawn {
        "<noscript><p class=\"note\">A script draws the curve; a table below has its \
         figures.</p></noscript>\n<div id=\"timelines\"></div>\n"
    } else {
        "<p class=\"note\">Too much was disturbed for bounds.</p>\n<div id=\"timelines\"></div>\n"
    };
    section("curve", title, body)
}

/// The input of the script: the lines, the two between which the area is filled, and a point that
/// was measured.
pub(crate) fn curve_data(
    lines: &[Line],
    between: Option<[usize; 2]>,
    measured: Option<(u64, f64)>,
) -> Value {
    let lines = lines.iter().filter(|line| !line.points.is_empty());
    let lines = lines
        .map(|line| json!({"name": line.name, "look": line.look, "points": line.points}))
        .collect::<Vec<_>>();
    json!({"lines": lines, "between": between, "measured": measured})
}
