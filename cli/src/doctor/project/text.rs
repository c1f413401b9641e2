//! The finding in words: verdict, reasons and cures, and who uses what.

use std::io::{self, Write};

use super::super::page::Page;
use super::finding::{Finding, Named, RayonCore, Verdict};

/// How many packages are named before the rest is only counted.
const SHOWN: usize = 6;

pub(super) fn write(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let mut page = Page { out };
    writeln!(page.out, "project in {}\n", finding.workspace)?;
    page.row("verdict", &verdict(finding))?;
    for reason in &finding.reasons {
        page.row("why", &reason.why)?;
        page.rows("cure", reason.cure.lines().map(String::from).collect())?;
    }
    if !finding.rayon_cores.is_empty() {
        page.row(
            "used by",
            &listed(&[&*finding.rayon, &*finding.users].concat()),
        )?;
    }
    if !finding.heist.is_empty() {
        let heist = listed(&finding.heist);
        let users = match finding.heist_users.is_empty() {
            true => "a member that nothing else uses".to_owned(),
            false => format!("used by {}", listed(&finding.heist_users)),
        };
        page.row("natively", &format!("{heist}, {users}"))?;
    }
    page.row(
        "seen",
        "the whole workspace, all features, all platforms, as Cargo.lock has them",
    )
}

fn verdict(finding: &Finding) -> String {
    let cores: Vec<String> = finding.rayon_cores.iter().map(described).collect();
    let cores = cores.join("; ");
    match finding.verdict {
        Verdict::StandIn => format!("runs on heist: {cores}"),
        Verdict::NativeOnly => "runs on heist natively: nothing uses rayon-core".to_owned(),
        Verdict::Registry | Verdict::Foreign => format!("does NOT run on heist: {cores}"),
        Verdict::Neither => "does NOT run on heist".to_owned(),
    }
}

fn described(core: &RayonCore) -> String {
    let comes = match core.is_stand_in {
        true => "is the stand-in from",
        false => "comes from",
    };
    format!("rayon-core {} {comes} {}", core.version, core.origin)
}

fn listed(packages: &[Named]) -> String {
    let shown: Vec<String> = packages.iter().take(SHOWN).map(Named::to_string).collect();
    let shown = shown.join(", ");
    match packages.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
