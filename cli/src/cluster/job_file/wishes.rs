//! Keys that jobs and calls of a job file share: resources, pauses before retries, times.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use heist_cluster::backend::Needs;
use heist_run::usage::Usage;
use toml::Spanned;

use super::source::Source;

/// Resources by name, and how many of each.
pub(super) type Resources = BTreeMap<String, NonZeroU32>;

/// The time that the key `name` gives in seconds.
pub(super) fn time(
    source: &Source<'_>,
    name: &str,
    seconds: &Spanned<f64>,
) -> Result<Duration, Usage> {
    let time = Duration::try_from_secs_f64(*seconds.get_ref()).ok();
    let time = time.filter(|time| time.as_millis() > 0);
    time.ok_or_else(|| {
        let seconds_given = seconds.get_ref();
        let what = format!("{name} = {seconds_given}; a thousandth of a second is the least");
        source.error(&seconds.span(), what)
    })
}

/// The first and the longest pause before a retry.
pub(super) fn backoff(
    source: &Source<'_>,
    seconds: &Spanned<[f64; 2]>,
) -> Result<(Duration, Duration), Usage> {
    let [first, longest] = seconds.get_ref().map(Duration::try_from_secs_f64);
    match (first, longest) {
        (Ok(first), Ok(longest)) if first <= longest => Ok((first, longest)),
        _ => {
            let given = seconds.get_ref();
            let what = format!(
                "backoff_s = {given:?}; the first and the longest pause in seconds are expected, \
                 such as [0.5, 60]"
            );
            Err(source.error(&seconds.span(), what))
        }
    }
}

/// The bytes of so many mebibytes.
pub(super) fn bytes(source: &Source<'_>, mib: &Spanned<NonZeroU64>) -> Result<u64, Usage> {
    mib.get_ref().get().checked_mul(1 << 20).ok_or_else(|| {
        let what = format!(
            "memory_mib = {}; {} is the most",
            mib.get_ref(),
            u64::MAX >> 20
        );
        source.error(&mib.span(), what)
    })
}

/// The named resources, if there can be such.
pub(super) fn resources<'a>(
    source: &Source<'_>,
    resources: Option<&'a Spanned<Resources>>,
) -> Result<impl Iterator<Item = (&'a str, u32)> + use<'a>, Usage> {
    if let Some(given) = resources {
        let mut needs = Needs::default();
        let named = given.get_ref().iter();
        needs.named = named
            .map(|(name, count)| (name.clone(), count.get()))
            .collect();
        if let Some(fault) = needs.fault() {
            return Err(source.error(&given.span(), fault));
        }
    }
    let named = resources.into_iter().flat_map(Spanned::get_ref);
    Ok(named.map(|(name, count)| (name.as_str(), count.get())))
}
