//! Moves of a simulated fleet: pause, transfer, cold start, and their accidents.

use super::node::PART;
use super::rule::Order;
use super::state::{Event, Place, World};

impl World<'_> {
    /// Whether the fleet can do it: the job runs elsewhere, and the target has room for it.
    pub(super) fn accepts(&self, order: &Order) -> bool {
        let Some(live) = self.live.get(order.job as usize) else {
            return false;
        };
        let runs_elsewhere = matches!(live.place, Place::Running(node) if node != order.to);
        let is_there = (order.to as usize) < self.nodes.len();
        runs_elsewhere && is_there && self.has_room(order.job, order.to)
    }

    /// A move begins, which the fleet can do.
    pub(super) fn depart(&mut self, order: &Order) {
        let (job, to) = (order.job, order.to);
        let Place::Running(from) = self.live[job as usize].place else {
            return;
        };
        let before = self.true_level(from);
        self.cease(job, from);
        self.reserve(job, to);
        self.advance(to);
        for node in [from, to] {
            self.nodes[node as usize].demand += self.setup.moving.cpus;
            self.expect_end(node);
        }
        let since_ns = self.now_ns;
        let packed = [from, to].map(|node| self.nodes[node as usize].progress);
        let live = &mut self.live[job as usize];
        live.packed = packed;
        live.place = Place::Flying {
            from,
            to,
            since_ns,
            is_sent: false,
        };
        let epoch = live.epoch;
        self.flying.push(job);
        let busy = self.setup.moving.cpus as f64 / self.nodes[to as usize].power as f64;
        self.run.moves += 1;
        self.run.overshoots += u64::from(self.true_level(to) - busy > before + 1e-9);
        self.run.bytes += self.job(job).state_bytes;
        let stopped_ns = self.now_ns.saturating_add(self.setup.moving.pause_ns);
        self.at(stopped_ns, Event::Leaves { job, epoch });
    }

    /// The job has stopped: its state begins to travel.
    pub(super) fn leaves(&mut self, job: u32, epoch: u32) {
        let bytes = self.job(job).state_bytes;
        let live = &mut self.live[job as usize];
        if live.epoch != epoch {
            return;
        }
        if let Place::Flying { is_sent, .. } = &mut live.place {
            *is_sent = true;
            self.link.advance(self.now_ns);
            self.link.begin(job, epoch, bytes);
            self.expect_landing();
        }
    }

    fn expect_landing(&mut self) {
        let live = &self.live;
        let next = self
            .link
            .next_ns(|job, epoch| live[job as usize].epoch == epoch);
        if let Some(time_ns) = next.filter(|next| *next < self.link_due_ns) {
            self.link_due_ns = time_ns;
            self.at(time_ns, Event::Lands);
        }
    }

    /// Jobs whose state has arrived run again; returns them.
    pub(super) fn lands(&mut self) -> Vec<u32> {
        if self.link_due_ns != self.now_ns {
            return Vec::new();
        }
        self.link_due_ns = u64::MAX;
        self.link.advance(self.now_ns);
        let mut landed = Vec::new();
        loop {
            let live = &self.live;
            let ended = self
                .link
                .ended(|job, epoch| live[job as usize].epoch == epoch);
            let Some(job) = ended else { break };
            let Place::Flying { from, to, .. } = self.live[job as usize].place else {
                continue;
            };
            self.end_flight(job);
            self.release(job, from);
            let live = &mut self.live[job as usize];
            self.run.returns += u64::from(live.been.contains(&to));
            let cold = self.setup.moving.cold_start_ns.saturating_mul(PART);
            live.left = live.left.saturating_add(cold);
            self.begin(job, to);
            self.serve_queue(from);
            landed.push(job);
        }
        self.expect_landing();
        landed
    }

    /// Takes a job out of the air, whatever becomes of it.
    fn end_flight(&mut self, job: u32) {
        let Place::Flying {
            from, to, since_ns, ..
        } = self.live[job as usize].place
        else {
            return;
        };
        self.flying.retain(|&other| other != job);
        self.run.pause_ns += self.now_ns - since_ns;
        let packed = self.live[job as usize].packed;
        let cpus = self.setup.moving.cpus;
        for (node, since) in [from, to].into_iter().zip(packed) {
            self.advance(node);
            let state = &mut self.nodes[node as usize];
            state.demand -= cpus;
            let parts = u128::from(state.progress - since) * u128::from(cpus);
            self.run.got += parts / u128::from(PART);
            self.expect_end(node);
        }
    }

    /// A node's throttle changes, or it dies or comes back; returns the jobs whose moves failed.
    pub(super) fn changes(&mut self, node: u32) -> Vec<u32> {
        self.advance(node);
        let facts = &self.setup.nodes[node as usize];
        let (power, is_up) = (facts.strength_at(self.now_ns), facts.is_up(self.now_ns));
        let was_up = self.nodes[node as usize].is_up;
        self.nodes[node as usize].power = power;
        let mut failed = Vec::new();
        if was_up && !is_up {
            for job in self.nodes[node as usize].jobs.clone() {
                self.cease(job, node);
                self.release(job, node);
                self.lose(job);
            }
            for job in self.flying.clone() {
                let Place::Flying {
                    from, to, is_sent, ..
                } = self.live[job as usize].place
                else {
                    continue;
                };
                if from == node || to == node {
                    self.end_flight(job);
                    if is_sent {
                        self.link.advance(self.now_ns);
                        self.link.transfers -= 1;
                    }
                    self.release(job, from);
                    self.release(job, to);
                    self.live[job as usize].epoch += 1;
                    self.lose(job);
                    failed.push(job);
                }
            }
            self.run.failed_moves += failed.len() as u64;
            self.expect_landing();
        }
        self.nodes[node as usize].is_up = is_up;
        let rank = self.rank(node);
        if is_up {
            self.roomiest.insert(rank);
        } else {
            self.roomiest.remove(&rank);
        }
        self.expect_end(node);
        if is_up {
            self.serve_queue(node);
        }
        failed
    }

    /// The job's node has died: it starts again later, from its last checkpoint.
    fn lose(&mut self, job: u32) {
        let interval = self.setup.checkpoint_ns.saturating_mul(PART).max(1);
        let all = self.job(job).duration_ns.saturating_mul(PART);
        let live = &mut self.live[job as usize];
        let done = all.saturating_sub(live.left);
        live.left = live.left.saturating_add(done % interval);
        live.place = Place::Lost;
        live.used = None;
        let time_ns = self.now_ns.saturating_add(self.setup.restart_ns);
        self.at(time_ns, Event::Restarts(job));
    }
}
