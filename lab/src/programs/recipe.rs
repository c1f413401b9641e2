//! A recipe of a program: what to take, which tests to run, what the timed job needs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

/// One file `NAME.toml`, with the driver `NAME.rs` of its job beside it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// The package in the registry.
    pub(crate) name: String,
    pub(crate) version: String,
    /// The sort of program, in a few words.
    pub(crate) kind: String,
    #[serde(default = "yes", rename = "default-features")]
    pub(crate) default_features: bool,
    /// Features beyond the default ones, such as the one that brings in rayon.
    #[serde(default)]
    pub(crate) features: Vec<String>,
    /// Which of its own tests to build, as arguments of `cargo test`; empty if none can be built.
    #[serde(default = "every_target_with_tests")]
    pub(crate) tests: Vec<String>,
    pub(crate) job: Job,
}

fn yes() -> bool {
    true
}

fn every_target_with_tests() -> Vec<String> {
    ["--lib", "--bins", "--tests"].map(String::from).into()
}

/// The work that is timed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// In a few words.
    pub(crate) what: String,
    /// The driver's other dependencies, as in a manifest.
    #[serde(default)]
    pub(crate) dependencies: toml::Table,
}

impl Recipe {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let recipe: Self = toml::from_str(text)?;
        anyhow::ensure!(
            !recipe.job.dependencies.contains_key(&recipe.name),
            "[job.dependencies] names {}, which the driver has anyway",
            recipe.name
        );
        Ok(recipe)
    }

    /// The manifest of the package `name`, as which the driver is built. It and the program are
    /// one codegen unit each: which of sixteen holds what is chance, and a loop that lies in
    /// another one than what it calls took up to 1.3 times as long, on either side.
    pub(crate) fn driver_manifest(&self, name: &str) -> String {
        let mut package = toml::Table::new();
        package.insert("version".into(), format!("={}", self.version).into());
        package.insert("default-features".into(), self.default_features.into());
        package.insert("features".into(), self.features.clone().into());
        let mut dependencies = self.job.dependencies.clone();
        dependencies.insert(self.name.clone(), package.into());
        let dependencies = toml::Table::from_iter([("dependencies".into(), dependencies.into())]);
        let one_unit =
            |name| format!("[profile.release.package.\"{name}\"]\ncodegen-units = 1\n\n");
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n{}{}{dependencies}",
            one_unit(name),
            one_unit(&self.name)
        )
    }
}

/// The recipes called `names`, or all if there are none, with the paths of their drivers.
pub(crate) fn read(folder: &Path, names: &[String]) -> anyhow::Result<Vec<(Recipe, PathBuf)>> {
    let reading = || format!("could not list the recipes in {}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut recipes = Vec::new();
    for path in &paths {
        let recipe = fs::read_to_string(path)
            .map_err(anyhow::Error::from)
            .and_then(|text| Recipe::parse(&text))
            .with_context(|| format!("could not read the recipe {}", path.display()))?;
        let file_name = format!("{}.toml", recipe.name);
        anyhow::ensure!(
            path.ends_with(&file_name),
            "the recipe {} is for {}, so it must be called {file_name}",
            path.display(),
            recipe.name
        );
        let driver = path.with_extension("rs");
        anyhow::ensure!(
            driver.is_file(),
            "the recipe {} has no driver; write {}",
            path.display(),
            driver.display()
        );
        recipes.push((recipe, driver));
    }
    if let Some(unknown) = names
        .iter()
        .find(|name| !recipes.iter().any(|(recipe, _)| recipe.name == **name))
    {
        let known: Vec<&str> = recipes.iter().map(|(recipe, _)| &*recipe.name).collect();
        anyhow::bail!(
            "there is no recipe for {unknown}; there are {}",
            known.join(", ")
        );
    }
    recipes.retain(|(recipe, _)| names.is_empty() || names.contains(&recipe.name));
    Ok(recipes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "name = \"a\"\nversion = \"1.2.3\"\nkind = \"library\"\n\
                         [job]\nwhat = \"work\"\n";

    #[test]
    fn a_short_recipe_runs_every_test_with_default_features() {
        let recipe = Recipe::parse(SHORT).unwrap();
        assert_eq!(recipe.tests, ["--lib", "--bins", "--tests"]);
        assert!(recipe.features.is_empty());
    }

    #[test]
    fn the_driver_depends_on_the_exact_package_and_on_what_the_recipe_adds() {
        let text = format!("{SHORT}[job.dependencies]\nrayon = \"1.11\"\n");
        let manifest: toml::Table = Recipe::parse(&text)
            .unwrap()
            .driver_manifest("driver-a")
            .parse()
            .unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some("driver-a"));
        let dependencies = &manifest["dependencies"];
        assert_eq!(dependencies["a"]["version"].as_str(), Some("=1.2.3"));
        assert_eq!(dependencies["rayon"].as_str(), Some("1.11"));
        let packages = &manifest["profile"]["release"]["package"];
        for name in ["a", "driver-a"] {
            assert_eq!(packages[name]["codegen-units"].as_integer(), Some(1));
        }
    }

    #[test]
    fn what_no_recipe_has_is_refused() {
        let error = Recipe::parse(&format!("tets = 1\n{SHORT}")).unwrap_err();
        assert!(error.to_string().contains("tets"), "{error}");
        let twice = format!("{SHORT}[job.dependencies]\na = \"1\"\n");
        assert!(Recipe::parse(&twice).is_err());
    }

    #[test]
    fn a_recipe_without_a_driver_or_with_an_unknown_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.toml"), SHORT).unwrap();
        let error = read(folder.path(), &[]).unwrap_err().to_string();
        assert!(error.contains("no driver"), "{error}");
        fs::write(folder.path().join("a.rs"), "fn main() {}").unwrap();
        assert_eq!(read(folder.path(), &["a".into()]).unwrap().len(), 1);
        let error = read(folder.path(), &["b".into()]).unwrap_err().to_string();
        assert!(error.contains("no recipe for b; there are a"), "{error}");
        fs::rename(folder.path().join("a.toml"), folder.path().join("c.toml")).unwrap();
        let error = read(folder.path(), &[]).unwrap_err().to_string();
        assert!(error.contains("must be called a.toml"), "{error}");
    }
}
