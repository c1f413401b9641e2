//! A tree of source files is counted. The first run writes the tree; later runs find it.

use std::path::Path;
use std::time::Instant;

use tokei::{Config, Languages};

const FOLDERS: usize = 60;
const FILES: usize = 100;
const TREE: &str = "tree";

fn main() {
    if !Path::new(TREE).exists() {
        plant();
    }
    let start = Instant::now();
    let mut languages = Languages::new();
    languages.get_statistics(&[TREE], &[], &Config::default());
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    for (name, language) in &languages {
        println!(
            "{name}: {} files, {} code, {} comments, {} blanks",
            language.reports.len(),
            language.code,
            language.comments,
            language.blanks
        );
    }
}

fn plant() {
    let kinds = [
        (
            "rs",
            "//",
            "fn step(x: u32) -> u32 { x /* inline */ + 1 }\n",
        ),
        (
            "c",
            "//",
            "int step(int x) { return x + 1; /* inline */ }\n",
        ),
        ("py", "#", "def step(x): return x + 1  # inline\n"),
        ("sh", "#", "step() { echo \"$1 # no comment\"; }\n"),
    ];
    let growing = Path::new("growing");
    for folder in 0..FOLDERS {
        let path = growing.join(folder.to_string());
        std::fs::create_dir_all(&path).expect("the folder should be made");
        for file in 0..FILES {
            let (ending, comment, code) = kinds[(folder + file) % kinds.len()];
            let mut text = String::new();
            for line in 0..200 + (file * 37) % 800 {
                match (line * 7 + file) % 5 {
                    0 => text.push('\n'),
                    1 => text.push_str(&format!("{comment} line {line} of file {file}\n")),
                    _ => text.push_str(code),
                }
            }
            std::fs::write(path.join(format!("{file}.{ending}")), text)
                .expect("the file should be written");
        }
    }
    // Only a whole tree goes by that name.
    std::fs::rename(growing, TREE).expect("the folder should be renamed");
}
