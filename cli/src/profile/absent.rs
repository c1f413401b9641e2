//! Why a program wrote no profile.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use heist_run::limited;
use memchr::memmem;

use crate::ending::Ending;

/// Larger executables are not looked into.
const EXECUTABLE_BYTES_MAX: u64 = 1 << 31;

/// The variables that the runtimes read: their names are in each executable that has one.
const PROFILE: &[u8] = b"HEIST_PROFILE";
const HEIST: &[u8] = b"HEIST_NUM_THREADS";
const RAYON: &[u8] = b"RAYON_NUM_THREADS";

const PATCH: &str = "\
Put heist's rayon-core in the place of rayon's, in the manifest at the root of
the program's workspace, and build it again:
  [patch.crates-io]
  rayon-core = { path = \"../heist/compat/rayon-core\" }
`heist doctor --manifest PROJECT` says whether cargo took it.";

/// The reason, as far as the ending of the program and its executable tell.
pub(super) fn explain(program: &OsStr, ending: Ending) -> String {
    let name = Path::new(program).display();
    if let Ending::Signal(_) = ending {
        return format!(
            "{name} {ending}, and wrote no profile: one is written when a program ends by \
             returning, by exit or by a panic"
        );
    }
    let reason = match find(program).map(|path| limited::read(&path, EXECUTABLE_BYTES_MAX)) {
        Some(Ok(bytes)) => reason(&bytes),
        Some(Err(error)) => format!("its executable cannot be looked into: {error}"),
        None => "its executable was not found".to_owned(),
    };
    format!("{name} {ending}, and wrote no profile: {reason}")
}

/// The reason that the bytes of an executable tell.
fn reason(executable: &[u8]) -> String {
    let has = |name| memmem::find(executable, name).is_some();
    if executable.starts_with(b"#!") {
        "it is a script; name the program that it runs".to_owned()
    } else if has(PROFILE) {
        "it is on heist, but none of its pools had a job. Was there anything to do in parallel?"
            .to_owned()
    } else if has(HEIST) {
        "it was built with a heist that writes no profiles; build it with this one".to_owned()
    } else if has(RAYON) {
        format!("it runs on rayon itself.\n{PATCH}")
    } else {
        format!("its executable shows no sign of heist or rayon. If it uses rayon:\n{PATCH}")
    }
}

/// The executable that the system starts by that name.
fn find(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    let candidates = env::split_paths(&folders).map(|folder| folder.join(program));
    candidates.into_iter().find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_variables_tell_the_runtime() {
        for (executable, says) in [
            (&b"#!/bin/sh\nHEIST_PROFILE"[..], "a script"),
            (
                b"\x7fELF RAYON_NUM_THREADS HEIST_NUM_THREADS HEIST_PROFILE",
                "had a job",
            ),
            (
                b"\x7fELF RAYON_NUM_THREADS HEIST_NUM_THREADS",
                "writes no profiles",
            ),
            (b"\x7fELF RAYON_NUM_THREADS", "rayon itself"),
            (b"\x7fELF", "no sign of heist or rayon"),
            (b"", "no sign of heist or rayon"),
        ] {
            assert!(reason(executable).contains(says), "{says}");
        }
    }

    #[test]
    fn a_program_that_dies_is_told_with_its_signal() {
        let why = explain(OsStr::new("prog"), Ending::Signal(9));
        assert!(
            why.contains("prog was killed by signal 9 (SIGKILL)"),
            "{why}"
        );
        let why = explain(OsStr::new("no/such/prog"), Ending::Code(3));
        assert!(why.contains("ended with exit code 3"), "{why}");
        assert!(why.contains("cannot be looked into"), "{why}");
    }
}
