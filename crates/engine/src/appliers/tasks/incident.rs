//! INCIDENT events.

use skep_protocol::Key;
use skep_protocol::intent::IncidentIntent as Intent;
use skep_protocol::value::{ErrorType, IncidentValue};

use crate::appliers::Apply;
use crate::state::{JobState, State};

impl Apply<IncidentValue> for State {
    fn apply(&mut self, key: Key, intent: Intent, value: &IncidentValue, _timestamp: i64) {
        match intent {
            Intent::Created => {
                self.incidents.insert(key, value);
                if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                    element.extra().incidents.push(key);
                }
                // Not activatable until someone has made it smaller.
                if value.error_type == ErrorType::MessageSizeExceeded {
                    self.jobs.update(value.job_key, |job| {
                        job.state = JobState::Incident;
                    });
                }
            }
            Intent::Resolved => {
                self.incidents.remove(key);
                if let Some(element) = self.elements.must_get_mut(value.element_instance_key) {
                    element.extra().incidents.retain(|k| *k != key);
                }
                let of_job = matches!(
                    value.error_type,
                    ErrorType::JobNoRetries
                        | ErrorType::ExecutionListenerNoRetries
                        | ErrorType::TaskListenerNoRetries
                        | ErrorType::AdHocSubProcessNoRetries
                        | ErrorType::UnhandledErrorEvent
                        | ErrorType::MessageSizeExceeded
                );
                if of_job && value.job_key.some().is_some() {
                    self.jobs.update(value.job_key, |job| {
                        if matches!(job.state, JobState::Incident | JobState::ErrorThrown) {
                            job.state = JobState::Activatable;
                        }
                    });
                }
            }
            Intent::Migrated => self.incidents.insert(key, value),
            Intent::Resolve => {}
        }
    }
}
