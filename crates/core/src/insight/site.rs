//! Sites: the places in a program where jobs are made.

use std::any::type_name;
use std::sync::{Mutex, PoisonError};

/// A place where jobs are made, known by the closure that is given to heist there. It is static
/// data of each operation.
pub(crate) struct Site {
    /// The name of the closure's type.
    name: fn() -> &'static str,
    kind: &'static str,
}

/// The number of a site, in order of appearance.
pub(crate) type SiteId = u16;

/// The number for all that runs in no job of a site.
pub(crate) const ROOT: SiteId = 0;
/// The sites for which there are no numbers left.
pub(crate) const OTHERS: SiteId = 1;
/// No site has this number.
pub(crate) const NONE: SiteId = SiteId::MAX;

/// The most sites that are told apart.
pub(crate) const SITES_MAX: usize = 1000;

/// Names and kinds, by number. Sites of the same name and kind have the same number.
static KNOWN: Mutex<Vec<(&'static str, &'static str)>> = Mutex::new(Vec::new());

const FIRST: [(&str, &str); 2] = [("(outside any fork)", "root"), ("(other sites)", "other")];

impl Site {
    /// The site at which `kind` is given an `F`.
    pub(crate) const fn of<F>(kind: &'static str) -> Self {
        let name = type_name::<F>;
        Self { name, kind }
    }

    /// The number of this site.
    pub(crate) fn id(&self) -> SiteId {
        let site = ((self.name)(), self.kind);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            known.extend(FIRST);
        }
        let number = known.iter().position(|&other| other == site);
        let number = number.unwrap_or_else(|| {
            known.push(site);
            known.len() - 1
        });
        if number < SITES_MAX {
            number as SiteId
        } else {
            OTHERS
        }
    }

    /// The names and kinds of all sites that have numbers, and how many have none.
    pub(crate) fn known() -> (Vec<(&'static str, &'static str)>, usize) {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sites = known.clone();
        if sites.is_empty() {
            sites.extend(FIRST);
        }
        let others = sites.len().saturating_sub(SITES_MAX);
        sites.truncate(SITES_MAX);
        (sites, others)
    }
}
