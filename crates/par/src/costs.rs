//! How long loops of the same code lasted on this thread, so that short ones need no clock.
//!
//! A loop of few cheap items takes less time than two readings of the clock. So each thread
//! remembers, by the address of a loop's code, how many steps of it took [`SHORT_NS`] when it was
//! last timed, and a loop of no more steps than that runs untimed. The same code may have other
//! items next time. Therefore
//!
//! 1. an untimed loop offers half of itself if a worker is hungry when it begins, or when it looks
//!    again: after an eighth (a brief one, after half), and then after twice as much each time;
//! 2. if it sees at such a look that a thief has taken the offer, the rest is timed, and shared
//!    like that of any loop; and so is the next loop. If it lasted longer from then on than a short
//!    loop, no loop of that code counts as brief for a while, so that a program with a long loop
//!    after every thousand brief ones loses half of the first long one only;
//! 3. of [`RUNS`] loops of the same code one is always timed, of brief ones [`RUNS_IF_BRIEF`];
//! 4. a loop that may be cancelled, and any in a prompt pool, is always timed.
//!
//! So at worst a hungry worker waits for the half that was run while on offer. Where no worker is
//! hungry, as in a pool of one, nothing is lost by taking long items for short ones.
//!
//! A timed loop of which nothing is known begins with a grain of one step, and needs some looks to
//! find out how many steps make a grain. So each thread also remembers how many made one the last
//! time. The next loop of that code begins with a quarter of those, but not with more than a
//! sixteenth of its own steps: if its items take longer than those before, that is how much it runs
//! without a look.
//!
//! If that loop wanted no more items before its first grain was over, and soon, the next ones of
//! [`RUNS`] run theirs before they look at the clock or offer anything, which takes longer than a
//! search that finds its item at once. A hungry worker then waits for a sixteenth of the steps at
//! most.

use std::cell::Cell;

use heist_sync::thread_local;

/// A loop that lasts no longer than that is short.
pub(crate) const SHORT_NS: u64 = 4_000;
/// A short loop that lasts no longer than this part of it is brief.
const BRIEF: usize = 8;
/// The part of a loop that its first grain has at most, and the part of a grain of the last loop.
const FIRST_OF_LOOP: usize = 16;
const FIRST_OF_GRAIN: usize = 4;
/// One of so many loops of the same code is timed.
const RUNS: u32 = 64;
/// As [`RUNS`], of brief ones, which a timing lengthens more.
const RUNS_IF_BRIEF: u32 = 4 * RUNS;
/// After a brief loop that was long, so many timings of loops of its code find none that is brief.
const WARY: u32 = 64;
/// The factor by which an untimed loop may have more steps than the loop that was timed.
const STRETCH: u64 = 16;
/// A power of two.
const ENTRIES: usize = 64;

/// The address of a loop's code. Loops whose code the compiler has merged share one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) usize);

/// How long a loop lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// So little time that looks around are a part of its cost.
    Brief,
    /// Less time than readings of the clock are worth.
    Short,
    /// More, or nobody knows.
    Unknown,
}

#[derive(Clone, Copy)]
struct Entry {
    code: Code,
    /// Loops of so many steps are short.
    short: usize,
    /// So many more loops may go untimed.
    runs: u32,
    /// The steps of a grain in the last loop that was timed; 0 if none has had a whole grain.
    grain: usize,
    /// So many more loops may end in their first grain, as the last one that was timed did.
    at_once: u32,
    /// So many more timings find no brief loops, as one of those was long.
    wary: u32,
}

const NONE: Entry = Entry {
    code: Code(0),
    short: 0,
    runs: 0,
    grain: 0,
    at_once: 0,
    wary: 0,
};

thread_local! {
    static COSTS: [Cell<Entry>; ENTRIES] = const { [const { Cell::new(NONE) }; ENTRIES] }
}

impl Entry {
    /// Whether a short loop of so many steps is a brief one.
    fn is_brief(&self, steps: usize) -> bool {
        self.wary == 0 && steps <= self.short / BRIEF
    }
}

impl Code {
    fn with<R>(self, op: impl FnOnce(&Cell<Entry>) -> R) -> R {
        // Functions begin at multiples of 16.
        let index = (self.0 >> 4 ^ self.0 >> 10) % ENTRIES;
        COSTS.with(|costs| op(&costs[index]))
    }

    /// How long a loop of so many steps lasts, if it may go untimed; counts those that do.
    pub(crate) fn length(self, steps: usize) -> Length {
        self.with(|cell| {
            let entry = cell.get();
            if entry.code != self || steps > entry.short || entry.runs == 0 {
                return Length::Unknown;
            }
            let runs = entry.runs - 1;
            cell.set(Entry { runs, ..entry });
            if entry.is_brief(steps) {
                Length::Brief
            } else {
                Length::Short
            }
        })
    }

    /// Notes how long so many steps took.
    pub(crate) fn lasted(self, steps: usize, ns: u64) {
        let most = (steps as u64).saturating_mul(STRETCH);
        let short = (steps as u64).saturating_mul(SHORT_NS) / ns.max(1);
        let short = usize::try_from(short.min(most)).unwrap_or(usize::MAX);
        self.change(|entry| {
            entry.short = short;
            entry.wary = entry.wary.saturating_sub(1);
            entry.runs = if entry.is_brief(steps) {
                RUNS_IF_BRIEF - 1
            } else {
                RUNS - 1
            };
            entry.at_once = 0;
        });
    }

    /// Has the next loop timed, and if this one `was_long`, the next ones looked at as often as
    /// short ones.
    pub(crate) fn doubt(self, was_long: bool) {
        self.with(|cell| {
            let Entry { code, wary, .. } = cell.get();
            if code == self {
                let wary = if was_long { WARY } else { wary };
                cell.set(Entry { code, wary, ..NONE });
            }
        });
    }

    /// Notes how many steps made a grain.
    pub(crate) fn had_grains_of(self, steps: usize) {
        self.change(|entry| {
            entry.grain = steps;
            entry.at_once = 0;
        });
    }

    /// Notes that no more items were wanted before the first grain was over, after so long.
    pub(crate) fn ended_at_once(self, ns: u64) {
        self.change(|entry| entry.at_once = if ns < SHORT_NS { RUNS - 1 } else { 0 });
    }

    /// Whether a loop of so many steps may end so; counts those that may.
    pub(crate) fn may_end_at_once(self, steps: usize) -> bool {
        self.with(|cell| {
            let entry = cell.get();
            let may = entry.code == self && entry.at_once > 0 && steps >= FIRST_OF_LOOP;
            if may {
                let at_once = entry.at_once - 1;
                cell.set(Entry { at_once, ..entry });
            }
            may
        })
    }

    /// The steps with which a loop of so many begins, if it is timed: at least one.
    pub(crate) fn first_grain(self, steps: usize) -> usize {
        let entry = self.with(Cell::get);
        if entry.code == self {
            let most = steps / FIRST_OF_LOOP;
            most.min(entry.grain / FIRST_OF_GRAIN).max(1)
        } else {
            1
        }
    }

    /// Changes the entry of this code, which pushes out another's.
    fn change(self, op: impl FnOnce(&mut Entry)) {
        self.with(|cell| {
            let mut entry = Some(cell.get()).filter(|entry| entry.code == self);
            let entry = entry.get_or_insert(Entry { code: self, ..NONE });
            op(entry);
            cell.set(*entry);
        });
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    impl Code {
        fn is_short(self, steps: usize) -> bool {
            self.length(steps) != Length::Unknown
        }
    }

    #[test]
    fn a_short_loop_is_brief_up_to_an_eighth_of_the_time() {
        let code = Code(0x3000);
        code.lasted(100, 1_000);
        assert_eq!(code.length(50), Length::Brief);
        assert_eq!(code.length(51), Length::Short);
        assert_eq!(code.length(400), Length::Short);
        assert_eq!(code.length(401), Length::Unknown);
    }

    #[test]
    fn a_loop_goes_untimed_only_if_one_of_about_its_length_was_short() {
        let code = Code(0x1000);
        assert!(!code.is_short(1), "nothing is known yet");
        code.lasted(100, 1_000);
        assert!(code.is_short(400));
        assert!(!code.is_short(401));
        code.lasted(100, 0);
        assert!(code.is_short(1600));
        assert!(!code.is_short(1601), "one that was timed by a coarse clock");
        code.lasted(100, SHORT_NS * 100 + 100);
        assert!(!code.is_short(1));
        code.lasted(usize::MAX, 1);
        assert!(code.is_short(1 << 40));
    }

    #[test]
    fn one_of_many_loops_is_timed() {
        let timed_of_1000 = |code: Code, ns| {
            code.lasted(10, ns);
            let timed = (0..1000).filter(|_| {
                let is_timed = !code.is_short(10);
                if is_timed {
                    code.lasted(10, ns);
                }
                is_timed
            });
            timed.count() as u32
        };
        assert_eq!(timed_of_1000(Code(0x2340), SHORT_NS / 2), 1000 / RUNS);
        assert_eq!(timed_of_1000(Code(0x2350), 10), 1000 / RUNS_IF_BRIEF);
    }

    #[test]
    fn a_loop_begins_with_less_than_a_grain_of_the_last_one_and_less_than_an_eighth_of_its_own() {
        let (code, other) = (Code(0x7000), Code(0x7000 + (ENTRIES << 10)));
        assert_eq!(code.first_grain(1 << 20), 1, "nothing is known yet");
        code.had_grains_of(4_000);
        assert_eq!(code.first_grain(1 << 20), 1_000);
        assert_eq!(code.first_grain(320), 20);
        assert_eq!(code.first_grain(3), 1);
        code.lasted(100, 100);
        assert_eq!(code.first_grain(1 << 20), 1_000, "a grain is one still");
        code.had_grains_of(1);
        assert_eq!(code.first_grain(1 << 20), 1);
        assert!(code.is_short(100));
        assert_eq!(other.first_grain(1 << 20), 1);
    }

    #[test]
    fn a_loop_may_end_at_once_if_the_last_one_did_and_soon() {
        let (code, other) = (Code(0x9000), Code(0x9000 + (ENTRIES << 10)));
        assert!(!code.may_end_at_once(100), "nothing is known yet");
        code.had_grains_of(4_000);
        code.ended_at_once(100);
        assert!(!other.may_end_at_once(100));
        assert!(!code.may_end_at_once(15), "one step is too much of it");
        assert_eq!(code.first_grain(1 << 20), 1_000, "a grain is one still");
        let untimed = (0..1000).take_while(|_| code.may_end_at_once(100));
        assert_eq!(untimed.count(), RUNS as usize - 1);
        code.ended_at_once(SHORT_NS);
        assert!(!code.may_end_at_once(100));
        code.ended_at_once(100);
        code.had_grains_of(4_000);
        assert!(!code.may_end_at_once(100));
        code.ended_at_once(100);
        code.lasted(100, 100);
        assert!(!code.may_end_at_once(100));
    }

    #[test]
    fn after_a_long_loop_none_is_brief_for_a_while() {
        let code = Code(0xD000);
        code.lasted(10, 10);
        assert_eq!(code.length(10), Length::Brief);
        code.doubt(false);
        assert_eq!(code.length(10), Length::Unknown);
        code.lasted(10, 10);
        assert_eq!(code.length(10), Length::Brief, "it was short");
        code.doubt(true);
        code.doubt(false);
        assert_eq!(code.length(10), Length::Unknown);
        for _ in 1..WARY {
            code.lasted(10, 10);
            let untimed = (0..1000).take_while(|_| code.length(10) == Length::Short);
            assert_eq!(untimed.count(), RUNS as usize - 1);
        }
        code.lasted(10, 10);
        assert_eq!(code.length(10), Length::Brief);
    }

    #[test]
    fn doubts_hold_for_the_code_that_they_are_of() {
        let (code, other) = (Code(0x5000), Code(0x5000 + (ENTRIES << 10)));
        code.lasted(10, 10);
        other.doubt(true);
        assert!(code.is_short(10));
        code.doubt(true);
        assert!(!code.is_short(10));
        other.lasted(10, 10);
        assert!(
            other.is_short(10),
            "it has pushed the first out, or lies elsewhere"
        );
    }
}
