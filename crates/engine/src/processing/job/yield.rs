//! JOB YIELD: a pushed job could not be delivered; it goes back at once, without losing a retry.

use skep_protocol::Key;
use skep_protocol::intent::JobIntent;

use super::value_of;
use crate::processing::Context;
use crate::state::JobState;

/// `deadline`: the activation that failed to arrive. A job that was activated anew since then stays where it is.
pub(crate) fn process(cx: &mut Context<'_>, key: Key, deadline: i64) {
    if let Some(job) = cx.state.jobs.get(key)
        && job.state == JobState::Activated
        && job.due == deadline
    {
        let value = value_of(job);
        cx.event(key, JobIntent::Yielded, &value);
        cx.new_jobs.push(key);
    }
}
