//! Job files: the jobs and calls of a run, as TOML.
//!
//! [`FORMAT`] is the users' documentation, in which [`EXAMPLE`] is a complete file. Unknown parts
//! of a file are errors with their line.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use heist_cluster::planner::{Config, Mobility, Planner, Priority};
use heist_cluster::{Calls, Cluster, ForeignProgram, JobOptions, Trace};
use heist_run::usage::Usage;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::backend::Tables;

mod rebalance;
mod source;
mod wishes;

use self::rebalance::Rebalance;
use self::source::{at_line, Source};
use self::wishes::{backoff, bytes, resources, time, Resources};

/// The end of the long help of `heist cluster run`.
pub(super) const FORMAT: &str = concat!(
    r#"The job file is TOML. For the program `sums`, an example that comes with heist:

"#,
    include_str!("example.toml"),
    r#"
program        must be there: a program that calls heist_cluster::init() first
               in main. A relative path begins at the folder of the job file.
[backend.NAME] settings of the backend. local: nodes, and of each cpus,
               memory_mib and resources, such as { gpu = 2 }; lost_after_s, how
               long a worker may be silent (30). ray: address, python, cdylib.
               slurm: partition, folder (which all nodes share; without it the
               folder of the run), arguments (of srun and sbatch), cpus (for
               calls, at most), environment (names of variables that functions
               and jobs are to have), lost_after_s (60), linger_s, how long an
               idle worker stays (5)
[rebalance]    without this table no job moves. enabled = false is as if it were
               not there. All else are settings of the planner, by their names:
               smoothing, stale_after_ns, sustained_samples, hot_level, spread,
               low_water, emergency, usage_samples, estimate_error, horizon_ns,
               payback, pause_ns, cold_start_ns, bandwidth_bytes_per_s,
               job_cool_down_ns, rate_window_ns, fleet_moves_max, node_moves_max
[[job]]        id and kind must be there, and state, as the type of the job has
               it. count = N makes N jobs of it, ID-1 to ID-N. cpus is its
               reservation (1), threads the size of its pool (as many), priority
               0 the most important (2), on = NODE its first node, pin = NODE
               its only one, mobility one of movable, pinned, ordered,
               warm-state and latency-critical, checkpoint_every_s the work that
               an accident may cost (10)
[[call]]       function must be there; args is its argument, or the list of its
               arguments. repeat = N calls it N times. on, pin and cpus are as
               for jobs; cpus is a whole number. What a call does not say is as
               the function's attribute has it
both           memory_mib and resources, such as { gpu = 1 }, are reserved as
               well (none). retries is how often it may be lost and run again (8
               for jobs), backoff_s = [FIRST, LONGEST] the pause before that,
               which doubles (none), within_s the deadline after the beginning
               (none), trace a place in a trace, as the header traceparent has
               it: "00-TRACE-SPAN-FLAGS" (none)

State and arguments have the types of JSON: no dates, no nan; an optional field
is left out.

A run writes to a folder: its events (events.jsonl, which becomes events.1.jsonl
with 256 MiB), and the state from which --resume goes on after a loss. Ctrl-C,
SIGTERM or the end of the terminal ends a run after a last checkpoint of each
job that comes to a safe point in ten seconds, and --resume goes on with that as
well; a second Ctrl-C ends it at once. Old folders stay until they are removed.

The exit code is 0 if every job and call has a result, 1 if not, 2 if the job
file or the command line cannot be used, and 130 after Ctrl-C and its like."#
);

/// The content of a job file.
#[derive(Debug)]
pub(super) struct JobFile {
    /// As errors name it.
    name: String,
    /// Where the program is.
    pub(super) program: PathBuf,
    /// Settings of the backends.
    pub(super) backends: Tables,
    /// The rebalancer's settings, if it is on.
    pub(super) rebalance: Option<Config>,
    /// In their order, each copy by itself.
    pub(super) jobs: Vec<JobSpec>,
    /// In their order.
    pub(super) calls: Vec<CallSpec>,
}

/// A job to submit.
#[derive(Debug)]
pub(super) struct JobSpec {
    line: usize,
    pub(super) kind: String,
    pub(super) state: Value,
    pub(super) options: JobOptions,
}

/// Calls to make.
#[derive(Debug)]
pub(super) struct CallSpec {
    line: usize,
    pub(super) function: String,
    pub(super) args: Value,
    pub(super) repeat: u32,
    wishes: CallWishes,
}

/// How calls are to run.
#[derive(Debug)]
struct CallWishes {
    /// A node, and whether it is the only one.
    node: Option<(String, bool)>,
    cpus: Option<u32>,
    memory: Option<u64>,
    resources: Vec<(String, u32)>,
    retries: Option<u32>,
    backoff: Option<(Duration, Duration)>,
    within: Option<Duration>,
    trace: Option<Trace>,
}

impl CallSpec {
    /// The calls as the job file wants them, on this cluster.
    pub(super) fn calls<'a>(&self, cluster: &'a Cluster) -> Calls<'a> {
        let wishes = &self.wishes;
        let mut calls = match &wishes.node {
            None => cluster.anywhere(),
            Some((node, false)) => cluster.on(node.as_str()),
            Some((node, true)) => cluster.pin(node.as_str()),
        };
        for (name, count) in &wishes.resources {
            calls = calls.resource(name, *count);
        }
        if let Some(cpus) = wishes.cpus {
            calls = calls.cpus(cpus);
        }
        if let Some(bytes) = wishes.memory {
            calls = calls.memory(bytes);
        }
        if let Some(retries) = wishes.retries {
            calls = calls.retries(retries);
        }
        if let Some((first, longest)) = wishes.backoff {
            calls = calls.backoff(first, longest);
        }
        if let Some(within) = wishes.within {
            calls = calls.within(within);
        }
        match wishes.trace {
            Some(trace) => calls.trace(trace),
            None => calls,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    program: PathBuf,
    #[serde(default)]
    backend: Tables,
    rebalance: Option<Spanned<Rebalance>>,
    #[serde(default, rename = "job")]
    jobs: Vec<RawJob>,
    #[serde(default, rename = "call")]
    calls: Vec<RawCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    id: Spanned<String>,
    kind: Spanned<String>,
    state: Spanned<toml::Value>,
    cpus: Option<f64>,
    threads: Option<NonZeroU32>,
    priority: Option<u8>,
    on: Option<String>,
    pin: Option<Spanned<String>>,
    mobility: Option<Spanned<Mobility>>,
    checkpoint_every_s: Option<Spanned<f64>>,
    memory_mib: Option<Spanned<NonZeroU64>>,
    resources: Option<Spanned<Resources>>,
    retries: Option<u32>,
    backoff_s: Option<Spanned<[f64; 2]>>,
    within_s: Option<Spanned<f64>>,
    trace: Option<Trace>,
    count: Option<NonZeroU32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    function: Spanned<String>,
    args: Option<Spanned<toml::Value>>,
    repeat: Option<NonZeroU32>,
    on: Option<String>,
    pin: Option<Spanned<String>>,
    cpus: Option<NonZeroU32>,
    memory_mib: Option<Spanned<NonZeroU64>>,
    resources: Option<Spanned<Resources>>,
    retries: Option<u32>,
    backoff_s: Option<Spanned<[f64; 2]>>,
    within_s: Option<Spanned<f64>>,
    trace: Option<Trace>,
}

impl JobFile {
    /// Parses `text`, with paths relative to `base`. Errors call it `name`.
    pub(super) fn parse(text: &str, name: &str, base: &Path) -> Result<Self, Usage> {
        let source = Source { name, text };
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            source.error(&span, with_nearest(error.message()))
        })?;
        let mut jobs: Vec<JobSpec> = Vec::new();
        for raw in &raw.jobs {
            for spec in raw.specs(&source)? {
                if let Some(other) = jobs.iter().find(|job| job.options.id == spec.options.id) {
                    let id = &spec.options.id;
                    let what = format!(
                        "there are two jobs {id}, the other one in line {}; ids are unique, and \
                         count = N makes ID-1 to ID-N",
                        other.line
                    );
                    return Err(source.error(&raw.id.span(), what));
                }
                jobs.push(spec);
            }
        }
        let calls = raw.calls.iter().map(|raw| raw.spec(&source));
        let calls = calls.collect::<Result<Vec<_>, _>>()?;
        if jobs.is_empty() && calls.is_empty() {
            return Err(Usage(format!(
                "{name}: nothing is to run; a [[job]] or a [[call]] is expected"
            )));
        }
        let rebalance = match raw.rebalance {
            None => None,
            Some(table) => {
                let span = table.span();
                let Rebalance { enabled, settings } = table.into_inner();
                Planner::new(settings.clone()).map_err(|error| source.error(&span, error))?;
                enabled.then_some(settings)
            }
        };
        Ok(Self {
            name: name.to_owned(),
            program: base.join(raw.program),
            backends: raw.backend,
            rebalance,
            jobs,
            calls,
        })
    }

    /// Checks that the program has the functions and jobs, and accepts their values.
    pub(super) fn check(&self, program: &ForeignProgram) -> Result<(), Usage> {
        let kinds: Vec<_> = program.jobs().collect();
        let functions: Vec<_> = program.functions().collect();
        let jobs = self.jobs.iter();
        let jobs = jobs.map(|job| ("type of jobs", &kinds, &job.kind, &job.state, job.line));
        let calls = self.calls.iter();
        let calls = calls.map(|call| {
            (
                "function",
                &functions,
                &call.function,
                &call.args,
                call.line,
            )
        });
        for (what, known, wanted, value, line) in jobs.chain(calls) {
            if !known.contains(&wanted.as_str()) {
                let has = match known.as_slice() {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                };
                let program = self.program.display();
                let message = format!("{program} has no {what} `{wanted}`; it has {has}");
                return Err(at_line(&self.name, line, message));
            }
            let checked = program.check(wanted, value);
            checked.map_err(|error| at_line(&self.name, line, error))?;
        }
        Ok(())
    }

    /// An error about a job, with its line.
    pub(super) fn job_error(&self, job: &JobSpec, error: impl fmt::Display) -> Usage {
        at_line(&self.name, job.line, error)
    }

    /// An error about a call, with its line.
    pub(super) fn call_error(&self, call: &CallSpec, error: impl fmt::Display) -> Usage {
        at_line(&self.name, call.line, error)
    }
}

/// How similar an unknown name must be to a known one to be taken for it, from 0 to 1.
const LIKENESS_MIN: f64 = 0.7;

/// Adds the most similar accepted name to a message about an unknown one.
fn with_nearest(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| message.starts_with("unknown "));
    let likeness = |name: &&str| strsim::jaro_winkler(name, unknown.unwrap_or_default());
    let likely = names.filter(|name| likeness(name) >= LIKENESS_MIN);
    match likely.max_by(|a, b| likeness(a).total_cmp(&likeness(b))) {
        Some(nearest) => format!("{message}; is `{nearest}` meant?"),
        None => message.to_owned(),
    }
}

impl RawJob {
    /// The job, or its copies.
    fn specs(&self, source: &Source<'_>) -> Result<Vec<JobSpec>, Usage> {
        let state = json(source, &self.state)?;
        let ids: Vec<String> = match self.count {
            None => vec![self.id.get_ref().clone()],
            Some(count) => (1..=count.get())
                .map(|copy| format!("{}-{copy}", self.id.get_ref()))
                .collect(),
        };
        let options = ids.into_iter().map(|id| {
            Ok(JobSpec {
                line: source.line(&self.id.span()),
                kind: self.kind.get_ref().clone(),
                state: state.clone(),
                options: self.options(source, id)?,
            })
        });
        options.collect()
    }

    fn options(&self, source: &Source<'_>, id: String) -> Result<JobOptions, Usage> {
        let mut options = JobOptions::new(id);
        if let Some(cpus) = self.cpus {
            if !(cpus.is_finite() && cpus >= 0.0) {
                let what =
                    format!("cpus = {cpus}; 0 or more are possible, and not infinitely many");
                return Err(source.error(&self.id.span(), what));
            }
            options = options.cpus(cpus);
        }
        if let Some(threads) = self.threads {
            options = options.threads(threads.get());
        }
        if let Some(priority) = self.priority {
            options = options.priority(Priority(priority));
        }
        if let Some(node) = &self.on {
            options = options.on(node.as_str());
        }
        if let Some(mobility) = &self.mobility {
            let wanted = *mobility.get_ref();
            if wanted == Mobility::Pinned && self.pin.is_none() {
                let what = "a pinned job says where; pin = \"NODE\" is all that is needed";
                return Err(source.error(&mobility.span(), what));
            }
            options = options.mobility(wanted);
        }
        if let Some(pin) = &self.pin {
            let is_other = |mobility: &Spanned<Mobility>| *mobility.get_ref() != Mobility::Pinned;
            if self.on.is_some() || self.mobility.as_ref().is_some_and(is_other) {
                let what = "pin says where a job begins and that it stays; it allows neither on \
                            nor another mobility beside it";
                return Err(source.error(&pin.span(), what));
            }
            options = options.pin(pin.get_ref().as_str());
        }
        if let Some(seconds) = &self.checkpoint_every_s {
            options = options.checkpoint_every(time(source, "checkpoint_every_s", seconds)?);
        }
        self.common_options(source, options)
    }

    /// Those that calls have as well.
    fn common_options(
        &self,
        source: &Source<'_>,
        mut options: JobOptions,
    ) -> Result<JobOptions, Usage> {
        if let Some(mib) = &self.memory_mib {
            options = options.memory(bytes(source, mib)?);
        }
        for (name, count) in resources(source, self.resources.as_ref())? {
            options = options.resource(name, count);
        }
        if let Some(retries) = self.retries {
            options = options.losses_max(retries);
        }
        if let Some(seconds) = &self.backoff_s {
            let (first, longest) = backoff(source, seconds)?;
            options = options.backoff(first, longest);
        }
        if let Some(seconds) = &self.within_s {
            options = options.within(time(source, "within_s", seconds)?);
        }
        if let Some(trace) = self.trace {
            options = options.trace(trace);
        }
        Ok(options)
    }
}

impl RawCall {
    fn spec(&self, source: &Source<'_>) -> Result<CallSpec, Usage> {
        let args = self.args.as_ref().map(|args| json(source, args));
        Ok(CallSpec {
            line: source.line(&self.function.span()),
            function: self.function.get_ref().clone(),
            args: args.transpose()?.unwrap_or_default(),
            repeat: self.repeat.map_or(1, NonZeroU32::get),
            wishes: self.wishes(source)?,
        })
    }

    fn wishes(&self, source: &Source<'_>) -> Result<CallWishes, Usage> {
        let node = match (&self.on, &self.pin) {
            (Some(_), Some(pin)) => {
                let what = "pin is the only node of a call; it allows no on beside it";
                return Err(source.error(&pin.span(), what));
            }
            (Some(node), None) => Some((node.clone(), false)),
            (None, pin) => pin.as_ref().map(|pin| (pin.get_ref().clone(), true)),
        };
        let named = resources(source, self.resources.as_ref())?;
        let memory = self.memory_mib.as_ref().map(|mib| bytes(source, mib));
        let pauses = self.backoff_s.as_ref();
        let pauses = pauses.map(|seconds| backoff(source, seconds));
        let within = self.within_s.as_ref();
        let within = within.map(|seconds| time(source, "within_s", seconds));
        Ok(CallWishes {
            node,
            cpus: self.cpus.map(NonZeroU32::get),
            memory: memory.transpose()?,
            resources: named
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            retries: self.retries,
            backoff: pauses.transpose()?,
            within: within.transpose()?,
            trace: self.trace,
        })
    }
}

/// The same value as JSON.
fn json(source: &Source<'_>, value: &Spanned<toml::Value>) -> Result<Value, Usage> {
    as_json(value.get_ref()).map_err(|what| source.error(&value.span(), what))
}

fn as_json(value: &toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => Value::Number(number),
            None => return Err(format!("{number} is no number of JSON")),
        },
        toml::Value::Boolean(is_true) => Value::from(*is_true),
        toml::Value::Datetime(date) => {
            return Err(format!(
                "{date} is a date, which JSON does not have; write it between quotes as a text"
            ))
        }
        toml::Value::Array(items) => {
            Value::Array(items.iter().map(as_json).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| Ok((key.clone(), as_json(value)?)));
            Value::Object(entries.collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests;
