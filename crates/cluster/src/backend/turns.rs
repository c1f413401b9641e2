//! Which of the calls that wait begins next: the most urgent, but none is passed over for ever.

use heist_core::Priority;

/// How often calls of each priority were passed over, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    passed: [u32; 3],
}

impl Turns {
    /// The number of calls that may begin before one that has waited for as long and is less
    /// urgent. The side-car of Ray has the same.
    pub(super) const PASSED_MAX: u32 = 10;

    const ALL: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// The priorities, that which comes first in front.
    pub(super) fn order(&self) -> [Priority; 3] {
        let mut order = Self::ALL;
        // Stable: of equals the most urgent is first.
        order.sort_by_key(|&priority| self.passed[priority as usize] < Self::PASSED_MAX);
        order
    }

    /// Notes that a call of this priority has begun while these others wait.
    pub(super) fn begun(&mut self, priority: Priority, waits: impl Fn(Priority) -> bool) {
        for other in Self::ALL {
            let passed = &mut self.passed[other as usize];
            let is_passed = priority.is_above(other) && waits(other);
            *passed = match (is_passed, other == priority || !waits(other)) {
                (true, _) => *passed + 1,
                (false, true) => 0,
                // It waits, and its own turn was not before it.
                (false, false) => *passed,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The priorities of so many calls that begin, of those that always wait.
    fn begun(waiting: &[Priority], count: u32) -> Vec<Priority> {
        let mut turns = Turns::default();
        let mut begun = Vec::new();
        for _ in 0..count {
            let mut order = turns.order().into_iter();
            let next = order
                .find(|next| waiting.contains(next))
                .expect("one waits");
            turns.begun(next, |other| waiting.contains(&other));
            begun.push(next);
        }
        begun
    }

    #[test]
    fn the_most_urgent_begins_and_none_is_passed_over_more_than_ten_times() {
        let all = begun(&Turns::ALL, 24);
        assert_eq!(all[..10], [Priority::High; 10]);
        assert_eq!(all[10..12], [Priority::Normal, Priority::Low]);
        assert_eq!(all[12..22], [Priority::High; 10]);
        assert_eq!(all[22..], [Priority::Normal, Priority::Low]);
        let two = begun(&[Priority::Normal, Priority::Low], 11);
        assert_eq!(two[..10], [Priority::Normal; 10]);
        assert_eq!(two[10], Priority::Low);
    }

    #[test]
    fn a_priority_of_which_nothing_waits_is_not_passed_over() {
        let mut turns = Turns::default();
        for _ in 0..100 {
            turns.begun(Priority::High, |_| false);
        }
        assert_eq!(turns.order(), Turns::ALL);
    }
}
