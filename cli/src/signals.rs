//! Signals to end: the program that runs is told of the first, and does not outlive the second; nor
//! its time, if it has a limit.

use std::fs::{self, File};
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{getpgrp, kill_process, kill_process_group, Pid, Signal};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// How long a program may take to end once it was told to.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked at then.
const PERIOD: Duration = Duration::from_millis(20);

/// How often a program with a limit is looked at in the beginning.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// The signals that this process gets while programs run.
pub(crate) struct Signals {
    received: signal_hook::iterator::Signals,
    /// The first one to end.
    first: Option<i32>,
    /// True once they are to have their usual effect.
    are_usual: Arc<AtomicBool>,
}

impl Signals {
    /// From here on a signal to end does nothing but to be noted. One that this process was started
    /// to ignore, as `nohup` does it, stays ignored.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let to_end = [SIGINT, SIGTERM, SIGHUP];
        let to_end = to_end.into_iter().filter(|&signal| !is_ignored(signal));
        let to_end: Vec<i32> = to_end.collect();
        let cannot = "cannot listen for signals to end";
        let are_usual = Arc::new(AtomicBool::new(false));
        for &signal in &to_end {
            flag::register_conditional_default(signal, Arc::clone(&are_usual)).context(cannot)?;
        }
        let all = to_end.into_iter().chain([SIGCHLD]);
        Ok(Self {
            received: signal_hook::iterator::Signals::new(all).context(cannot)?,
            first: None,
            are_usual,
        })
    }

    /// Waits until the program has ended. It gets the first signal too; a second one kills it, and
    /// so does a program's taking its time.
    pub(crate) fn wait_for(&mut self, program: &mut Child) -> io::Result<ExitStatus> {
        let mut told: Option<Instant> = None;
        loop {
            if let Some(status) = program.try_wait()? {
                return Ok(status);
            }
            let received: Vec<i32> = match told {
                // The end of the program is a signal as well.
                None => self.received.wait().collect(),
                Some(_) => {
                    thread::sleep(PERIOD);
                    self.received.pending().collect()
                }
            };
            for signal in received.into_iter().filter(|&signal| signal != SIGCHLD) {
                self.first.get_or_insert(signal);
                match told {
                    None => pass_on(signal, program),
                    Some(_) => program.kill()?,
                }
                told.get_or_insert_with(Instant::now);
            }
            if told.is_some_and(|told| told.elapsed() >= PATIENCE) {
                program.kill()?;
            }
        }
    }

    /// As [`wait_for`](Self::wait_for), for a program that leads a process group of its own, all of
    /// which is told and killed. `None` if it was killed because it took longer than the `limit`.
    pub(crate) fn wait_within(
        &mut self,
        leader: &mut Child,
        limit: Duration,
    ) -> io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        let mut told: Option<Instant> = None;
        loop {
            if let Some(status) = leader.try_wait()? {
                return Ok(Some(status));
            }
            let is_late = began.elapsed() >= limit;
            if is_late || told.is_some_and(|told| told.elapsed() >= PATIENCE) {
                kill_group(Signal::KILL, leader);
                let status = leader.wait()?;
                return Ok((!is_late).then_some(status));
            }
            // Not long beside the run itself.
            thread::sleep(PERIOD.min(PERIOD_MIN + began.elapsed() / 16));
            let received: Vec<i32> = self.received.pending().collect();
            for signal in received.into_iter().filter(|&signal| signal != SIGCHLD) {
                self.first.get_or_insert(signal);
                let passed_on = match told {
                    None => named(signal),
                    Some(_) => Signal::KILL,
                };
                kill_group(passed_on, leader);
                told.get_or_insert_with(Instant::now);
            }
        }
    }

    /// The first signal to end that has come.
    pub(crate) fn first(&mut self) -> Option<i32> {
        let to_end = self.received.pending().find(|&signal| signal != SIGCHLD);
        self.first = self.first.or(to_end);
        self.first
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Relaxed: the handler runs on a thread of this process, and nothing else follows from it.
        self.are_usual.store(true, Ordering::Relaxed);
    }
}

/// Sends the signal to the program, unless the keyboard has sent it to both already.
fn pass_on(signal: i32, program: &Child) {
    if signal == SIGINT && is_in_front() {
        return;
    }
    // It may have ended just now, which the next look tells.
    let _ = kill_process(Pid::from_child(program), named(signal));
}

/// Sends the signal to a process group. The keyboard does not reach it.
fn kill_group(signal: Signal, leader: &Child) {
    // As in `pass_on`.
    let _ = kill_process_group(Pid::from_child(leader), signal);
}

fn named(signal: i32) -> Signal {
    Signal::from_named_raw(signal).expect("it is one of three")
}

/// True if Ctrl-C on the terminal reaches this process, and so the program.
fn is_in_front() -> bool {
    let terminal = File::open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
}

/// True if this process was started so that it ignores the signal, as far as the system tells.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    ignored.is_some_and(|set| set & (1 << (signal - 1)) != 0)
}
