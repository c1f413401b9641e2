//! Does nothing: cargo wants a build script in a package that has `links`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
