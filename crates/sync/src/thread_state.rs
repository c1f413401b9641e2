//! The state of a thread, as the system tells it: whether it runs, and the system call it waits in.

/// The state of a thread of this process.
///
/// # Examples
///
/// ```
/// use heist_sync::thread_state::{self, ThreadState};
///
/// if let Some(id) = thread_state::present_thread() {
///     let state = ThreadState::of(id).expect("it is there, and asks");
///     assert!(state.is_running());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadState {
    /// The system's letter: R for one that runs or wants to, S and D for those that wait, T and t
    /// for those that were stopped.
    pub letter: char,
    /// The time that it has had on a processor, in ns.
    pub cpu_ns: u64,
    /// The place in the kernel where it waits, if that is told.
    pub place: Option<String>,
    /// The system call that it waits in, if that is told.
    pub call: Option<Call>,
}

/// A system call in which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number, which differs from machine to machine.
    pub number: u64,
    /// The address of the word, if it waits for one to change.
    pub futex: Option<u64>,
    /// True if it waits no longer than a time that it has set itself, as far as one can tell.
    pub is_limited: bool,
}

/// The number by which the system knows the calling thread, if it tells the states of threads.
#[must_use]
pub fn present_thread() -> Option<u32> {
    imp::present_thread()
}

/// The numbers of the threads of this process, as far as the system tells them.
#[must_use]
pub fn all_threads() -> Vec<u32> {
    imp::all_threads()
}

/// True if the thread of this process with this number waits for something that another thread may
/// have to do, or has ended, or the system does not tell. Costs one small file, where
/// [`ThreadState::of`] reads four.
///
/// # Examples
///
/// ```
/// use heist_sync::thread_state::{present_thread, waits};
///
/// if let Some(id) = present_thread() {
///     assert!(!waits(id), "it asks");
/// }
/// ```
#[must_use]
pub fn waits(thread: u32) -> bool {
    imp::waits(thread)
}

impl ThreadState {
    /// The state of the thread of this process with this number. `None` if it has ended, or the
    /// system does not tell.
    #[must_use]
    pub fn of(thread: u32) -> Option<Self> {
        imp::state_of(thread)
    }

    /// True if the thread runs, wants to, or is kept from it by a debugger.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !matches!(self.letter, 'S' | 'D' | 'I')
    }

    /// True if it waits for a word to change, and for nothing else: a lock, a condition variable,
    /// another thread.
    #[must_use]
    pub fn is_in_futex(&self) -> bool {
        match (self.call, &self.place) {
            (Some(call), _) => call.futex.is_some() && !call.is_limited,
            (None, Some(place)) => place.contains("futex"),
            (None, None) => false,
        }
    }

    /// The place where it waits, for people.
    #[must_use]
    pub fn place_text(&self) -> String {
        match (self.call, &self.place) {
            (
                Some(Call {
                    futex: Some(at), ..
                }),
                _,
            ) => format!("futex {at:#x}"),
            (Some(call), Some(place)) => format!("system call {} ({place})", imp::name(call)),
            (Some(call), None) => format!("system call {}", imp::name(call)),
            (None, Some(place)) => place.clone(),
            (None, None) => "a place that the system does not tell".to_owned(),
        }
    }
}

#[cfg(all(target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod imp {
    use std::fs;
    use std::path::Path;

    use super::{Call, ThreadState};

    /// The length of a tick in `stat`, which Linux promises to programs.
    const TICK_NS: u64 = 10_000_000;

    /// The operations of `futex` that wait, without their flags.
    const WAITS: [u64; 2] = [libc::FUTEX_WAIT as u64, libc::FUTEX_WAIT_BITSET as u64];
    const OPERATION: u64 = 0x7f;

    pub(super) fn present_thread() -> Option<u32> {
        // SAFETY: it only asks.
        let id = unsafe { libc::syscall(libc::SYS_gettid) };
        let id = u32::try_from(id).ok()?;
        Path::new("/proc/self/task").is_dir().then_some(id)
    }

    pub(super) fn state_of(thread: u32) -> Option<ThreadState> {
        read(&Path::new("/proc/self/task").join(thread.to_string()))
    }

    pub(super) fn all_threads() -> Vec<u32> {
        let entries = fs::read_dir("/proc/self/task").into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| name.parse().ok()).collect()
    }

    pub(super) fn waits(thread: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
        let letter = stat.as_deref().ok().and_then(letter);
        // A wait that no signal ends (D) is for the system itself: a page, a barrier, other
        // processes at its locks.
        !matches!(letter, Some('R' | 'D' | 'T' | 't'))
    }

    fn letter(stat: &str) -> Option<char> {
        // The name of the thread, in brackets, may contain anything.
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    }

    /// The state of the thread that this folder describes.
    pub(super) fn read(folder: &Path) -> Option<ThreadState> {
        let text = |name| fs::read_to_string(folder.join(name)).ok();
        let stat = text("stat")?;
        // The name of the thread, in brackets, may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let letter = fields.first()?.chars().next()?;
        // The system lists a thread for some moments after it has ended, one that was joined too.
        if matches!(letter, 'X' | 'x' | 'Z') {
            return None;
        }
        let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let by_ticks = || Some((ticks(11)? + ticks(12)?) * TICK_NS);
        let schedstat = text("schedstat");
        let exact = || schedstat.as_ref()?.split_whitespace().next()?.parse().ok();
        let place = text("wchan").filter(|place| !place.is_empty() && place != "0");
        Some(ThreadState {
            letter,
            cpu_ns: exact().or_else(by_ticks)?,
            place,
            call: text("syscall").and_then(|text| call(&text)),
        })
    }

    /// The call that `syscall` describes: its number, and six arguments in hexadecimal digits.
    fn call(text: &str) -> Option<Call> {
        let mut words = text.split_whitespace();
        let number = words.next()?.parse().ok()?;
        let hexadecimal = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let arguments: Vec<u64> = words.map_while(hexadecimal).collect();
        let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
        let is_futex =
            number == libc::SYS_futex as u64 && WAITS.contains(&(argument(1) & OPERATION));
        Some(Call {
            number,
            futex: is_futex.then(|| argument(0)),
            is_limited: !is_futex || argument(3) != 0,
        })
    }

    pub(super) fn name(call: Call) -> String {
        let names = [
            (libc::SYS_futex, "futex"),
            (libc::SYS_read, "read"),
            (libc::SYS_write, "write"),
            (libc::SYS_nanosleep, "nanosleep"),
            (libc::SYS_clock_nanosleep, "clock_nanosleep"),
            (libc::SYS_ppoll, "ppoll"),
            (libc::SYS_pselect6, "pselect6"),
            (libc::SYS_epoll_pwait, "epoll_pwait"),
            (libc::SYS_recvfrom, "recvfrom"),
            (libc::SYS_accept4, "accept4"),
            (libc::SYS_connect, "connect"),
            (libc::SYS_wait4, "wait4"),
            (libc::SYS_waitid, "waitid"),
            (libc::SYS_flock, "flock"),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_poll, "poll"),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_select, "select"),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_epoll_wait, "epoll_wait"),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_accept, "accept"),
        ];
        let known = names
            .iter()
            .find(|(number, _)| *number as u64 == call.number);
        known.map_or_else(|| call.number.to_string(), |(_, name)| (*name).to_owned())
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, heist_loom, heist_shuttle)))))]
mod imp {
    use super::{Call, ThreadState};

    pub(super) fn present_thread() -> Option<u32> {
        None
    }

    pub(super) fn state_of(_thread: u32) -> Option<ThreadState> {
        None
    }

    pub(super) fn all_threads() -> Vec<u32> {
        Vec::new()
    }

    pub(super) fn waits(_thread: u32) -> bool {
        true
    }

    pub(super) fn name(call: Call) -> String {
        call.number.to_string()
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::mpsc;

    use super::*;

    const STAT: &str = "77 (a) S name) S 1 77 77 0 -1 64 9 0 0 0 7 5 0 0 20 0 3 0 8 0 0";

    /// A thread as `/proc` describes it, gone at the end.
    struct Described(PathBuf);

    impl Described {
        fn new(test: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("heist-thread-{}-{test}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir(&folder).expect("a folder");
            for (name, text) in files {
                fs::write(folder.join(name), text).expect("a file");
            }
            Self(folder)
        }

        fn state(&self) -> ThreadState {
            imp::read(&self.0).expect("it has a stat")
        }
    }

    impl Drop for Described {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn futex(rest: &str) -> String {
        format!("{} 0x7f00a8 {rest} 0x7fff 0x55\n", libc::SYS_futex)
    }

    #[test]
    fn a_thread_in_a_futex_is_seen_with_the_address_and_its_time() {
        let call = futex("0x80 0x2 0x0 0x0 0x0");
        let files = [
            ("stat", STAT),
            ("schedstat", "1234 5 6\n"),
            ("wchan", "futex_do_wait"),
            ("syscall", call.as_str()),
        ];
        let state = Described::new("futex", &files).state();
        assert!(state.is_in_futex() && !state.is_running(), "{state:?}");
        assert_eq!(state.place_text(), "futex 0x7f00a8");
        assert_eq!(state.cpu_ns, 1234);
    }

    #[test]
    fn a_wait_that_ends_by_itself_is_no_wait_for_another_thread() {
        let limited = futex("0x89 0x2 0x7ffe10 0x0 0xffffffff");
        let files = [("stat", STAT), ("syscall", limited.as_str())];
        assert!(!Described::new("limited", &files).state().is_in_futex());
        let sleep = format!(
            "{} 0x0 0x0 0x7f 0x0 0x0 0x0 0x7f 0x5\n",
            libc::SYS_clock_nanosleep
        );
        let files = [
            ("stat", STAT),
            ("wchan", "hrtimer_nanosleep"),
            ("syscall", sleep.as_str()),
        ];
        let state = Described::new("sleep", &files).state();
        assert!(!state.is_in_futex() && !state.is_running());
        let text = state.place_text();
        assert_eq!(text, "system call clock_nanosleep (hrtimer_nanosleep)");
    }

    #[test]
    fn where_the_call_is_denied_the_state_and_the_place_are_left() {
        let files = [("stat", STAT), ("wchan", "futex_wait_queue")];
        let state = Described::new("denied", &files).state();
        assert_eq!(state.call, None);
        assert!(state.is_in_futex());
        assert_eq!(state.place_text(), "futex_wait_queue");
        assert_eq!(state.cpu_ns, 120_000_000, "12 ticks");
        let state = Described::new("nothing", &[("stat", STAT), ("wchan", "0")]).state();
        assert!(!state.is_in_futex(), "it may as well sleep");
        assert!(state.place_text().contains("does not tell"));
    }

    #[test]
    fn a_thread_that_has_ended_and_is_still_listed_has_no_state() {
        for letter in ["X", "Z"] {
            let stat = STAT.replacen(" S 1 ", &format!(" {letter} 1 "), 1);
            let ended =
                Described::new(letter, &[("stat", stat.as_str()), ("schedstat", "0 0 0\n")]);
            assert_eq!(imp::read(&ended.0), None, "{stat}");
        }
    }

    #[test]
    fn a_thread_that_waits_for_another_is_found_waiting() {
        let (sender, receiver) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            sender.send(present_thread()).expect("the test waits");
            ends.recv().expect_err("nothing is ever sent");
        });
        let id = receiver.recv().expect("the thread says it");
        let id = id.expect("Linux tells the states of threads");
        loop {
            let state = ThreadState::of(id).expect("it is there");
            if !state.is_running() {
                break;
            }
        }
        drop(end);
        thread.join().expect("it ends");
        assert_eq!(ThreadState::of(id), None);
    }
}
