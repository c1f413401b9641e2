//! Parses JSON documents of very different sizes, canonicalises each and sums up its contents.

use std::fmt::Write as _;
use std::io;

use anyhow::Context as _;
use indicatif::HumanCount;

use super::contract::{Fact, Flag, Profile, Setup, Size, Skipped, Workload};
use super::join::join_each;
use crate::limited;
use crate::strategy::{Bag, Pieces, Serial};

/// The most bytes of documents that are read.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// The flag for them, as errors explain it.
const ACCEPTED: &str = "--input accepts a file with a JSON document on each line";

/// Values in the largest generated document; the smallest has a handful.
const VALUES_MAX: f64 = 30_000.0;

/// Arrays and objects in generated documents are nested no deeper than this.
const DEPTH_MAX: u32 = 12;

pub(crate) struct Json {
    /// One document each. May be malformed if they were read.
    lines: Vec<Vec<u8>>,
    source: String,
}

impl Workload for Json {
    const PROFILE: Profile = Profile {
        name: "json",
        about: "Parses, canonicalises and hashes JSON documents (--input: a file with one a line)",
        tasks: "a document",
        size: Some(Size {
            what: "how many documents to generate",
            default: 3_000,
            accepted: 1..=10_000_000,
        }),
        flags: &[Flag::Seed, Flag::Input],
    };

    type Scratch = Vec<Slot>;
    type Output = Vec<Result<Document, String>>;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let Some(path) = &setup.input else {
            let mut random = fastrand::Rng::with_seed(setup.seed);
            let lines = (0..setup.len()).map(|_| generate(&mut random)).collect();
            let source = "generated".to_owned();
            return Ok(Self { lines, source });
        };
        let text = limited::read(path, INPUT_BYTES_MAX).with_context(|| {
            format!(
                "cannot read the documents in {} ({ACCEPTED})",
                path.display()
            )
        })?;
        // The end of the last line begins no further one.
        let text = text.strip_suffix(b"\n").unwrap_or(&text);
        anyhow::ensure!(
            !text.is_empty(),
            "there is no document in {} ({ACCEPTED})",
            path.display()
        );
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec);
        Ok(Self {
            lines: lines.collect(),
            source: format!("from {}", path.display()),
        })
    }

    fn input(&self) -> String {
        let bytes: usize = self.lines.iter().map(Vec::len).sum();
        let counted = |number: usize, one: &str| {
            let s = if number == 1 { "" } else { "s" };
            format!("{} {one}{s}", HumanCount(number as u64))
        };
        format!(
            "{} {}, {}",
            counted(self.lines.len(), "document"),
            self.source,
            counted(bytes, "byte")
        )
    }

    fn fresh(&self) -> Vec<Slot> {
        self.lines.iter().map(|_| None).collect()
    }

    fn serial(&self, mut slots: Vec<Slot>, serial: &mut Serial<'_>) -> Self::Output {
        for (index, slot) in slots.iter_mut().enumerate() {
            serial.item(
                || name(index),
                || *slot = Some(Document::read(&self.lines[index])),
            );
        }
        filled(slots)
    }

    fn bagged(&self, mut slots: Vec<Slot>, bag: &mut Bag<'_>) -> io::Result<Self::Output> {
        bag.run(
            slots.iter_mut().enumerate().collect(),
            |(index, _)| name(*index),
            |(index, slot), (): &mut (), _| *slot = Some(Document::read(&self.lines[index])),
        )?;
        Ok(filled(slots))
    }

    fn stealing(&self, mut slots: Vec<Slot>, pieces: Pieces<'_>) -> Self::Output {
        join_each(&mut slots, &|index, slot| {
            pieces.item(
                || name(index),
                || *slot = Some(Document::read(&self.lines[index])),
            );
        });
        filled(slots)
    }

    fn facts(&self, output: &Self::Output) -> Vec<Fact> {
        let documents = || output.iter().flatten();
        let sum = |of: fn(&Document) -> u64| documents().map(of).sum::<u64>();
        let mut hash = blake3::Hasher::new();
        for document in documents() {
            hash.update(document.hash.as_bytes());
        }
        vec![
            Fact::new("documents", documents().count()),
            Fact::new("canonical_bytes", sum(|document| document.bytes)),
            Fact::new("values", sum(|document| document.values)),
            Fact::new("numbers", sum(|document| document.numbers)),
            Fact::new(
                "sum_of_numbers",
                documents().map(|document| document.sum).sum::<f64>(),
            ),
            Fact::new("string_bytes", sum(|document| document.string_bytes)),
            Fact::new(
                "depth_max",
                documents()
                    .map(|document| document.depth)
                    .max()
                    .unwrap_or(0),
            ),
            Fact::new("hash", hash.finalize().to_string()),
        ]
    }

    fn skipped(&self, output: &Self::Output) -> Vec<Skipped> {
        let malformed = output.iter().zip(1..).filter_map(|(document, number)| {
            let reason = document.as_ref().err()?.clone();
            Some(Skipped {
                what: format!("line {number}"),
                reason,
            })
        });
        malformed.collect()
    }
}

/// The place for the findings about one document, filled by the run.
type Slot = Option<Result<Document, String>>;

fn filled(slots: Vec<Slot>) -> Vec<Result<Document, String>> {
    let filled = |slot: Slot| slot.expect("every document was read");
    slots.into_iter().map(filled).collect()
}

fn name(index: usize) -> String {
    format!("document {}", index + 1)
}

/// Findings about one document.
#[derive(Debug, PartialEq)]
pub(crate) struct Document {
    /// Length of the canonical form: no spaces, keys in order.
    bytes: u64,
    values: u64,
    numbers: u64,
    sum: f64,
    string_bytes: u64,
    depth: u64,
    hash: blake3::Hash,
}

impl Document {
    fn read(line: &[u8]) -> Result<Self, String> {
        let value: serde_json::Value =
            serde_json::from_slice(line).map_err(|error| format!("malformed JSON: {error}"))?;
        // The map of serde_json orders its keys.
        let canonical = value.to_string();
        let mut document = Self {
            bytes: canonical.len() as u64,
            values: 0,
            numbers: 0,
            sum: 0.0,
            string_bytes: 0,
            depth: 0,
            hash: blake3::hash(canonical.as_bytes()),
        };
        document.visit(&value, 1);
        Ok(document)
    }

    fn visit(&mut self, value: &serde_json::Value, depth: u64) {
        self.values += 1;
        self.depth = self.depth.max(depth);
        match value {
            serde_json::Value::Number(number) => {
                self.numbers += 1;
                self.sum += number.as_f64().unwrap_or(0.0);
            }
            serde_json::Value::String(text) => self.string_bytes += text.len() as u64,
            serde_json::Value::Array(values) => {
                for value in values {
                    self.visit(value, depth + 1);
                }
            }
            serde_json::Value::Object(members) => {
                for (key, value) in members {
                    self.string_bytes += key.len() as u64;
                    self.visit(value, depth + 1);
                }
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) => {}
        }
    }
}

/// A document with its keys in no order. Sizes are spread evenly over orders of
/// magnitude, so most documents are small and a few hold most of the work.
fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut values = VALUES_MAX.powf(random.f64().powi(3)).ceil() as u32;
    let mut text = String::new();
    write_value(random, &mut values, 0, &mut text);
    text.into_bytes()
}

/// Writes a value that uses up at most about `values` of what is left.
fn write_value(random: &mut fastrand::Rng, values: &mut u32, depth: u32, text: &mut String) {
    *values = values.saturating_sub(1);
    let nests = *values > 0 && depth < DEPTH_MAX && (depth == 0 || random.u32(0..4) == 0);
    if !nests {
        return write_leaf(random, text);
    }
    let is_object = random.bool();
    text.push(if is_object { '{' } else { '[' });
    let mut is_first = true;
    // The outermost value takes all that is left; the others a random share.
    let mut share = if depth == 0 {
        *values
    } else {
        random.u32(1..=*values)
    };
    *values -= share;
    while share > 0 {
        if !std::mem::take(&mut is_first) {
            text.push(',');
        }
        if is_object {
            write!(text, "\"k{:x}\":", random.u32(..)).expect("writing to a string cannot fail");
        }
        write_value(random, &mut share, depth + 1, text);
    }
    text.push(if is_object { '}' } else { ']' });
}

fn write_leaf(random: &mut fastrand::Rng, text: &mut String) {
    let written = match random.u32(0..6) {
        0 => write!(text, "{}", random.bool()),
        1 => write!(text, "null"),
        2 => write!(text, "{:.3}", random.f64() * 1e6),
        3 => write!(text, "{}", random.i32(-1_000_000..1_000_000)),
        4 => write!(text, "\"line\\n{:x} \\u00e9\"", random.u64(..)),
        _ => write!(text, "\"{:x}\"", random.u128(..)),
    };
    written.expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_keys_and_spaces_do_not_matter() {
        let one = Document::read(br#"{"b": [1, 2.5], "a": "xy"}"#);
        let other = Document::read(br#"{"a":"xy","b":[1,2.5]}"#);
        assert_eq!(one, other);
        let one = one.expect("well-formed");
        assert_eq!(one.bytes, 22);
        assert_eq!((one.values, one.numbers, one.sum), (5, 2, 3.5));
        assert_eq!((one.string_bytes, one.depth), (4, 3));
    }

    #[test]
    fn generated_documents_are_well_formed_and_spread_over_orders_of_magnitude() {
        let mut random = fastrand::Rng::with_seed(9);
        let documents: Vec<_> = (0..400).map(|_| generate(&mut random)).collect();
        for text in &documents {
            Document::read(text).expect("well-formed");
        }
        let shortest = documents
            .iter()
            .map(Vec::len)
            .min()
            .expect("there are some");
        let longest = documents
            .iter()
            .map(Vec::len)
            .max()
            .expect("there are some");
        assert!(shortest * 1_000 < longest, "{shortest} to {longest}");
    }
}
