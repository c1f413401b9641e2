//! The pace of a worker that runs a part: how far it runs before it looks around, and when it
//! offers half of the rest.

use heist_core::insight::Loop;
use heist_core::policy::Grain;
use heist_core::{look_around, look_before_loop, show_jobs, Others};
use heist_sync::Clock;

use crate::costs::{Code, Length, SHORT_NS};
use crate::granularity::{Granularity, SplitPolicy, UNKNOWN};

/// The fraction of a short loop that is run before the first look; then twice as much each time.
const FIRST: usize = 8;
/// As [`FIRST`], of a loop that is so short that looks are a part of its cost.
const FIRST_OF_BRIEF: usize = 2;
/// A thief waits for the owner's answer for about as long. If the last grain took so long, the next
/// one does as well, and jobs are shown before it; in shorter loops to show them, and to take them
/// back, costs more than the wait.
const SILENT_NS: u64 = 2_000;
/// Long grains end at multiples of so many steps: with items of any size that is a power of two,
/// the next grain then begins as well aligned as the loop. Where it does not, a vector instruction
/// reads or writes across the edges of cache lines, and the loop takes up to 1.3 times as long.
const ALIGNED: usize = 64;

/// The pace of a worker that runs a part. It depends on no type of the loop, so that the program
/// has one copy of it.
pub(crate) struct Pace<'a> {
    policy: &'a SplitPolicy,
    manner: Manner,
    /// The number of times that a part may yet be split while the rest waits below it.
    levels: u32,
    /// The most items that are few, if the loop had no more; otherwise 0.
    few: u16,
    /// True if a worker was hungry when this one last looked.
    hungry: bool,
    /// The steps of the loop before this point, modulo [`ALIGNED`].
    phase: usize,
    /// The loop, if it is measured.
    measured: Option<&'a Loop>,
}

#[derive(Clone, Copy)]
enum Manner {
    /// At once: it is short, and there is no other worker.
    Whole,
    /// Splits until no part has more steps than this, whether a worker is hungry or not, so that
    /// the cuts depend on nothing else.
    Beforehand(usize),
    /// In grains of some microseconds.
    Timed(Timed),
    /// Without a clock, until a thief takes an offer.
    Short {
        code: Code,
        /// The steps until the next look; the largest number if there is none.
        next: usize,
        /// Half of it is on offer while this runs.
        on_offer: bool,
    },
}

#[derive(Clone, Copy)]
struct Timed {
    code: Code,
    grain: Grain,
    /// True if a whole grain has been timed.
    is_settled: bool,
    /// None before the first look, if the loop may end before that.
    clock: Option<Clock>,
    /// The time of the last look.
    then_ns: u64,
    /// The loop's steps, if this part is all of it; its time is noted if no thief helps.
    whole: Option<usize>,
    /// Those of them that were never run, although there are no more items.
    left: usize,
}

impl<'a> Pace<'a> {
    /// The pace of a loop of so many steps and items.
    #[inline]
    pub(crate) fn new(
        policy: &'a SplitPolicy,
        code: Code,
        (steps, items): (usize, usize),
        measured: Option<&'a Loop>,
    ) -> Self {
        let before @ (others, length) = look_before(policy.is_timed, code, steps);
        let is_whole = others == Others::None && length != Length::Unknown;
        if is_whole && *policy == SplitPolicy::default() && measured.is_none() {
            return Self::whole(policy, 0, None);
        }
        Self::after_look(policy, code, (steps, items), before, measured)
    }

    #[inline(never)]
    fn after_look(
        policy: &'a SplitPolicy,
        code: Code,
        (steps, items): (usize, usize),
        before: (Others, Length),
        measured: Option<&'a Loop>,
    ) -> Self {
        let few = match before.0 {
            Others::None => None,
            Others::Fed | Others::Hungry => policy.few(items),
        };
        if let Some(few) = few {
            return Self::whole(policy, few, measured);
        }
        Self::of_many(policy, code, steps, before, measured)
    }

    fn of_many(
        policy: &'a SplitPolicy,
        code: Code,
        steps: usize,
        (others, length): (Others, Length),
        measured: Option<&'a Loop>,
    ) -> Self {
        let beforehand = if steps == 1 {
            Some(usize::MAX)
        } else {
            policy.fixed_len(steps)
        };
        let first = |fraction: usize| match others {
            Others::None => usize::MAX,
            // Not all of them: even of two items one is for a hungry worker. The last block of a
            // loop may have none.
            Others::Fed | Others::Hungry => (steps / fraction + 1).min(steps.saturating_sub(1)),
        };
        let short = |next| Manner::Short {
            code,
            next,
            on_offer: false,
        };
        let mut hungry = others == Others::Hungry;
        let manner = match (beforehand, length) {
            (Some(len), _) => Manner::Beforehand(len),
            (None, Length::Brief) if steps <= policy.max_len => short(first(FIRST_OF_BRIEF)),
            (None, Length::Short) if steps <= policy.max_len => short(first(FIRST)),
            (None, _) => {
                let whole = (steps != UNKNOWN).then_some(steps);
                let first = Grain::of(whole.map_or(1, |steps| code.first_grain(steps)));
                Manner::Timed(if whole.is_some_and(|steps| code.may_end_at_once(steps)) {
                    hungry = false;
                    Timed::with_clock(None, code, first, None)
                } else {
                    Timed::new(code, first, whole)
                })
            }
        };
        Self {
            policy,
            manner,
            levels: policy.levels(),
            few: 0,
            hungry,
            phase: 0,
            measured,
        }
    }

    /// Of a part that is run at once, unless it has up to so many `few` items.
    #[inline]
    fn whole(policy: &'a SplitPolicy, few: u16, measured: Option<&'a Loop>) -> Self {
        Self {
            policy,
            manner: Manner::Whole,
            levels: 0,
            few,
            hungry: false,
            phase: 0,
            measured,
        }
    }

    /// The most items that are few, if the loop is to be split into single ones.
    #[inline]
    pub(crate) fn few(&self) -> Option<u16> {
        Some(self.few).filter(|few| *few > 0)
    }

    /// True if a part of so many items of a loop of few ones is to be split.
    #[inline]
    pub(crate) fn splits_few(&self, items: usize) -> bool {
        items > 1 && items <= self.few.into() && self.policy.may_halve(items)
    }

    /// The pace of a part of such a loop: of a single item, or of more if it cannot be split, or an
    /// item has turned out to be many.
    #[inline]
    pub(crate) fn of_part_of_few(&self, code: Code, (steps, items): (usize, usize)) -> Self {
        if items <= 1 {
            return Self::whole(self.policy, 0, self.measured);
        }
        self.of_many_of_few(code, steps)
    }

    #[cold]
    fn of_many_of_few(&self, code: Code, steps: usize) -> Self {
        let before = look_before(self.policy.is_timed, code, steps);
        Self::of_many(self.policy, code, steps, before, self.measured)
    }

    /// Goes past so many steps.
    pub(crate) fn skip(&mut self, steps: usize) {
        self.phase = (self.phase + steps % ALIGNED) % ALIGNED;
    }

    /// A long grain, a little shorter, so that the next one begins aligned.
    fn aligned(&self, grain: usize) -> usize {
        if grain < 2 * ALIGNED {
            return grain;
        }
        let aligned = grain - (self.phase + grain % ALIGNED) % ALIGNED;
        if aligned < self.policy.min_len {
            grain
        } else {
            aligned
        }
    }

    /// The pace of the lower part, while the upper one is on offer.
    pub(crate) fn below_offer(&self) -> Self {
        let manner = match self.manner {
            Manner::Whole => Manner::Whole,
            Manner::Beforehand(len) => Manner::Beforehand(len),
            Manner::Timed(timed) => Manner::Timed(Timed {
                whole: None,
                ..timed
            }),
            Manner::Short { code, next, .. } => Manner::Short {
                code,
                next,
                on_offer: true,
            },
        };
        let hungry = !matches!(manner, Manner::Short { .. }) && sees_hungry();
        // The upper part loses a level too, although a thief runs it on another stack: the worker
        // that waits for it may steal parts of it in turn.
        let levels = self.levels - 1;
        Self {
            manner,
            levels,
            hungry,
            ..*self
        }
    }

    /// The pace of the upper part, which a thief has taken unless all is cut `beforehand`, past so
    /// many steps of the lower one.
    pub(crate) fn of_offer(&self, steps: usize) -> Self {
        let manner = match self.manner {
            Manner::Whole => Manner::Whole,
            Manner::Beforehand(len) => Manner::Beforehand(len),
            Manner::Timed(Timed {
                code, mut grain, ..
            }) => {
                // A worker was hungry.
                grain.shorten();
                Manner::Timed(Timed::new(code, grain, None))
            }
            Manner::Short { code, .. } => Manner::Timed(Timed::new(code, Grain::new(), None)),
        };
        let hungry = sees_hungry();
        let levels = self.levels - 1;
        let mut upper = Self {
            manner,
            levels,
            hungry,
            ..*self
        };
        upper.skip(steps);
        upper
    }

    /// The clock of a part that a thief has run, if its time may matter.
    pub(crate) fn clock(&self) -> Option<Clock> {
        match self.manner {
            Manner::Timed(timed) => timed.clock,
            _ => None,
        }
    }

    /// Notes the end of an offer, after the lower part, which ended with the pace `below`; a thief
    /// that has run the upper part began by this clock.
    pub(crate) fn after_offer(&mut self, below: &Self, is_stolen: bool, thiefs: Option<Clock>) {
        match (&mut self.manner, below.manner) {
            (Manner::Timed(timed), Manner::Timed(below)) => {
                timed.grain = below.grain;
                timed.is_settled = below.is_settled;
                timed.left = below.left;
                // No noticeable time has passed since then, unless it has waited for a thief.
                timed.then_ns = if is_stolen {
                    timed.whole = None;
                    timed.clock.map_or(0, |clock| clock.elapsed_ns())
                } else {
                    below.then_ns
                };
            }
            (Manner::Short { code, next, .. }, _) => {
                *next = usize::MAX;
                if is_stolen {
                    let lasted_ns = thiefs.map_or(0, |clock| clock.elapsed_ns());
                    code.doubt(lasted_ns > SHORT_NS);
                }
            }
            _ => {}
        }
    }

    /// Looks around after an offer, before more of the part is run.
    pub(crate) fn look_after_offer(&mut self) {
        self.hungry = self.looks_around() && sees_hungry();
    }

    /// False in a short loop where no worker could be hungry, or none has taken the offer.
    #[inline]
    fn looks_around(&self) -> bool {
        !matches!(
            self.manner,
            Manner::Whole
                | Manner::Short {
                    next: usize::MAX,
                    ..
                }
        )
    }

    pub(crate) fn is_beforehand(&self) -> bool {
        matches!(self.manner, Manner::Beforehand(_))
    }

    /// The steps to run now, of so many, and whether half of the part is to be offered first.
    #[inline]
    pub(crate) fn next_grain(&self, steps: usize) -> (usize, bool) {
        match self.manner {
            Manner::Whole => (usize::MAX, false),
            _ => self.grain_of(steps),
        }
    }

    fn grain_of(&self, steps: usize) -> (usize, bool) {
        let (grain, most, is_wanted) = match self.manner {
            Manner::Whole => (usize::MAX, usize::MAX, false),
            Manner::Beforehand(len) => (usize::MAX, len, false),
            Manner::Timed(Timed { grain, .. }) => {
                // Half of what is left, if that is a grain at least: to steal takes as long as to
                // run less than that.
                let is_worth_it = steps / 2 >= grain.len();
                let grain = self.aligned(self.policy.grain_len(grain.len()));
                let is_wanted = self.hungry && is_worth_it && steps > grain;
                (grain, self.policy.max_len, is_wanted)
            }
            Manner::Short { next, .. } => {
                let grain = self.aligned(self.policy.grain_len(next));
                (grain, self.policy.max_len, self.hungry && steps > next)
            }
        };
        let is_to_offer =
            is_wanted && self.policy.may_halve(steps) || self.policy.is_too_long(steps, most);
        (grain, is_to_offer && self.levels > 0)
    }

    /// Tells the loop that another piece begins, if it is measured.
    #[inline]
    pub(crate) fn begin_piece(&self) {
        if let Some(measured) = self.measured {
            measured.begin_piece();
        }
    }

    /// Notes that a grain of so many steps has been run, as a whole if there `is_more`. If that was
    /// the last one of a part, which `is_over`, nobody needs to look around: the worker takes back
    /// its offer next, or is done, and so answers a thief anyway.
    #[inline]
    pub(crate) fn ran(&mut self, steps: usize, is_more: bool, is_over: bool) {
        if is_over {
            self.note_the_time();
        } else if self.looks_around() {
            self.look_behind(steps, is_more);
        }
    }

    /// Notes when all steps of a loop had been run.
    fn note_the_time(&mut self) {
        if let Manner::Timed(timed) = &mut self.manner {
            if let (Some(clock), Some(_)) = (timed.clock, timed.whole) {
                timed.then_ns = clock.elapsed_ns();
            }
        }
    }

    fn look_behind(&mut self, steps: usize, is_more: bool) {
        let others = look_around();
        self.hungry = others == Others::Hungry;
        self.skip(steps);
        match &mut self.manner {
            Manner::Whole | Manner::Beforehand(_) => {}
            Manner::Timed(timed) => {
                let Some(clock) = timed.clock else {
                    (timed.clock, timed.then_ns) = (Some(Clock::start()), 0);
                    return;
                };
                let now_ns = clock.elapsed_ns();
                let grain_ns = now_ns - timed.then_ns;
                if others == Others::Fed && grain_ns >= SILENT_NS {
                    show_jobs();
                }
                timed.then_ns = now_ns;
                // To be aligned it was a little shorter; one that `max_len` cut says little.
                if is_more && steps > timed.grain.len() / 2 {
                    timed.grain.ran(grain_ns);
                    timed.is_settled = true;
                }
                if self.policy.granularity == Granularity::Adaptive {
                    if self.hungry {
                        timed.grain.shorten();
                    } else if self.measured.is_none() {
                        timed.grain.lengthen();
                    }
                }
            }
            Manner::Short { code, on_offer, .. } if *on_offer && self.hungry => {
                code.doubt(false);
                self.manner = Manner::Timed(Timed::new(*code, Grain::new(), None));
            }
            Manner::Short { next, .. } => *next = next.saturating_mul(2),
        }
    }

    /// Notes that a part has no more items. So many of its steps are `left` that were never run, as
    /// where an adaptor has seen that its items end here: those took no time.
    #[inline]
    pub(crate) fn ended(&mut self, left: usize) {
        if matches!(self.manner, Manner::Timed(_)) {
            self.note_the_end(left);
        }
    }

    #[inline(never)]
    fn note_the_end(&mut self, left: usize) {
        let Manner::Timed(timed) = &mut self.manner else {
            return;
        };
        timed.left = timed.left.saturating_add(left);
        if timed.whole.is_some_and(|steps| timed.left > steps / 2) {
            return self.ended_early();
        }
        if timed.is_settled {
            timed.note_the_grain();
        }
        if let Some(steps) = timed.whole {
            timed.code.lasted(steps - timed.left, timed.then_ns);
        }
    }

    /// Notes that no more items are wanted.
    #[inline]
    pub(crate) fn ended_early(&self) {
        let Manner::Timed(timed) = self.manner else {
            return;
        };
        if timed.is_settled {
            timed.note_the_grain();
        } else if let (Some(clock), Some(_)) = (timed.clock, timed.whole) {
            timed.code.ended_at_once(clock.elapsed_ns());
        }
    }
}

impl Timed {
    fn new(code: Code, grain: Grain, whole: Option<usize>) -> Self {
        Self::with_clock(Some(Clock::start()), code, grain, whole)
    }

    fn with_clock(clock: Option<Clock>, code: Code, grain: Grain, whole: Option<usize>) -> Self {
        Self {
            code,
            grain,
            is_settled: false,
            clock,
            then_ns: 0,
            whole,
            left: 0,
        }
    }

    /// For the next loop of this code.
    fn note_the_grain(mut self) {
        self.grain.shorten();
        self.code.had_grains_of(self.grain.len());
    }
}

/// Looks around before a loop of so many steps, and says how long it lasts. As nobody knows that
/// for sure, a loop that must look around while it lasts counts as unknown.
#[inline(never)] // one copy for all loops
fn look_before(is_timed: bool, code: Code, steps: usize) -> (Others, Length) {
    let (others, must_look) = look_before_loop();
    let length = if is_timed || must_look {
        Length::Unknown
    } else {
        code.length(steps)
    };
    (others, length)
}

/// Looks around between two grains: leaves a cancelled call, and says whether a worker is hungry.
fn sees_hungry() -> bool {
    look_around() == Others::Hungry
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use heist_core::ThreadPoolBuilder;

    use super::*;

    #[test]
    fn what_is_left_behind_the_last_block_may_be_nothing() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build();
        pool.expect("a pool").install(|| {
            let (policy, brief) = (SplitPolicy::default(), Code(0xC000));
            brief.lasted(10, 10);
            let pace = Pace::new(&policy, brief, (0, 0), None);
            assert!(!pace.next_grain(0).1);
        });
    }

    #[test]
    fn less_than_a_grain_is_not_offered_but_a_single_item_is() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build();
        pool.expect("a pool").install(|| {
            let policy = SplitPolicy::default();
            for grain in [1, 100] {
                let timed = Timed::new(Code(0xD000), Grain::of(grain), None);
                let pace = Pace {
                    manner: Manner::Timed(timed),
                    levels: 1,
                    hungry: true,
                    ..Pace::whole(&policy, 0, None)
                };
                assert!(pace.next_grain(2 * grain).1);
                assert!(!pace.next_grain(2 * grain - 1).1);
            }
        });
    }

    #[test]
    fn a_loop_that_may_end_at_once_offers_nothing_before_its_first_look() {
        const STEPS: usize = 1600;
        let pool = ThreadPoolBuilder::new().num_threads(2).build();
        pool.expect("a pool").install(|| {
            let code = Code(0xB000);
            let policy = SplitPolicy::default();
            let begin = || Pace::new(&policy, code, (STEPS, STEPS), None);
            code.had_grains_of(STEPS);
            assert_eq!(begin().next_grain(STEPS), (100, true));
            code.ended_at_once(100);
            let mut pace = begin();
            assert_eq!(pace.next_grain(STEPS), (100, false));
            pace.ran(100, true, false);
            assert!(pace.next_grain(STEPS - 100).1);
        });
    }
}
