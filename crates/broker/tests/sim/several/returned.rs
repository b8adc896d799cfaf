//! Clients close their streams while jobs are on the way to them: the jobs are returned to their partition, perhaps late and repeatedly, and
//! another worker gets them.

use skep_protocol::ActivatedJob;
use skep_protocol::response::JobActivation;

use super::Mutation;
use super::world::{Happening, ReplicaId, World};

/// Maximum microseconds by which a repeated return is late: the job is with another worker by then.
const LATE: u64 = 400_000;

impl World {
    /// The machine to which a job was pushed returns it to the leader that it knows.
    pub fn give_back(&mut self, (partition, host): ReplicaId, job: &ActivatedJob) {
        let job = job.activation();
        self.chronicle.returned.insert((job.key, job.deadline));
        let Some(leader) = self.leader_of(host, partition) else {
            return;
        };
        let mut delays = self.deliveries(host, leader);
        if self.random.below(3) == 0 {
            delays.push(self.random.below(LATE));
        }
        for delay in delays {
            let place = (partition, leader);
            self.after(delay, Happening::Returned { place, job });
        }
    }

    /// A replica that does not lead drops it: the job times out.
    pub fn comes_back(&mut self, place: ReplicaId, job: &JobActivation) {
        let now = self.millis(place.1);
        let any_counts = self.mutation == Mutation::AnyReturnCounts;
        let Some(running) = self.node(place).leading() else {
            return;
        };
        let mut deadline = job.deadline;
        if any_counts && let Some(now_with) = running.core.engine_mut().state.jobs.get(job.key) {
            deadline = now_with.due;
        }
        let streams = &mut running.streams;
        running.core.yield_job(now, job.key, deadline, streams);
        self.propose(place);
        self.settle(place);
    }
}
