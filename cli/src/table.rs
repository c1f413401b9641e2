//! Columns of text.

use std::io::{self, Write};

use heist_run::terminal::without_middle;

/// The columns between two columns of text.
const GAP: usize = 2;

/// The columns that the lines take.
pub(crate) fn width<const N: usize>(lines: &[[String; N]]) -> usize {
    let widest = |column: usize| {
        lines
            .iter()
            .map(|cells| cells[column].chars().count())
            .max()
    };
    (0..N).filter_map(widest).sum::<usize>() + GAP * (N - 1)
}

/// Shortens the names in these columns, the widest first, until the lines are at most that wide or
/// no name has more than [`NAME_MIN`] columns.
pub(crate) fn shorten_names<const N: usize>(
    lines: &mut [[String; N]],
    names: &[usize],
    most: usize,
) {
    loop {
        let excess = width(lines).saturating_sub(most);
        let widest = |&column: &usize| {
            lines
                .iter()
                .map(|cells| cells[column].chars().count())
                .max()
        };
        let widths = names.iter().filter_map(|name| Some((widest(name)?, *name)));
        let Some((wide, name)) = widths
            .max()
            .filter(|(wide, _)| excess > 0 && *wide > NAME_MIN)
        else {
            return;
        };
        for cells in lines.iter_mut() {
            cells[name] = without_middle(&cells[name], wide - 1);
        }
    }
}

const NAME_MIN: usize = 8;

/// Prints the lines in columns, the first few to the left.
pub(crate) fn write<const N: usize>(
    lines: &[[String; N]],
    left: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = |column: usize| {
        lines
            .iter()
            .map(|cells| cells[column].chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..N).filter_map(width).collect();
    for cells in lines {
        let cells = cells.iter().zip(&widths).enumerate();
        let cells: Vec<_> = cells
            .map(|(column, (cell, &width))| match column < left {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            })
            .collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
