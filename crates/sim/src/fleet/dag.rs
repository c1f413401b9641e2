//! The DAG of a job in the names of its tasks, as Alibaba's trace of 2018 writes it.
//!
//! `M5_3_4` is task 5 of a job, which waits for tasks 3 and 4; the letter says what kind of work it
//! is. A name without a number in that place is a task by itself. The documentation of the trace
//! (`alibaba/clusterdata`, `cluster-trace-v2018/trace_2018.md`) describes the names.

use std::collections::HashMap;

use super::setup::Task;

/// The number of a task in its job, and the numbers of those that it waits for.
///
/// # Examples
///
/// ```
/// use heist_sim::fleet::dag::numbers;
///
/// assert_eq!(numbers("M5_3_4"), Some((5, vec![3, 4])));
/// assert_eq!(numbers("M1"), Some((1, vec![])));
/// assert_eq!(numbers("task_Nzg3ODAw"), None);
/// ```
#[must_use]
pub fn numbers(name: &str) -> Option<(u32, Vec<u32>)> {
    let mut parts = name.split('_');
    let first = parts.next()?;
    let number = first.trim_start_matches(|sign: char| sign.is_ascii_alphabetic());
    let number = number.parse().ok()?;
    Some((number, parts.filter_map(|part| part.parse().ok()).collect()))
}

/// The name of a task.
///
/// # Examples
///
/// ```
/// use heist_sim::fleet::dag::name;
///
/// assert_eq!(name('R', 4, &[2]), "R4_2");
/// ```
#[must_use]
pub fn name(kind: char, number: u32, after: &[u32]) -> String {
    let after: String = after.iter().map(|before| format!("_{before}")).collect();
    format!("{kind}{number}{after}")
}

/// The number of a task and of those that it waits for, if its name has them.
type Numbers = Option<(u32, Vec<u32>)>;

/// Tasks as they come, until all of them are known and can be tied together.
#[derive(Debug, Default)]
pub struct Tasks {
    /// For each task its job and its numbers.
    tasks: Vec<(u32, Numbers)>,
    jobs: HashMap<String, u32>,
}

/// How many dependencies could not be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Those on tasks that are not there.
    pub missing: u64,
    /// Those of tasks that wait for each other in a circle.
    pub circular: u64,
}

impl Tasks {
    /// A task of this name in a job; returns its place.
    pub fn add(&mut self, job: &str, name: &str) -> u32 {
        let next = self.jobs.len() as u32;
        let job = match self.jobs.get(job) {
            Some(&known) => known,
            None => *self.jobs.entry(job.to_owned()).or_insert(next),
        };
        self.tasks.push((job, numbers(name)));
        self.tasks.len() as u32 - 1
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The tasks with what they wait for. Dependencies that cannot be kept are counted.
    #[must_use]
    pub fn tied(self) -> (Vec<Task>, Dropped) {
        let mut places = HashMap::new();
        for (place, (job, numbers)) in (0_u32..).zip(&self.tasks) {
            if let Some((number, _)) = numbers {
                // Of two tasks of one number the first counts.
                places.entry((*job, *number)).or_insert(place);
            }
        }
        let mut dropped = Dropped::default();
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for (place, (job, numbers)) in (0_u32..).zip(&self.tasks) {
            let mut after = Vec::new();
            for before in numbers.iter().flat_map(|(_, before)| before) {
                match places.get(&(*job, *before)) {
                    Some(&before) if before == place => dropped.circular += 1,
                    Some(&before) if !after.contains(&before) => after.push(before),
                    Some(_) => (),
                    None => dropped.missing += 1,
                }
            }
            tasks.push(Task { after });
        }
        dropped.circular += open_circles(&mut tasks);
        (tasks, dropped)
    }
}

/// Takes the dependencies of all tasks away that wait for each other, and counts them.
fn open_circles(tasks: &mut [Task]) -> u64 {
    let mut waits: Vec<usize> = tasks.iter().map(|task| task.after.len()).collect();
    let mut next_of = vec![Vec::new(); tasks.len()];
    for (at, task) in tasks.iter().enumerate() {
        for &before in &task.after {
            next_of[before as usize].push(at);
        }
    }
    let mut free: Vec<usize> = (0..tasks.len()).filter(|&task| waits[task] == 0).collect();
    while let Some(task) = free.pop() {
        for &next in &next_of[task] {
            waits[next] -= 1;
            if waits[next] == 0 {
                free.push(next);
            }
        }
    }
    let held = tasks.iter_mut().zip(waits).filter(|(_, waits)| *waits > 0);
    held.map(|(task, _)| std::mem::take(&mut task.after).len() as u64)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tied(names: &[&str]) -> (Vec<Vec<u32>>, Dropped) {
        let mut tasks = Tasks::default();
        for name in names {
            tasks.add("job", name);
        }
        let (tasks, dropped) = tasks.tied();
        (tasks.into_iter().map(|task| task.after).collect(), dropped)
    }

    #[test]
    fn the_example_of_the_trace_is_understood() {
        let (after, dropped) = tied(&["M1", "M2_1", "M3_1", "R4_2", "M5_3_4"]);
        assert_eq!(after, [vec![], vec![0], vec![0], vec![1], vec![2, 3]]);
        assert_eq!(dropped, Dropped::default());
    }

    #[test]
    fn odd_names_are_tasks_by_themselves_or_keep_what_is_a_number() {
        assert_eq!(numbers("MergeTask"), None);
        assert_eq!(numbers(""), None);
        assert_eq!(numbers("J4_2_Stg1_3"), Some((4, vec![2, 3])));
        assert_eq!(numbers("M99999999999_1"), None);
        assert_eq!(numbers("M2_-1_99999999999"), Some((2, vec![])));
    }

    #[test]
    fn circles_and_what_is_missing_are_counted_and_left_out() {
        let (after, dropped) = tied(&["M1_2", "M2_1", "R3_2", "R4_7", "R5_5", "M6"]);
        assert!(after.iter().all(Vec::is_empty), "{after:?}");
        assert_eq!((dropped.missing, dropped.circular), (1, 4));
    }

    #[test]
    fn names_that_are_made_are_read_again() {
        assert_eq!(numbers(&name('M', 12, &[3, 11])), Some((12, vec![3, 11])));
    }
}
