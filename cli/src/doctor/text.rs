//! The report as text: one aligned screen, long lists cut short (the JSON has them whole).

use std::fmt::Write as _;
use std::io::{self, Write};

use super::cgroup::{Group, Limit};
use super::cpu_list::CpuList;
use super::environment::{Environment, Reader, State, Variable};
use super::page::Page;
use super::report::{round, Report};
use super::topology::{Cache, NumaNode, Topology};
use super::tree::Unreadable;

/// How many entries of a list are shown before the rest is only counted.
const SHOWN: usize = 6;
const UNKNOWN: &str = "not shown by this system";

pub(crate) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut page = Page { out };
    let topology = &report.topology;
    writeln!(page.out, "{}", headline(report))?;
    writeln!(page.out)?;

    let pool = &report.default_pool;
    let workers = match pool.workers {
        Some(1) => "1 worker by default".to_owned(),
        Some(count) => format!("{count} workers by default"),
        None => "NONE, it cannot start".to_owned(),
    };
    page.row("pool", &format!("{workers}: {}", pool.reason))?;
    page.row("cores", &cores(topology))?;
    page.row("SMT", &smt(topology))?;
    page.row("affinity", &affinity(topology))?;
    page.rows("CPU quota", quota(report))?;
    page.rows("NUMA", numa(topology.numa_nodes.as_deref()))?;
    page.rows("caches", caches(&topology.caches))?;
    if let Some(place) = &report.place {
        place.write_rows(&mut page)?;
    }
    page.row("barrier", &barrier(report))?;

    settings(&mut page, &report.environment)?;
    unreadable(&mut page, &report.unreadable)?;
    report
        .place
        .iter()
        .try_for_each(|place| place.write_notes(&mut page))
}

fn settings(page: &mut Page<'_, impl Write>, environment: &Environment) -> io::Result<()> {
    for (reader, heading) in [
        (Reader::Pools, "settings"),
        (
            Reader::StandIn,
            "settings of the stand-in for rayon-core alone",
        ),
        (Reader::Tests, "settings of checks of schedules, in tests"),
        (Reader::Clusters, "settings of clusters"),
    ] {
        writeln!(page.out, "\n{heading}")?;
        let known = environment.known.iter();
        for variable in known.filter(|variable| variable.read_by == reader) {
            setting(page, variable)?;
        }
    }
    for internal in &environment.internal {
        page.hanging(&format!(
            "{} = {}, which is not for you to set: {}",
            internal.name, internal.value, internal.why
        ))?;
    }
    for stranger in &environment.unknown {
        writeln!(
            page.out,
            "  {} is unknown to heist and changes nothing; the nearest is {}",
            stranger.name, stranger.nearest
        )?;
    }
    Ok(())
}

fn unreadable(page: &mut Page<'_, impl Write>, files: &[Unreadable]) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    writeln!(page.out, "\nunreadable, and so left out above")?;
    for file in files.iter().take(SHOWN) {
        writeln!(page.out, "  {}: {}", file.path, file.why)?;
    }
    if let Some(more) = files.len().checked_sub(SHOWN + 1) {
        writeln!(page.out, "  and {} more; --json has them all", more + 1)?;
    }
    Ok(())
}

/// One variable: in full if every pool reads it or its value is bad, else in brief.
fn setting(page: &mut Page<'_, impl Write>, variable: &Variable) -> io::Result<()> {
    let value = match (&variable.value, variable.complaint()) {
        (None, _) => "unset".to_owned(),
        (Some(value), None) => value.clone(),
        (Some(value), Some(complaint)) => format!("{value:?} {complaint}"),
    };
    let (name, changes) = (variable.name, variable.changes);
    if variable.state != State::Malformed && variable.read_by != Reader::Pools {
        return page.hanging(&format!("{name} = {value}: {changes}"));
    }
    writeln!(page.out, "  {name} = {value}")?;
    page.row("", &format!("changes {changes}"))?;
    page.row("", &format!("accepts {}", variable.accepts))
}

fn headline(report: &Report) -> String {
    let host = &report.host;
    let mut line = format!("heist {} on {}", report.heist_version, host.os);
    if let Some(kernel) = &report.kernel {
        let _ = write!(line, " {kernel}");
    }
    let _ = write!(line, ", {}", host.architecture);
    if let Some(page_bytes) = host.page_bytes {
        let _ = write!(line, ", pages of {}", bytes(page_bytes as u64));
    }
    line
}

fn cores(topology: &Topology) -> String {
    let mut parts = Vec::new();
    if let Some(online) = &topology.online {
        parts.push(format!("{} logical ({online})", online.len()));
    }
    if let Some(cores) = &topology.cores {
        parts.push(format!("{} physical", cores.len()));
    }
    if let Some(sockets) = topology.sockets {
        let noun = if sockets == 1 { "socket" } else { "sockets" };
        parts.push(format!("{sockets} {noun}"));
    }
    match parts.is_empty() {
        true => UNKNOWN.to_owned(),
        false => parts.join(", "),
    }
}

fn smt(topology: &Topology) -> String {
    let Some(cores) = &topology.cores else {
        return UNKNOWN.to_owned();
    };
    match topology.threads_per_core() {
        None | Some(1) => "none: one logical CPU per core".to_owned(),
        Some(threads) => format!(
            "{threads} logical CPUs share a core: {}",
            shortened(cores, " ")
        ),
    }
}

fn affinity(topology: &Topology) -> String {
    let Some(affinity) = &topology.affinity else {
        return UNKNOWN.to_owned();
    };
    let mut text = format!("CPUs {affinity}: {}", affinity.len());
    if let Some(online) = &topology.online {
        let _ = write!(text, " of {} that are online", online.len());
    }
    if let Some(cores) = &topology.cores {
        let used = cores.iter().filter(|core| core.intersects(affinity));
        let _ = write!(text, ", on {} of {} cores", used.count(), cores.len());
    }
    text
}

fn quota(report: &Report) -> Vec<String> {
    let quotas = &report.quotas;
    let group = |group: &Group| {
        let out_of_sight = match group.folder {
            Some(_) => "",
            None => " (out of sight)",
        };
        format!("cgroup v{} {}{out_of_sight}", group.version, group.path)
    };
    let groups: Vec<String> = quotas.groups.iter().map(group).collect();
    let Some(tightest) = quotas.tightest() else {
        return vec![match groups.is_empty() {
            true => "none: no control group is in sight".to_owned(),
            false => format!("none up to the root of {}", groups.join(" and ")),
        }];
    };
    let describe = |limit: &Limit| {
        format!(
            "{} CPUs = {} us in {} us, set by {}",
            round(limit.cpus),
            limit.quota_us,
            limit.period_us,
            limit.folder
        )
    };
    let mut rows = vec![describe(tightest)];
    let others = quotas.limits.iter().filter(|limit| *limit != tightest);
    rows.extend(others.map(|limit| format!("not tighter: {}", describe(limit))));
    cut(rows)
}

fn numa(nodes: Option<&[NumaNode]>) -> Vec<String> {
    let Some(nodes) = nodes else {
        return vec![UNKNOWN.to_owned()];
    };
    let row = |node: &NumaNode| {
        let cpus = match &node.cpus {
            Some(cpus) if cpus.is_empty() => "no CPUs".to_owned(),
            Some(cpus) => format!("CPUs {cpus}"),
            None => "CPUs unknown".to_owned(),
        };
        let memory = node.memory_bytes.map_or("unknown".to_owned(), bytes);
        format!("node {}  {:>9}  {cpus}", node.id, memory)
    };
    cut(nodes.iter().map(row).collect())
}

fn caches(caches: &[Cache]) -> Vec<String> {
    if caches.is_empty() {
        return vec![UNKNOWN.to_owned()];
    }
    let row = |cache: &Cache| {
        let kind = match cache.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let name = format!("L{}{kind}", cache.level);
        let shared_by = match cache.shared_by.as_slice() {
            [all] => format!("shared by {all}"),
            several if several.iter().all(|cpus| cpus.len() == 1) => "one per CPU".to_owned(),
            several => format!(
                "{} of them, shared by {}",
                several.len(),
                shortened(several, " ")
            ),
        };
        format!("{name:4} {:>9}  {shared_by}", bytes(cache.size_bytes))
    };
    caches.iter().map(row).collect()
}

fn barrier(report: &Report) -> String {
    let offered = match (report.host.membarrier, report.host.os) {
        (Some(true), _) => "the kernel offers membarrier (PRIVATE_EXPEDITED)",
        (Some(false), _) => "membarrier is not offered (Linux before 4.14, or a sandbox)",
        (None, "windows") => "the system's is FlushProcessWriteBuffers",
        (None, _) => "this system has no membarrier",
    };
    match &report.default_pool.barrier {
        Some(mode) => format!("{mode}; {offered}"),
        None => offered.to_owned(),
    }
}

/// The first few sets, and how many more there are.
fn shortened(lists: &[CpuList], separator: &str) -> String {
    let shown: Vec<String> = lists.iter().take(SHOWN).map(CpuList::to_string).collect();
    let mut text = shown.join(separator);
    if lists.len() > SHOWN {
        let _ = write!(text, " and {} more", lists.len() - SHOWN);
    }
    text
}

/// The first few rows, and how many more there are.
fn cut(mut rows: Vec<String>) -> Vec<String> {
    if rows.len() > SHOWN {
        let more = rows.len() - SHOWN;
        rows.truncate(SHOWN);
        rows.push(format!("and {more} more"));
    }
    rows
}

/// `48 KiB`, `23.5 GiB`: one decimal unless the number is whole.
fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut amount = count as f64 / 1024.0;
    while amount >= 1024.0 && unit + 1 < units.len() {
        amount /= 1024.0;
        unit += 1;
    }
    let text = format!("{amount:.1}");
    format!("{} {}", text.trim_end_matches(".0"), units[unit])
}
