//! JOB_BATCH ACTIVATED: workers receive jobs.

use skep_protocol::Key;
use skep_protocol::intent::JobBatchIntent as Intent;
use skep_protocol::value::JobBatchValue;

use crate::appliers::Apply;
use crate::state::{JobState, State};

impl Apply<JobBatchValue> for State {
    fn apply(&mut self, _key: Key, intent: Intent, value: &JobBatchValue, _timestamp: i64) {
        if intent != Intent::Activated {
            return;
        }
        for key in &value.job_keys {
            self.jobs.update(*key, |job| {
                job.state = JobState::Activated;
                job.due = value.deadline;
                job.worker = value.worker.clone();
            });
        }
    }
}
