//! The control groups that the process is in, and their limits.

use std::path::{Component, Path, PathBuf};

/// The lowest limit of the groups that `groups` names, in the form of `/proc/self/cgroup`, and of
/// those above them, as far as they can be seen. `limit` reads the limit of the group in a folder,
/// if it has this controller.
///
/// The groups are mounted at `root`; or else, as in a container that has the names of the machine,
/// where `mounts` says, in the form of `/proc/self/mountinfo`. That is asked only if it matters.
pub(crate) fn narrowest<T: Ord>(
    root: &Path,
    groups: &str,
    mounts: impl Fn() -> String,
    controller: &str,
    limit: impl Fn(&Path) -> Option<T>,
) -> Option<T> {
    let limits = groups.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        // In the second version all controllers are in one tree.
        let (kind, folders): (_, &[&str]) = match controllers {
            "" => (Kind::All, &[""]),
            _ if controllers.split(',').any(|name| name == controller) => {
                (Kind::With(controller), &[controllers, controller])
            }
            _ => return None,
        };
        let group = PathBuf::from(path.strip_prefix('/').unwrap_or(path));
        let below_root = folders
            .iter()
            .map(|folder| (root.join(folder), group.clone()));
        let mut places: Vec<(PathBuf, PathBuf)> = below_root.collect();
        // Each group has this file; a folder without it is one on which nothing is mounted.
        if !places
            .iter()
            .any(|(mount, group)| mount.join(group).join("cgroup.procs").exists())
        {
            let mounts = mounts();
            places.extend(mounts.lines().filter_map(|mount| place(mount, kind, path)));
        }
        let above = |(mount, group): &(PathBuf, PathBuf)| {
            let folders = group.ancestors().map(|group| mount.join(group));
            folders.filter_map(|folder| limit(&folder)).min()
        };
        places.iter().filter_map(above).min()
    });
    limits.min()
}

/// A tree of groups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind<'a> {
    /// That of the second version.
    All,
    /// One with this controller.
    With(&'a str),
}

/// Where a line of `/proc/self/mountinfo` shows this group, if the tree is of this kind: the point
/// of the mount, and the group below it.
///
/// The form is `ID PARENT DEVICE ROOT POINT OPTIONS [FIELDS..] - TYPE SOURCE OPTIONS`.
fn place(mount: &str, kind: Kind<'_>, group: &str) -> Option<(PathBuf, PathBuf)> {
    let (mount, system) = mount.split_once(" - ")?;
    let mut system = system.split(' ');
    let is_it = match (system.next()?, kind) {
        ("cgroup2", Kind::All) => true,
        ("cgroup", Kind::With(name)) => system.nth(1)?.split(',').any(|option| option == name),
        _ => false,
    };
    let mut mount = mount.split(' ').skip(3).map(unescaped);
    let (root, point) = (mount.next()?, mount.next()?);
    let below = Path::new(group).strip_prefix(root).ok()?;
    let is_seen = !below.components().any(|name| name == Component::ParentDir);
    (is_it && is_seen).then(|| (point.into(), below.into()))
}

/// Spaces, tabs, line feeds and backslashes are in octal there.
fn unescaped(text: &str) -> String {
    let text = text.replace("\\040", " ").replace("\\011", "\t");
    text.replace("\\012", "\n").replace("\\134", "\\")
}

/// The mounts that the process sees.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn mounts() -> String {
    // A folder's name may be of any bytes.
    let bytes = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
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
            narrowest(&tree.0, groups, String::new, controller, |folder| {
                let text = fs::read_to_string(folder.join("pids.max")).ok()?;
                text.parse::<u64>().ok()
            })
        };
        assert_eq!(of("0::/a/b\n", "pids"), Some(40));
        assert_eq!(of("7:pids:/a/b\n0::/a\n", "pids"), Some(30));
        assert_eq!(of("7:pids:/a/b\n0::/\n", "cpu"), None);
    }

    #[test]
    fn a_group_that_is_mounted_under_another_name_is_found() {
        let tree = Tree::new(
            "mounts",
            &[
                ("first group/pids.max", "30"),
                ("first group/b/pids.max", "20"),
                ("second/c/pids.max", "10"),
                ("second/pids.max", "60"),
                ("nothing is mounted here/a file", ""),
                ("unrelated/b/pids.max", "1"),
            ],
        );
        let root = tree.0.to_str().expect("a name");
        let mounts = format!(
            "48 47 0:29 /docker/a {root}/first\\040group rw - cgroup cgroup rw,pids\n\
             49 47 0:30 /docker {root}/unrelated rw - cgroup cgroup rw,cpu\n\
             50 47 0:31 / {root}/second rw,relatime shared:4 - cgroup2 cgroup rw\n\
             51 47 0:29 /other {root}/unrelated rw - cgroup cgroup rw,pids\n\
             garbage\n52 - cgroup\n"
        );
        let of = |groups| {
            let empty = tree.0.join("nothing is mounted here");
            narrowest(
                &empty,
                groups,
                || mounts.clone(),
                "pids",
                |folder| {
                    let text = fs::read_to_string(folder.join("pids.max")).ok()?;
                    text.parse::<u64>().ok()
                },
            )
        };
        assert_eq!(of("7:pids:/docker/a/b\n"), Some(20));
        assert_eq!(of("7:pids:/docker/a\n"), Some(30));
        assert_eq!(of("7:pids:/docker/a/../a/b\n"), None);
        assert_eq!(of("7:pids:/docker\n"), None);
        assert_eq!(of("7:pids:/docker/a/b\n0::/c\n"), Some(10));
        assert_eq!(of("0::/\n"), Some(60), "as in a namespace of groups");
    }
}
