//! The control groups that the process is in, and their limits.

use std::path::Path;

/// The lowest limit of the groups that `groups` names, in the form of `/proc/self/cgroup`, and of
/// those above them. The groups are mounted at `root`, and `limit` reads the limit of the group in
/// a folder, if it has this controller.
pub(crate) fn narrowest<T: Ord>(
    root: &Path,
    groups: &str,
    controller: &str,
    limit: impl Fn(&Path) -> Option<T>,
) -> Option<T> {
    let limits = groups.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        // In the second version all controllers are in one tree.
        let mounts: &[&str] = match controllers {
            "" => &[""],
            _ if controllers.split(',').any(|name| name == controller) => {
                &[controllers, controller]
            }
            _ => return None,
        };
        let above = Path::new(path).ancestors();
        let folders = above.flat_map(|group| {
            let group = group.strip_prefix("/").unwrap_or(group);
            mounts.iter().map(move |mount| root.join(mount).join(group))
        });
        folders.filter_map(|folder| limit(&folder)).min()
    });
    limits.min()
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
pub(crate) mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A tree of control groups below a folder of its own.
    pub(crate) struct Tree(pub(crate) PathBuf);

    impl Tree {
        pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("heist-groups-{name}-{}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for (file, text) in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder");
                fs::write(file, text).expect("a file");
            }
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_controller_is_looked_for_in_its_own_tree_and_in_the_one_of_all() {
        let tree = Tree::new(
            "controllers",
            &[
                ("pids/a/pids.max", "30"),
                ("pids/a/b/pids.max", "max"),
                ("a/b/pids.max", "40"),
                ("a/pids.max", "50"),
            ],
        );
        let of = |groups, controller| {
            narrowest(&tree.0, groups, controller, |folder| {
                let text = fs::read_to_string(folder.join("pids.max")).ok()?;
                text.parse::<u64>().ok()
            })
        };
        assert_eq!(of("0::/a/b\n", "pids"), Some(40));
        assert_eq!(of("7:pids:/a/b\n0::/a\n", "pids"), Some(30));
        assert_eq!(of("7:pids:/a/b\n0::/\n", "cpu"), None);
    }
}
