//! JOB TIME_OUT: the worker did not finish in time, and the job becomes activatable again.

use skep_protocol::Key;
use skep_protocol::intent::JobIntent;

use super::value_of;
use crate::processing::Context;
use crate::state::JobState;

pub(crate) fn process(cx: &mut Context<'_>, key: Key) {
    if let Some(job) = cx.state.jobs.get(key)
        && job.state == JobState::Activated
        && job.due < cx.now
    {
        let value = value_of(job);
        cx.event(key, JobIntent::TimedOut, &value);
        cx.new_jobs.push(key);
    }
}
