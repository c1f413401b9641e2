//! The finding in words: verdict, reasons and cures, and who uses what.

use std::io::{self, Write};

use super::super::page::Page;
use super::finding::{Finding, Named, Replaceable, Verdict};

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
    if !finding.rayon.is_empty() {
        page.row("iterators", &iterators(finding))?;
    }
    for reason in &finding.iterators {
        page.row("why", &reason.why)?;
        page.rows("cure", reason.cure.lines().map(String::from).collect())?;
    }
    if !finding.rayon_cores.is_empty() {
        let rayon = finding.rayon.iter().map(|it| it.package.clone());
        let users: Vec<Named> = rayon.chain(finding.users.iter().cloned()).collect();
        let users = match users.is_empty() {
            true => "a rayon that nothing else uses".to_owned(),
            false => listed(&users),
        };
        page.row("used by", &users)?;
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

fn described(it: &Replaceable) -> String {
    let comes = match it.is_stand_in {
        true => "is the stand-in from",
        false => "comes from",
    };
    format!("{} {comes} {}", it.package, it.origin)
}

/// The origin of the iterators, sorts and loops that the users of rayon have.
fn iterators(finding: &Finding) -> String {
    let rayon: Vec<String> = finding.rayon.iter().map(described).collect();
    let rayon = rayon.join("; ");
    let stand_ins = finding.rayon.iter().filter(|it| it.is_stand_in).count();
    let whose = match stand_ins {
        0 => "rayon's",
        all if all == finding.rayon.len() => return format!("heist's: {rayon}"),
        _ => "heist's and rayon's",
    };
    let users = listed(&finding.real_rayon_users);
    format!("{whose}: {rayon}; the real rayon is brought by {users}")
}

fn listed(packages: &[Named]) -> String {
    let shown: Vec<String> = packages.iter().take(SHOWN).map(Named::to_string).collect();
    let shown = shown.join(", ");
    match packages.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
