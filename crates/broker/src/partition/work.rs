//! The jobs of a partition, for pages that show the work of the whole cluster.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_engine::state::State;
use skep_protocol::TenantId;
use skep_service::work::{JobsInFlight, PartitionWork, WaitingJobs, shared_noted};

/// Maximum number of lines in a partition's answer, per kind.
const MAX_LINES: usize = 1_000;
/// Maximum number of jobs with workers that are examined for it.
const MAX_LOOKED_AT: usize = 5_000;
/// Maximum number of those that are read from disk: the partition does nothing else meanwhile.
const MAX_READ: usize = 100;

/// The jobs in a partition's state, on its leader.
pub(super) fn of_state(partition: u32, state: &mut State) -> PartitionWork {
    let mut waiting = state.jobs.waiting();
    let lines = waiting.by_ref().take(MAX_LINES);
    let lines = lines.map(|(job_type, tenant, count, oldest)| WaitingJobs {
        job_type: shared_noted(job_type),
        tenant,
        count: count as u64,
        oldest,
    });
    let lines = lines.collect();
    let has_more = waiting.next().is_some();
    drop(waiting);
    let with_workers = state.jobs.activated_count();
    let mut counts: FxHashMap<(Arc<str>, Arc<str>, TenantId), u64> = FxHashMap::default();
    let known = state.jobs.with_workers(MAX_LOOKED_AT, MAX_READ);
    let is_incomplete = has_more || with_workers > known.len();
    for (job_type, worker, tenant) in known {
        let of = (shared_noted(&job_type), shared_noted(&worker), tenant);
        *counts.entry(of).or_default() += 1;
    }
    let is_incomplete = is_incomplete || counts.len() > MAX_LINES;
    let in_flight = counts.into_iter().take(MAX_LINES);
    let in_flight = in_flight.map(|((job_type, worker, tenant), count)| JobsInFlight {
        job_type,
        worker,
        tenant,
        count,
    });
    PartitionWork {
        partition,
        waiting: lines,
        in_flight: in_flight.collect(),
        is_incomplete,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skep_engine::state::State;
    use skep_model::builder::Bpmn;
    use skep_protocol::{Key, TenantId};
    use skep_service::work::PartitionWork;
    use skep_testkit::rig::{MemoryStore, Pending, Rig};

    use super::{MAX_READ, of_state};

    /// Two job types, with this many activated jobs, as in a newly opened partition: no job is in memory.
    fn cold(with_workers: usize, waiting: usize) -> State {
        let mut rig = Rig::new();
        for job_type in ["taken", "waits"] {
            let model = Bpmn::process(job_type)
                .start("s")
                .service_task("t", job_type)
                .end("e");
            rig.deploy(model);
        }
        for _ in 0..with_workers {
            rig.create("taken", "{}");
        }
        assert_eq!(rig.jobs("taken").len(), with_workers);
        for _ in 0..waiting {
            rig.create("waits", "{}");
        }
        let (store, mut rows) = (MemoryStore::default(), Pending::default());
        rig.engine(1).state.checkpoint(&mut rows);
        store.write(rows);
        State::open(1, Arc::new(store)).expect("a state")
    }

    fn in_flight(work: &PartitionWork) -> u64 {
        work.in_flight.iter().map(|jobs| jobs.count).sum()
    }

    #[test]
    fn jobs_that_wait_are_counted_without_reading_them() {
        let mut state = cold(0, 500);
        let before = state.resident_bytes();
        let work = of_state(1, &mut state);
        let [line] = &work.waiting[..] else {
            panic!("{work:?}");
        };
        let oldest = state.jobs.activatable("waits", &TenantId::default()).next();
        assert_eq!((&*line.job_type, line.count), ("waits", 500));
        assert_eq!(Some(line.oldest), oldest);
        assert!(line.oldest > Key(0) && !work.is_incomplete);
        assert_eq!(state.resident_bytes(), before, "nothing was read");
    }

    #[test]
    fn only_a_limited_number_of_activated_jobs_is_read_at_a_time() {
        let mut state = cold(MAX_READ + 50, 1);
        let work = of_state(1, &mut state);
        assert_eq!(
            (in_flight(&work), work.is_incomplete),
            (MAX_READ as u64, true)
        );
        // Those are in memory now.
        let work = of_state(1, &mut state);
        let all = MAX_READ as u64 + 50;
        assert_eq!((in_flight(&work), work.is_incomplete), (all, false));
        assert_eq!(work.waiting.len(), 1);
    }
}
