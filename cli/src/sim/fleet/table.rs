//! The rows of a trace that is a table.

use heist_run::usage::Usage;

use super::bounded::{cells, Columns, Lines};
use super::skips::Fault;
use super::trace::Trace;

/// A row, and where it stands.
pub(super) struct Row<'a> {
    columns: &'a Columns,
    cells: &'a [&'a str],
    pub(super) place: &'a str,
}

impl<'a> Row<'a> {
    /// The cell of a column; an empty text if there is none.
    pub(super) fn cell(&self, column: usize) -> &'a str {
        self.columns.cell(self.cells, column)
    }
}

/// Hands the rows of a table with these columns over, until the trace has as many jobs as it may;
/// counts them, and those that cannot be used.
pub(super) fn each_row(
    lines: &mut Lines,
    names: &'static [&'static str],
    trace: &mut Trace,
    mut take: impl FnMut(&Row<'_>, &mut Trace) -> Result<(), Fault>,
) -> Result<(), Usage> {
    let mut columns = Columns::new(names);
    while !trace.is_full() {
        let place = lines.place_of_next();
        let Some(line) = lines.next()? else {
            return Ok(());
        };
        let Some(cells) = cells(line) else {
            trace.rows += 1;
            trace.skipped.add(&place, "the row is no UTF-8");
            continue;
        };
        if columns.takes_heads(&cells) {
            continue;
        }
        trace.rows += 1;
        let row = Row {
            columns: &columns,
            cells: &cells,
            place: &place,
        };
        if let Err(fault) = take(&row, trace) {
            trace.skipped.fault(&place, &fault);
        }
    }
    trace.is_cut = true;
    Ok(())
}
