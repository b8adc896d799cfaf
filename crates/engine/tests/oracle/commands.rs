//! Translation of steps into commands of the engine.

use std::sync::Arc;

use serde_json::Value;
use skep_protocol::command::*;
use skep_protocol::value::*;
use skep_protocol::{Document, Key};

use crate::{batch_operations, identity, user_tasks};
use skep_testkit::scenario::Scenario;

/// Reason why a scenario cannot be played to its end.
#[derive(Debug)]
pub enum Stop {
    /// A feature that Skep does not have yet.
    NotYet(String),
    /// An entity that the scenario relies on does not exist.
    Deviates(String),
}

/// Reads the arguments of one step.
pub struct Arguments<'a>(pub &'a Value);

impl Arguments<'_> {
    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or("")
    }

    pub fn key(&self, name: &str) -> Key {
        self.0[name].as_i64().map_or(Key::NONE, Key)
    }

    pub fn number(&self, name: &str, default: i64) -> i64 {
        self.0[name].as_i64().unwrap_or(default)
    }

    /// A duration given in seconds, in milliseconds.
    pub fn seconds(&self, name: &str, default: f64) -> i64 {
        (self.0[name].as_f64().unwrap_or(default) * 1000.0) as i64
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        let items = self.0[name].as_array().map_or(&[][..], Vec::as_slice);
        items.iter().map(text_of).collect()
    }

    pub fn variables(&self) -> Document {
        match &self.0["variables"] {
            Value::Null => Document::new(),
            variables => Document::parse(&variables.to_string()).expect("variables are an object"),
        }
    }
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), String::from)
}

fn names(names: Vec<String>) -> Vec<Arc<str>> {
    names.into_iter().map(Arc::from).collect()
}

/// The command of a step that is a single command. `job` is the job that steps about jobs refer to.
pub fn command(
    operation: &str,
    arguments: &Arguments<'_>,
    scenario: &Scenario,
    job: Key,
) -> Result<Command, Stop> {
    let a = arguments;
    Ok(match operation {
        "deploy" => Command::Deploy(Deploy {
            resources: resources(scenario, a.texts("files")),
        }),
        "create" => Command::CreateProcessInstance(creation(a)),
        "activate" => Command::ActivateJobs(ActivateJobs {
            job_type: a.text("type").into(),
            worker: a.0["worker"].as_str().unwrap_or("w").into(),
            timeout: a.seconds("timeout", 300.0),
            max_jobs: a.number("max", 32) as u32,
            fetch_variables: names(a.texts("fetchVariables")),
            tenants: skep_protocol::Tenants::default(),
        }),
        "complete" => Command::CompleteJob {
            job_key: job,
            variables: a.variables(),
            result: job_result(&a.0["result"]),
        },
        "fail" => Command::FailJob(FailJob {
            job_key: job,
            retries: a.number("retries", 0) as i32,
            retry_back_off: a.seconds("backoff", 0.0),
            error_message: a.0["message"]
                .as_str()
                .unwrap_or("failed by the step")
                .into(),
            variables: a.variables(),
        }),
        "throwError" => Command::ThrowError(ThrowError {
            job_key: job,
            error_code: a.text("code").into(),
            error_message: a.text("message").into(),
            variables: a.variables(),
        }),
        "updateRetries" => Command::UpdateJob {
            job_key: a.key("job"),
            retries: Some(a.number("retries", 0) as i32),
            timeout: None,
            kind: UpdateJobKind::Retries,
        },
        "updateTimeout" => Command::UpdateJob {
            job_key: a.key("job"),
            retries: None,
            timeout: Some(a.seconds("timeout", 0.0)),
            kind: UpdateJobKind::Timeout,
        },
        "publish" => Command::PublishMessage(PublishMessage {
            name: a.text("name").into(),
            correlation_key: a.text("key").into(),
            time_to_live: a.seconds("ttl", 0.0),
            message_id: a.text("id").into(),
            variables: a.variables(),
        }),
        "correlate" => Command::CorrelateMessage(CorrelateMessage {
            name: a.text("name").into(),
            correlation_key: a.text("key").into(),
            variables: a.variables(),
        }),
        "broadcastSignal" => Command::BroadcastSignal(BroadcastSignal {
            signal_name: a.text("name").into(),
            variables: a.variables(),
        }),
        "activateAdHoc" => Command::ActivateAdHoc(ActivateAdHoc {
            ad_hoc_sub_process_instance_key: a.key("adHoc"),
            elements: elements(&a.0["elements"]),
            cancel_remaining_instances: a.0["cancelRemaining"] == true,
        }),
        "setVariables" => Command::SetVariables {
            element_instance_key: a.key("scope"),
            variables: a.variables(),
            local: a.0["local"] == true,
        },
        "resolveIncident" => Command::ResolveIncident {
            incident_key: a.key("incident"),
        },
        "cancel" => Command::CancelProcessInstance {
            process_instance_key: a.key("instance"),
        },
        "migrate" => Command::MigrateProcessInstance(MigrateProcessInstance {
            process_instance_key: a.key("instance"),
            target_process_definition_key: a.key("target"),
            mapping_instructions: mapping(&a.0["map"]),
        }),
        "modify" => Command::ModifyProcessInstance(modification(a)),
        "evaluateDecision" => Command::EvaluateDecision(EvaluateDecision {
            decision: match a.0["decisionKey"].as_i64() {
                Some(key) => DecisionRef::Key(Key(key)),
                None => DecisionRef::Id(a.text("decision").into()),
            },
            variables: a.variables(),
        }),
        "userTask" => user_tasks::command(a)?,
        "command" if a.text("valueType") == "VARIABLE_DOCUMENT" => {
            let value = Arguments(&a.0["value"]);
            Command::SetVariables {
                element_instance_key: value.key("scopeKey"),
                variables: value.variables(),
                local: value.text("updateSemantics") == "LOCAL",
            }
        }
        "deleteResource" => Command::DeleteResource {
            resource_key: a.key("resource"),
            delete_history: false,
        },
        "command" if a.text("valueType").starts_with("BATCH_OPERATION") => {
            batch_operations::command(a)?
        }
        "command" if identity::has(a.text("valueType")) => identity::command(a)?,
        "command" => {
            let (value_type, intent) = (a.text("valueType"), a.text("intent"));
            return Err(Stop::NotYet(format!("the command {value_type} {intent}")));
        }
        other => return Err(Stop::NotYet(format!("the step {other}"))),
    })
}

/// A map of ids, or a list of pairs of ids.
fn mapping(map: &Value) -> Vec<MappingInstruction> {
    let instruction = |source: &str, target: &Value| MappingInstruction {
        source_element_id: source.into(),
        target_element_id: target.as_str().unwrap_or("").into(),
    };
    match map {
        Value::Object(ids) => ids
            .iter()
            .map(|(source, target)| instruction(source, target))
            .collect(),
        _ => {
            let pairs = map.as_array().into_iter().flatten();
            let pair = |pair: &Value| instruction(pair[0].as_str().unwrap_or(""), &pair[1]);
            pairs.map(pair).collect()
        }
    }
}

/// The result of a completion, with corrections as in gRPC.
fn job_result(result: &Value) -> Option<Box<JobResult>> {
    if result.is_null() {
        return None;
    }
    let text = |value: &Value| value.as_str().map(Arc::from);
    let texts = |value: &Value| -> Option<Vec<Arc<str>>> {
        let texts = value.as_array()?.iter();
        Some(texts.map(|text| text_of(text).into()).collect())
    };
    let corrections = &result["corrections"];
    Some(Box::new(JobResult {
        kind: match result["type"].as_str() {
            Some("AD_HOC_SUB_PROCESS") => JobResultType::AdHocSubProcess,
            _ => JobResultType::UserTask,
        },
        denied: result["denied"] == true,
        denied_reason: text(&result["deniedReason"]).unwrap_or_default(),
        corrections: Corrections {
            assignee: text(&corrections["assignee"]),
            candidate_groups: texts(&corrections["candidateGroups"]),
            candidate_users: texts(&corrections["candidateUsers"]),
            due_date: text(&corrections["dueDate"]),
            follow_up_date: text(&corrections["followUpDate"]),
            priority: corrections["priority"].as_i64().map(|p| p as i32),
        },
        activate_elements: elements(&result["activateElements"]),
        completion_condition_fulfilled: result["completionConditionFulfilled"] == true,
        cancel_remaining_instances: result["cancelRemainingInstances"] == true,
    }))
}

/// Elements of an ad-hoc sub-process to be activated: ids, some with variables.
fn elements(list: &Value) -> Vec<ActivateElement> {
    let element = |element: &Value| ActivateElement {
        element_id: match element {
            Value::String(id) => id.as_str().into(),
            _ => element["elementId"].as_str().unwrap_or("").into(),
        },
        variables: match element {
            Value::String(_) => Vec::new(),
            _ => Arguments(element).variables().into_entries().collect(),
        },
    };
    list.as_array().into_iter().flatten().map(element).collect()
}

/// As in gRPC: ancestor 0 means none.
fn modification(a: &Arguments<'_>) -> ModifyProcessInstance {
    let list = |name: &str| a.0[name].as_array().cloned().unwrap_or_default();
    let activate = list("activate").into_iter().map(|instruction| {
        let instruction = Arguments(&instruction);
        let variables = instruction.0["variables"].as_array().cloned();
        let variables = variables.unwrap_or_default().into_iter();
        ActivateInstruction {
            element_id: instruction.text("element").into(),
            ancestor_scope_key: Key(instruction.number("ancestor", 0)),
            variable_instructions: variables
                .map(|variables| VariableInstruction {
                    element_id: Arguments(&variables).text("scope").into(),
                    variables: Arguments(&variables).variables().into_entries().collect(),
                })
                .collect(),
            ancestor_scope_keys: Vec::new(),
        }
    });
    let terminate = list("terminate").into_iter();
    let terminate = terminate.map(|key| TerminateInstruction {
        element_instance_key: key.as_i64().map_or(Key::NONE, Key),
        ..TerminateInstruction::default()
    });
    ModifyProcessInstance {
        process_instance_key: a.key("instance"),
        activate_instructions: activate.collect(),
        terminate_instructions: terminate.collect(),
        move_instructions: Vec::new(),
    }
}

fn resources(scenario: &Scenario, files: Vec<String>) -> Vec<Resource> {
    let read = |name: String| Resource {
        content: scenario.part(&name).to_string().into(),
        name,
    };
    files.into_iter().map(read).collect()
}

fn creation(a: &Arguments<'_>) -> CreateProcessInstance {
    let process = match a.0["processKey"].as_i64() {
        Some(key) => ProcessRef::Key(Key(key)),
        None => ProcessRef::Id {
            bpmn_process_id: a.text("process").into(),
            version: a.number("version", -1) as i32,
        },
    };
    let await_result = (a.0["awaitResult"] == true).then(|| AwaitResult {
        fetch_variables: a.texts("fetchVariables"),
    });
    CreateProcessInstance {
        process,
        variables: a.variables(),
        start_instructions: a.texts("startAt"),
        terminate_after: a.0["terminateAfter"]
            .as_str()
            .map(String::from)
            .into_iter()
            .collect(),
        tags: a.texts("tags"),
        business_id: None,
        await_result,
    }
}
