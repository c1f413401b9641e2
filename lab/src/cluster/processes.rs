//! The processes of a cluster: found by their environment and ancestry, and ended without risk to
//! others.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

/// In the environment of every process that is started for a cluster: its state folder.
pub(super) const CLUSTER: &str = "HEIST_CLUSTER";
/// In the environment of every process of a node: the node's name.
pub(super) const NODE: &str = "HEIST_NODE";
/// In the environment of a daemon that has a host name to itself and its children: that name.
/// It may not be there before the name is, or else the whole machine would be its children.
pub(super) const HOST: &str = "HEIST_HOST";

/// A process, identified beyond doubt: numbers are recycled, but not with the same start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: i32,
    /// When it started, in ticks of the kernel since the machine did.
    pub(crate) start_ticks: u64,
    /// The name of its program, as the kernel keeps it: at most 15 bytes.
    pub(crate) program: String,
}

impl Process {
    /// This very process.
    pub(super) fn current() -> anyhow::Result<Self> {
        let pid = i32::try_from(std::process::id())?;
        let entry = Entry::read(pid).context("could not read /proc/self/stat")?;
        Ok(entry.process)
    }

    /// Whether it still runs.
    pub(super) fn lives(&self) -> bool {
        Entry::read(self.pid).is_some_and(|now| now.process.start_ticks == self.start_ticks)
    }

    /// Sends a signal, unless it has ended.
    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(());
        };
        // The descriptor stays with the process that has the number now. If that is still ours, the
        // signal cannot reach another.
        let sent = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) if self.lives() => pidfd_send_signal(&descriptor, signal),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        match sent {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error)
                .with_context(|| format!("could not signal {} (pid {})", self.program, self.pid)),
        }
    }
}

/// A process of a cluster, and the node that it belongs to, if to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) process: Process,
    pub(super) node: Option<String>,
}

/// The living processes of the cluster in `folder`: those of `known` that still run, those whose
/// environment says so, those on a host that is one of theirs alone, and the
/// descendants of all. Programs that change their title overwrite their environment, and what
/// minds a job of Slurm's is no descendant, so no way alone finds all.
pub(super) fn members(folder: &Path, known: &[Member]) -> anyhow::Result<Vec<Member>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir("/proc").context("could not list /proc")? {
        let name = entry.context("could not list /proc")?.file_name();
        // A process may end meanwhile.
        let pid = name.to_str().and_then(|name| name.parse().ok());
        entries.extend(pid.and_then(Entry::read));
    }
    Ok(find(&entries, folder, known))
}

/// Ends all processes of the cluster in `folder` that `which` chooses, and returns how many:
/// asks them to, and kills them if they do not within `grace`.
pub(super) fn end(
    folder: &Path,
    known: &[Member],
    which: impl Fn(&Member) -> bool,
    grace: Duration,
) -> anyhow::Result<usize> {
    const KILLED: Duration = Duration::from_secs(10);
    let start = Instant::now();
    let mut known = known.to_vec();
    let mut asked: Vec<Process> = Vec::new();
    loop {
        // Children of those that have ended meanwhile are known from the round before.
        let found = members(folder, &known)?;
        let left: Vec<&Process> = found
            .iter()
            .filter(|member| which(member))
            .map(|member| &member.process)
            .collect();
        if left.is_empty() {
            return Ok(asked.len());
        }
        let names = || {
            left.iter()
                .map(|one| format!("{} ({})", one.program, one.pid))
        };
        anyhow::ensure!(
            start.elapsed() < grace + KILLED,
            "could not end {} within {} s of killing",
            names().collect::<Vec<_>>().join(", "),
            KILLED.as_secs()
        );
        let kill = start.elapsed() >= grace;
        if kill {
            // Stopped first, so that none can report another's death: power fails for all at once.
            for signal in [Signal::STOP, Signal::KILL] {
                left.iter().try_for_each(|process| process.signal(signal))?;
            }
        }
        for process in left {
            if !asked.contains(process) {
                if !kill {
                    process.signal(Signal::TERM)?;
                }
                asked.push(process.clone());
            }
        }
        for member in found {
            if !known.contains(&member) {
                known.push(member);
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// One process as `/proc` describes it.
#[derive(Clone, Debug)]
struct Entry {
    process: Process,
    parent: i32,
    /// Empty if it belongs to another user.
    environment: Vec<u8>,
    /// The namespace of its host name; `None` if it belongs to another user.
    host: Option<PathBuf>,
}

impl Entry {
    /// `None` if it has ended, even if not yet reaped.
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Some(Self {
            environment: fs::read(format!("/proc/{pid}/environ")).unwrap_or_default(),
            host: fs::read_link(format!("/proc/{pid}/ns/uts")).ok(),
            ..Self::parse(pid, &String::from_utf8_lossy(&stat))?
        })
    }

    /// Reads a line of the form `PID (PROGRAM) STATE PARENT ...`, whose 22nd field is the time of
    /// start. The program's name may hold anything, even brackets.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let (head, tail) = stat.rsplit_once(')')?;
        let program = head.split_once('(')?.1.to_owned();
        let mut fields = tail.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let start_ticks = fields.nth(17)?.parse().ok()?;
        let process = Process {
            pid,
            start_ticks,
            program,
        };
        Some(Self {
            process,
            parent,
            environment: Vec::new(),
            host: None,
        })
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.split(|byte| *byte == 0).find_map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            pair.strip_prefix(name)?.strip_prefix('=')
        })
    }

    /// As the environment says: `None` if it belongs to another cluster or to none, and then the
    /// node. A job of Slurm's has the environment of whoever submitted it, and what Slurm adds.
    fn membership(&self, folder: &Path) -> Option<Option<&str>> {
        let node = self.variable(NODE).or(self.variable("SLURMD_NODENAME"));
        let is_ours = self
            .variable(CLUSTER)
            .is_some_and(|of| Path::new(of) == folder);
        let configuration = self.variable("SLURM_CONF").map(Path::new);
        let is_job = configuration.is_some_and(|file| file.parent() == Some(folder));
        (is_ours || (is_job && node.is_some())).then_some(node)
    }
}

/// The node, if it is one's, of each process by its number.
type Nodes = HashMap<i32, Option<String>>;

fn find(entries: &[Entry], folder: &Path, known: &[Member]) -> Vec<Member> {
    let mut nodes = Nodes::new();
    for entry in entries {
        let said = entry.membership(folder);
        let known = known.iter().find(|known| {
            (known.process.pid, known.process.start_ticks)
                == (entry.process.pid, entry.process.start_ticks)
        });
        if said.is_some() || known.is_some() {
            let node = said.flatten().map(str::to_owned);
            let node = node.or_else(|| known.and_then(|known| known.node.clone()));
            nodes.insert(entry.process.pid, node);
        }
    }
    let own = i32::try_from(std::process::id()).ok();
    add_neighbours(entries, own, &mut nodes);
    add_descendants(entries, &mut nodes);
    // The caller may itself be one of them, and must not end itself.
    entries
        .iter()
        .filter(|entry| Some(entry.process.pid) != own)
        .filter_map(|entry| {
            nodes.get(&entry.process.pid).map(|node| Member {
                process: entry.process.clone(),
                node: node.clone(),
            })
        })
        .collect()
}

/// Adds those on the hosts of these. As one of them lives there, the number of its namespace is not
/// somebody else's by now.
fn add_neighbours(entries: &[Entry], own: Option<i32>, nodes: &mut Nodes) {
    let common = |entry: &&Entry| entry.process.pid == 1 || Some(entry.process.pid) == own;
    let common: Vec<_> = entries
        .iter()
        .filter(common)
        .map(|entry| &entry.host)
        .collect();
    let mut hosts: HashMap<_, Option<String>> = HashMap::new();
    for entry in entries {
        let is_alone = entry.variable(HOST).is_some() && entry.variable(CLUSTER).is_some();
        let is_apart = entry.host.is_some() && !common.contains(&&entry.host);
        if let (true, Some(node)) = (is_alone && is_apart, nodes.get(&entry.process.pid)) {
            let of_host = hosts.entry(&entry.host).or_default();
            *of_host = of_host.take().or(node.clone());
        }
    }
    for entry in entries {
        if let Some(of_host) = hosts.get(&entry.host) {
            let node = nodes.entry(entry.process.pid).or_default();
            *node = node.take().or(of_host.clone());
        }
    }
}

/// Adds the children of these, from parents to children, until a round brings nothing new.
fn add_descendants(entries: &[Entry], nodes: &mut Nodes) {
    let mut changed = true;
    while changed {
        changed = false;
        for entry in entries {
            let Some(of_parent) = nodes.get(&entry.parent).cloned() else {
                continue;
            };
            let present = nodes.get(&entry.process.pid);
            // One that carries the cluster's name, but has overwritten the node's, inherits it.
            if present.is_none_or(|node| node.is_none() && of_parent.is_some()) {
                nodes.insert(entry.process.pid, of_parent);
                changed = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const FOLDER: &str = "/run/heist";

    fn entry(pid: i32, parent: i32, environment: &str) -> Entry {
        let stat = format!("{pid} (a) (b) S {parent} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0\n");
        Entry {
            environment: environment.replace(' ', "\0").into_bytes(),
            ..Entry::parse(pid, &stat).unwrap()
        }
    }

    fn found(entries: &[Entry], known: &[Member]) -> Vec<(i32, Option<String>)> {
        let members = find(entries, Path::new(FOLDER), known).into_iter();
        members
            .map(|member| (member.process.pid, member.node))
            .collect()
    }

    #[test]
    fn a_program_with_brackets_in_its_name_is_read() {
        let process = entry(3, 1, "").process;
        assert_eq!((process.start_ticks, &*process.program), (77, "a) (b"));
    }

    #[test]
    fn processes_are_found_by_their_environment_and_as_descendants() {
        let entries = [
            // A grandchild comes before its parent.
            entry(5, 6, ""),
            entry(6, 2, ""),
            entry(2, 1, "HEIST_CLUSTER=/run/heist HEIST_NODE=n1"),
            entry(3, 1, "HEIST_CLUSTER=/run/heist"),
            entry(4, 1, "HEIST_CLUSTER=/run/other HEIST_NODE=n1"),
            // A job of Slurm's, and one who only talks to Slurm.
            entry(7, 1, "SLURM_CONF=/run/heist/slurm.conf SLURMD_NODENAME=n2"),
            entry(8, 1, "SLURM_CONF=/run/heist/slurm.conf"),
            // One that has overwritten the name of its node.
            entry(9, 2, "HEIST_CLUSTER=/run/heist"),
        ];
        let n = |name: &str| Some(name.to_owned());
        assert_eq!(
            found(&entries, &[]),
            [
                (5, n("n1")),
                (6, n("n1")),
                (2, n("n1")),
                (3, None),
                (7, n("n2")),
                (9, n("n1"))
            ]
        );
    }

    #[test]
    fn processes_are_found_by_the_host_that_they_share_with_others() {
        let host = |entry: Entry, host: &str| Entry {
            host: Some(PathBuf::from(host)),
            ..entry
        };
        let own = i32::try_from(std::process::id()).unwrap();
        let daemon = |node| format!("HEIST_CLUSTER=/run/heist HEIST_HOST=h HEIST_NODE={node}");
        let entries = [
            host(entry(own, 1, ""), "uts:[1]"),
            host(entry(2, 1, ""), "uts:[2]"),
            host(entry(3, 1, &daemon("n1")), "uts:[2]"),
            // One that has overwritten the name of its node, but not that of its cluster.
            host(
                entry(9, 1, "HEIST_CLUSTER=/run/heist HEIST_HOST=h"),
                "uts:[2]",
            ),
            // Our own host is nobody else's, whatever somebody says.
            host(entry(4, 1, &daemon("n2")), "uts:[1]"),
            host(entry(5, 1, ""), "uts:[1]"),
            // One that shares its host with the rest of the machine, seen from another.
            host(
                entry(6, 1, "HEIST_CLUSTER=/run/heist HEIST_NODE=n3"),
                "uts:[3]",
            ),
            host(entry(7, 1, ""), "uts:[3]"),
            entry(8, 1, ""),
        ];
        let n = |name: &str| Some(name.to_owned());
        assert_eq!(
            found(&entries, &[]),
            [
                (2, n("n1")),
                (3, n("n1")),
                (9, n("n1")),
                (4, n("n2")),
                (6, n("n3"))
            ]
        );
    }

    #[test]
    fn a_known_process_is_found_and_a_recycled_number_is_not() {
        let entries = [entry(2, 1, ""), entry(3, 1, "")];
        let known = |pid, start_ticks| Member {
            process: Process {
                pid,
                start_ticks,
                program: "raylet".to_owned(),
            },
            node: Some("n3".to_owned()),
        };
        let expected = [(2, Some("n3".to_owned()))];
        assert_eq!(found(&entries, &[known(2, 77), known(3, 76)]), expected);
    }

    #[test]
    fn a_process_whose_number_was_recycled_is_neither_alive_nor_signalled() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let process = Entry::read(pid).unwrap().process;
        let older = Process {
            start_ticks: process.start_ticks - 1,
            ..process.clone()
        };
        assert!(process.lives() && !older.lives());
        older.signal(Signal::KILL).unwrap();
        // It still answers the end of its input with a good end of its own.
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        process.signal(Signal::KILL).unwrap();
    }

    #[test]
    fn ending_reaches_a_process_that_ignores_requests_and_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; env -i cat; cat"])
            .stdin(Stdio::piped())
            .env(CLUSTER, folder.path())
            .env(NODE, "n1")
            .spawn()
            .unwrap();
        let elsewhere = |member: &Member| member.node.as_deref() == Some("n2");
        assert_eq!(
            end(folder.path(), &[], elsewhere, Duration::ZERO).unwrap(),
            0
        );
        end(folder.path(), &[], |_| true, Duration::from_millis(100)).unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(members(folder.path(), &[]).unwrap(), []);
    }
}
