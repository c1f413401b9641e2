//! Interference: the time that the system and the host take from the program, as Linux says.
//!
//! A thread that wants a processor and has none waits for others, or for threads of its own
//! process. While it runs a job, that is interference whoever it waits for: the job takes longer.
//! A worker without a job, and a thread outside of any pool, may wait for threads of their own: one
//! that yields while it searches lets others go first, and one that wakes up needs a processor. Of
//! their time, no more counts than others have had a processor for.

use std::cell::{Cell, OnceCell};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use heist_event::profile::Interference;
use heist_sync::thread_state::present_thread;
use heist_sync::{allowed_processors, thread_local, usable_processors};

/// The length of a tick in `/proc/stat`, which Linux promises to programs.
const TICK_NS: u64 = 10_000_000;

/// The times of one thread, or of several, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    /// On a processor.
    cpu: u64,
    /// Waiting for one.
    delay: u64,
}

/// The past of the threads: the system tells their present times only.
struct Threads {
    /// Those that were there when the profile began, with their times then.
    before: Vec<(u32, Times)>,
    /// Those that are workers, or were, and have not ended.
    workers: Vec<u32>,
    /// The times of threads that have ended, of workers and of others.
    ended_workers: Times,
    ended_others: Times,
    /// The time for which workers without a job have waited for a processor, in ns.
    idle_delay: u64,
}

static THREADS: Mutex<Threads> = Mutex::new(Threads {
    before: Vec::new(),
    workers: Vec::new(),
    ended_workers: Times { cpu: 0, delay: 0 },
    ended_others: Times { cpu: 0, delay: 0 },
    idle_delay: 0,
});

thread_local! {
    /// The system's file about this thread, once it was a worker, and the time for which it had
    /// waited when the profile began; none if there is no such file.
    static FILE: OnceCell<Option<(File, u64)>> = const { OnceCell::new() }
}

thread_local! {
    /// The time for which this thread had waited when it began to give way, without a job; nothing
    /// before it was a worker.
    static GAVE_WAY: Cell<Option<u64>> = const { Cell::new(Some(0)) }
}

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calling worker, which has no job, is about to yield or to sleep.
pub(crate) fn gives_way() {
    let _ = GAVE_WAY.try_with(|gave_way| {
        if gave_way.get().is_none() {
            gave_way.set(own_delay());
        }
    });
}

/// The calling worker has a job.
pub(crate) fn works() {
    let _ = GAVE_WAY.try_with(|gave_way| {
        if let (Some(then), Some(now)) = (gave_way.take(), own_delay()) {
            threads().idle_delay += now.saturating_sub(then);
        }
    });
}

/// The time for which the calling worker has waited for a processor since the profile began.
fn own_delay() -> Option<u64> {
    let delay = FILE.try_with(|file| {
        let (file, then) = file.get_or_init(open_own).as_ref()?;
        let text = read_again(file).ok()?;
        Some(Times::read(&text).delay.saturating_sub(*then))
    });
    delay.ok().flatten()
}

/// The calling thread has become a worker.
fn open_own() -> Option<(File, u64)> {
    let id = present_thread()?;
    let mut threads = threads();
    threads.workers.push(id);
    let file = File::open("/proc/thread-self/schedstat").ok()?;
    // Of the threads that were there at the beginning the main one may become a worker.
    let then = threads.before.iter().find(|(other, _)| *other == id);
    Some((file, then.map_or(0, |(_, times)| times.delay)))
}

/// The present text of a file of the system.
fn read_again(mut file: &File) -> io::Result<String> {
    let mut text = String::with_capacity(64);
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The calling thread, which has a meter, is about to end.
pub(crate) fn thread_ends() {
    works();
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let times = Times::read(&text);
    let mut threads = threads();
    let id = present_thread();
    let times = threads.since_the_beginning(id, times);
    let number = threads.workers.len();
    threads.workers.retain(|&worker| Some(worker) != id);
    if threads.workers.len() < number {
        threads.ended_workers.add(times);
    } else {
        threads.ended_others.add(times);
    }
}

impl Threads {
    fn since_the_beginning(&self, id: Option<u32>, times: Times) -> Times {
        let then = self.before.iter().find(|(other, _)| Some(*other) == id);
        then.map_or(times, |(_, then)| times.less(*then))
    }

    /// The times of workers and of other threads, of which these are there now.
    fn sums(&self, present: Vec<(u32, Times)>) -> (Times, Times) {
        let (mut workers, mut others) = (self.ended_workers, self.ended_others);
        for (id, times) in present {
            let times = self.since_the_beginning(Some(id), times);
            match self.workers.contains(&id) {
                true => workers.add(times),
                false => others.add(times),
            }
        }
        (workers, others)
    }
}

impl Times {
    /// Those of a thread, from its `schedstat`.
    fn read(schedstat: &str) -> Self {
        let mut words = schedstat
            .split_whitespace()
            .map(|word| word.parse().unwrap_or(0));
        let mut next = || words.next().unwrap_or(0);
        let (cpu, delay) = (next(), next());
        Self { cpu, delay }
    }

    /// Those of all threads of this process.
    fn of_all() -> Vec<(u32, Self)> {
        let entries = fs::read_dir("/proc/self/task").into_iter().flatten();
        let of_one = |entry: fs::DirEntry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
            Some((id, Self::read(&text)))
        };
        entries.flatten().filter_map(of_one).collect()
    }

    fn add(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.delay += other.delay;
    }

    fn less(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(other.cpu),
            delay: self.delay.saturating_sub(other.delay),
        }
    }
}

/// The processors of the machine at some time, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Machine {
    processors: u64,
    all_ns: u64,
    idle_ns: u64,
    steal_ns: u64,
}

impl Machine {
    fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn read(stat: &str) -> Self {
        let mut words = stat.lines().next().unwrap_or("").split_whitespace();
        if words.next() != Some("cpu") {
            return Self::default();
        }
        // The times of guests, behind the eighth, are in those of users already.
        let times: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
        let time = |nth| times.get(nth).copied().unwrap_or(0) * TICK_NS;
        let lines = stat.lines().skip(1);
        let processors = lines.take_while(|line| line.starts_with("cpu")).count();
        Self {
            processors: processors as u64,
            all_ns: times.iter().sum::<u64>() * TICK_NS,
            // Waiting for a disk is idling.
            idle_ns: time(3) + time(4),
            steal_ns: time(7),
        }
    }

    /// The time since `then`, `passed` before this, for which other processes have had a processor,
    /// if this one has had so much.
    fn of_others(&self, then: &Self, passed: u64, own_cpu: u64) -> u64 {
        // The sum of all kinds of time would be further off: each of them is in whole ticks.
        let known = [
            self.idle_ns.saturating_sub(then.idle_ns),
            self.steal_ns.saturating_sub(then.steal_ns),
            own_cpu,
        ];
        let all = self.processors * passed;
        known.into_iter().fold(all, u64::saturating_sub)
    }
}

/// The machine and the threads of this process when the profile begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    machine: Machine,
    at: Instant,
}

impl Beginning {
    pub(crate) fn now() -> Self {
        threads().before = Times::of_all();
        Self {
            machine: Machine::now(),
            at: Instant::now(),
        }
    }

    /// The time that was taken from the process since then.
    pub(crate) fn taken_since(&self) -> Interference {
        works();
        let (now, passed) = (Machine::now(), self.at.elapsed());
        let threads = threads();
        let (workers, rest) = threads.sums(Times::of_all());
        let idle_delay = threads.idle_delay;
        drop(threads);
        let cpu_ns = workers.cpu + rest.cpu;
        // A quota stops the process where nobody else runs.
        let has_quota = usable_processors() < allowed_processors().len();
        let of_others = match has_quota || now.processors == 0 {
            true => u64::MAX,
            false => {
                let passed = u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX);
                now.of_others(&self.machine, passed, cpu_ns)
            }
        };
        Interference {
            cpu_ns,
            run_delay_ns: taken(workers.delay, idle_delay, rest.delay, of_others),
            host_steal_ns: now.steal_ns.saturating_sub(self.machine.steal_ns),
            host_ns: now.all_ns.saturating_sub(self.machine.all_ns),
        }
    }
}

/// The time that was taken from workers, which have waited for so long, of that without a job, and
/// from the other threads.
fn taken(workers: u64, without_a_job: u64, rest: u64, of_others: u64) -> u64 {
    let in_jobs = workers.saturating_sub(without_a_job);
    let elsewhere = workers - in_jobs + rest;
    in_jobs + elsewhere.min(of_others)
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_machine_and_thread_are_read_as_linux_writes_them() {
        let machine = Machine::read("cpu  10 1 2 300 4 5 6 7 100 100\ncpu0 1 1\ncpu1 9\nintr 1\n");
        let known = Machine {
            processors: 2,
            all_ns: 335 * TICK_NS,
            idle_ns: 304 * TICK_NS,
            steal_ns: 7 * TICK_NS,
        };
        assert_eq!(machine, known);
        let times = |cpu, delay| Times { cpu, delay };
        assert_eq!(Times::read("101471 381043 2\n"), times(101_471, 381_043));
        assert_eq!(Machine::read("nonsense"), Machine::default());
        assert_eq!(Times::read(""), times(0, 0));
    }

    #[test]
    fn others_had_the_time_that_was_neither_idle_nor_ours() {
        let then = Machine::read("cpu  0 0 0 100 0 0 0 10\ncpu0 0\ncpu1 0\n");
        let now = Machine::read("cpu  60 0 0 130 5 0 0 15\ncpu0 0\ncpu1 0\n");
        // Two processors for 50 ticks, 35 of them idle, 5 the host's, and 40 ours.
        let others = now.of_others(&then, 50 * TICK_NS, 40 * TICK_NS);
        assert_eq!(others, 20 * TICK_NS);
        assert_eq!(now.of_others(&then, 50 * TICK_NS, 99 * TICK_NS), 0);
    }

    /// hashbrown's driver on two quiet processors: workers that yield while the main thread
    /// computes waited for a seventh of the time, all of it for threads of their own.
    #[test]
    fn threads_without_a_job_that_wait_for_their_own_are_not_disturbed() {
        assert_eq!(taken(150, 148, 11, 0), 2);
        assert_eq!(taken(150, 148, 11, 30), 32);
        assert_eq!(taken(150, 148, 11, 1000), 161);
        // More workers than processors wait for one another, and their jobs take longer.
        assert_eq!(taken(900, 50, 0, 0), 850);
        assert_eq!(
            taken(10, 12, 0, 0),
            0,
            "the files are read one after the other"
        );
    }

    #[test]
    fn only_time_since_the_beginning_counts_of_threads_that_were_there() {
        let times = |cpu, delay| Times { cpu, delay };
        let threads = Threads {
            before: vec![(7, times(100, 50))],
            workers: vec![9],
            ended_workers: times(1, 2),
            ended_others: times(10, 20),
            idle_delay: 0,
        };
        let present = vec![
            (7, times(130, 55)),
            (8, times(3, 4)),
            (9, times(1000, 2000)),
        ];
        assert_eq!(threads.sums(present), (times(1001, 2002), times(43, 29)));
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn the_wait_of_a_worker_without_a_job_is_read_twice() {
        std::thread::spawn(|| {
            let before = threads().idle_delay;
            gives_way();
            std::thread::yield_now();
            gives_way();
            works();
            assert!(GAVE_WAY.get().is_none() && threads().idle_delay >= before);
            let is_worker = || {
                threads()
                    .workers
                    .contains(&present_thread().expect("its number"))
            };
            assert!(is_worker());
            thread_ends();
            assert!(!threads()
                .workers
                .contains(&present_thread().expect("its number")));
        })
        .join()
        .expect("nothing fails");
    }
}
