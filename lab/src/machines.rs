//! Whether heist sees virtual machines of several shapes as they are, and whether a pool follows
//! the limits that change on a real kernel: quotas, sets of processors, processors that go.
//!
//! A machine runs under QEMU, in software and on one thread, in turns: its processors may be more
//! than ours, and their shape any; on several threads they would spin for each other. Its first
//! process is a script, `machines/init.sh`, which calls heist's own programs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{ensure, Context};
use xtask::build::{flags, target_folder};
use xtask::process;
use xtask::steps::Outcome;

/// How the machine starts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The image of a Linux kernel for x86-64 with cgroups and NUMA, as distributions have them; by
    /// default the last of /boot/vmlinuz*.
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
}

const EMULATOR: &str = "qemu-system-x86_64";
const BUSYBOX: &str = "/bin/busybox";
const TARGET: &str = "x86_64-unknown-linux-gnu";
const INIT: &str = include_str!("machines/init.sh");
/// One takes about 20 s.
const LIMIT: Duration = Duration::from_secs(300);

struct Shape {
    name: &'static str,
    /// The emulator's options.
    options: &'static str,
    /// Lines that the machine prints in this order.
    lines: &'static [&'static str],
}

/// The lines that are the same on all shapes.
const LIMITS: [&str; 14] = [
    "ok: no limit",
    "ok: a quota of two in the group above",
    "ok: a quota of a half",
    "ok: the quota is gone",
    "ok: a quota of three and a half",
    "ok: a set of two processors",
    "ok: all processors again",
    "ok: three processors are switched off",
    "ok: they are switched on",
    "ok: a quota of four",
    "ok: the program is moved out of its group",
    "  pool        4 workers by default: the CPU quota of 4 CPUs counts as 4, tighter than the affinity",
    "  CPU quota   4 CPUs = 400000 us in 100000 us, set by /tmp/other place/outer",
    "ok: doctor where nothing is mounted on /proc",
];

const SHAPES: [Shape; 2] = [
    Shape {
        name: "two sockets",
        options: "-cpu max -smp 8,sockets=2,cores=4,threads=1 \
            -object memory-backend-ram,id=m0,size=1G -numa node,nodeid=0,memdev=m0,cpus=0-3 \
            -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=1,memdev=m1,cpus=4-7 \
            -numa dist,src=0,dst=1,val=21",
        lines: &[
            "  cores       8 logical (0-7), 8 physical, 2 sockets",
            "  victims     of a worker pinned to CPU 0, in order: 1-3 (cache); 4-7 (node at 21)",
            "node 0 has the CPUs [0, 1, 2, 3]; its pool's 4 workers ran only there",
            "node 1 has the CPUs [4, 5, 6, 7]; its pool's 4 workers ran only there",
            "  affinity    CPUs 0-1,4,6-7: 5 of 5 that are online, on 5 of 5 cores",
            "node 0 has the CPUs [0, 1]; its pool's 2 workers ran only there",
            "node 1 has the CPUs [4, 6, 7]; its pool's 3 workers ran only there",
        ],
    },
    Shape {
        name: "two threads a core, a node without memory, one without processors",
        options: "-cpu Skylake-Server -smp 8,sockets=2,cores=2,threads=2 \
            -object memory-backend-ram,id=m0,size=1G -numa node,nodeid=0,memdev=m0,cpus=0-1 \
            -numa node,nodeid=1,cpus=2-3 \
            -object memory-backend-ram,id=m2,size=512M -numa node,nodeid=2,memdev=m2,cpus=4-7 \
            -object memory-backend-ram,id=m3,size=512M -numa node,nodeid=3,memdev=m3 \
            -numa dist,src=0,dst=1,val=12 -numa dist,src=0,dst=2,val=21 \
            -numa dist,src=0,dst=3,val=17 -numa dist,src=1,dst=2,val=21 \
            -numa dist,src=1,dst=3,val=17 -numa dist,src=2,dst=3,val=28",
        lines: &[
            "  SMT         2 logical CPUs share a core: 0-1 2-3 4-5 6-7",
            "  victims     of a worker pinned to CPU 0, in order: 1 (SMT); 2-3 (node at 12); \
             4-7 (node at 21)",
            "node 0 has the CPUs [0, 1]; its pool's 2 workers ran only there",
            "node 1 has the CPUs [2, 3]; its pool's 2 workers ran only there",
            "node 2 has the CPUs [4, 5, 6, 7]; its pool's 4 workers ran only there",
            "  affinity    CPUs 0-1,4,6-7: 5 of 5 that are online, on 3 of 3 cores",
            "node 0 has the CPUs [0, 1]; its pool's 2 workers ran only there",
            "node 2 has the CPUs [4, 6, 7]; its pool's 3 workers ran only there",
        ],
    },
];

/// Builds the programs, starts the machines one after the other, and reads what they say.
///
/// # Errors
///
/// Fails if the programs cannot be built, or a machine cannot be started.
pub(crate) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<Outcome> {
    let kernel = match (&args.kernel, last_kernel()) {
        (Some(kernel), _) => kernel.clone(),
        (None, Some(kernel)) => kernel,
        (None, None) => return Ok(skipped("the image of a kernel", "linux-image-cloud-amd64")),
    };
    if Command::new(EMULATOR).arg("--version").output().is_err() {
        return Ok(skipped(EMULATOR, "qemu-system-x86"));
    }
    if !Path::new(BUSYBOX).exists() {
        return Ok(skipped(BUSYBOX, "busybox-static"));
    }
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(Outcome::Skipped("it builds for x86-64 only".to_owned()));
    }
    let folder = target_folder(root, "machines");
    let files = first_files(root, &folder)?;
    let mut failures = Vec::new();
    for (number, shape) in SHAPES.iter().enumerate() {
        let mut machine = Command::new(EMULATOR);
        machine
            .args("-accel tcg,thread=single -m 2048 -display none -no-reboot".split(' '))
            .args("-serial stdio -monitor none".split(' '))
            .args(shape.options.split_whitespace())
            .args(["-append", "console=ttyS0 quiet panic=-1"])
            .arg("-kernel")
            .arg(&kernel)
            .arg("-initrd")
            .arg(&files);
        let log = folder.join(format!("machine-{number}.log"));
        let errors = folder.join(format!("machine-{number}.errors"));
        let ended = process::run(&mut machine, &log, Some(&errors), LIMIT)?;
        let said = ended.output.replace('\r', "");
        writeln!(
            out,
            "== {} ({} s)\n{said}",
            shape.name,
            ended.time.as_secs()
        )?;
        if let Some(failure) = ended.failure() {
            let name = shape.name;
            failures.push(format!("{name}: {failure}, see {}", errors.display()));
        }
        let wrong = wrong(shape.lines, &said).or_else(|| wrong(&LIMITS, &said));
        failures.extend(wrong.map(|wrong| format!("{}: {wrong}", shape.name)));
    }
    Ok(match failures.is_empty() {
        true => Outcome::Passed,
        false => Outcome::Failed(failures.join("; ")),
    })
}

fn skipped(missing: &str, package: &str) -> Outcome {
    Outcome::Skipped(format!("{missing} is missing (Debian: {package})"))
}

fn last_kernel() -> Option<PathBuf> {
    let files = fs::read_dir("/boot").ok()?.filter_map(Result::ok);
    let is_kernel = |path: &PathBuf| path.to_string_lossy().starts_with("/boot/vmlinuz");
    files.map(|file| file.path()).filter(is_kernel).max()
}

/// The archive of the machine's first files: the programs, which need no others, and the script.
fn first_files(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let builds: [&[&str]; 2] = [
        &["--package", "heist-cli", "--bin", "heist"],
        &["--package", "heist", "--example", "places"],
    ];
    for build in builds {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(root)
            .env("RUSTFLAGS", flags("-Ctarget-feature=+crt-static"))
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .args(["build", "--release", "--target", TARGET, "--target-dir"])
            .arg(folder)
            .args(build);
        succeed(&mut cargo)?;
    }
    let files = folder.join("files");
    let bin = files.join("bin");
    for name in ["bin", "proc", "sys", "dev", "tmp"] {
        let folder = files.join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("could not make {}", folder.display()))?;
    }
    let built = folder.join(TARGET).join("release");
    for (from, to) in [
        (PathBuf::from(BUSYBOX), bin.join("busybox")),
        (built.join("heist"), bin.join("heist")),
        (built.join("examples/places"), bin.join("places")),
    ] {
        fs::copy(&from, &to)
            .with_context(|| format!("could not copy {} to {}", from.display(), to.display()))?;
    }
    let init = files.join("init");
    fs::write(&init, INIT).with_context(|| format!("could not write {}", init.display()))?;
    let archive = folder.join("files.cpio");
    let mut script = Command::new(BUSYBOX);
    script
        .current_dir(&files)
        .args(["sh", "-c"])
        .arg("chmod +x init && find . | busybox cpio -o -H newc >../files.cpio")
        .stderr(Stdio::null());
    succeed(&mut script)?;
    Ok(archive)
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("could not start {command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// The first of these lines that is not there behind the one before it.
fn wrong(lines: &[&str], said: &str) -> Option<String> {
    let mut said = said.lines();
    let missing = lines
        .iter()
        .find(|line| !said.any(|found| found == **line))?;
    Some(format!("it did not say, in this place, {missing:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_missing_where_it_stands_before_the_one_that_it_should_follow() {
        assert_eq!(wrong(&["b", "d"], "a\nb\nc\nd\n"), None);
        assert!(wrong(&["d", "b"], "a\nb\nc\nd\n").is_some_and(|text| text.ends_with("\"b\"")));
        assert!(wrong(&["b"], "a b\n").is_some());
    }

    #[test]
    fn the_script_checks_all_limits_that_are_expected() {
        for line in LIMITS.iter().filter_map(|line| line.strip_prefix("ok: ")) {
            assert!(INIT.contains(&format!("{line}\"")), "{line}");
        }
    }
}
