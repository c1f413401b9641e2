//! A data frame is sorted by two columns, grouped with sums, and filtered.

use std::time::Instant;

use polars_core::prelude::*;

const ROWS: u32 = 2_000_000;

fn main() -> PolarsResult<()> {
    let scattered = |factor: u32| (0..ROWS).map(move |row| row.wrapping_mul(factor) >> 7);
    let keys: Vec<u32> = scattered(0x9E37_79B9).map(|x| x % 5003).collect();
    let names: Vec<String> = scattered(0x85EB_CA6B)
        .map(|x| format!("n{}", x % 997))
        .collect();
    let values: Vec<i64> = scattered(0xC2B2_AE35).map(i64::from).collect();
    let frame = DataFrame::new_infer_height(vec![
        Column::new("key".into(), keys),
        Column::new("name".into(), names),
        Column::new("value".into(), values),
    ])?;

    let start = Instant::now();
    let by_value = frame.sort(["value"], SortMultipleOptions::default())?;
    let by_both = frame.sort(["key", "value"], SortMultipleOptions::default())?;
    let by_key = sums(&frame, "key")?;
    let by_name = sums(&frame, "name")?;
    let even = frame.column("value")?.i64()?.apply_values(|x| x % 2);
    let filtered = frame.filter(&even.equal(0))?;
    let wall_ns = start.elapsed().as_nanos();

    println!("wall_ns {wall_ns}");
    for (what, frame) in [
        ("by value", by_value),
        ("by both", by_both),
        ("sums by key", by_key),
        ("sums by name", by_name),
        ("even", filtered),
    ] {
        println!(
            "{what}: {} rows, hash {:016x}",
            frame.height(),
            hash(&frame)?
        );
    }
    Ok(())
}

/// The sums of the values with equal entries in `column`, in the order of these entries.
fn sums(frame: &DataFrame, column: &str) -> PolarsResult<DataFrame> {
    #[expect(deprecated, reason = "the lazy interface would be another package")]
    let sums = frame.group_by([column])?.select(["value"]).sum()?;
    sums.sort([column], SortMultipleOptions::default())
}

/// A hash of the last column, row by row.
fn hash(frame: &DataFrame) -> PolarsResult<u64> {
    let last = frame.columns().last().expect("a frame with columns");
    Ok(last.i64()?.iter().fold(0_u64, |hash, value| {
        let value = value.unwrap_or(i64::MIN);
        (hash.rotate_left(5) ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }))
}
