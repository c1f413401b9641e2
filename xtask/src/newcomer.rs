//! The first chapter of the book, replayed: a newcomer's commands, from an empty folder.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use crate::process;
use crate::steps::{Outcome, Runner};

/// The chapter.
const TRANSCRIPT: &str = "book/src/transcript.md";

/// The time limit of a block of commands.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// A line of the chapter for lines that it does not show, and the end of one that it cuts.
const LEFT_OUT: &str = "[..]";

/// Commands that are typed together, and the output that the chapter shows for them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    line: usize,
    commands: String,
    shown: Option<String>,
}

/// Replays the chapter on the last commit, and returns whether all went as it says.
///
/// # Errors
///
/// Fails if a step cannot be set up or the report cannot be written.
pub fn run(root: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    add_step(&mut runner)?;
    Ok(runner.finish()?)
}

/// Adds the replay to a run.
///
/// # Errors
///
/// Fails if the chapter cannot be read or the report cannot be written.
pub fn add_step<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    let path = root.join(TRANSCRIPT);
    let text = std::fs::read_to_string(&path);
    let text = text.with_context(|| format!("could not read {}", path.display()))?;
    let blocks = blocks(&text);
    runner.step("newcomer", |out| {
        replay(&root, &blocks, out).or_else(|error| Ok(Outcome::Failed(format!("{error:#}"))))
    })?;
    Ok(())
}

fn replay(root: &Path, blocks: &[Block], out: &mut impl Write) -> anyhow::Result<Outcome> {
    let place = tempfile::tempdir().context("could not make an empty folder")?;
    let (mut folder, log) = (place.path().join("home"), place.path().join("log"));
    std::fs::create_dir(&folder)?;
    let kept = place.path().join("folder");
    for block in blocks {
        let mut shell = Command::new("bash");
        // The next block goes on in the folder in which this one ends.
        let script = format!("{}\npwd > '{}'\n", block.commands, kept.display());
        shell
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(&folder)
            .env("HEIST", root)
            // A newcomer has no folder for built things, and no settings.
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_INCREMENTAL")
            .env_remove("RUSTFLAGS")
            .env_remove("HEIST_NUM_THREADS");
        let ended = process::run(&mut shell, &log, None, PATIENCE)?;
        let first = block.commands.lines().last().unwrap_or_default();
        writeln!(out, "{:7.1} s  {first}", ended.time.as_secs_f64())?;
        if let Some(failure) = ended.failure() {
            writeln!(out, "{}", ended.output)?;
            return Ok(Outcome::Failed(format!(
                "{TRANSCRIPT}:{}: {failure}",
                block.line
            )));
        }
        let shown = block.shown.as_deref().unwrap_or_default();
        if let Some(line) = missing(shown, &ended.output) {
            writeln!(out, "{}", ended.output)?;
            return Ok(Outcome::Failed(format!(
                "{TRANSCRIPT}:{}: the output has no line `{line}`",
                block.line
            )));
        }
        folder = std::fs::read_to_string(&kept)?.trim_end().into();
    }
    Ok(Outcome::Passed)
}

/// The blocks of commands, each with the text below it.
fn blocks(chapter: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut kind: Option<&str> = None;
    for (at, line) in chapter.lines().enumerate() {
        match (kind, line.strip_prefix("```")) {
            (None, Some(name)) => {
                kind = Some(name);
                match (name, blocks.last_mut()) {
                    ("sh", _) => blocks.push(Block {
                        line: at + 1,
                        ..Block::default()
                    }),
                    ("text", Some(block)) => block.shown = Some(String::new()),
                    _ => {}
                }
            }
            (Some(_), Some(_)) => kind = None,
            (Some(name), None) => {
                let Some(block) = blocks.last_mut() else {
                    continue;
                };
                let text = match name {
                    "sh" => &mut block.commands,
                    "text" => block.shown.get_or_insert_default(),
                    _ => continue,
                };
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The first shown line that the output has not, behind those before it.
fn missing<'a>(shown: &'a str, output: &str) -> Option<&'a str> {
    let mut lines = output.lines();
    let wanted = shown
        .lines()
        .filter(|line| *line != LEFT_OUT && !line.is_empty());
    for line in wanted {
        let is_it = |found: &str| match line.strip_suffix(LEFT_OUT) {
            Some(begin) => found.starts_with(begin),
            None => found.trim_end() == line,
        };
        if !lines.any(is_it) {
            return Some(line);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAPTER: &str =
        "# Head\n\n```sh\nmkdir sub\ncd sub\n```\n\nwords\n\n```sh\npwd\necho b; echo c\n\
                           ```\n\n```text\n[..]\nb\n```\n\n```toml\n[no]\n```\n";

    #[test]
    fn commands_and_the_output_below_them_are_found() {
        let found = blocks(CHAPTER);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[0].shown.as_deref()), (3, None));
        assert_eq!(found[1].commands, "pwd\necho b; echo c\n");
        assert_eq!(found[1].shown.as_deref(), Some("[..]\nb\n"));
    }

    #[test]
    fn the_output_may_have_more_lines_but_no_other_order() {
        assert_eq!(missing("a [..]\n[..]\nc\n", "0\na 1\nb\nc\n"), None);
        assert_eq!(missing("a\nb\n", "b\na\n"), Some("b"));
        assert_eq!(missing("a\n", "a 1\n"), Some("a"));
    }

    #[cfg(unix)]
    #[test]
    fn a_block_goes_on_where_the_one_before_ended_and_must_print_what_is_shown() {
        let replayed = |chapter: &str| {
            let mut out = Vec::new();
            replay(Path::new("/"), &blocks(chapter), &mut out).unwrap()
        };
        let there = CHAPTER.replace("[..]\nb", "/[..]\nb");
        assert_eq!(replayed(&there), Outcome::Passed);
        let wrong = |chapter: &str, says: &str| match replayed(chapter) {
            Outcome::Failed(why) => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        };
        wrong(
            &CHAPTER.replace("\nb\n```", "\nd\n```"),
            ":10: the output has no line `d`",
        );
        wrong(
            &CHAPTER.replace("mkdir sub", "false"),
            "transcript.md:3: exit status",
        );
    }
}
