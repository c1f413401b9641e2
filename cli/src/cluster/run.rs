//! `heist cluster run`: submits the jobs and calls of a job file, writes the log, and shows the
//! results.
//!
//! One thread does it all: it receives the driver's events and polls for finished jobs and calls.
//! So a run ends in one place, whatever the cause.

use std::collections::HashSet;
use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use heist_cluster::event::{ClusterEvent, EventKind};
use heist_cluster::{
    Cluster, ForeignProgram, JobHandle, JobStatus, JsonCall, JsonJob, Options, RemoteError,
};
use heist_run::limited;
use heist_run::number::whole;
use heist_run::usage::{check_output, Usage};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::backend::{self, BackendArgs, BackendKind};
use super::folder::{self, RunFolder};
use super::job_file::{JobFile, FORMAT};
use super::live_page::LivePage;
use super::log::Log;
use super::page;
use super::results::{CallResult, JobResult, Outcome, Results};
use crate::signals::is_ignored;

/// The most bytes that a job file may have.
const JOB_FILE_BYTES_MAX: u64 = 64 << 20;

/// How often jobs and calls are polled.
const PERIOD: Duration = Duration::from_millis(50);

/// How long a cluster may take to end.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// How long jobs may take to their next safe point when the run is interrupted.
const STATE_PATIENCE: Duration = Duration::from_secs(10);

/// The exit code after Ctrl-C: 128 and the number of the signal, as shells have it.
const INTERRUPTED: u8 = 130;

/// Flags of `heist cluster run`
#[derive(clap::Args, Debug)]
#[command(after_long_help = FORMAT)]
pub(super) struct Args {
    /// The jobs and calls to run; the long help has the format
    #[arg(value_name = "JOBFILE", required_unless_present = "resume")]
    job_file: Option<PathBuf>,
    /// The backend that places work on machines [default: local]
    #[arg(long, value_enum)]
    backend: Option<BackendKind>,
    /// Number of nodes of `local`, in place of that in the job file [default: 1]
    #[arg(long, value_name = "N", value_parser = |given: &str| count(given, 1024))]
    nodes: Option<NonZeroU32>,
    /// Number of processors of each node of `local`, in place of that in the job file [default:
    /// the number of usable cores]
    #[arg(long, value_name = "N", value_parser = |given: &str| count(given, 4096))]
    cpus: Option<NonZeroU32>,
    /// The folder of the run, which must be new or empty [default: one named after the time,
    /// in `$XDG_STATE_HOME/heist/runs` or `~/.local/state/heist/runs`]
    #[arg(long, value_name = "FOLDER", conflicts_with = "resume")]
    run_folder: Option<PathBuf>,
    /// Go on with a run that was lost or ended before its time: from checkpoints where there
    /// are some, and with the results that there are
    #[arg(long, value_name = "RUN_FOLDER", conflicts_with = "job_file")]
    resume: Option<PathBuf>,
    /// Write a page about the run, anew every few seconds while it goes on: reload it in the
    /// browser to see how it goes
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Starts the run, or goes on with one, and shows how it goes.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    args.report.as_deref().map_or(Ok(()), check_output)?;
    let (folder, job_file, program, chosen) = args.prepare()?;
    // Not before: a signal ends the wait for a job file that is a FIFO, and for the program's list.
    let interrupt = interrupts()?;
    let mut log = Log::new();
    log.say(&format!("the run is in {}", folder.path().display()));
    let (sender, events) = mpsc::channel();
    let options = options(&folder, &job_file, sender).on_log(log.printer());
    let (tables, shared) = (&job_file.backends, folder.shared());
    let cluster = backend::connect(chosen, tables, &shared, &program, options);
    let cluster = cluster.with_context(|| format!("cannot use the backend {}", chosen.backend))?;
    let mut run = Run {
        jobs: Vec::new(),
        calls: Vec::new(),
        not_stored: Vec::new(),
        job_file: &job_file,
        folder: &folder,
    };
    let page = args.report.as_deref();
    let live = LivePage::begin(&folder, page)?;
    run.begin(&program, &cluster)?;
    if args.resume.is_some() {
        log.say(&run.found());
    }
    let is_interrupted = run.wait(&events, &mut log, &interrupt)?;
    if is_interrupted {
        run.keep_states(&events, &mut log)?;
    }
    let not_stored = std::mem::take(&mut run.not_stored);
    let mut results = run.end(is_interrupted);
    drop(cluster);
    folder.end_sharing();
    listen_to_the_end(&events, &mut log);
    results.add(&log.end());
    if args.json {
        results.write_document(out)?;
    } else {
        results.write_tables(out)?;
    }
    out.flush()?;
    drop(live);
    page.map_or(Ok(()), |path| page::write(&folder, path))?;
    for what in &not_stored {
        writeln!(std::io::stderr(), "not in the folder of the run: {what}")?;
    }
    if is_interrupted {
        writeln!(
            std::io::stderr(),
            "ended before its time; heist cluster run --resume {} goes on with it",
            folder.path().display()
        )?;
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(match results.missing() + not_stored.len() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The driver's options, whose events go to `sender` as well.
fn options(folder: &RunFolder, job_file: &JobFile, sender: Sender<ClusterEvent>) -> Options {
    let options = Options::new()
        .store(folder.store())
        .events(folder.path())
        .on_event(move |event: &ClusterEvent| {
            // A listener that is gone needs no event.
            let _ = sender.send(event.clone());
        });
    match &job_file.rebalance {
        Some(config) => options.rebalance(config.clone()),
        None => options,
    }
}

/// Reads a number of something, up to `most`.
fn count(given: &str, most: u32) -> Result<NonZeroU32, String> {
    let number = whole(given, 1..=most.into())?;
    let number = u32::try_from(number).ok().and_then(NonZeroU32::new);
    number.ok_or_else(|| format!("accepted is a whole number from 1 to {most}"))
}

impl Args {
    /// The folder of a new or resumed run, with its job file, program and backend.
    fn prepare(&self) -> anyhow::Result<(RunFolder, JobFile, ForeignProgram, BackendArgs)> {
        match &self.resume {
            Some(path) => {
                let (folder, job_file, begun) = RunFolder::open(path)?;
                let program = inspect(&job_file)?;
                let chosen = self.chosen(Some(begun))?;
                if chosen.backend != BackendKind::Slurm && folder.has_left_jobs() {
                    return Err(Usage(format!(
                        "the driver of this run was lost, and its jobs may still run on Slurm; go \
                         on there with --backend slurm, or end them with scancel and remove {}",
                        folder.shared().display()
                    ))
                    .into());
                }
                Ok((folder, job_file, program, chosen))
            }
            None => {
                let path = self.job_file.as_deref().unwrap_or(Path::new(""));
                let name = path.display().to_string();
                let text = limited::read_text(path, JOB_FILE_BYTES_MAX).map_err(|error| {
                    let accepted = "accepted is a TOML file (heist cluster run --help)";
                    Usage(format!(
                        "cannot read the job file {name}: {error}; {accepted}"
                    ))
                })?;
                let base = path.parent().unwrap_or(Path::new(""));
                let job_file = JobFile::parse(&text, &name, base)?;
                let chosen = self.chosen(None)?;
                // Errors that need no folder come before it is created.
                let program = inspect(&job_file)?;
                let wanted = self.run_folder.as_deref();
                let folder = RunFolder::create(wanted, path, &text, chosen)?;
                Ok((folder, job_file, program, chosen))
            }
        }
    }

    /// The backend and its size. Flags that are not given are as they were when the run began.
    fn chosen(&self, begun: Option<BackendArgs>) -> Result<BackendArgs, Usage> {
        let backend = self.backend.or(begun.map(|begun| begun.backend));
        let backend = backend.unwrap_or(BackendKind::Local);
        let begun = begun.filter(|begun| begun.backend == backend);
        let chosen = BackendArgs {
            backend,
            nodes: self.nodes.or(begun.and_then(|begun| begun.nodes)),
            cpus: self.cpus.or(begun.and_then(|begun| begun.cpus)),
        };
        chosen.check()?;
        Ok(chosen)
    }
}

/// True after a first signal to end. A second one ends the process at once, but for that of a
/// terminal that is gone: it comes from the system and from the shell, and `nohup` has it ignored.
fn interrupts() -> anyhow::Result<Arc<AtomicBool>> {
    let is_told = Arc::new(AtomicBool::new(false));
    let cannot = "cannot listen for signals to end";
    for signal in [SIGINT, SIGTERM] {
        let code = i32::from(INTERRUPTED);
        flag::register_conditional_shutdown(signal, code, Arc::clone(&is_told)).context(cannot)?;
        flag::register(signal, Arc::clone(&is_told)).context(cannot)?;
    }
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, Arc::clone(&is_told)).context(cannot)?;
    }
    Ok(is_told)
}

/// The program, which has what is to run.
fn inspect(job_file: &JobFile) -> anyhow::Result<ForeignProgram> {
    let program = ForeignProgram::inspect(&job_file.program);
    let program = program.map_err(|error| Usage(error.to_string()))?;
    job_file.check(&program)?;
    Ok(program)
}

/// The jobs and calls that are under way.
struct Run<'a> {
    /// As many as the job file has, in its order.
    jobs: Vec<Item<JsonJob>>,
    /// Each with its place in the job file, and which repetition it is.
    calls: Vec<(usize, u32, Item<JsonCall>)>,
    /// Results that could not be recorded, with the reasons.
    not_stored: Vec<String>,
    job_file: &'a JobFile,
    folder: &'a RunFolder,
}

/// A job or a call: open, over, or given up.
struct Item<T> {
    open: Option<T>,
    over: Option<Over>,
}

struct Over {
    outcome: Outcome,
    /// True if that was so before.
    is_stored: bool,
}

impl<T> Item<T> {
    fn open(handle: T) -> Self {
        Self {
            open: Some(handle),
            over: None,
        }
    }

    fn stored(result: Result<Value, RemoteError>) -> Self {
        Self {
            open: None,
            over: Some(Over {
                outcome: outcome(result),
                is_stored: true,
            }),
        }
    }

    fn end(&mut self, result: Result<Value, RemoteError>) {
        self.open = None;
        self.over = Some(Over {
            outcome: outcome(result),
            is_stored: false,
        });
    }

    /// How it ended, if it has.
    fn ended(self) -> (Outcome, bool) {
        match self.over {
            Some(over) => (over.outcome, over.is_stored),
            None => (Outcome::Error("the run was ended".to_owned()), false),
        }
    }
}

fn outcome(result: Result<Value, RemoteError>) -> Outcome {
    match result {
        Ok(value) => Outcome::Result(value),
        Err(error) => Outcome::Error(error.to_string()),
    }
}

impl Run<'_> {
    /// Submits and calls what has no result yet.
    fn begin(&mut self, program: &ForeignProgram, cluster: &Cluster) -> anyhow::Result<()> {
        let file = self.job_file;
        let unfinished = cluster.unfinished()?;
        for job in &file.jobs {
            let id = &job.options.id;
            let item = match program.stored_result(cluster, id)? {
                Some(result) => Item::stored(result),
                None => {
                    let begun = unfinished.iter().find(|begun| begun.id() == id);
                    let handle = match begun {
                        Some(begun) => program.resume(cluster, begun),
                        None => {
                            let options = job.options.clone();
                            program.submit(cluster, &job.kind, &job.state, options)
                        }
                    };
                    Item::open(handle.map_err(|error| file.job_error(job, error))?)
                }
            };
            self.jobs.push(item);
        }
        let known = self.folder.call_results()?;
        for (at, call) in file.calls.iter().enumerate() {
            for repetition in 0..call.repeat {
                let known = known
                    .iter()
                    .find(|known| (known.call, known.repetition) == (at, repetition));
                let item = match known {
                    Some(known) => Item::stored(Ok(known.result.clone())),
                    None => {
                        let calls = call.calls(cluster);
                        let begun = program.call_as(&calls, &call.function, &call.args);
                        Item::open(begun.map_err(|error| file.call_error(call, error))?)
                    }
                };
                self.calls.push((at, repetition, item));
            }
        }
        Ok(())
    }

    /// The state left by an earlier part of the run, in words.
    fn found(&self) -> String {
        let jobs = self.jobs.iter().filter(|job| job.over.is_some());
        let calls = self.calls.iter().filter(|(.., call)| call.over.is_some());
        format!(
            "found in the folder: {} of {} jobs and {} of {} calls are over",
            jobs.count(),
            self.jobs.len(),
            calls.count(),
            self.calls.len(),
        )
    }

    /// Waits until everything has ended, and writes the log. True if the run was interrupted.
    fn wait(
        &mut self,
        events: &Receiver<ClusterEvent>,
        log: &mut Log,
        interrupt: &AtomicBool,
    ) -> anyhow::Result<bool> {
        let mut looked = Instant::now();
        loop {
            match events.recv_timeout(PERIOD) {
                Ok(event) => log.tell(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("the driver of the jobs has ended before they did")
                }
            }
            if looked.elapsed() < PERIOD {
                continue;
            }
            looked = Instant::now();
            if self.look()? {
                return Ok(false);
            }
            // Nothing else follows from it.
            if interrupt.load(Ordering::Relaxed) {
                return Ok(true);
            }
        }
    }

    /// Takes checkpoints of running jobs, within a time limit, and collects results, for a later
    /// `--resume`.
    fn keep_states(
        &mut self,
        events: &Receiver<ClusterEvent>,
        log: &mut Log,
    ) -> anyhow::Result<()> {
        // States that came before are not those that are asked for.
        events.try_iter().for_each(|event| log.tell(&event));
        let open = self.jobs.iter().filter_map(|item| item.open.as_ref());
        let handles = open.map(JsonJob::handle);
        let runs = |status: JobStatus| status.node.is_some() && !status.is_moving;
        let running = handles.filter(|handle| handle.status().is_some_and(runs));
        let ask = |handle: &JobHandle<_>| {
            handle.checkpoint();
            handle.id().clone()
        };
        let mut waiting: HashSet<_> = running.map(ask).collect();
        if !waiting.is_empty() {
            log.say("jobs are asked for a last checkpoint; Ctrl-C again ends the run at once");
        }
        let deadline = Instant::now() + STATE_PATIENCE;
        while !waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(event) = events.recv_timeout(left) else {
                break;
            };
            log.tell(&event);
            if let EventKind::Checkpoint { job, .. }
            | EventKind::NoCheckpoint { job, .. }
            | EventKind::Lost { job, .. }
            | EventKind::Finished { job, .. } = &event.what
            {
                waiting.remove(job);
            }
        }
        self.look().map(drop)
    }

    /// Takes the results that there are. True if that is all.
    fn look(&mut self) -> anyhow::Result<bool> {
        for item in &mut self.jobs {
            let open = item.open.as_ref();
            let Some(job) = open else {
                continue;
            };
            if let Some(result) = job.wait_timeout(Duration::ZERO) {
                let handle = job.handle();
                let why = handle.not_stored();
                let why = why.map(|why| format!("the result of job {}: {why}", handle.id()));
                self.not_stored.extend(why);
                item.end(result);
            }
        }
        for (call, repetition, item) in &mut self.calls {
            let Some(done) = item.open.take_if(|call| call.is_done()) else {
                continue;
            };
            let result = done.get();
            if let Ok(result) = &result {
                let kept = self.folder.keep(&folder::CallResult {
                    call: *call,
                    repetition: *repetition,
                    result: result.clone(),
                });
                let function = &self.job_file.calls[*call].function;
                let why = kept.err();
                let why = why.map(|why| format!("a result of {function}: {why:#}"));
                self.not_stored.extend(why);
            }
            item.end(result);
        }
        let is_all = self.jobs.iter().all(|job| job.over.is_some());
        Ok(is_all && self.calls.iter().all(|(.., call)| call.over.is_some()))
    }

    /// The outcome of the run. Open work is abandoned: on resuming, a job continues and a call is
    /// made again.
    fn end(self, is_interrupted: bool) -> Results {
        let jobs = self.jobs.into_iter().zip(&self.job_file.jobs);
        let jobs = jobs.map(|(item, spec)| {
            let (outcome, is_stored) = item.ended();
            JobResult {
                id: spec.options.id.to_string(),
                kind: spec.kind.clone(),
                outcome,
                is_stored,
                moves: 0,
                losses: 0,
            }
        });
        let calls = self.calls.into_iter().map(|(at, repetition, item)| {
            let spec = &self.job_file.calls[at];
            if let Some(call) = &item.open {
                call.kill();
            }
            let (outcome, is_stored) = item.ended();
            CallResult {
                function: spec.function.clone(),
                args: spec.args.clone(),
                repetition,
                outcome,
                is_stored,
            }
        });
        Results {
            schema_version: 1,
            run_folder: self.folder.path().display().to_string(),
            backend: String::new(),
            is_interrupted,
            jobs: jobs.collect(),
            calls: calls.collect(),
        }
    }
}

/// Logs the driver's last events, until it hangs up.
fn listen_to_the_end(events: &Receiver<ClusterEvent>, log: &mut Log) {
    let deadline = Instant::now() + END_PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match events.recv_timeout(left) {
            Ok(event) => log.tell(&event),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                log.say("the driver has not said that it has left; it is left behind");
                return;
            }
        }
    }
}
