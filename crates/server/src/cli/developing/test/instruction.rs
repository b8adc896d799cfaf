//! The instructions of a test case, as the schema of process-test scenarios names them.

use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::selector::{
    DecisionDefinitionSelector, DecisionSelector, ElementSelector, IncidentSelector, JobSelector,
    MessageSelector, ProcessDefinitionSelector, ProcessInstanceSelector, UserTaskSelector,
};
use super::value::{Amount, Instant, Span, Variables};

/// Deserializes an optional field that must have its type if present: null is not allowed.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Declares one struct for each instruction: required fields first, then optional ones.
macro_rules! instructions {
    ($($name:literal $kind:ident { $($field:ident: $type:ty),* } optional { $($other:ident: $of:ty),* })+) => {
        $(
            #[derive(Debug, Deserialize)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $kind {
                #[serde(rename = "type")]
                _type: IgnoredAny,
                $(pub $field: $type,)*
                $(
                    #[serde(default, deserialize_with = "given")]
                    pub $other: Option<$of>,
                )*
            }
        )+

        #[derive(Debug)]
        pub enum Instruction {
            $($kind($kind)),+
        }

        /// The types of all instructions.
        pub const NAMES: &[&str] = &[$($name),+];

        impl Instruction {
            /// Reads the instruction of this type; `None` if there is no such type.
            pub fn read(name: &str, text: &str) -> Option<Result<Instruction, serde_json::Error>> {
                match name {
                    $($name => Some(serde_json::from_str(text).map(Instruction::$kind)),)+
                    _ => None,
                }
            }

            pub fn name(&self) -> &'static str {
                match self {
                    $(Instruction::$kind(_) => $name),+
                }
            }
        }
    };
}

instructions! {
    "ASSERT_DECISION" AssertDecision {
        decision_selector: DecisionSelector
    } optional {
        output: Box<RawValue>, matched_rules: Vec<i64>, not_matched_rules: Vec<i64>, no_matched_rules: bool
    }
    "ASSERT_ELEMENT_INSTANCE" AssertElementInstance {
        process_instance_selector: ProcessInstanceSelector, element_selector: ElementSelector, state: ElementState
    } optional { amount: Amount }
    "ASSERT_ELEMENT_INSTANCES" AssertElementInstances {
        process_instance_selector: ProcessInstanceSelector, element_selectors: Vec<ElementSelector>, state: ElementsState
    } optional {}
    "ASSERT_PROCESS_INSTANCE" AssertProcessInstance {
        process_instance_selector: ProcessInstanceSelector
    } optional { state: ProcessInstanceState, has_active_incidents: bool }
    "ASSERT_PROCESS_INSTANCE_MESSAGE_SUBSCRIPTION" AssertSubscription {
        process_instance_selector: ProcessInstanceSelector, message_selector: MessageSelector, state: SubscriptionState
    } optional {}
    "ASSERT_USER_TASK" AssertUserTask {
        user_task_selector: UserTaskSelector
    } optional {
        state: UserTaskState, assignee: String, candidate_groups: Vec<String>, priority: i64, element_id: String,
        name: String, due_date: String, follow_up_date: String
    }
    "ASSERT_VARIABLES" AssertVariables {
        process_instance_selector: ProcessInstanceSelector
    } optional { element_selector: ElementSelector, variable_names: Vec<String>, variables: Variables }
    "BROADCAST_SIGNAL" BroadcastSignal { signal_name: String } optional { variables: Variables }
    "COMPLETE_JOB" CompleteJob { job_selector: JobSelector } optional { variables: Variables, use_example_data: bool }
    "COMPLETE_JOB_AD_HOC_SUB_PROCESS" CompleteAdHocJob { job_selector: JobSelector } optional {
        variables: Variables, activate_elements: Vec<ActivateElement>, cancel_remaining_instances: bool,
        completion_condition_fulfilled: bool
    }
    "COMPLETE_JOB_USER_TASK_LISTENER" CompleteListenerJob { job_selector: JobSelector } optional {
        denied: bool, denied_reason: String, corrections: Corrections
    }
    "COMPLETE_USER_TASK" CompleteUserTask { user_task_selector: UserTaskSelector } optional {
        variables: Variables, use_example_data: bool
    }
    "CORRELATE_MESSAGE" CorrelateMessage { name: String } optional { correlation_key: String, variables: Variables }
    "CREATE_PROCESS_INSTANCE" CreateProcessInstance {
        process_definition_selector: ProcessDefinitionSelector
    } optional {
        variables: Variables, start_instructions: Vec<StartInstruction>, runtime_instructions: Vec<RuntimeInstruction>
    }
    "EVALUATE_CONDITIONAL_START_EVENT" EvaluateConditions { variables: Variables } optional {}
    "EVALUATE_DECISION" EvaluateDecision {
        decision_definition_selector: DecisionDefinitionSelector
    } optional { variables: Variables }
    "INCREASE_TIME" IncreaseTime { duration: Span } optional {}
    "MOCK_CHILD_PROCESS" MockChildProcess { process_definition_id: String } optional { variables: Variables }
    "MOCK_DMN_DECISION" MockDecision { decision_definition_id: String } optional { variables: Variables }
    "MOCK_JOB_WORKER_COMPLETE_JOB" MockCompletingWorker { job_type: String } optional {
        variables: Variables, use_example_data: bool
    }
    "MOCK_JOB_WORKER_THROW_BPMN_ERROR" MockThrowingWorker { job_type: String, error_code: String } optional {
        error_message: String, variables: Variables
    }
    "PUBLISH_MESSAGE" PublishMessage { name: String } optional {
        correlation_key: String, variables: Variables, time_to_live: i64, message_id: String
    }
    "RESOLVE_INCIDENT" ResolveIncident { incident_selector: IncidentSelector } optional {}
    "SET_TIME" SetTime { time: Instant } optional {}
    "THROW_BPMN_ERROR_FROM_JOB" ThrowBpmnError { job_selector: JobSelector, error_code: String } optional {
        error_message: String, variables: Variables
    }
    "UPDATE_VARIABLES" UpdateVariables {
        process_instance_selector: ProcessInstanceSelector, variables: Variables
    } optional { element_selector: ElementSelector }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartInstruction {
    pub element_id: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeInstruction {
    r#type: RuntimeInstructionType,
    pub after_element_id: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum RuntimeInstructionType {
    TerminateProcessInstance,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActivateElement {
    pub element_id: String,
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub variables: Option<Variables>,
}

macro_rules! corrections {
    ($($field:ident: $type:ty),+) => {
        /// The corrections that a listener makes to its user task.
        #[derive(Debug, Deserialize, Serialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct Corrections {
            $(
                #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
                $field: Option<$type>,
            )+
        }
    };
}

corrections! {
    assignee: String, due_date: String, follow_up_date: String, candidate_users: Vec<String>,
    candidate_groups: Vec<String>, priority: i64
}

/// Declares expected states: the name in a test case, and in words.
macro_rules! states {
    ($($name:ident { $($state:ident $words:literal),+ })+) => {
        $(
            #[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
            #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
            #[allow(clippy::enum_variant_names, reason = "the schema names them so")]
            pub enum $name {
                $($state),+
            }

            impl $name {
                pub fn words(self) -> &'static str {
                    match self {
                        $($name::$state => $words),+
                    }
                }
            }
        )+
    };
}

states! {
    ElementState { IsActive "active", IsCompleted "completed", IsTerminated "terminated" }
    ElementsState {
        IsActive "active", IsCompleted "completed", IsTerminated "terminated", IsNotActive "not active",
        IsNotActivated "never activated", IsActiveExactly "active, and no others", IsCompletedInOrder "completed in this order"
    }
    ProcessInstanceState {
        IsActive "active", IsCompleted "completed", IsCreated "created", IsTerminated "terminated"
    }
    SubscriptionState { IsWaiting "waited for", IsNotWaiting "not waited for", IsCorrelated "correlated" }
    UserTaskState { IsCreated "CREATED", IsCompleted "COMPLETED", IsCanceled "CANCELED", IsFailed "FAILED" }
}
