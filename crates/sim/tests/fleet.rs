//! Simulated fleets: their books, and how the planner fares in them beside simpler rules.
//!
//! `cargo test -p heist-sim --test fleet beats -- --nocapture` prints the table.

#![cfg(unix)]

use heist_sim::fleet::{
    bound, simulate, thrash, Job, Mix, Named, Node, Order, Ours, Rule, Run, Scenario, Score, Setup,
    Task, View, CPU, GIB, SECOND,
};

const SEEDS: [u64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

fn run(setup: &Setup, named: Named, seed: u64) -> Run {
    simulate(setup, &mut *named.rule(setup, seed), seed)
}

fn row(scenario: Scenario, named: Named, score: &Score) -> String {
    format!(
        "{:<11} {:<6} p50 {:>6.3}  p99 {:>6.3}  missed {:>5.2} %  delay {:>6.2} s  spread {:.2}  \
         moves {:>4}  returns {:>4}  above {:>4}  {:>6.1} GiB  pause {:>6.0} s",
        format!("{scenario:?}"),
        format!("{named:?}"),
        score.p50,
        score.p99,
        score.slo_missed * 100.0,
        score.delay_s,
        score.spread,
        score.moves,
        score.returns,
        score.overshoots,
        score.moved_gib,
        score.pause_s,
    )
}

fn score(scenario: Scenario, named: Named) -> Score {
    let runs = SEEDS.map(|seed| run(&scenario.setup(8, seed), named, seed));
    Score::of(&runs)
}

#[expect(
    clippy::print_stdout,
    reason = "the test harness shows it to who asks with --nocapture"
)]
fn print(table: &[String]) {
    println!("{}", table.join("\n"));
}

#[test]
fn the_planner_beats_every_rule_that_moves_less_and_never_overloads_a_target() {
    let mut failures = Vec::new();
    let mut table = Vec::new();
    for scenario in Scenario::ALL {
        let ours = score(scenario, Named::Ours);
        for named in Named::ALL {
            let score = score(scenario, named);
            table.push(row(scenario, named, &score));
            if named != Named::Ours && score.moves < ours.moves && score.p99 <= ours.p99 {
                failures.push(format!("{scenario:?}: {named:?}"));
            }
        }
        if ours.overshoots > 0 && scenario != Scenario::Oscillating {
            failures.push(format!("{scenario:?}: a target ended above its source"));
        }
    }
    print(&table);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_job_four_times_as_large_as_estimated_bounces_by_the_taught_rule_and_stays_by_ours() {
    let setup = thrash();
    assert_eq!(run(&setup, Named::Taught, 1).moves, 100, "of 100 decisions");
    assert!(run(&setup, Named::Ours, 1).moves <= 2);
}

/// Ours, if the source is above the mean of the fleet and two median deviations.
struct Deviation(Ours);

impl Rule for Deviation {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        let order = self.0.decide(view)?;
        let from_level = self.0.proposed()?.from_level;
        let levels: Vec<f64> = view.by_level().iter().map(|(_, level)| *level).collect();
        let median = |sorted: &[f64]| sorted[sorted.len() / 2];
        let mean = levels.iter().sum::<f64>() / levels.len() as f64;
        let centre = median(&levels);
        let mut deviations: Vec<f64> = levels.iter().map(|level| (level - centre).abs()).collect();
        deviations.sort_unstable_by(f64::total_cmp);
        (from_level > mean + 2.0 * median(&deviations)).then_some(order)
    }

    fn started(&mut self, now_ns: u64, job: u32) {
        self.0.started(now_ns, job);
    }

    fn ended(&mut self, now_ns: u64, job: u32) {
        self.0.ended(now_ns, job);
    }

    fn failed(&mut self, now_ns: u64, job: u32) {
        self.0.failed(now_ns, job);
    }
}

#[test]
fn a_threshold_by_deviation_never_sees_the_hotter_of_two_nodes() {
    let runs = SEEDS.map(|seed| {
        let setup = Scenario::Pair.setup(2, seed);
        simulate(&setup, &mut Deviation(Ours::new(&setup)), seed).moves
    });
    assert_eq!(runs, [0; 12]);
    assert!(score(Scenario::Pair, Named::Ours).moves > 0);
}

/// Fleets of all kinds: each scenario, and some of the generator.
fn fleets() -> Vec<(String, Setup, u64)> {
    let mut all = Vec::new();
    for scenario in Scenario::ALL {
        for (nodes, seed) in [(8, 1), (16, 2)] {
            all.push((format!("{scenario:?}"), scenario.setup(nodes, seed), seed));
        }
    }
    for seed in 1..=3 {
        let mix = Mix {
            nodes: if seed == 3 { 2 } else { 8 },
            jobs: 400,
            load: if seed == 3 { 2.5 } else { 0.8 },
            ..Mix::default()
        };
        all.push((format!("mix {seed}"), mix.generate(seed).setup, seed));
    }
    all
}

#[test]
fn no_work_is_lost_or_made_up() {
    for (name, setup, seed) in fleets() {
        for named in Named::ALL {
            let run = run(&setup, named, seed);
            let (given, got) = (run.given as f64, run.got as f64);
            let differ = (given - got).abs() / given;
            assert!(differ < 1e-4, "{name}, {named:?}: given {given}, got {got}");
            assert_eq!(run.slowdowns.len(), setup.jobs.len(), "{name}, {named:?}");
            assert_eq!((run.unfinished, run.unplaced), (0, 0), "{name}, {named:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    for (name, setup, seed) in fleets() {
        let again = |seed| run(&setup, Named::Ours, seed);
        assert_eq!(again(seed), again(seed), "{name}");
        assert_ne!(again(seed), again(seed + 100), "{name}");
    }
}

#[test]
fn the_offline_bound_is_below_every_rule() {
    let mut above_nothing = 0;
    for (name, setup, seed) in fleets() {
        let bound = bound(&setup);
        above_nothing += u32::from(bound.delay_s > 0.0);
        for named in Named::ALL {
            let run = run(&setup, named, seed);
            let delay_s = run.delay_s;
            assert!(
                bound.delay_s <= delay_s,
                "{name}, {named:?}: {bound:?}, {delay_s}"
            );
            assert!(bound.end_ns <= run.end_ns, "{name}, {named:?}");
            assert!(run.slowdowns.iter().all(|slowdown| *slowdown >= 1.0));
        }
    }
    assert!(above_nothing > 0, "it says something about some fleet");
}

/// A rule that looks at the fleet at each decision and moves jobs at random.
struct Watcher<'r> {
    rule: Box<dyn Rule + 'r>,
    last_ns: u64,
    flying: Vec<u32>,
}

impl Rule for Watcher<'_> {
    fn decide(&mut self, view: &View<'_>) -> Option<Order> {
        assert!(view.now_ns() >= self.last_ns, "time runs backwards");
        self.last_ns = view.now_ns();
        let mut found: Vec<u32> = view.jobs().map(|job| job.job).collect();
        let all = found.len();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), all, "a job is in two places");
        let mut flying: Vec<u32> = Vec::new();
        flying.extend(
            view.jobs()
                .filter(|job| job.is_in_flight)
                .map(|job| job.job),
        );
        flying.sort_unstable();
        self.flying.sort_unstable();
        assert_eq!(flying, self.flying, "these are told to be in flight");
        self.rule.decide(view)
    }

    fn started(&mut self, now_ns: u64, job: u32) {
        self.flying.push(job);
        self.rule.started(now_ns, job);
    }

    fn ended(&mut self, now_ns: u64, job: u32) {
        self.flying.retain(|other| *other != job);
        self.rule.ended(now_ns, job);
    }

    fn failed(&mut self, now_ns: u64, job: u32) {
        self.flying.retain(|other| *other != job);
        self.rule.failed(now_ns, job);
    }
}

#[test]
fn a_job_is_in_one_place_or_in_flight() {
    for (_, setup, seed) in fleets() {
        for named in [Named::Ours, Named::Push, Named::Random] {
            let mut watcher = Watcher {
                rule: named.rule(&setup, seed),
                last_ns: 0,
                flying: Vec::new(),
            };
            let run = simulate(&setup, &mut watcher, seed);
            assert_eq!(run.unfinished, 0);
        }
    }
}

/// Nodes without wobble and background, on which everything can be computed by hand.
fn plain(nodes: usize) -> Setup {
    let mut setup = Setup::new(vec![Node::new(CPU, GIB); nodes]);
    setup.wobble = 0.0;
    setup
}

#[test]
fn jobs_that_want_twice_what_there_is_take_twice_as_long() {
    let mut setup = plain(1);
    setup.jobs = vec![Job::new(0, 10 * SECOND, CPU); 2];
    let run = run(&setup, Named::None, 1);
    assert_eq!(run.end_ns, 20 * SECOND);
    assert_eq!(run.slowdowns, [2.0, 2.0]);
    assert_eq!(run.slo_misses, 2);
}

#[test]
fn the_bound_is_what_one_machine_could_do_at_best() {
    let mut setup = plain(2);
    setup.jobs = vec![Job::new(0, 10 * SECOND, CPU); 4];
    let bound = bound(&setup);
    // One after the other, each twice as fast: the delays are -5, 0, 5 and 10 s; no job is faster
    // than alone, so that the first two are not delayed, and the others ten seconds.
    assert!((bound.delay_s - 5.0).abs() < 1e-3, "{bound:?}");
    assert_eq!(bound.end_ns / SECOND, 19, "{bound:?}");
    assert_eq!(run(&setup, Named::None, 1).delay_s, 10.0);
}

#[test]
fn a_throttle_counts_from_its_time_on() {
    let mut setup = plain(1);
    setup.nodes[0].throttles = vec![(5 * SECOND, 500)];
    setup.jobs = vec![Job::new(0, 10 * SECOND, CPU)];
    assert_eq!(run(&setup, Named::None, 1).end_ns, 15 * SECOND);
}

#[test]
fn a_job_of_a_node_that_died_goes_on_from_its_checkpoint() {
    let mut setup = plain(2);
    setup.nodes[0].down.push(25 * SECOND..1000 * SECOND);
    let mut job = Job::new(0, 40 * SECOND, CPU);
    job.node = Some(0);
    setup.jobs = vec![job];
    // It had reached 25 s, goes back to 20 s, and waits for ten.
    assert_eq!(run(&setup, Named::None, 1).end_ns, 55 * SECOND);
}

#[test]
fn a_job_far_from_its_data_takes_longer() {
    let mut setup = plain(2);
    setup.nodes[1].rack = 1;
    let job = |node| Job {
        node: Some(node),
        home: Some(0),
        ..Job::new(0, 40 * SECOND, CPU)
    };
    setup.jobs = vec![job(0)];
    assert_eq!(run(&setup, Named::None, 1).end_ns, 40 * SECOND);
    setup.jobs = vec![job(1)];
    assert_eq!(run(&setup, Named::None, 1).end_ns, 50 * SECOND);
}

#[test]
fn tasks_wait_for_those_that_they_depend_on() {
    let mut setup = plain(4);
    let job = |task, seconds| Job {
        task: Some(task),
        ..Job::new(0, seconds * SECOND, CPU)
    };
    setup.jobs = vec![job(0, 10), job(0, 30), job(2, 5), job(3, 1)];
    // Task 1 has no job, and holds nobody up.
    let after = [vec![], vec![], vec![0, 1], vec![2]];
    setup.tasks = after.map(|after| Task { after }).into();
    let run = run(&setup, Named::None, 1);
    assert_eq!(run.end_ns, 36 * SECOND);
    assert_eq!(run.slowdowns, [1.0; 4], "all began when they could at best");
}

#[test]
fn jobs_without_room_wait_and_those_that_never_find_any_are_counted() {
    let mut setup = plain(1);
    let job = |memory_bytes| Job {
        memory_bytes,
        ..Job::new(0, 10 * SECOND, CPU / 10)
    };
    setup.jobs = vec![job(GIB), job(GIB), job(2 * GIB)];
    let run = run(&setup, Named::None, 1);
    assert_eq!((run.end_ns, run.unplaced), (20 * SECOND, 1));
    assert_eq!(run.slowdowns, [1.0, 2.0]);
}

/// Moves the first job at the first decision.
struct Once(bool);

impl Rule for Once {
    fn decide(&mut self, _: &View<'_>) -> Option<Order> {
        let is_first = !std::mem::replace(&mut self.0, true);
        is_first.then_some(Order { job: 0, to: 1 })
    }
}

#[test]
fn a_move_costs_pause_transfer_and_cold_start() {
    let mut setup = plain(2);
    let mut job = Job::new(0, 10 * SECOND, CPU / 2);
    job.node = Some(0);
    job.state_bytes = 2 * setup.moving.bandwidth;
    job.memory_bytes = GIB;
    setup.jobs = vec![job.clone()];
    let run = simulate(&setup, &mut Once(false), 1);
    // 10 s, a pause of 0.5 s, a transfer of 2 s, and a second for the caches.
    assert_eq!(run.end_ns, 13_500_000_000);
    assert_eq!(
        (run.moves, run.returns, run.pause_ns),
        (1, 0, 2_500_000_000)
    );
    assert_eq!(run.bytes, job.state_bytes);
    // Memory is taken at both ends: a second job finds no room until the first has landed.
    let mut second = Job::new(SECOND, SECOND, 1);
    second.memory_bytes = GIB;
    setup.jobs.push(second);
    let run = simulate(&setup, &mut Once(false), 1);
    assert_eq!(run.slowdowns[0], 2.5, "{run:?}");
}

#[test]
fn an_order_that_cannot_be_carried_out_is_not() {
    let mut setup = plain(2);
    setup.jobs = vec![Job {
        node: Some(0),
        memory_bytes: 1,
        ..Job::new(0, 10 * SECOND, CPU)
    }];
    setup.nodes[1].memory_bytes = 0;
    assert_eq!(simulate(&setup, &mut Once(false), 1).moves, 0);
}

#[test]
fn the_generator_keeps_its_promises() {
    let mix = Mix::default();
    let made = mix.generate(7);
    let jobs = &made.setup.jobs;
    assert_eq!(jobs.len() as u64, mix.jobs);
    assert!(made.dependencies > 1000, "{}", made.dependencies);
    let arrivals: Vec<u64> = jobs.iter().map(|job| job.arrives_ns).collect();
    let last_s = arrivals.iter().max().expect("jobs") / SECOND;
    // Half as long again would be a load of 40 % instead of 60 %.
    assert!(
        (last_s as f64) < made.span_s * 1.5,
        "{last_s} {}",
        made.span_s
    );
    let is_wrong = |job: &&Job| job.cpus > 2 * job.estimate || 2 * job.cpus < job.estimate;
    let wrong = jobs.iter().filter(is_wrong).count();
    assert!((500..3000).contains(&wrong), "{wrong}");
    let censored = jobs.iter().filter(|job| job.is_censored).count();
    assert!(censored > 0, "the tail reaches beyond the longest");
    assert_eq!(mix.generate(7).setup.jobs[99].cpus, jobs[99].cpus);
}
