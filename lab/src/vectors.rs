//! Whether loops that the compiler vectorises in their plain form are vectorised on heist too.
//!
//! Both forms are in one program, whose assembly is read. A form has the vector instructions of all
//! functions in whose names its own name stands: those that are compiled for its closures.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context};
use xtask::build::target_folder;
use xtask::steps::Outcome;

/// The loops: a function `plain_NAME` and a function `heist_NAME` each.
const LOOPS: [&str; 12] = [
    "sum",
    "maximum",
    "count",
    "collect",
    "places",
    "two_vectors",
    "dot_product",
    "enumerate",
    "range",
    "windows",
    "by_value",
    "fold",
];
/// The loop that nothing can vectorise.
const SCALAR: &str = "scalar";
/// Fewer than these may stand outside of loops.
const FEW: usize = 2;
/// Of this share of the plain form's, heist must have as many: compilers unroll as they like.
const SHARE: f64 = 0.5;

/// Compiles the program and compares the forms.
pub(crate) fn run(root: &Path, out: &mut impl Write) -> anyhow::Result<Outcome> {
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(Outcome::Skipped(
            "only the instructions of x86-64 are known".to_owned(),
        ));
    }
    let assembly = compile(root)?;
    let mut losing = Vec::new();
    for name in LOOPS.into_iter().chain([SCALAR]) {
        let [plain, heist] = ["plain", "heist"].map(|form| of_form(&assembly, form, name));
        writeln!(out, "{name:16} plain {plain:>4} heist {heist:>4}")?;
        if !is_right(name, plain, heist) {
            losing.push(format!("{name} {heist} of {plain}"));
        }
    }
    Ok(match losing.is_empty() {
        true => Outcome::Passed,
        false => Outcome::Failed(format!("vector instructions: {}", losing.join(", "))),
    })
}

/// Whether so many vector instructions of both forms are as they should be.
fn is_right(name: &str, plain: usize, heist: usize) -> bool {
    if name == SCALAR {
        return plain < FEW && heist < FEW;
    }
    plain >= FEW && heist >= FEW && heist as f64 >= plain as f64 * SHARE
}

/// The assembly of the program, which has been run: its forms have equal results.
fn compile(root: &Path) -> anyhow::Result<String> {
    let folder = target_folder(root, "size");
    let file = folder.join("vectors.s");
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(root)
        .env("RUSTFLAGS", "")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .args(["rustc", "--release", "--manifest-path", "bench/Cargo.toml"])
        .args(["--ignore-rust-version", "--target-dir"])
        .arg(&folder)
        .args(["--package", "heist-bench-size", "--bin", "vectors", "--"])
        .args(["-Ccodegen-units=1", "-Csymbol-mangling-version=v0"])
        .arg(format!("--emit=link,asm={}", file.display()));
    let mut program = Command::new(folder.join("release/vectors"));
    for command in [&mut cargo, &mut program] {
        let status = command
            .status()
            .with_context(|| format!("could not start {command:?}"))?;
        ensure!(status.success(), "{command:?}: {status}");
    }
    fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))
}

/// The vector instructions of one form of a loop.
fn of_form(assembly: &str, form: &str, name: &str) -> usize {
    // As it is written in a mangled name: the length stands before it.
    let name = format!("{form}_{name}");
    let name = format!("{}{name}", name.len());
    let mut is_of_form = false;
    let mut count = 0;
    for line in assembly.lines() {
        match line.strip_suffix(':') {
            Some(label) if label.starts_with("_R") => is_of_form = label.contains(&name),
            Some(_) => {}
            None => count += usize::from(is_of_form && is_vector(line)),
        }
    }
    count
}

/// Whether the line is an instruction that computes with several numbers at once.
fn is_vector(line: &str) -> bool {
    const INTEGERS: [&str; 12] = [
        "padd", "psub", "pmul", "pand", "pxor", "por", "pmax", "pmin", "pcmp", "psad", "psll",
        "psrl",
    ];
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else {
        return false;
    };
    let name = name.strip_prefix('v').unwrap_or(name);
    let is_packed = name.ends_with("ps") || name.ends_with("pd");
    let is_move = ["mov", "unpck", "shuf"]
        .iter()
        .any(|kind| name.starts_with(kind));
    if !INTEGERS.iter().any(|kind| name.starts_with(kind)) && (!is_packed || is_move) {
        return false;
    }
    // A register that is combined with itself by `xor` becomes 0.
    let mut operands = words.map(|word| word.trim_end_matches(','));
    let is_zero = name.contains("xor") && operands.next() == operands.next();
    !is_zero
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_instructions_are_those_that_compute() {
        for line in [
            "\tpaddq\t%xmm1, %xmm0",
            "\tmaxps\t(%rdi), %xmm2",
            "\txorps\t%xmm1, %xmm0",
            "\tvaddpd\t%ymm1, %ymm0, %ymm0",
            "\tcvtdq2pd\t%xmm0, %xmm0",
        ] {
            assert!(is_vector(line), "{line}");
        }
        for line in [
            "",
            "\t.p2align\t4",
            "\tpushq\t%rbp",
            "\tpopcntq\t%rax, %rax",
            "\tpause",
            "\tmovups\t%xmm0, (%rdi)",
            "\txorps\t%xmm0, %xmm0",
            "\tpxor\t%xmm3, %xmm3",
            "\taddsd\t%xmm1, %xmm0",
            "\tmaxss\t%xmm1, %xmm0",
            "\taddq\t$1, %rax",
        ] {
            assert!(!is_vector(line), "{line}");
        }
    }

    #[test]
    fn a_form_has_what_stands_in_all_functions_of_its_name() {
        let assembly = "\
_RNvCs1_7vectors9plain_sum:\n\tpaddq\t%xmm1, %xmm0\n.LBB0_1:\n\tpaddq\t%xmm1, %xmm0\n\
_RINvNt3par6driver3runNCNvCs1_7vectors9heist_sum0E:\n\tpaddq\t%xmm1, %xmm0\n\
_RNvCs1_7vectors9heist_sum:\n\tmovq\t%rax, %rbx\n\
_RNvCs1_7vectors12heist_sum_of:\n\tpaddq\t%xmm1, %xmm0\n\
main:\n\tpaddq\t%xmm1, %xmm0\n";
        assert_eq!(of_form(assembly, "plain", "sum"), 2);
        assert_eq!(of_form(assembly, "heist", "sum"), 1);
    }

    #[test]
    fn a_loop_that_lost_its_vectors_is_found() {
        assert!(is_right("count", 12, 12));
        assert!(is_right("count", 12, 6));
        assert!(!is_right("count", 12, 5));
        assert!(!is_right("count", 0, 0), "the plain form proves nothing");
        assert!(is_right(SCALAR, 0, 1));
        assert!(!is_right(SCALAR, 0, 2), "all code would count");
    }
}
