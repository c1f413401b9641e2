//! Where the library of a program lies.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::BackendError;

/// The library of the crate that has `export!`, beside the program: the one that is running,
/// if no other is named.
pub(super) fn find(crates: &[String], program: Option<&Path>) -> Result<PathBuf, BackendError> {
    let [name] = crates else {
        return Err(BackendError::setup(match crates {
            [] => "this program has no library with remote functions: a crate of it needs \
                   heist_cluster::export!() and the crate types cdylib and rlib"
                .to_owned(),
            several => format!(
                "Ray's workers load one library, and this program has {}: {}",
                several.len(),
                several.join(", ")
            ),
        }));
    };
    let program = program.map_or_else(env::current_exe, |program| Ok(program.to_owned()));
    let program = program.map_err(|error| {
        BackendError::setup(format!("could not find out which program this is: {error}"))
    })?;
    let file = format!(
        "{}{name}{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    let places: Vec<_> = folders(&program)
        .iter()
        .map(|folder| folder.join(&file))
        .collect();
    let found = places.iter().find(|place| place.is_file());
    found.cloned().ok_or_else(|| {
        let places: Vec<_> = places
            .iter()
            .map(|place| place.display().to_string())
            .collect();
        BackendError::setup(format!(
            "the library of the crate {name} is in none of {}; build it (`cargo build` with \
             the crate type cdylib), or say where it is with Ray::cdylib or \
             HEIST_CLUSTER_LIBRARY",
            places.join(", ")
        ))
    })
}

/// Where cargo puts libraries, for a program that it has put at `program`.
fn folders(program: &Path) -> Vec<PathBuf> {
    let Some(own) = program.parent() else {
        return Vec::new();
    };
    let mut folders = vec![own.to_owned(), own.join("deps")];
    let is_beside = own.ends_with("deps") || own.ends_with("examples");
    if let Some(parent) = own.parent().filter(|_| is_beside) {
        folders.extend([parent.to_owned(), parent.join("deps")]);
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_looked_for_where_cargo_puts_them() {
        let folders = |program| folders(Path::new(program));
        assert_eq!(
            folders("/target/debug/program"),
            [Path::new("/target/debug"), Path::new("/target/debug/deps")]
        );
        for program in [
            "/target/debug/deps/test-0",
            "/target/debug/examples/example",
        ] {
            let folders = folders(program);
            assert!(
                folders.contains(&PathBuf::from("/target/debug")),
                "{folders:?}"
            );
            assert!(
                folders.contains(&PathBuf::from("/target/debug/deps")),
                "{folders:?}"
            );
        }
    }

    #[test]
    fn a_library_that_is_not_there_is_reported_with_all_places() {
        let error = find(&["no_such_crate".to_owned()], None)
            .expect_err("there is none")
            .to_string();
        assert!(error.contains("libno_such_crate.so"), "{error}");
        assert!(error.contains("HEIST_CLUSTER_LIBRARY"), "{error}");
        let error = find(&[], None).expect_err("there is none").to_string();
        assert!(error.contains("export!"), "{error}");
        let two = ["a".to_owned(), "b".to_owned()];
        let error = find(&two, None).expect_err("there are two").to_string();
        assert!(error.contains("a, b"), "{error}");
    }

    #[test]
    fn the_library_of_another_program_lies_beside_that() {
        let program = Path::new("/elsewhere/bin/program");
        let error = find(&["sums".to_owned()], Some(program)).expect_err("there is none");
        assert!(
            error.to_string().contains("/elsewhere/bin/libsums.so"),
            "{error}"
        );
    }
}
