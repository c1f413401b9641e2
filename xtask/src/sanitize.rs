//! The tests of the crates with unsafe code, under the compiler's sanitizers.
//!
//! | sanitizer | finds | built with |
//! |---|---|---|
//! | address | accesses to memory that was freed; leaks | the stable compiler |
//! | leak | memory that nothing points to at the end | the stable compiler |
//! | thread | data races | the nightly compiler, and a `std` built with the sanitizer |
//!
//! A sanitizer that finds nothing proves little unless it finds a planted fault: before each run it
//! must catch one in a small program.
//!
//! The thread sanitizer knows neither membarrier nor the other fences. It need not: slots are
//! handed over by release and acquire, and the barriers decide only which thread gets one.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::build;
use crate::steps::Runner;

/// The sanitizers to run.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// All of them in turn if none is named.
    sanitizer: Option<Sanitizer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sanitizer {
    /// Accesses to memory that was freed, and leaks.
    Address,
    /// Leaks only: faster, and with stack frames of the usual size.
    Leak,
    /// Data races. Needs a nightly compiler with the component `rust-src`.
    Thread,
}

const PACKAGES: [&str; 4] = ["heist-deque", "heist-core", "heist-futures", "heist-par"];
/// The only target on which they are run.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Runs the tests, and returns whether nothing was found.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn run(root: &Path, args: Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let mut runner = Runner::new(root, out);
    let all = [Sanitizer::Address, Sanitizer::Leak, Sanitizer::Thread];
    for sanitizer in all {
        if args.sanitizer.is_none_or(|wanted| wanted == sanitizer) {
            add_step(&mut runner, sanitizer, &PACKAGES, &[])?;
        }
    }
    Ok(runner.finish()?)
}

/// Adds to the gate the runs for which it has time.
///
/// # Errors
///
/// As [`run`].
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    // It finds leaks as well. The iterators' other tests take minutes under it.
    add_step(runner, Sanitizer::Address, &PACKAGES[..3], &[])?;
    let tests = [
        "--lib",
        "--test",
        "suite",
        "--",
        "tests::",
        "collect::",
        "bridge::",
    ];
    add_step(runner, Sanitizer::Address, &PACKAGES[3..], &tests)?;
    let tests = [
        "--lib", "--test", "stress", "--test", "callers", "--test", "oracle",
    ];
    add_step(runner, Sanitizer::Thread, &PACKAGES[..3], &tests)
}

fn add_step<W: Write>(
    runner: &mut Runner<'_, W>,
    sanitizer: Sanitizer,
    packages: &[&str],
    tests: &[&str],
) -> anyhow::Result<()> {
    let short = packages
        .iter()
        .map(|package| package.trim_start_matches("heist-"));
    let name = format!("{sanitizer} {}", short.collect::<Vec<_>>().join(" "));
    if let Err(reason) = sanitizer.works(&runner.root()) {
        return Ok(runner.skip(&name, &reason)?);
    }
    let mut command = sanitizer.tool("cargo");
    command.arg("test");
    if sanitizer == Sanitizer::Thread {
        command.arg("-Zbuild-std");
    }
    for package in packages {
        command.args(["--package", package]);
    }
    // Documentation tests would need the flags a second time, and say nothing about memory.
    let tests = if tests.is_empty() {
        &["--tests"]
    } else {
        tests
    };
    command
        .args(["--target", TARGET, "--target-dir"])
        .arg(build::target_folder(&runner.root(), &sanitizer.to_string()))
        // Last, as they may name tests.
        .args(tests)
        .env("RUSTFLAGS", build::flags(&sanitizer.flags()));
    Ok(runner.command(&name, &mut command)?)
}

impl Sanitizer {
    /// The compiler's name for it.
    fn word(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Leak => "leak",
            Self::Thread => "thread",
        }
    }

    fn flags(self) -> String {
        format!("-Zsanitizer={} --cfg heist_{self}", self.word())
    }

    /// A tool of the toolchain that the sanitizer needs.
    fn tool(self, name: &str) -> Command {
        if self == Self::Thread {
            let mut command = Command::new("rustup");
            command.args(["run", "nightly", name]);
            return command;
        }
        let mut command = Command::new(name);
        command.env("RUSTC_BOOTSTRAP", "1");
        command
    }

    /// A program with a fault, and the sanitizer's report of it.
    fn planted(self) -> (&'static str, &'static str) {
        match self {
            Self::Address => (
                "fn main() { unsafe { let byte = Box::into_raw(Box::new(1_u8)); \
                 drop(Box::from_raw(byte)); std::ptr::read_volatile(byte); } }",
                "heap-use-after-free",
            ),
            Self::Leak => (
                "fn main() { for n in 0..100 { std::mem::forget(Box::new(n)); } }",
                "detected memory leaks",
            ),
            Self::Thread => (
                "static mut COUNT: u32 = 0; fn main() { \
                 let count = || (0..1000).for_each(|_| unsafe { COUNT += 1 }); \
                 let other = std::thread::spawn(count); count(); let _ = other.join(); }",
                "data race",
            ),
        }
    }

    /// Builds and runs an empty program, which must pass, and one with a fault, which must not.
    /// Some toolchains lack the parts for this; the error says which.
    fn works(self, root: &Path) -> Result<(), String> {
        if !cfg!(all(
            target_arch = "x86_64",
            target_os = "linux",
            target_env = "gnu"
        )) {
            return Err(format!("it is only tried on {TARGET}"));
        }
        if self == Self::Thread {
            self.has_source()?;
        }
        let empty = self.probe(root, "fn main() {}")?;
        if !empty.status.success() {
            return Err(failure("an empty program does not run", &empty));
        }
        let (program, said) = self.planted();
        let found = self.probe(root, program)?;
        match String::from_utf8_lossy(&found.stderr).contains(said) {
            true => Ok(()),
            false => Err(failure(
                &format!("it does not report a planted {said}"),
                &found,
            )),
        }
    }

    /// `std` is built with the sanitizer, or else its own synchronisation looks like none.
    fn has_source(self) -> Result<(), String> {
        let output = self.tool("rustc").args(["--print", "sysroot"]).output();
        let output = output.map_err(|error| format!("could not start rustup: {error}"))?;
        if !output.status.success() {
            return Err(failure("there is no nightly compiler", &output));
        }
        let root = String::from_utf8_lossy(&output.stdout);
        let source = Path::new(root.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
        match source.is_file() {
            true => Ok(()),
            false => Err("`rustup component add rust-src --toolchain nightly` was not run".into()),
        }
    }

    /// Builds a program from this source and runs it.
    fn probe(self, root: &Path, source: &str) -> Result<Output, String> {
        let folder = build::target_folder(root, &self.to_string());
        let program = folder.join("probe");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut command = self.tool("rustc");
        if self == Self::Thread {
            // For the probe the installed `std` will do.
            command.arg("-Cunsafe-allow-abi-mismatch=sanitizer");
        }
        let mut compiler = command
            .arg(format!("-Zsanitizer={}", self.word()))
            .args(["--target", TARGET, "-o"])
            .arg(&program)
            .arg("-")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("could not start rustc: {error}"))?;
        if let Some(mut input) = compiler.stdin.take() {
            input
                .write_all(source.as_bytes())
                .map_err(|error| error.to_string())?;
        }
        let built = compiler.wait_with_output().map_err(say)?;
        if !built.status.success() {
            return Err(failure("a small program does not build", &built));
        }
        Command::new(&program).output().map_err(say)
    }
}

/// The name of the step, of the folder, and behind `heist_` of the check mode.
impl fmt::Display for Sanitizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "asan",
            Self::Leak => "lsan",
            Self::Thread => "tsan",
        })
    }
}

fn say(error: io::Error) -> String {
    error.to_string()
}

/// The failure, with the first line that the program said.
fn failure(what: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| !line.trim().is_empty());
    format!("{what}: {}", first.unwrap_or("no message"))
}
