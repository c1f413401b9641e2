//! An index in memory is searched segment by segment on the pool; then its segments are merged on
//! another.

use std::time::Instant;

use tantivy::collector::{Count, TopDocs};
use tantivy::indexer::NoMergePolicy;
use tantivy::query::QueryParser;
use tantivy::schema::{Schema, TEXT};
use tantivy::{doc, Index, IndexWriter};

const SEGMENTS: usize = 12;
const DOCUMENTS: usize = 8000;
const QUERIES: usize = 1200;

fn main() -> tantivy::Result<()> {
    let mut schema = Schema::builder();
    let body = schema.add_text_field("body", TEXT);
    let mut index = Index::create_in_ram(schema.build());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 100_000_000)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let mut random = Random(1);
    for _ in 0..SEGMENTS {
        for _ in 0..DOCUMENTS {
            let words: Vec<String> = (0..40).map(|_| random.word()).collect();
            writer.add_document(doc!(body => words.join(" ")))?;
        }
        writer.commit()?;
    }
    index.set_default_multithread_executor()?;
    let searcher = index.reader()?.searcher();
    assert_eq!(searcher.segment_readers().len(), SEGMENTS);
    let parser = QueryParser::for_index(&index, vec![body]);

    let start = Instant::now();
    let mut hits = 0;
    let mut scores = 0_u64;
    for _ in 0..QUERIES {
        let [a, b, c, d] = [(); 4].map(|()| random.word());
        let query = parser.parse_query(&format!("+{a} {b} {c} \"{a} {d}\" -{d}"))?;
        let best = TopDocs::with_limit(10).order_by_score();
        let (best, count) = searcher.search(&query, &(best, Count))?;
        hits += count;
        // Of documents with one score, which comes first depends on the random names of segments.
        for (score, _) in best {
            scores = (scores.rotate_left(5) ^ u64::from(score.to_bits()))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }
    writer.merge(&index.searchable_segment_ids()?).wait()?;
    let wall_ns = start.elapsed().as_nanos();

    let merged = index.reader()?.searcher();
    println!("wall_ns {wall_ns}");
    println!("hits {hits} scores {scores:016x}");
    println!(
        "segments {} documents {}",
        merged.segment_readers().len(),
        merged.num_docs()
    );
    Ok(())
}

/// Words, low numbers far more often than high ones, from a generator of Lehmer's kind.
struct Random(u64);

impl Random {
    fn word(&mut self) -> String {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let part = (self.0 >> 40) as f64 / (1_u64 << 24) as f64;
        format!("w{}", (part.powi(4) * 5000.0) as u32)
    }
}
