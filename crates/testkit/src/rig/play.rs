//! Plays instances to their end: takes the part of workers, users and the outside world, and does everything that instances wait for.

use std::collections::BTreeSet;

use skep_engine::state::JobState;
use skep_protocol::command::*;
use skep_protocol::value::{ActivateElement, JobKind, JobResult};
use skep_protocol::{ActivatedJob, Document, Key};

use super::{Rig, Seen};

impl Rig {
    /// Does everything that instances wait for, round after round, until none is left: completes jobs and user tasks with these variables,
    /// sends messages and signals, lets time pass, resolves incidents. Returns the instances left after this many rounds.
    pub fn play(&mut self, variables: &str, rounds: usize) -> Vec<Key> {
        for _ in 0..rounds {
            if self.open_instances().is_empty() {
                return Vec::new();
            }
            self.play_round(variables);
        }
        self.open_instances()
    }

    fn play_round(&mut self, variables: &str) {
        self.resolve_all();
        self.send_messages();
        self.broadcast_signals();
        self.complete_jobs(variables);
        self.complete_user_tasks(variables);
        for instance in self.open_instances() {
            // The instance may have ended meanwhile.
            let _ = self.send(Command::SetVariables {
                element_instance_key: instance,
                variables: Document::parse(variables).unwrap(),
                local: false,
            });
        }
        self.pass_time();
    }

    /// Gives failed jobs new retries, and resolves all incidents.
    pub fn resolve_all(&mut self) {
        for incident in self.incidents() {
            let record = self.events("INCIDENT").find(|r| r.key == incident.key);
            let job = record.and_then(|r| r.field("jobKey").as_i64()).map(Key);
            if let Some(job) = job.and_then(Key::some) {
                let _ = self.set_retries(job, 2);
            }
            let _ = self.resolve(incident.key);
        }
    }

    fn complete_jobs(&mut self, variables: &str) {
        let mut types = BTreeSet::new();
        for partition in &self.partitions {
            let jobs = &partition.engine.state.jobs.table;
            let visited = jobs.for_each(|_, job| {
                if job.state == JobState::Activatable {
                    types.insert(job.job_type.to_string());
                }
            });
            visited.unwrap();
        }
        for job_type in types {
            for job in self.jobs(&job_type) {
                self.do_job(&job, variables);
            }
        }
    }

    /// Works a job; one that was cancelled meanwhile is refused.
    pub fn do_job(&mut self, job: &ActivatedJob, variables: &str) {
        let (variables, result) = match job.kind {
            JobKind::TaskListener(_) => ("{}", None),
            JobKind::AdHocSubProcess => {
                let result = JobResult {
                    activate_elements: first_activity(job),
                    completion_condition_fulfilled: true,
                    ..JobResult::default()
                };
                (variables, Some(Box::new(result)))
            }
            _ => (variables, None),
        };
        let _ = self.send(Command::CompleteJob {
            job_key: job.key,
            variables: Document::parse(variables).unwrap(),
            result,
        });
    }

    fn complete_user_tasks(&mut self, variables: &str) {
        for task in self.waiting_user_tasks() {
            // The answer comes after its listeners have run.
            self.send_async(Rig::completion(task, variables));
        }
    }

    /// User tasks without a transition under way, oldest first.
    pub fn waiting_user_tasks(&self) -> Vec<Key> {
        let mut tasks = Vec::new();
        for partition in &self.partitions {
            let rows = &partition.engine.state.user_tasks.table;
            let visited = rows.for_each(|key, task| {
                if task.transition.is_none() {
                    tasks.push(key);
                }
            });
            visited.unwrap();
        }
        tasks.sort();
        tasks
    }

    fn send_messages(&mut self) {
        for (name, key) in self.awaited_messages() {
            self.publish(&name, &key, 0, "{}");
        }
    }

    /// Names and correlation keys of messages that instances wait for.
    pub fn awaited_messages(&self) -> BTreeSet<(String, String)> {
        let mut awaited = BTreeSet::new();
        for partition in &self.partitions {
            let subscriptions = &partition.engine.state.message_subscriptions.table;
            let visited = subscriptions.for_each(|_, row| {
                awaited.insert((
                    row.message_name.to_string(),
                    row.correlation_key.to_string(),
                ));
            });
            visited.unwrap();
        }
        awaited
    }

    fn broadcast_signals(&mut self) {
        let mut awaited = BTreeSet::new();
        for partition in &self.partitions {
            let visited = partition.engine.state.signals.table.for_each(|_, row| {
                if row.element_instance_key.some().is_some() {
                    awaited.insert(row.signal_name.to_string());
                }
            });
            visited.unwrap();
        }
        for name in awaited {
            self.broadcast(&name, "{}");
        }
    }

    pub fn broadcast(&mut self, signal: &str, variables: &str) {
        self.send_async(Command::BroadcastSignal(BroadcastSignal {
            signal_name: signal.into(),
            variables: Document::parse(variables).unwrap(),
        }));
    }

    /// Lets time pass until the next timer of an instance, and until unfinished jobs time out.
    fn pass_time(&mut self) {
        let mut next = i64::MAX;
        for partition in &self.partitions {
            let visited = partition.engine.state.timers.table.for_each(|_, timer| {
                if timer.element_instance_key.some().is_some() {
                    next = next.min(timer.due_date);
                }
            });
            visited.unwrap();
        }
        let until_timer = match next {
            i64::MAX => 0,
            next => next - self.now,
        };
        self.advance(until_timer.max(11 * super::MINUTE));
    }

    /// The first event of this kind about this element.
    pub fn event_of(&self, value_type: &str, intent: &str, element: &str) -> Option<&Seen> {
        let mut events = self.events(value_type);
        events.find(|r| r.intent == intent && r.element() == element)
    }
}

/// Plays the worker of an ad-hoc sub-process: activates the first of the available activities.
fn first_activity(job: &ActivatedJob) -> Vec<ActivateElement> {
    let variables: serde_json::Value = serde_json::from_str(&job.variables).unwrap();
    let first = &variables["adHocSubProcessElements"][0]["elementId"];
    let first = first.as_str().map(|id| ActivateElement {
        element_id: id.into(),
        variables: Vec::new(),
    });
    first.into_iter().collect()
}
