//! Advice, in sentences with numbers.
//!
//! Each piece of advice says what it would save at most: the wall time in which all workers could
//! have done what some of them did. That which saves most comes first. The gain from a faster site
//! is the model's; without one, arithmetic bounds it by the site's part of the span.

use super::losses::FORK_NS;
use super::report::{Advice, Cause, Report, Subject};
use super::simulated;
use super::trust::Trust;
use super::worth::{is_ample, of_the_span, wanted, AMPLE, LOSS_SHARE, SPAN_SHARE};
use crate::words::{count, duration, factor, percent, plural, quoted};

/// The advice, most useful first.
pub(super) fn advice(report: &Report) -> Vec<Advice> {
    let mut advice: Vec<Advice> = interference(report).into_iter().collect();
    if report.trust == Trust::NoBounds || report.work_ns == 0 {
        return advice;
    }
    let first = advice.len();
    let sites = match &report.model {
        Some(model) => simulated::advice(report, model),
        None => span(report).into_iter().collect(),
    };
    advice.extend(sites);
    let savings = [
        outside(report),
        sequential(report),
        narrow(report),
        joins(report),
        stealing(report),
        waking(report),
        growth(report),
        grain(report),
    ];
    advice.extend(savings.into_iter().flatten());
    advice[first..].sort_by(|one, other| {
        let saves = |advice: &Advice| advice.saves_ns.unwrap_or(0.0);
        saves(other).total_cmp(&saves(one))
    });
    if advice.len() == first {
        advice.extend(ample(report));
    }
    advice.extend(watching(report));
    advice.extend(coverage(report));
    advice
}

/// Advice without a saving.
fn note(about: Subject, text: String) -> Advice {
    Advice {
        about,
        text,
        saves_ns: None,
        predicted_wall_ns: None,
        simulated: false,
    }
}

/// Advice that saves wall time.
fn saving(report: &Report, about: Subject, saves_ns: f64, text: String) -> Advice {
    if report.workers_at_once == 1 {
        return note(about, text);
    }
    let predicted_wall_ns = Some(report.wall_ns as f64 - saves_ns);
    Advice {
        about,
        text,
        saves_ns: Some(saves_ns),
        predicted_wall_ns,
        simulated: false,
    }
}

/// The share of a loss and the wall time that goes with it, if the loss is worth a word.
fn lost(report: &Report, cause: Cause) -> Option<(String, f64)> {
    let part = report.part(cause);
    let saves_ns = part.ns as f64 / report.workers_at_once as f64;
    (part.share >= LOSS_SHARE).then(|| (percent(part.share), saves_ns))
}

/// The wall time that is left, in words.
fn instead(report: &Report, saves_ns: f64) -> String {
    let wall_ns = report.wall_ns as f64;
    format!(
        "{} instead of {}",
        duration(wall_ns - saves_ns),
        duration(wall_ns)
    )
}

fn interference(report: &Report) -> Option<Advice> {
    let (workers, processors) = (report.workers_at_once, report.processors);
    if processors > 0 && workers > processors && report.has_pools_at_once() {
        let text = format!(
            "Pools that run at once have {} on {}: they take time from each other. Let them share \
             one pool, or give each fewer workers.",
            plural(workers, "worker"),
            plural(processors, "processor"),
        );
        return Some(note(Subject::Oversubscription, text));
    }
    if processors > 0 && workers > processors {
        let text = format!(
            "{} share {}: they take time from each other. Set HEIST_NUM_THREADS to {} at most.",
            plural(workers, "worker"),
            plural(processors, "processor"),
            count(processors),
        );
        return Some(note(Subject::Oversubscription, text));
    }
    if report.trust == Trust::Trustworthy {
        return None;
    }
    let outcome = match report.trust {
        Trust::NoBounds => "Above 10 % no bounds and no advice are given",
        _ => "Above 2 % the figures are unreliable",
    };
    let text = format!(
        "The program's threads waited for a processor for {} of their time, and the host took {} \
         of all processors' time. {outcome}: repeat the runs on a quieter machine.",
        percent(report.disturbance.run_delay_share),
        percent(report.disturbance.host_steal_share),
    );
    Some(note(Subject::Interference, text))
}

fn outside(report: &Report) -> Option<Advice> {
    if report.outside_share < LOSS_SHARE {
        return None;
    }
    let outside_ns = report.outside_ns as f64;
    let saves_ns = outside_ns * (1.0 - 1.0 / report.workers_at_once as f64);
    let limit = report.strands().time_ns(1) / outside_ns;
    let mut text = format!(
        "For {}, {} of the wall time, no pool had a job: the program started, read, wrote, or \
         computed in one thread. With however many workers it is at most {} times as fast as with \
         one.",
        duration(outside_ns),
        percent(report.outside_share),
        factor(limit),
    );
    if report.workers_at_once > 1 {
        let left = instead(report, saves_ns);
        text.push_str(&format!(
            " Were that part done in parallel, it would take {left} at best."
        ));
    }
    Some(saving(report, Subject::Outside, saves_ns, text))
}

fn sequential(report: &Report) -> Option<Advice> {
    let (share, saves_ns) = lost(report, Cause::Sequential)?;
    let longest = report
        .sequential
        .iter()
        .find(|stretch| !stretch.before.starts_with('('));
    // How long a section of a smaller pool was is not known.
    let longest = longest.filter(|_| !report.has_pools_at_once());
    let longest = longest.map_or(String::new(), |stretch| {
        let (time, before) = (duration(stretch.wall_ns), quoted(&stretch.before));
        format!(", {time} of it before the fork at {before}")
    });
    let text = format!(
        "One worker ran alone inside its pool for {share} of the workers' time{longest}. Fork \
         earlier, or do that part in parallel: {} at best.",
        instead(report, saves_ns),
    );
    Some(saving(report, Subject::Sequential, saves_ns, text))
}

fn span(report: &Report) -> Option<Advice> {
    let site = report
        .sites
        .first()
        .filter(|site| site.span_share >= SPAN_SHARE)?;
    if is_ample(report) || report.workers_at_once == 1 && report.parallelism < 1.05 {
        return None;
    }
    let workers = report.workers_at_once as f64;
    let mut text = of_the_span(site);
    // No scheduler is faster than the work divided by the workers.
    let least_ns = report.outside_ns as f64 + report.work_ns as f64 / workers;
    let room_ns = (report.wall_ns as f64 - least_ns).max(0.0);
    let saves_ns = (site.span_ns as f64 * (1.0 - 1.0 / workers)).min(room_ns);
    if report.workers_at_once > 1 {
        text.push_str(&format!(
            " Were that divided among all, {} would take {} by arithmetic, if no other path is as \
             long.",
            plural(report.workers_at_once, "worker"),
            instead(report, saves_ns),
        ));
    }
    let rest_ns = (report.span_ns - site.span_ns.min(report.span_ns)) as f64;
    if rest_ns > 0.0 {
        let without = report.work_ns as f64 / rest_ns;
        text.push_str(&format!(
            " Without it the parallelism would be {}.",
            factor(without)
        ));
    }
    Some(saving(report, Subject::Span, saves_ns, text))
}

fn narrow(report: &Report) -> Option<Advice> {
    let (share, saves_ns) = lost(report, Cause::Narrow)?;
    let mut text = format!(
        "For {share} of the workers' time there were fewer jobs than workers. The parallelism is \
         {}; {} want {} or more.",
        factor(report.parallelism),
        plural(report.workers_at_once, "worker"),
        count(AMPLE as u64 * report.workers_at_once),
    );
    let forking = report.sites.iter().filter(|site| site.forks > 0);
    let longest = forking.max_by_key(|site| site.longest_ns);
    if let Some(site) = longest.filter(|site| site.longest_ns > 0) {
        text.push_str(&format!(
            " Cut the work into more pieces, {} first, whose longest strand takes {}.",
            quoted(&site.name),
            duration(site.longest_ns as f64)
        ));
    }
    Some(saving(report, Subject::Narrow, saves_ns, text))
}

fn joins(report: &Report) -> Option<Advice> {
    let (share, saves_ns) = lost(report, Cause::Joins)?;
    let text = format!(
        "Workers waited at joins for {share} of their time, for jobs that others had stolen and \
         not finished. Smaller pieces at the end of the work shorten the wait: {} at best.",
        instead(report, saves_ns),
    );
    Some(saving(report, Subject::Joins, saves_ns, text))
}

fn stealing(report: &Report) -> Option<Advice> {
    let (share, saves_ns) = lost(report, Cause::Stealing)?;
    let text = format!(
        "Workers looked for jobs for {share} of their time although there were some. {} of {} \
         were stolen, at {} each; coarser jobs need fewer steals.",
        count(report.stolen),
        plural(report.forks, "job"),
        duration(report.steal_ns as f64),
    );
    Some(saving(report, Subject::Stealing, saves_ns, text))
}

fn waking(report: &Report) -> Option<Advice> {
    let (share, saves_ns) = lost(report, Cause::Waking)?;
    let text = format!(
        "Workers were being woken for {share} of their time: parallel parts are short and far \
         apart. Join several of them into one, or let the smallest run in the thread that calls."
    );
    Some(saving(report, Subject::Waking, saves_ns, text))
}

fn growth(report: &Report) -> Option<Advice> {
    let growth = report
        .growth
        .as_ref()
        .filter(|growth| growth.share >= LOSS_SHARE)?;
    let place = match growth.sites.first() {
        Some(site) => format!(
            ", most at {}: from {} to {}",
            quoted(&site.name),
            duration(site.from_ns),
            duration(site.to_ns)
        ),
        None => String::new(),
    };
    let text = format!(
        "The same work takes {} longer with {} than with {}{place}. Look for memory that all of \
         them read or write at once, for locks, and for processors that share a core.",
        percent(growth.share),
        plural(growth.to_workers, "worker"),
        count(growth.from_workers),
    );
    let saves_ns = report.part(Cause::Growth).ns as f64 / report.workers_at_once as f64;
    Some(saving(report, Subject::Growth, saves_ns, text))
}

fn grain(report: &Report) -> Option<Advice> {
    let cost_ns = report.part(Cause::Forks).ns as f64;
    let share = cost_ns / report.work_ns as f64;
    if share < 0.02 {
        return None;
    }
    let finest = report.sites.iter().filter(|site| site.forks > 0);
    let finest = finest.max_by_key(|site| site.forks);
    let place = finest.map_or(String::new(), |site| {
        format!(", above all at {}", quoted(&site.name))
    });
    let text = format!(
        "The grain is fine: a fork for each {} of work. At some {} a fork, forks are {} of the \
         work. Below a certain size do without them{place}; {} of the strands are shorter than \
         1 us, and carry {} of the work.",
        duration(report.work_per_fork_ns),
        duration(FORK_NS as f64),
        percent(share),
        percent(report.grain.fine_share),
        percent(report.grain.fine_work_share),
    );
    Some(saving(
        report,
        Subject::Grain,
        cost_ns / report.workers_at_once as f64,
        text,
    ))
}

fn ample(report: &Report) -> Option<Advice> {
    if !is_ample(report) {
        return None;
    }
    let mut text = format!(
        "Parallelism is ample: {}, where {} for {} would do, and workers were busy for {} of the \
         time. More parallelism brings nothing; a faster strand does.",
        factor(report.parallelism),
        count(AMPLE as u64 * wanted(report)),
        plural(wanted(report), "worker"),
        percent(report.busy_share()),
    );
    if let Some(best) = report.model.as_ref().and_then(simulated::best) {
        text.push(' ');
        text.push_str(&best);
    }
    Some(note(Subject::Ample, text))
}

fn watching(report: &Report) -> Option<Advice> {
    let part = report.part(Cause::Watching);
    (part.share >= LOSS_SHARE).then(|| {
        let text = format!(
            "The profile itself took {} of the workers' time, as strands are short. It is taken \
             off work and span, but wall times and the speed-up that was measured have it.",
            percent(part.share)
        );
        note(Subject::Watching, text)
    })
}

fn coverage(report: &Report) -> Option<Advice> {
    let share = report.unjoined_work_ns as f64 / report.work_ns as f64;
    (share >= 0.01).then(|| {
        let text = format!(
            "Not covered: {} of the work was spawned and is joined by nobody, or was under way when \
             the program ended. Nobody waits for it, so the span is a lower bound.",
            percent(share)
        );
        note(Subject::Coverage, text)
    })
}
