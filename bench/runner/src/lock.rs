//! A `Cargo.lock`: versions, and whether a patch was used.

use std::path::Path;

use serde::Deserialize;

/// The packages that a workspace was built from.
#[derive(Debug, Deserialize)]
pub(crate) struct Lock {
    package: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    /// Where it was downloaded from; none for what lies on this machine.
    source: Option<String>,
}

impl Lock {
    /// Reads the lock file in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join("Cargo.lock");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        toml::from_str(&text)
            .map_err(|error| format!("cannot understand {}: {error}", path.display()))
    }

    /// The version of a package; of the last one where there are several.
    pub(crate) fn version(&self, name: &str) -> Option<&str> {
        self.named(name)
            .next_back()
            .map(|package| &*package.version)
    }

    /// The version of a package that a patch put in the place of a published
    /// one; the error says that none did.
    pub(crate) fn patched_version(&self, name: &str) -> Result<&str, String> {
        // Cargo only warns about a patch that it cannot use.
        if let Some(published) = self.named(name).find_map(|package| package.source.as_ref()) {
            return Err(format!(
                "its patch of `{name}` was not used: it would run on the published one, from \
                 {published}; the patch must have a version that fits"
            ));
        }
        self.version(name)
            .ok_or_else(|| format!("its patch of `{name}` was not used: nothing depends on it"))
    }

    fn named<'a, 'b>(
        &'a self,
        name: &'b str,
    ) -> impl DoubleEndedIterator<Item = &'a Package> + use<'a, 'b> {
        self.package
            .iter()
            .filter(move |package| package.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(text: &str) -> Lock {
        toml::from_str(text).unwrap()
    }

    const LOCAL: &str = "[[package]]\nname = \"rayon-core\"\nversion = \"1.13.0\"\n";

    #[test]
    fn a_package_on_this_machine_is_a_used_patch() {
        assert_eq!(lock(LOCAL).patched_version("rayon-core"), Ok("1.13.0"));
    }

    #[test]
    fn a_patch_beside_the_published_package_was_not_used() {
        let unused = "[[patch.unused]]\nname = \"rayon-core\"\nversion = \"2.0.0\"\n";
        let text = format!("{LOCAL}source = \"registry+index\"\n{unused}");
        let error = lock(&text).patched_version("rayon-core").unwrap_err();
        assert!(
            error.contains("not used") && error.contains("registry+index"),
            "{error}"
        );
    }

    #[test]
    fn a_patch_of_what_nothing_depends_on_was_not_used() {
        let error = lock(LOCAL).patched_version("rayon").unwrap_err();
        assert!(error.contains("`rayon`"), "{error}");
    }
}
