//! JOB YIELD: a pushed job could not be delivered. It becomes activatable again immediately, without losing a retry.

use skep_protocol::Key;
use skep_protocol::intent::JobIntent;

use super::value_of;
use crate::processing::Context;
use crate::state::JobState;

/// `deadline` identifies the activation that failed to arrive. A job that has been activated again since then is left
/// alone.
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
