//! Whether the pages are good to look at: pictures of them, and the faults that a browser and a
//! checker of accessibility find.
//!
//! They are of a pool with a million spans and 800 steals, a profile, a replay and a run on a
//! cluster, all made up.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{ensure, Context};
use xtask::steps::Outcome;

/// The checker, and a library that drives a browser without bringing one.
const PACKAGES: [&str; 2] = ["axe-core@4.14.1", "puppeteer-core@25.16.0"];
/// The folder for them and for the pictures, below the root.
const FOLDER: &str = "target/page";

/// The page to look at, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this page instead of made-up ones; may be given several times
    #[arg(long, value_name = "FILE.html")]
    page: Vec<PathBuf>,
    /// The browser: Chromium, or one that is driven like it
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/bin/chromium")]
    browser: PathBuf,
}

/// Makes the pages and looks at them at several widths, light and dark.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<Outcome> {
    if !args.browser.exists() {
        let why = format!("no browser at {}; see --browser", args.browser.display());
        return Ok(Outcome::Skipped(why));
    }
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut install = Command::new("npm");
    install
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .arg("--prefix")
        .arg(&folder)
        .args(PACKAGES)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if !install.status().is_ok_and(|status| status.success()) {
        let why = format!("npm could not install {}", PACKAGES.join(" and "));
        return Ok(Outcome::Skipped(why));
    }
    let pages = match &args.page[..] {
        [] => made_up(root, &folder)?,
        given => given.to_vec(),
    };
    let whole = |page: &PathBuf| {
        fs::canonicalize(page).with_context(|| format!("no page {}", page.display()))
    };
    let pages: Vec<PathBuf> = pages.iter().map(whole).collect::<Result<_, _>>()?;
    let status = Command::new("node")
        .arg(root.join("lab/src/page/look.js"))
        .args([&folder, &args.browser, &folder])
        .args(&pages)
        .status()
        .context("cannot start node")?;
    writeln!(out, "the pictures are in {FOLDER}")?;
    Ok(match status.success() {
        true => Outcome::Passed,
        false => Outcome::Failed("a page has faults; see above".to_owned()),
    })
}

/// Has the made-up pages written.
fn made_up(root: &Path, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let large = folder.join("large.html");
    write(root, "large-page", &large)?;
    write(root, "report-pages", folder)?;
    Ok(vec![
        large,
        folder.join("profile.html"),
        folder.join("replay.html"),
        folder.join("fleet.html"),
    ])
}

/// Has an example write to a path.
fn write(root: &Path, example: &str, to: &Path) -> anyhow::Result<()> {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--package", "heist-observe"])
        .args(["--example", example, "--"])
        .arg(to)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "cannot write {}", to.display());
    Ok(())
}
