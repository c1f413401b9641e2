//! Machines made up as trees of files, and doctor's report on each.

mod settings;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use heist_run::usage::Usage;
use tempfile::TempDir;

use super::environment::Environment;
use super::host::{BuiltPool, Host};
use super::report::Report;
use super::show_place;
use super::text;
use super::tree::Tree;

/// A machine under construction.
struct Machine {
    root: TempDir,
    /// The number from the standard library, which heist uses.
    workers: usize,
}

impl Machine {
    /// Nothing but what the standard library says.
    fn bare(workers: usize) -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            workers,
        }
    }

    fn file(self, path: &str, text: &str) -> Self {
        self.bytes(path, text.as_bytes())
    }

    fn bytes(self, path: &str, bytes: &[u8]) -> Self {
        let path = self.root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Adds a CPU with a cache of its own at level 1 and a socket's at level 3.
    fn cpu(self, cpu: u32, siblings: &str, socket: u32, socket_cpus: &str) -> Self {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        self.file(&format!("{folder}/topology/core_cpus_list"), siblings)
            .file(
                &format!("{folder}/topology/physical_package_id"),
                &format!("{socket}\n"),
            )
            .cache(cpu, 0, 1, "Data", "48K", siblings)
            .cache(cpu, 3, 3, "Unified", "32768K", socket_cpus)
    }

    fn cache(self, cpu: u32, index: u32, level: u32, kind: &str, size: &str, cpus: &str) -> Self {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        self.file(&format!("{folder}/level"), &format!("{level}\n"))
            .file(&format!("{folder}/type"), &format!("{kind}\n"))
            .file(&format!("{folder}/size"), &format!("{size}\n"))
            .file(&format!("{folder}/shared_cpu_list"), &format!("{cpus}\n"))
    }

    fn node(self, node: u32, cpus: &str, memory_kib: u64) -> Self {
        let folder = format!("/sys/devices/system/node/node{node}");
        self.file(&format!("{folder}/cpulist"), &format!("{cpus}\n"))
            .file(
                &format!("{folder}/meminfo"),
                &format!("Node {node} MemTotal:   {memory_kib} kB\nNode {node} MemFree: 1 kB\n"),
            )
    }

    fn affinity(self, cpus: &str) -> Self {
        self.file(
            "/proc/self/status",
            &format!("Name:\theist\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n"),
        )
    }

    /// Two sockets of two cores of two threads each, each socket a NUMA node.
    fn two_sockets() -> Self {
        let mut machine = Self::bare(8)
            .file("/proc/sys/kernel/osrelease", "6.1.0-test\n")
            .file("/sys/devices/system/cpu/online", "0-7\n")
            .file("/sys/devices/system/cpu/cpufreq/boost", "1\n")
            .affinity("0-7")
            .file("/sys/devices/system/node/online", "0-2\n")
            .file("/sys/devices/system/node/node0/distance", "10 21 30\n")
            .file("/sys/devices/system/node/node1/distance", "21 10 30\n")
            .node(0, "0-1,4-5", 16 << 20)
            .node(1, "2-3,6-7", 16 << 20)
            .node(2, "", 8 << 20);
        for cpu in 0..8 {
            let core = cpu % 4;
            let siblings = format!("{core},{}\n", core + 4);
            let (socket, cpus) = [(0, "0-1,4-5"), (1, "2-3,6-7")][usize::from(core > 1)];
            machine = machine.cpu(cpu, &siblings, socket, cpus);
        }
        machine
    }

    fn report(&self) -> Report {
        self.report_with(&[])
    }

    fn report_with(&self, variables: &[(&str, &str)]) -> Report {
        let host = Host {
            os: "linux",
            architecture: "x86_64",
            page_bytes: Some(4096),
            available_parallelism: Some(self.workers),
            default_pool: Ok(BuiltPool {
                workers: self.workers,
                barrier: heist::BarrierMode::Membarrier,
            }),
            membarrier: Some(true),
        };
        self.report_of(host, variables)
    }

    fn report_of(&self, host: Host, variables: &[(&str, &str)]) -> Report {
        let variables = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let environment = Environment::new(variables);
        Report::new(host, Tree::new(self.root.path()), environment)
    }
}

fn text_of(report: &Report) -> String {
    let mut out = Vec::new();
    text::write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn to_strings<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

#[test]
fn two_sockets_with_smt_are_described_core_by_core() {
    let report = Machine::two_sockets().report();
    let topology = &report.topology;
    assert_eq!(topology.online.as_ref().unwrap().len(), 8);
    assert_eq!(
        to_strings(topology.cores.as_ref().unwrap()),
        ["0,4", "1,5", "2,6", "3,7"]
    );
    assert_eq!(topology.sockets, Some(2));
    assert_eq!(topology.threads_per_core(), Some(2));

    let nodes = topology.numa_nodes.as_ref().unwrap();
    assert_eq!(nodes.len(), 3);
    assert_eq!(nodes[1].cpus.as_ref().unwrap().to_string(), "2-3,6-7");
    assert_eq!(nodes[1].memory_bytes, Some(16 << 30));
    assert!(nodes[2].cpus.as_ref().unwrap().is_empty());

    let [l1, l3] = topology.caches.as_slice() else {
        panic!("two kinds of cache, not {:?}", topology.caches);
    };
    assert_eq!(
        (l1.level, l1.size_bytes, l1.shared_by.len()),
        (1, 48 << 10, 4)
    );
    assert_eq!((l3.level, l3.size_bytes), (3, 32 << 20));
    assert_eq!(to_strings(&l3.shared_by), ["0-1,4-5", "2-3,6-7"]);

    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    let text = text_of(&report);
    for line in [
        concat!(
            "heist ",
            env!("CARGO_PKG_VERSION"),
            " on linux 6.1.0-test, x86_64, pages of 4 KiB"
        ),
        "  pool        8 workers by default: one per CPU of the affinity mask; there is no CPU quota",
        "  cores       8 logical (0-7), 4 physical, 2 sockets",
        "  SMT         2 logical CPUs share a core: 0,4 1,5 2,6 3,7",
        "  affinity    CPUs 0-7: 8 of 8 that are online, on 4 of 4 cores",
        "  NUMA        node 0     16 GiB  CPUs 0-1,4-5",
        "              node 2      8 GiB  no CPUs",
        "  caches      L1d     48 KiB  4 of them, shared by 0,4 1,5 2,6 3,7",
        "              L3      32 MiB  2 of them, shared by 0-1,4-5 2-3,6-7",
        "  victims     of a worker pinned to CPU 0, in order: 4 (SMT); 1,5 (cache); 2-3,6-7 (node at 21)",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\nnot in\n{text}");
    }
}

#[test]
fn a_cpu_that_is_switched_off_counts_neither_as_logical_nor_as_physical() {
    let report = Machine::bare(1)
        .file("/sys/devices/system/cpu/online", "0\n")
        .cpu(0, "0\n", 0, "0")
        .file("/sys/devices/system/cpu/cpu1/uevent", "")
        .affinity("0-1")
        .report();
    assert!(text_of(&report).contains("CPUs 0: 1 of 1 that are online, on 1 of 1 cores"));
    assert_eq!(report.topology.cores.as_ref().unwrap().len(), 1);
    assert_eq!(report.topology.online.as_ref().unwrap().len(), 1);
}

#[test]
fn an_affinity_mask_on_siblings_of_one_core_is_one_core() {
    let report = Machine::two_sockets().affinity("1,5").report();
    let text = text_of(&report);
    assert!(
        text.contains("CPUs 1,5: 2 of 8 that are online, on 1 of 4 cores"),
        "{text}"
    );
}

#[test]
fn the_tightest_ancestor_sets_the_quota_of_version_2() {
    let mut machine = Machine::two_sockets()
        .file("/proc/self/cgroup", "0::/tenant/job/step\n")
        .file(
            "/proc/self/mountinfo",
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             31 22 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        )
        .file("/sys/fs/cgroup/tenant/cpu.max", "350000 100000\n")
        .file("/sys/fs/cgroup/tenant/job/cpu.max", "600000 100000\n")
        .file("/sys/fs/cgroup/tenant/job/step/cpu.max", "max 100000\n")
        // The siblings' limits are none of ours.
        .file("/sys/fs/cgroup/tenant/other/cpu.max", "10000 100000\n");
    machine.workers = 3;
    let report = machine.report();
    let tightest = report.quotas.tightest().unwrap();
    assert_eq!(tightest.folder, "/sys/fs/cgroup/tenant");
    assert_eq!(tightest.whole_cpus(), 3);
    assert_eq!(report.quotas.limits.len(), 2);
    assert_eq!(report.default_pool.workers, Some(3));
    assert!(
        report.default_pool.reason.contains("quota of 3.5 CPUs"),
        "{}",
        report.default_pool.reason
    );
    let text = text_of(&report);
    assert!(
        text.contains("3.5 CPUs = 350000 us in 100000 us, set by /sys/fs/cgroup/tenant\n"),
        "{text}"
    );
    assert!(text.contains("not tighter: 6 CPUs"), "{text}");
}

#[test]
fn a_container_that_sees_its_own_group_as_root_finds_the_quota_there() {
    let mut machine = Machine::two_sockets()
        .file("/proc/self/cgroup", "0::/docker/abc/inner\n")
        .file(
            "/proc/self/mountinfo",
            "31 22 0:28 /docker/abc /sys/fs/cgroup\\040here ro - cgroup2 cgroup rw\n",
        )
        .file("/sys/fs/cgroup here/cpu.max", "50000 100000\n");
    machine.workers = 1;
    let report = machine.report();
    let tightest = report.quotas.tightest().unwrap();
    assert_eq!(tightest.folder, "/sys/fs/cgroup here");
    assert_eq!(tightest.whole_cpus(), 1);
    assert!(report.default_pool.reason.contains("quota of 0.5 CPUs"));
}

#[test]
fn version_1_keeps_quota_and_period_in_two_files_and_writes_no_quota_as_minus_one() {
    let mut machine = Machine::two_sockets()
        .file(
            "/proc/self/cgroup",
            "9:name=systemd:/\n5:cpuset:/elsewhere\n4:cpu,cpuacct:/batch/a:b\n0::/\n",
        )
        .file(
            "/proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
             33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        )
        .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
        .file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        .file(
            "/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us",
            "400000\n",
        )
        .file(
            "/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us",
            "200000\n",
        )
        .file(
            "/sys/fs/cgroup/cpu,cpuacct/batch/a:b/cpu.cfs_quota_us",
            "-1\n",
        )
        .file(
            "/sys/fs/cgroup/cpu,cpuacct/batch/a:b/cpu.cfs_period_us",
            "100000\n",
        );
    machine.workers = 2;
    let report = machine.report();
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    let [limit] = report.quotas.limits.as_slice() else {
        panic!("one limit, not {:?}", report.quotas.limits);
    };
    assert_eq!((limit.version, limit.whole_cpus()), (1, 2));
    assert_eq!(limit.folder, "/sys/fs/cgroup/cpu,cpuacct/batch");
    assert!(report.default_pool.reason.contains("quota of 2 CPUs"));
}

#[test]
fn a_group_outside_of_what_is_mounted_is_said_to_be_out_of_sight() {
    let report = Machine::two_sockets()
        .file("/proc/self/cgroup", "0::/../neighbour\n")
        .file(
            "/proc/self/mountinfo",
            "31 22 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        )
        .file("/sys/fs/cgroup/cpu.max", "100000 100000\n")
        .report();
    assert!(report.quotas.tightest().is_none());
    let text = text_of(&report);
    assert!(
        text.contains("cgroup v2 /../neighbour (out of sight)"),
        "{text}"
    );
}

#[test]
fn a_machine_without_numa_folder_or_topology_says_so_and_still_counts_workers() {
    let report = Machine::bare(4).report();
    assert!(report.topology.numa_nodes.is_none());
    assert!(report.topology.cores.is_none());
    assert_eq!(report.default_pool.workers, Some(4));
    assert!(report.unreadable.is_empty());
    let text = text_of(&report);
    for label in ["cores", "SMT", "affinity", "NUMA", "caches"] {
        assert!(
            text.contains(&format!("  {label:10}  not shown by this system\n")),
            "{text}"
        );
    }
    assert!(text.contains("no control group is in sight"), "{text}");
}

#[test]
fn garbage_is_reported_as_unreadable_and_costs_nothing_else() {
    let report = Machine::two_sockets()
        .bytes(
            "/sys/devices/system/node/node0/meminfo",
            &[0xff, 0xfe, 0x00],
        )
        .file("/sys/devices/system/node/node1/cpulist", "4-1\n")
        .file("/sys/devices/system/cpu/cpu3/cache/index3/size", "lots\n")
        .file("/proc/self/cgroup", "nonsense\n")
        .file("/proc/self/mountinfo", "also nonsense\n")
        .report();
    let paths: Vec<&str> = report.unreadable.iter().map(|file| &*file.path).collect();
    assert_eq!(
        paths,
        [
            "/sys/devices/system/cpu/cpu3/cache/index3/size",
            "/sys/devices/system/node/node0/meminfo",
            "/sys/devices/system/node/node1/cpulist",
            "/proc/self/mountinfo",
            "/proc/self/cgroup",
        ]
    );
    assert_eq!(report.topology.cores.as_ref().unwrap().len(), 4);
    let nodes = report.topology.numa_nodes.as_ref().unwrap();
    assert_eq!(nodes[0].cpus.as_ref().unwrap().len(), 4);
    assert_eq!(nodes[0].memory_bytes, None);
    let text = text_of(&report);
    assert!(
        text.contains("node1/cpulist: expected CPUs such as 0-3,8, found \"4-1\""),
        "{text}"
    );
}

#[test]
fn a_period_of_zero_is_unreadable_rather_than_a_division_by_zero() {
    let report = Machine::two_sockets()
        .file("/proc/self/cgroup", "0::/\n")
        .file(
            "/proc/self/mountinfo",
            "31 22 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        )
        .file("/sys/fs/cgroup/cpu.max", "100000 0\n")
        .report();
    assert!(report.quotas.limits.is_empty());
    assert_eq!(report.unreadable[0].why, "the period is 0");
}

#[test]
fn a_file_that_cannot_be_read_at_all_is_reported() {
    let machine = Machine::two_sockets();
    let online = machine.root.path().join("sys/devices/system/cpu/online");
    fs::remove_file(&online).unwrap();
    // Reading a folder as a file fails for everybody, root included.
    fs::create_dir(&online).unwrap();
    let report = machine.report();
    assert_eq!(report.unreadable[0].path, "/sys/devices/system/cpu/online");
    // The folder's entries stand in for the list.
    assert_eq!(report.topology.cores.as_ref().unwrap().len(), 4);
}

#[test]
fn a_number_in_the_environment_is_the_reason_and_0_is_none() {
    let machine = Machine::two_sockets();
    for value in ["8", " 8 ", "65535"] {
        let report = machine.report_with(&[("HEIST_NUM_THREADS", value)]);
        assert!(report.default_pool.reason.contains("HEIST_NUM_THREADS"));
        assert!(!report.has_trouble());
    }
    let report = machine.report_with(&[("HEIST_NUM_THREADS", "0")]);
    assert!(report.default_pool.reason.contains("affinity mask"));
    assert!(!report.has_trouble());
}

#[test]
fn a_pool_that_cannot_start_is_trouble_and_says_why() {
    let machine = Machine::two_sockets();
    let mut host = Host::ask(&Environment::new([]));
    host.default_pool = Err("membarrier was asked for and is missing".to_owned());
    host.membarrier = Some(false);
    let report = machine.report_of(host, &[("HEIST_BARRIER", "membarrier")]);
    assert!(report.has_trouble());
    let text = text_of(&report);
    assert!(
        text.contains("NONE, it cannot start: membarrier was asked for and is missing\n"),
        "{text}"
    );
    assert!(text.contains("membarrier is not offered"), "{text}");
}

#[test]
fn a_system_whose_membarrier_has_another_name_is_said_to_have_one() {
    let mut host = Host::ask(&Environment::new([]));
    (host.os, host.membarrier) = ("windows", None);
    let text = text_of(&Machine::two_sockets().report_of(host, &[]));
    assert!(text.contains("FlushProcessWriteBuffers"), "{text}");
}

#[test]
fn json_holds_every_fact_by_name() {
    let report = Machine::two_sockets().report_with(&[("HEIST_BARRIER", "loud")]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["topology"]["cores"][1], "1,5");
    assert_eq!(
        json["topology"]["numa_nodes"][1]["memory_bytes"],
        16_u64 << 30
    );
    assert_eq!(json["topology"]["caches"][1]["shared_by"][0], "0-1,4-5");
    assert_eq!(json["default_pool"]["workers"], 8);
    assert_eq!(json["environment"]["known"][2]["state"], "malformed");
    assert_eq!(json["environment"]["known"][2]["read_by"], "pools");
    assert_eq!(json["default_pool"]["barrier"], "membarrier");
    assert_eq!(json["host"]["membarrier"], true);
}

/// `heist doctor --sysroot` on a machine that was recorded for the parser's own tests.
fn recorded(name: &str) -> String {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/sync/tests/machines");
    let mut out = Vec::new();
    show_place(&machines.join(name), false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn recorded_machines_are_shown_with_the_victims_of_a_worker() {
    let hybrid = "  CPUs        0-19
  NUMA        node 0  CPUs 0-19
  core kinds  2, the fastest first: CPUs 0-11; 12-19
  victims     of a worker pinned to CPU 0, in order: 1 (SMT); 2-19 (cache)
";
    assert_eq!(recorded("hybrid.txt"), hybrid);
    let nodes = "  CPUs        0-127
  NUMA        node 0  CPUs 0-31
              node 1  CPUs 32-63
              node 2  CPUs 64-95
              node 3  CPUs 96-127
  victims     of a worker pinned to CPU 0, in order: 1-31 (cache); 32-63 (node at 16); 64-95 (node
              at 32); 96-127 (node at 33)
";
    assert_eq!(recorded("two-nodes-a-socket.txt"), nodes);
    let faulty = "  CPUs        0-7
  NUMA        node 0  CPUs 0-7
  victims     of a worker pinned to CPU 0, in order: 2 (cache); 1,3-7 (node)

assumed of the machine, which matters to pinned pools
  the NUMA nodes do not hold each processor once: all processors are taken for one
";
    assert_eq!(recorded("faulty-nodes.txt"), faulty);
    for (name, victims) in [
        ("one-socket-smt.txt", "2 (SMT); 1,3 (cache)"),
        (
            "two-sockets.txt",
            "16 (SMT); 1-7,17-23 (cache); 8-15,24-31 (node at 21)",
        ),
        (
            "chiplets.txt",
            "48 (SMT); 1-2,49-50 (cache); 3-5,51-53 (node); 6-47,54-95 (node at 20)",
        ),
        ("two-clusters.txt", "1-9 (cache); 10-19 (node)"),
        ("virtual-machine.txt", "1-3 (cache)"),
    ] {
        let text = recorded(name);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(victims), "{text}");
    }
}

/// A pool is not pinned to other CPUs than those of the mask, so a worker has no victims there.
#[test]
fn victims_are_among_the_cpus_that_the_process_may_use() {
    for (mask, victims) in [
        ("1-3,7", "CPU 1, in order: 2-3,7 (node at 21)"),
        ("6", "CPU 6, in order: none"),
    ] {
        let text = text_of(&Machine::two_sockets().affinity(mask).report());
        assert!(
            text.contains(&format!("of a worker pinned to {victims}\n")),
            "{text}"
        );
    }
}

#[test]
fn victims_that_the_system_does_not_show_are_not_said_to_be_none() {
    let text = text_of(&Machine::bare(4).affinity("0-3").report());
    assert!(
        text.contains("  victims     not shown by this system"),
        "{text}"
    );
}

#[test]
fn files_that_describe_no_machine_are_refused_and_an_endless_one_ends() {
    let empty = tempfile::tempdir().unwrap();
    for (path, says) in [
        (empty.path().to_owned(), "no processor (system/cpu/online"),
        (empty.path().join("none"), "it cannot be read"),
        #[cfg(unix)]
        ("/dev/zero".into(), "more than 67108864 bytes"),
    ] {
        let error = show_place(&path, true, &mut Vec::new()).unwrap_err();
        assert!(error.is::<Usage>(), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().contains("accepted is"), "{error}");
    }
}

#[test]
fn a_machine_of_many_cores_still_fits_on_a_screen() {
    let mut machine = Machine::bare(64)
        .file("/sys/devices/system/cpu/online", "0-63\n")
        .file("/sys/devices/system/node/online", "0-15\n")
        .affinity("0-63");
    for cpu in 0..64 {
        let core = cpu % 32;
        let siblings = format!("{core},{}", core + 32);
        let socket = core / 4;
        let (first, second) = (socket * 4, socket * 4 + 32);
        let cpus = format!("{first}-{},{second}-{}", first + 3, second + 3);
        machine = machine.cpu(cpu, &siblings, socket, &cpus);
    }
    for node in 0..16 {
        machine = machine
            .file(
                &format!("/sys/devices/system/node/node{node}/distance"),
                &"10 ".repeat(16),
            )
            .node(node, &format!("{}-{}", node * 4, node * 4 + 3), 1 << 20);
    }
    let text = text_of(&machine.report());
    // The settings that follow are the same on each machine.
    let (machine, _) = text.split_once("\nsettings\n").expect("settings");
    assert!(machine.lines().count() <= 24, "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    assert!(text.contains("and 26 more"), "{text}");
    assert!(text.contains("and 10 more"), "{text}");
}

#[test]
fn this_machine_is_read_and_a_number_asked_for_is_taken_at_its_word() {
    for (value, workers) in [("3", 3), ("60000", 60_000)] {
        let variables = [(OsString::from("HEIST_NUM_THREADS"), OsString::from(value))];
        let environment = Environment::new(variables);
        let host = Host::ask(&environment);
        let report = Report::new(host, Tree::new(Path::new("/")), environment);
        assert_eq!(report.default_pool.workers, Some(workers));
        assert!(!text_of(&report).is_empty());
    }
}
