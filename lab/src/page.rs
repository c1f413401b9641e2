//! Whether the page of a pool is good to look at when it is large: pictures of one with a million
//! spans and 800 steals, and the faults that a checker of accessibility finds.

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
    /// Look at this page of `heist run --report` instead of a made-up one
    #[arg(long, value_name = "FILE.html")]
    page: Option<PathBuf>,
    /// The browser: Chromium, or one that is driven like it
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/bin/chromium")]
    browser: PathBuf,
}

/// Makes the page and looks at it at three widths, light and dark.
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
    let page = match &args.page {
        Some(page) => page.clone(),
        None => made_up(root, &folder)?,
    };
    let page = fs::canonicalize(&page).with_context(|| format!("no page {}", page.display()))?;
    let status = Command::new("node")
        .arg(root.join("lab/src/page/look.js"))
        .args([&folder, &args.browser, &page, &folder])
        .status()
        .context("cannot start node")?;
    writeln!(out, "the pictures are in {FOLDER}")?;
    Ok(match status.success() {
        true => Outcome::Passed,
        false => Outcome::Failed("the page has faults; see above".to_owned()),
    })
}

/// Has the made-up page written.
fn made_up(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("large.html");
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--package", "heist-observe"])
        .args(["--example", "large-page", "--"])
        .arg(&path)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "cannot write {}", path.display());
    Ok(path)
}
