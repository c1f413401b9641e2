//! A large program is linked from object files; then it runs, and its exit status shows that each
//! call went where it should.
//!
//! The system's assembler makes the object files in the first run; later runs find them.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const FILES: usize = 300;
const FUNCTIONS: usize = 400;
const LINKS: usize = 4;
const OBJECTS: &str = "objects";

fn main() {
    if !Path::new(OBJECTS).exists() {
        assemble();
    }
    let mut arguments: Vec<String> = ["wild", "-static", "--no-fork", "-o", "program"]
        .map(String::from)
        .into();
    arguments.extend((0..FILES).map(|file| format!("{OBJECTS}/{file}.o")));
    let start = Instant::now();
    for _ in 0..LINKS {
        link(&arguments);
    }
    let wall_ns = start.elapsed().as_nanos();
    let program = std::fs::read("program").expect("the program should be there");
    let hash = program.iter().fold(0_u64, |hash, &byte| {
        (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    let status = Command::new("./program")
        .status()
        .expect("the program should start");
    println!("wall_ns {wall_ns}");
    println!(
        "bytes {} hash {hash:016x} ends with {status}",
        program.len()
    );
}

fn link(arguments: &[String]) {
    let mut args =
        libwild::Args::new(|| arguments.iter().cloned()).expect("Wild should know its target");
    args.parse(|| arguments.iter().cloned())
        .expect("the arguments should be understood");
    libwild::run(args).expect("the program should be linked");
}

/// Writes the object files: functions that call one another across files, strings to merge, and
/// data that points to functions. The first one calls a chain and exits with its result.
fn assemble() {
    let folder = Path::new("assembling");
    std::fs::create_dir_all(folder).expect("the folder should be made");
    for file in 0..FILES {
        let mut text = String::from(".text\n");
        if file == 0 {
            text.push_str(
                ".globl _start\n_start: xor %edi, %edi\n call f_0_0\n mov $60, %eax\n syscall\n",
            );
        }
        for function in 0..FUNCTIONS {
            // The chain visits one function of each file and adds one in each.
            let next = match (function, file + 1) {
                (0, FILES) => String::new(),
                (0, next) => format!(" call f_{next}_0\n"),
                _ => format!(
                    " call f_{}_{}\n",
                    (file * 7 + function) % FILES,
                    (function * 13) % FUNCTIONS
                ),
            };
            write!(
                text,
                ".section .text.f_{function},\"ax\"\n.globl f_{file}_{function}\nf_{file}_{function}: inc %edi\n\
                 lea s_{function}(%rip), %rax\n{next} ret\n\
                 .section .rodata.str1.1,\"aMS\",@progbits,1\n\
                 s_{function}: .string \"text {} of many\"\n\
                 .section .data.d_{function},\"aw\"\n .quad f_{}_{function}\n",
                (file * function) % 5000,
                (file + 1) % FILES,
            )
            .expect("a string can be written");
        }
        let source = folder.join(format!("{file}.s"));
        std::fs::write(&source, text).expect("the source should be written");
        let status = Command::new("as")
            .arg(&source)
            .arg("-o")
            .arg(folder.join(format!("{file}.o")))
            .status()
            .expect("the system's assembler `as` should start");
        assert!(status.success(), "{} was not assembled", source.display());
    }
    // Only whole sets of files go by that name.
    std::fs::rename(folder, OBJECTS).expect("the folder should be renamed");
}
