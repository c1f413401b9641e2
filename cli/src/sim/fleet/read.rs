//! Reads a trace in whichever form it is.

use std::path::Path;

use heist_run::usage::Usage;

use super::bounded::Lines;
use super::trace::{Format, Input, Trace, Window};
use super::{alibaba, azure, google, packing};

/// Reads a trace, and the table of machines that belongs to it.
pub(super) fn read(
    input: &Input,
    machines: Option<&Path>,
    window: &Window,
) -> Result<Trace, Usage> {
    let mut trace = Trace::new(input.format, *window);
    let mut types = packing::Types::default();
    if let Some(path) = machines {
        let mut lines = Lines::open(path)?;
        match input.format {
            Format::Google => google::read_machines(&mut lines, &mut trace)?,
            Format::Alibaba => alibaba::read_machines(&mut lines, &mut trace)?,
            Format::Packing => types = packing::read_types(&mut lines, &mut trace)?,
            Format::Azure => {
                let error = "the trace of azure has no table of machines; leave --machines out, \
                             and name their number with --nodes";
                return Err(Usage(error.to_owned()));
            }
        }
    } else if input.format == Format::Packing {
        let error = "the trace of packing names the size of a VM in its table vmType; export it \
                     with sqlite3 -header -csv FILE 'select * from vmType', and name it with \
                     --machines";
        return Err(Usage(error.to_owned()));
    }
    let mut lines = Lines::open(&input.path)?;
    match input.format {
        Format::Google => google::read_jobs(&mut lines, &mut trace)?,
        Format::Alibaba => alibaba::read_jobs(&mut lines, &mut trace)?,
        Format::Azure => azure::read_jobs(&mut lines, &mut trace)?,
        Format::Packing => packing::read_jobs(&mut lines, &types, &mut trace)?,
    }
    if trace.entries.is_empty() {
        return Err(Usage(nothing(input, &trace)));
    }
    Ok(trace)
}

/// The error of a trace of which no row could be used.
fn nothing(input: &Input, trace: &Trace) -> String {
    let reasons = trace.skipped.iter().take(4).map(|(reason, skip)| {
        let (rows, first) = (skip.rows, &skip.first);
        format!("\n  {rows} rows: {reason} ({first})")
    });
    format!(
        "the trace {} has no job that can be simulated among its {} rows; accepted is the form \
         that heist sim fleet --help describes{}",
        input.title(),
        trace.rows,
        reasons.collect::<String>()
    )
}
