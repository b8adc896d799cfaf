//! Notes about the records of a batch: taken when records are written, counted when they are committed.
//!
//! The broker's metrics count work only once it is committed. Taking a note costs a few nanoseconds while the value is at
//! hand; reading the batch again would cost more than applying it.

use std::any::Any;
use std::sync::Arc;

use skep_protocol::batch::Kind;
use skep_protocol::intent::{
    BatchOperationChunkIntent, BatchOperationExecutionIntent, BatchOperationIntent,
    CommandDistributionIntent, IncidentIntent, Intent, JobIntent, ProcessInstanceIntent,
    VariableIntent,
};
use skep_protocol::value::{
    BatchOperationChunkValue, BatchOperationCreationValue, BatchOperationLifecycleManagementValue,
    BatchOperationType, CommandDistributionValue, DecisionEvaluationValue, JobBatchValue, JobValue,
    ProcessInstanceCreationValue, ProcessInstanceValue, RecordValue, VariableValue,
};
use skep_protocol::{Key, ValueType};

/// The notes of one batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Kinds of the records, in batch order.
    pub kinds: Vec<Kind>,
    /// Time of the batch, epoch milliseconds.
    pub timestamp: i64,
    pub notes: Vec<Note>,
}

/// An event for which metrics count more than just the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// An element instance was activated, completed or terminated.
    Element(NotedElement),
    /// A job began, ended, failed or timed out.
    Job {
        key: Key,
        job_type: Arc<str>,
        intent: JobIntent,
    },
    JobActivated {
        key: Key,
        job_type: Arc<str>,
    },
    VariableCreated {
        process_definition_key: Key,
        bytes: usize,
    },
    InstanceCreated {
        /// It starts at elements named by the command, not at the start event.
        at_elements: bool,
    },
    Incident(IncidentIntent),
    Distribution {
        intent: CommandDistributionIntent,
        /// The partition that receives the command.
        partition: u32,
    },
    DecisionsEvaluated {
        succeeded: u32,
        failed: u32,
    },
    /// A step of the batch operation with this key.
    Batch(Key, NotedBatch),
}

/// A step in the life cycle of a batch operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotedBatch {
    Created(BatchOperationType),
    /// Items were chosen.
    Chunk {
        items: usize,
    },
    Initialized,
    /// The items of a chunk are being carried out.
    Executing,
    Completed,
    Failed,
    Canceled,
    Suspended,
    Resumed,
}

/// A step in the life cycle of an element instance.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedElement {
    pub key: Key,
    pub process_definition_key: Key,
    pub element: u32,
    /// It is the process element of a root instance.
    pub root: bool,
    pub intent: ProcessInstanceIntent,
}

impl Noted {
    /// Notes an event. Values that no metric counts cost nothing, because the compiler knows their types.
    #[inline]
    pub(crate) fn event<V: RecordValue>(&mut self, key: Key, intent: u8, value: &V) {
        let value: &dyn Any = value;
        match V::VALUE_TYPE {
            ValueType::ProcessInstance => self.element(key, intent, value.downcast_ref()),
            ValueType::Job => self.job(key, intent, value.downcast_ref()),
            ValueType::JobBatch => self.job_batch(value.downcast_ref()),
            ValueType::Variable => self.variable(intent, value.downcast_ref()),
            ValueType::ProcessInstanceCreation => {
                let creation: Option<&ProcessInstanceCreationValue> = value.downcast_ref();
                self.notes.extend(creation.map(|c| Note::InstanceCreated {
                    at_elements: !c.start_elements.is_empty(),
                }));
            }
            ValueType::Incident => {
                let intent = IncidentIntent::from_id(intent);
                self.notes.extend(intent.map(Note::Incident));
            }
            ValueType::DecisionEvaluation => {
                let evaluation: Option<&DecisionEvaluationValue> = value.downcast_ref();
                self.notes.extend(evaluation.map(decisions));
            }
            ValueType::CommandDistribution => {
                let value: Option<&CommandDistributionValue> = value.downcast_ref();
                let intent = CommandDistributionIntent::from_id(intent);
                self.notes
                    .extend(value.zip(intent).map(|(value, intent)| Note::Distribution {
                        intent,
                        partition: value.partition_id,
                    }));
            }
            ValueType::BatchOperationCreation
            | ValueType::BatchOperationChunk
            | ValueType::BatchOperationInitialization
            | ValueType::BatchOperationExecution
            | ValueType::BatchOperationLifecycleManagement => {
                let noted = batch_operation(key, V::VALUE_TYPE, intent, value);
                self.notes.extend(noted);
            }
            _ => {}
        }
    }

    #[inline]
    fn element(&mut self, key: Key, intent: u8, value: Option<&ProcessInstanceValue>) {
        use ProcessInstanceIntent::*;
        let intent = ProcessInstanceIntent::from_id(intent);
        let (Some(value), Some(intent @ (ElementActivated | ElementCompleted | ElementTerminated))) =
            (value, intent)
        else {
            return;
        };
        self.notes.push(Note::Element(NotedElement {
            key,
            process_definition_key: value.process_definition_key,
            element: value.element,
            root: value.element == 0 && value.parent_process_instance_key.is_none(),
            intent,
        }));
    }

    #[inline]
    fn job(&mut self, key: Key, intent: u8, value: Option<&JobValue>) {
        let (Some(value), Some(intent)) = (value, JobIntent::from_id(intent)) else {
            return;
        };
        self.notes.push(Note::Job {
            key,
            job_type: value.job_type.clone(),
            intent,
        });
    }

    #[inline]
    fn job_batch(&mut self, value: Option<&JobBatchValue>) {
        let Some(value) = value else {
            return;
        };
        let activated = |key: &Key| Note::JobActivated {
            key: *key,
            job_type: value.job_type.clone(),
        };
        self.notes.extend(value.job_keys.iter().map(activated));
    }

    #[inline]
    fn variable(&mut self, intent: u8, value: Option<&VariableValue>) {
        if intent == VariableIntent::Created.id() {
            self.notes.extend(value.map(|value| Note::VariableCreated {
                process_definition_key: value.process_definition_key,
                bytes: value.value.len(),
            }));
        }
    }
}

fn batch_operation(key: Key, value_type: ValueType, intent: u8, value: &dyn Any) -> Option<Note> {
    use BatchOperationIntent as Life;
    let life = Life::from_id(intent);
    let (key, noted) = match value_type {
        ValueType::BatchOperationCreation => {
            let value: &BatchOperationCreationValue = value.downcast_ref()?;
            (key, NotedBatch::Created(value.kind))
        }
        ValueType::BatchOperationChunk => {
            if intent != BatchOperationChunkIntent::Created.id() {
                return None;
            }
            let value: &BatchOperationChunkValue = value.downcast_ref()?;
            let items = value.items.len();
            (value.batch_operation_key, NotedBatch::Chunk { items })
        }
        // A failed part is reported again when all are done.
        ValueType::BatchOperationInitialization => {
            life.filter(|life| *life == Life::Initialized)?;
            (key, NotedBatch::Initialized)
        }
        ValueType::BatchOperationExecution => {
            if intent != BatchOperationExecutionIntent::Executing.id() {
                return None;
            }
            (key, NotedBatch::Executing)
        }
        ValueType::BatchOperationLifecycleManagement => {
            let value: &BatchOperationLifecycleManagementValue = value.downcast_ref()?;
            let noted = match life? {
                Life::Completed => NotedBatch::Completed,
                Life::Failed => NotedBatch::Failed,
                Life::Canceled => NotedBatch::Canceled,
                Life::Suspended => NotedBatch::Suspended,
                Life::Resumed => NotedBatch::Resumed,
                _ => return None,
            };
            (value.batch_operation_key, noted)
        }
        _ => return None,
    };
    Some(Note::Batch(key, noted))
}

/// Counts evaluated decisions. A failed one is the last of them.
fn decisions(value: &DecisionEvaluationValue) -> Note {
    let evaluated = u32::try_from(value.evaluated_decisions.len()).unwrap_or(u32::MAX);
    let failed = u32::from(value.failure.is_some());
    Note::DecisionsEvaluated {
        succeeded: evaluated.saturating_sub(failed),
        failed,
    }
}
