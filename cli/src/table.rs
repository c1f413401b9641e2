//! Columns of text.

use std::io::{self, Write};

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
