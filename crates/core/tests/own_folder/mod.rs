//! A folder of a test's own, gone at its end.

use std::env;
use std::fs;
use std::path::PathBuf;

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// For the test of this name, which no other test of its file has.
    pub(crate) fn new(test: &str) -> Self {
        let name = format!(
            "heist-{}-{}-{test}",
            env!("CARGO_CRATE_NAME"),
            std::process::id()
        );
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a folder");
        Self(folder)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
