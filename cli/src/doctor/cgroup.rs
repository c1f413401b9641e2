//! The CPU quotas of the control groups (versions 1 and 2) that hold this process.
//!
//! A quota binds everything below it, so the tightest one on the way from the
//! process's own group up to the root is the one that counts. Groups above what
//! is mounted here are out of sight.

use serde::Serialize;

use super::tree::{excerpt, parse_number, Tree};

/// The groups that hold this process, and the quotas found on the way up.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Quotas {
    pub(crate) groups: Vec<Group>,
    pub(crate) limits: Vec<Limit>,
}

/// The group of this process in one hierarchy that can hold CPU quotas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Group {
    pub(crate) version: u8,
    /// As the kernel names it.
    pub(crate) path: String,
    /// Where it is seen in the file system; `None` if its hierarchy is not mounted.
    pub(crate) folder: Option<String>,
}

/// One quota: so much CPU time in each period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Limit {
    pub(crate) version: u8,
    /// The folder of the group that sets it.
    pub(crate) folder: String,
    pub(crate) quota_us: u64,
    pub(crate) period_us: u64,
    /// The quota as a number of CPUs.
    pub(crate) cpus: f64,
}

impl Quotas {
    pub(crate) fn read(tree: &mut Tree) -> Self {
        let mounts = tree
            .parse("/proc/self/mountinfo", parse_mounts)
            .unwrap_or_default();
        let memberships = tree
            .parse("/proc/self/cgroup", parse_memberships)
            .unwrap_or_default();
        let mut quotas = Self::default();
        for (version, path) in memberships {
            let seen = mounts
                .iter()
                .filter(|mount| mount.version == version)
                .find_map(|mount| Some((mount, below(&path, &mount.root)?)));
            let folder = seen.map(|(mount, below)| format!("{}{below}", mount.point));
            if let (Some((mount, _)), Some(folder)) = (seen, &folder) {
                quotas.climb(tree, version, folder, &mount.point);
            }
            quotas.groups.push(Group {
                version,
                path,
                folder,
            });
        }
        quotas
    }

    /// The limit that counts.
    pub(crate) fn tightest(&self) -> Option<&Limit> {
        self.limits.iter().min_by(|a, b| a.cpus.total_cmp(&b.cpus))
    }

    /// Collects the limits from `folder` up to the mount point, inclusive.
    fn climb(&mut self, tree: &mut Tree, version: u8, folder: &str, mount_point: &str) {
        let mut folder = folder;
        loop {
            self.limits.extend(read_limit(tree, version, folder));
            if folder.len() <= mount_point.len() {
                return;
            }
            folder = &folder[..folder.rfind('/').unwrap_or(0)];
        }
    }
}

impl Limit {
    /// How many workers it is worth having under this limit: whole CPUs, at least one.
    pub(crate) fn whole_cpus(&self) -> u64 {
        (self.quota_us / self.period_us).max(1)
    }
}

/// A mounted hierarchy that can hold CPU quotas.
#[derive(Debug)]
struct Mount {
    version: u8,
    /// Which group of the hierarchy is seen at the mount point.
    root: String,
    /// Without a slash at the end, so that a path can be appended.
    point: String,
}

fn read_limit(tree: &mut Tree, version: u8, folder: &str) -> Option<Limit> {
    let (quota_us, period_us) = if version == 2 {
        tree.parse(&format!("{folder}/cpu.max"), parse_cpu_max)??
    } else {
        // -1 stands for no quota.
        let quota_us = tree.parse(&format!("{folder}/cpu.cfs_quota_us"), |text| match text {
            "-1" => Ok(None),
            _ => parse_number(text).map(Some),
        })??;
        let period_us = tree.parse(&format!("{folder}/cpu.cfs_period_us"), parse_period)?;
        (quota_us, period_us)
    };
    let cpus = quota_us as f64 / period_us as f64;
    Some(Limit {
        version,
        folder: folder.to_owned(),
        quota_us,
        period_us,
        cpus,
    })
}

/// `max 100000` or `150000 100000`: quota and period.
fn parse_cpu_max(text: &str) -> Result<Option<(u64, u64)>, String> {
    let Some((quota, period)) = text.split_once(' ') else {
        return Err(format!(
            "expected a quota and a period, found {}",
            excerpt(text)
        ));
    };
    let period = parse_period(period)?;
    match quota {
        "max" => Ok(None),
        _ => Ok(Some((parse_number(quota)?, period))),
    }
}

fn parse_period(text: &str) -> Result<u64, String> {
    match parse_number(text)? {
        0 => Err("the period is 0".to_owned()),
        period => Ok(period),
    }
}

/// The groups of the process that may have a CPU quota: lines `ID:CONTROLLERS:PATH`.
fn parse_memberships(text: &str) -> Result<Vec<(u8, String)>, String> {
    let mut memberships = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(format!(
                "expected ID:CONTROLLERS:PATH, found {}",
                excerpt(line)
            ));
        };
        // Only version 2 has a line without controllers.
        if controllers.is_empty() {
            memberships.push((2, path.to_owned()));
        } else if controllers.split(',').any(|name| name == "cpu") {
            memberships.push((1, path.to_owned()));
        }
    }
    Ok(memberships)
}

/// The mounts of interest in a mount table, whose lines are
/// `ID PARENT DEVICE ROOT POINT OPTIONS [FIELDS..] - TYPE SOURCE SUPER-OPTIONS`.
fn parse_mounts(text: &str) -> Result<Vec<Mount>, String> {
    let mut mounts = Vec::new();
    for line in text.lines() {
        let malformed = || format!("expected a line of a mount table, found {}", excerpt(line));
        let (left, right) = line.split_once(" - ").ok_or_else(malformed)?;
        let mut right = right.split(' ');
        let version = match right.next() {
            Some("cgroup2") => 2,
            Some("cgroup")
                if right
                    .nth(1)
                    .is_some_and(|o| o.split(',').any(|o| o == "cpu")) =>
            {
                1
            }
            Some(_) => continue,
            None => return Err(malformed()),
        };
        let mut left = left.split(' ').skip(3);
        let (Some(root), Some(point)) = (left.next(), left.next()) else {
            return Err(malformed());
        };
        let point = unescape(point).trim_end_matches('/').to_owned();
        // The last of several at one point hides the others.
        mounts.retain(|mount: &Mount| mount.point != point);
        mounts.push(Mount {
            version,
            root: unescape(root),
            point,
        });
    }
    Ok(mounts)
}

/// Mount tables write a space, a tab, a line feed and a backslash in octal.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

/// The rest of `path` below `root`, as `/a/b` or empty; `None` if it is not below.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    // A path through `..` leads to a group outside of what this process may see.
    if rest.split('/').any(|name| name == "..") {
        return None;
    }
    match rest {
        "" | "/" => Some(""),
        _ if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_mounts;

    #[test]
    fn the_last_of_several_mounts_at_one_point_is_the_one_that_is_seen() {
        let line = |root| format!("31 22 0:28 {root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let mounts = parse_mounts(&(line("/") + &line("/docker/abc"))).unwrap();
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].root, "/docker/abc");
    }
}
