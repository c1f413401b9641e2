//! A release: everything that must be true before one, the notes, and the commands that make it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::book;
use crate::steps::{Outcome, Runner};

/// The release notes, below the root.
const NOTES: &str = "target/release-notes.md";

/// Checks that the version of the manifest can be released, and writes its notes. Nothing is
/// tagged and nothing is sent anywhere: the commands that do so are printed when all is well.
///
/// # Errors
///
/// Fails if the manifest cannot be read or the report cannot be written.
pub fn run(root: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml"))
        .context("could not read Cargo.toml")?
        .parse()
        .context("Cargo.toml is no TOML")?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    let version = version.context("Cargo.toml has no [workspace.package] version")?;
    let mut runner = Runner::new(root, out);
    runner.step("notes", |out| write_notes(root, version, out))?;
    // Each package is built from what the registry would have. Cargo takes a version for something
    // that never changes, and would build on the sources of an earlier run in the same folder.
    fs::create_dir_all(root.join("target"))?;
    let fresh = tempfile::tempdir_in(root.join("target"))?;
    let mut packages = cargo("publish --workspace --dry-run --target-dir");
    runner.command("packages", packages.arg(fresh.path()))?;
    drop(fresh);
    with_tool(&mut runner, "deny", "licences and versions", DENY)?;
    runner.step("advisories", |out| advisories(root, out))?;
    match last_tag(root)? {
        Some(tag) => {
            let check = format!("semver-checks --workspace --baseline-rev {tag}");
            with_tool(&mut runner, "semver-checks", "semver", &check)?;
        }
        None => runner.skip("semver", NO_TAG)?,
    }
    with_tool(
        &mut runner,
        "cyclonedx",
        "bill of materials",
        "cyclonedx -f json",
    )?;
    match book::has_mdbook() {
        true => runner.command("pages", &mut book::pages())?,
        false => runner.step("pages", |_| {
            Ok(Outcome::Failed(book::MDBOOK_ABSENT.to_owned()))
        })?,
    }
    // The deadlocks that rayon's users met, by their seeds; one of them is on rayon as published.
    match cfg!(target_os = "linux") {
        true => runner.command("schedules", &mut cargo("lab schedules"))?,
        false => runner.skip("schedules", "they are for Linux only")?,
    }
    if !runner.finish()? {
        return Ok(false);
    }
    writeln!(
        out,
        "\nThe notes are in {NOTES}, the bill of materials of the program in\n\
         cli/heist-cli.cdx.json, the book in target/book. What makes the release:\n\n  \
         git tag --annotate v{version} --cleanup=whitespace --file {NOTES}\n  \
         cargo publish --workspace\n  \
         git push origin v{version}"
    )?;
    Ok(true)
}

const NO_TAG: &str = "there is no tag of an earlier version (v*), as before the first release; if \
                      there was one, `git fetch --tags` brings it";

const DENY: &str = "deny check bans licenses sources";

/// Adds what the gate can check of a release without minutes of building: the manifests and files
/// of the packages, and, where cargo-deny and mdbook are installed, licences and versions, and the
/// pages of the book.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> io::Result<()> {
    let packages = "publish --workspace --dry-run --no-verify --allow-dirty";
    runner.command("packages", &mut cargo(packages))?;
    match has("deny") {
        true => runner.command("licences and versions", &mut cargo(DENY)),
        false => runner.skip("licences and versions", &absent("deny")),
    }?;
    match book::has_mdbook() {
        true => runner.command("pages", &mut book::pages()),
        false => runner.skip("pages", book::MDBOOK_ABSENT),
    }
}

/// Runs a subcommand of cargo that has to be installed.
fn with_tool<W: Write>(
    runner: &mut Runner<'_, W>,
    tool: &str,
    name: &str,
    arguments: &str,
) -> io::Result<()> {
    match has(tool) {
        true => runner.command(name, &mut cargo(arguments)),
        false => runner.step(name, |_| Ok(Outcome::Failed(absent(tool)))),
    }
}

fn has(tool: &str) -> bool {
    let mut probe = cargo(&format!("{tool} --version"));
    let probe = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

fn absent(tool: &str) -> String {
    format!("cargo-{tool} is not installed (cargo install --locked cargo-{tool})")
}

/// Known faults of what we depend on; skipped if the list of them cannot be had.
fn advisories(root: &Path, out: &mut impl Write) -> io::Result<Outcome> {
    if !has("deny") {
        return Ok(Outcome::Failed(absent("deny")));
    }
    let mut check = cargo("deny check advisories");
    let output = check.current_dir(root).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    writeln!(out, "{}", text.trim_end())?;
    Ok(match output.status.success() {
        true => Outcome::Passed,
        false if text.contains("failed to fetch advisory database") => {
            Outcome::Skipped("the database of advisories cannot be reached".to_owned())
        }
        false => Outcome::Failed("see above".to_owned()),
    })
}

/// The newest tag of a version among the commits before this one.
fn last_tag(root: &Path) -> anyhow::Result<Option<String>> {
    let mut git = Command::new("git");
    let tag = ["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"];
    let output = git.args(tag).current_dir(root).output();
    let output = output.context("could not start git")?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(output.status.success().then_some(tag))
}

/// Writes the section of the changelog, which alone the notes are made of.
fn write_notes(root: &Path, version: &str, out: &mut impl Write) -> io::Result<Outcome> {
    let changelog = fs::read_to_string(root.join("CHANGELOG.md"))?;
    let notes = match notes(&changelog, version) {
        Ok(notes) => notes,
        Err(error) => return Ok(Outcome::Failed(error)),
    };
    let path = root.join(NOTES);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    fs::write(&path, &notes)?;
    writeln!(out, "{} lines in {NOTES}", notes.lines().count())?;
    Ok(Outcome::Passed)
}

/// The section of a version, whose heading is `## VERSION (DATE)`.
fn notes(changelog: &str, version: &str) -> Result<String, String> {
    let wanted = format!("`## {version} (YYYY-MM-DD)`");
    let begins = |line: &&str| {
        let rest = line
            .strip_prefix("## ")
            .and_then(|line| line.strip_prefix(version));
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    let mut lines = changelog.lines().skip_while(|line| !begins(line));
    let Some(heading) = lines.next() else {
        return Err(format!("CHANGELOG.md has no section {wanted}"));
    };
    let date = heading
        .rsplit_once(" (")
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    if date
        .and_then(|date| date.parse::<jiff::civil::Date>().ok())
        .is_none()
    {
        return Err(format!(
            "the section `{heading}` of CHANGELOG.md has no date; make it {wanted}"
        ));
    }
    let section: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    let title = heading.trim_start_matches("## ");
    Ok(format!(
        "# heist {title}\n\n{}\n",
        section.join("\n").trim()
    ))
}

fn cargo(arguments: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments.split(' '));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\nAbout it.\n\n## 0.10.0 (2027-01-01)\n\n- Later.\n\n\
                             ## 0.1.0 (2026-11-24)\n\n### New\n\n- One.\n\n## 0.0.9 (soon)\n\n- Old.\n";

    #[test]
    fn the_notes_are_the_section_of_the_version() {
        let expected = "# heist 0.1.0 (2026-11-24)\n\n### New\n\n- One.\n";
        assert_eq!(notes(CHANGELOG, "0.1.0").as_deref(), Ok(expected));
        let error = notes(CHANGELOG, "0.1").unwrap_err();
        assert_eq!(error, "CHANGELOG.md has no section `## 0.1 (YYYY-MM-DD)`");
        let error = notes(CHANGELOG, "0.0.9").unwrap_err();
        assert!(
            error.contains("`## 0.0.9 (soon)`") && error.contains("no date"),
            "{error}"
        );
    }

    #[test]
    fn a_tool_that_is_absent_is_a_failure_that_says_how_to_get_it() {
        let mut out = Vec::new();
        let mut runner = Runner::new(Path::new("."), &mut out);
        with_tool(&mut runner, "no-such-tool", "work", "no-such-tool").unwrap();
        assert!(!runner.finish().unwrap());
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("cargo install --locked cargo-no-such-tool"),
            "{text}"
        );
    }
}
