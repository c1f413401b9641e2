//! The program on worker processes of this machine.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deep-zoom"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn the_picture_is_the_same_on_one_node_and_on_three() {
    let folder = tempfile::tempdir().expect("a folder");
    let rendered = |size: &[&str], file: &str| {
        let view = [
            "--preset",
            "seahorse",
            "--iterations",
            "2000",
            "--width",
            "200",
        ];
        let rest = ["--height", "130", "--samples", "1", "--out", file];
        let output = run(folder.path(), &[size, &view, &rest].concat());
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}");
        let picture = fs::read(folder.path().join(file)).expect("the picture");
        (output.stdout, picture)
    };
    let one = rendered(&["--nodes", "1", "--cpus", "2"], "one.png");
    let three = rendered(
        &["--backend", "local", "--nodes", "3", "--cpus", "2"],
        "three.png",
    );
    assert!(one == three, "the pictures differ");

    let file = fs::File::open(folder.path().join("one.png")).expect("the picture");
    let mut reader = png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    assert_eq!((info.width, info.height), (200, 130));
    let hash = blake3::hash(&pixels).to_string();
    assert!(
        String::from_utf8_lossy(&one.0).contains(&hash),
        "of other pixels"
    );
}

#[test]
fn wrong_arguments_are_answered_with_what_is_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, accepted) in [
        (
            &["--backend", "lokal"][..],
            "local, ray, slurm are accepted",
        ),
        (&["--preset", "sea"], "whole, "),
        (&["--re", "1"], "--im"),
        (&["--re", "1e3", "--im", "0"], "without an exponent"),
        (&["--zoom", "1e200"], "1e140"),
        (&["--width", "0"], "1..=32768"),
        (
            &["--preset", "whole", "--re", "0", "--im", "0"],
            "cannot be used with",
        ),
        (
            &[
                "--width",
                "9",
                "--height",
                "9",
                "--out",
                "no/such/folder.png",
            ],
            "no/such/folder.png",
        ),
    ] {
        let output = run(folder.path(), arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains(accepted), "{complaint}");
    }
}
