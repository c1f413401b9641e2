//! The profile of a run: its work and span, where they are, and why workers were idle.
//!
//! It is written as JSON by hand, because the profiled program writes it, and is to carry no
//! library for that. Times are whole nanoseconds, unless the name of a field says otherwise.

use crate::json::Json;

/// The profile of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The version of heist.
    pub heist: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The number of the process.
    pub pid: u32,
    /// When it started, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// True if there was a file in the place of this one, which it has replaced.
    pub has_replaced: bool,
    /// The workers of its largest pool.
    pub workers: usize,
    /// The number of pools that it built.
    pub pools: usize,
    /// The processors that it may use.
    pub processors: usize,
    /// From its start to its end.
    pub wall_ns: u64,
    /// The part of that in which no worker of any pool had a job.
    pub outside_ns: u64,
    /// The part in which workers of several pools ran jobs at once.
    pub pools_at_once_ns: u64,
    /// The time of all workers of those pools in that part.
    pub workers_at_once_ns: u64,
    /// The sum of all strands: T1.
    pub work_ns: u64,
    /// The longest path of strands, each of which needs the one before: T∞.
    pub span_ns: u64,
    /// The longest path, if each fork on it costs a steal.
    pub burdened_span_ns: u64,
    /// The price of a steal in that.
    pub steal_ns: u64,
    /// The time from when there was a job and its thief had none to the first instruction there, in
    /// the median; none if nothing was stolen.
    pub median_steal_ns: Option<u64>,
    /// The work of jobs that nobody waits for, and what others were at when the process ended; if
    /// there is any, the span is a lower bound.
    pub unjoined_work_ns: u64,
    /// The number of strands.
    pub strands: u64,
    /// The number of jobs that were offered to other workers.
    pub forks: u64,
    /// How many of those other workers ran.
    pub stolen: u64,
    /// The time that the measurement takes for each strand, which the others do not contain.
    pub empty_strand_ns: f64,
    /// All strands by their length.
    pub grain: Vec<Grain>,
    /// The places where jobs are made, the one with the most work first.
    pub sites: Vec<Site>,
    /// How many more sites there were than can be told apart.
    pub other_sites: u64,
    /// The time of workers that had no job, by cause.
    pub idle: Idle,
    /// The idle time of sequential sections, by the site of the fork that ended each.
    pub sequential: Vec<Sequential>,
    /// The time that the rest of the machine took.
    pub interference: Interference,
}

/// The strands of about one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grain {
    /// They were shorter than this, and not shorter than half of it.
    pub below_ns: u64,
    /// Their number.
    pub strands: u64,
    /// Their work.
    pub work_ns: u64,
}

/// One place in the program where jobs are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The type of the closure that was given to heist there.
    pub name: String,
    /// The operation.
    pub kind: &'static str,
    /// How many jobs it offered to other workers.
    pub forks: u64,
    /// How many of those other workers ran.
    pub stolen: u64,
    /// The work of its strands.
    pub work_ns: u64,
    /// The part of the longest path that is in its strands.
    pub span_ns: u64,
    /// Its longest strand.
    pub longest_ns: u64,
    /// Its strands by their length.
    pub grain: Vec<Grain>,
}

/// The time of workers that had no job while another worker of their pool had one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// One worker alone had a job, and had offered none.
    pub sequential_ns: u64,
    /// Several had jobs, and offered none.
    pub narrow_ns: u64,
    /// They waited for a job that their own job needs.
    pub joins_ns: u64,
    /// There were jobs, which they had not found yet.
    pub stealing_ns: u64,
    /// They were asleep when there was a job for them.
    pub waking_ns: u64,
}

/// A sequential section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequential {
    /// The site of the fork that ended it.
    pub before: String,
    /// The idle time of all other workers in it.
    pub ns: u64,
}

/// The time that the rest of the machine took, as far as the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interference {
    /// The time that the process' threads had a processor.
    pub cpu_ns: u64,
    /// The time that they waited for one.
    pub run_delay_ns: u64,
    /// The time that the host took from this machine's processors.
    pub host_steal_ns: u64,
    /// The time of all processors.
    pub host_ns: u64,
}

impl Profile {
    /// The version of the form that `to_json` writes.
    pub const VERSION: u32 = 1;

    /// The profile as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.number("heist_profile", Self::VERSION);
            self.head(json);
            self.totals(json);
            json.grain(&self.grain);
            json.array("sites", &self.sites, Json::site);
            json.number("other_sites", self.other_sites);
            json.named("idle_ns", |json| json.idle(&self.idle));
            json.array("sequential", &self.sequential, |json, section| {
                json.text("before", &section.before);
                json.number("ns", section.ns);
            });
            json.named("interference", |json| json.interference(self.interference));
        });
        json.finish()
    }

    fn head(&self, json: &mut Json) {
        json.text("heist", &self.heist);
        json.texts("command", &self.command);
        json.number("pid", self.pid);
        json.number("started_unix_ms", self.started_unix_ms);
        json.number("has_replaced", self.has_replaced);
        json.number("workers", self.workers);
        json.number("pools", self.pools);
        json.number("processors", self.processors);
    }

    fn totals(&self, json: &mut Json) {
        json.number("wall_ns", self.wall_ns);
        json.number("outside_ns", self.outside_ns);
        json.number("pools_at_once_ns", self.pools_at_once_ns);
        json.number("workers_at_once_ns", self.workers_at_once_ns);
        json.number("work_ns", self.work_ns);
        json.number("span_ns", self.span_ns);
        json.number("burdened_span_ns", self.burdened_span_ns);
        json.number("steal_ns", self.steal_ns);
        json.number("steal_ns_measured", false);
        if let Some(median_ns) = self.median_steal_ns {
            json.number("median_steal_ns", median_ns);
        }
        json.number("unjoined_work_ns", self.unjoined_work_ns);
        json.number("strands", self.strands);
        json.number("forks", self.forks);
        json.number("stolen", self.stolen);
        json.number(
            "empty_strand_ns",
            format_args!("{:.1}", self.empty_strand_ns),
        );
    }
}

impl Json {
    fn grain(&mut self, grain: &[Grain]) {
        self.array("grain", grain, |json, grain| {
            json.number("below_ns", grain.below_ns);
            json.number("strands", grain.strands);
            json.number("work_ns", grain.work_ns);
        });
    }

    fn site(&mut self, site: &Site) {
        self.text("name", &site.name);
        self.text("kind", site.kind);
        self.number("forks", site.forks);
        self.number("stolen", site.stolen);
        self.number("work_ns", site.work_ns);
        self.number("span_ns", site.span_ns);
        self.number("longest_ns", site.longest_ns);
        self.grain(&site.grain);
    }

    pub(crate) fn idle(&mut self, idle: &Idle) {
        self.number("sequential", idle.sequential_ns);
        self.number("narrow", idle.narrow_ns);
        self.number("joins", idle.joins_ns);
        self.number("stealing", idle.stealing_ns);
        self.number("waking", idle.waking_ns);
    }

    fn interference(&mut self, taken: Interference) {
        self.number("cpu_ns", taken.cpu_ns);
        self.number("run_delay_ns", taken.run_delay_ns);
        self.number("host_steal_ns", taken.host_steal_ns);
        self.number("host_ns", taken.host_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_profile_is_as_agreed() {
        let grain = vec![Grain {
            below_ns: 1024,
            strands: 2,
            work_ns: 1500,
        }];
        let profile = Profile {
            heist: "0.1.0".to_owned(),
            command: vec!["say \"hi\"".to_owned(), "back\\slash\n".to_owned()],
            work_ns: 1500,
            empty_strand_ns: 12.54,
            grain: grain.clone(),
            sites: vec![Site {
                name: "a::b<c>".to_owned(),
                kind: "join",
                forks: 1,
                grain,
                ..Site::default()
            }],
            ..Profile::default()
        };
        let json = profile.to_json();
        for part in [
            "{\n  \"heist_profile\": 1,\n  \"heist\": \"0.1.0\",\n",
            "\n  \"has_replaced\": false,\n",
            r#""command": ["say \"hi\"", "back\\slash\u000a"],"#,
            "\n  \"work_ns\": 1500,\n",
            "\"empty_strand_ns\": 12.5,\n",
            "\"grain\": [\n    { \"below_ns\": 1024, \"strands\": 2, \"work_ns\": 1500 }],\n",
            "\"sites\": [\n    { \"name\": \"a::b<c>\", \"kind\": \"join\", \"forks\": 1,",
            "\"grain\": [{ \"below_ns\": 1024, \"strands\": 2, \"work_ns\": 1500 }] }],\n",
            "\"sequential\": [],\n",
            "\"host_ns\": 0 }\n}\n",
        ] {
            assert!(json.contains(part), "{part} is not in\n{json}");
        }
    }
}
