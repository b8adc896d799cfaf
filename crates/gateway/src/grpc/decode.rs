//! gRPC messages as commands.

use pb::process_instance_creation_runtime_instruction::Instruction;
use skep_proto::gateway_protocol as pb;
use skep_protocol::command::{
    ActivateJobs, AwaitResult, BroadcastSignal, Command, CreateProcessInstance, DecisionRef,
    Deploy, Draft, EvaluateConditionals, EvaluateDecision, FailJob, MigrateProcessInstance,
    ProcessRef, PublishMessage, Resource, ThrowError, UpdateJobKind,
};
use skep_protocol::document::DocumentError;
use skep_protocol::value::MappingInstruction;
use skep_protocol::{Document, Failure, Key, TenantFilter, TenantId, Tenants};

use super::job_result;
use crate::check::{self, Tenancy, invalid};
use crate::json_errors;

type Decoded = Result<Draft, Failure>;

/// Clients without variables send nothing, or their JSON library's text for nothing.
pub fn variables(field: &str, text: &str) -> Result<Document, Failure> {
    if text.trim_ascii() == "null" {
        return Ok(Document::default());
    }
    Document::parse(text).or_else(|e| match e {
        DocumentError::NotAnObject(why) => invalid(format!(
            "The field '{field}' must be the text of a JSON object, but {}. Send a JSON object as text.",
            match json_errors::plain(&why) {
                plain if plain == why => format!("it is not valid JSON: {why}"),
                plain => plain.split(", but must").next().unwrap_or_default().to_string(),
            }
        )),
        DocumentError::Unreadable(why) => invalid(format!(
            "The field '{field}' does not have the form that this call expects: {why}."
        )),
    })
}

/// A command that creates an entity for a tenant.
fn of_tenant(command: Command, tenant: TenantId) -> Decoded {
    Ok(Draft {
        tenant,
        ..command.into()
    })
}

fn referenced(command: Command, operation_reference: Option<u64>) -> Decoded {
    Ok(Draft {
        operation_reference,
        ..command.into()
    })
}

pub fn create(
    request: pb::CreateProcessInstanceRequest,
    await_result: Option<AwaitResult>,
    tenancy: Tenancy,
) -> Decoded {
    let tenant = tenancy.tenant("Create Process Instance", Some(&request.tenant_id))?;
    // The id goes first: clients that start by id may send any key.
    let process = if !request.bpmn_process_id.is_empty() {
        check::version("version", request.version)?;
        ProcessRef::Id {
            bpmn_process_id: request.bpmn_process_id.into(),
            version: request.version,
        }
    } else if request.process_definition_key > 0 {
        ProcessRef::Key(Key(request.process_definition_key))
    } else {
        return invalid(
            "Neither 'bpmnProcessId' nor 'processDefinitionKey' is given. Give one of them.",
        );
    };
    let mut start_instructions = Vec::with_capacity(request.start_instructions.len());
    for start in request.start_instructions {
        check::not_blank(
            "startInstructions.elementId",
            &start.element_id,
            "Name the element to start at.",
        )?;
        start_instructions.push(start.element_id);
    }
    let mut terminate_after = Vec::with_capacity(request.runtime_instructions.len());
    for runtime in request.runtime_instructions {
        let Some(Instruction::Terminate(terminate)) = runtime.instruction else {
            return invalid(
                "The field 'runtimeInstructions' holds an empty instruction. Name its action.",
            );
        };
        let what = "Name the element after whose end the instance is terminated.";
        check::not_blank(
            "runtimeInstructions.terminate.afterElementId",
            &terminate.after_element_id,
            what,
        )?;
        terminate_after.push(terminate.after_element_id);
    }
    check::tags(&request.tags)?;
    check::business_id(request.business_id.as_deref())?;
    let command = Command::CreateProcessInstance(CreateProcessInstance {
        process,
        variables: variables("variables", &request.variables)?,
        start_instructions,
        terminate_after,
        tags: request.tags,
        business_id: request.business_id,
        await_result,
    });
    Ok(Draft {
        operation_reference: request.operation_reference,
        tenant,
        ..command.into()
    })
}

pub fn create_with_result(
    request: pb::CreateProcessInstanceWithResultRequest,
    tenancy: Tenancy,
) -> Decoded {
    let Some(creation) = request.request else {
        return invalid("The field 'request' is missing. Say what to create.");
    };
    let fetch_variables = request.fetch_variables;
    create(creation, Some(AwaitResult { fetch_variables }), tenancy)
}

pub fn cancel(request: pb::CancelProcessInstanceRequest) -> Decoded {
    let process_instance_key = Key(request.process_instance_key);
    referenced(
        Command::CancelProcessInstance {
            process_instance_key,
        },
        request.operation_reference,
    )
}

pub fn migrate(request: pb::MigrateProcessInstanceRequest) -> Decoded {
    let Some(plan) = request.migration_plan else {
        return invalid(
            "The field 'migrationPlan' is missing. Say what to migrate the instance to.",
        );
    };
    let mut mapping_instructions = Vec::with_capacity(plan.mapping_instructions.len());
    for instruction in plan.mapping_instructions {
        let (source, target) = (
            &instruction.source_element_id,
            &instruction.target_element_id,
        );
        let what = "Name an element of the instance's process definition.";
        check::not_blank("mappingInstructions.sourceElementId", source, what)?;
        let what = "Name an element of the target process definition.";
        check::not_blank("mappingInstructions.targetElementId", target, what)?;
        mapping_instructions.push(MappingInstruction {
            source_element_id: source.as_str().into(),
            target_element_id: target.as_str().into(),
        });
    }
    let command = Command::MigrateProcessInstance(MigrateProcessInstance {
        process_instance_key: Key(request.process_instance_key),
        target_process_definition_key: Key(plan.target_process_definition_key),
        mapping_instructions,
    });
    referenced(command, request.operation_reference)
}

pub fn set_variables(request: pb::SetVariablesRequest) -> Decoded {
    let command = Command::SetVariables {
        element_instance_key: Key(request.element_instance_key),
        variables: variables("variables", &request.variables)?,
        local: request.local,
    };
    referenced(command, request.operation_reference)
}

pub fn deploy(request: pb::DeployResourceRequest, tenancy: Tenancy) -> Decoded {
    let tenant = tenancy.tenant("Deploy Resources", Some(&request.tenant_id))?;
    let resources = request.resources.into_iter();
    deployment(
        tenant,
        resources
            .map(|r| Resource {
                name: r.name,
                content: r.content,
            })
            .collect(),
    )
}

pub fn deploy_process(request: pb::DeployProcessRequest, tenancy: Tenancy) -> Decoded {
    // The message has no field for one.
    let tenant = tenancy.tenant("Deploy Process", None)?;
    let processes = request.processes.into_iter();
    deployment(
        tenant,
        processes
            .map(|p| Resource {
                name: p.name,
                content: p.definition,
            })
            .collect(),
    )
}

fn deployment(tenant: TenantId, resources: Vec<Resource>) -> Decoded {
    if resources.is_empty() {
        return invalid("The deployment has no resource. Send at least one.");
    }
    let what = "Give each resource its file name; the extension determines its type.";
    for resource in &resources {
        check::not_blank("resources.name", &resource.name, what)?;
    }
    of_tenant(Command::Deploy(Deploy { resources }), tenant)
}

pub fn evaluate_decision(request: pb::EvaluateDecisionRequest, tenancy: Tenancy) -> Decoded {
    let tenant = tenancy.tenant("Evaluate Decision", Some(&request.tenant_id))?;
    let decision = match (request.decision_key > 0, request.decision_id.is_empty()) {
        (true, true) => DecisionRef::Key(Key(request.decision_key)),
        (false, false) => DecisionRef::Id(request.decision_id.into()),
        (false, true) => {
            return invalid("Neither 'decisionId' nor 'decisionKey' is given. Give one of them.");
        }
        (true, false) => {
            return invalid("Both 'decisionId' and 'decisionKey' are given. Give one of them.");
        }
    };
    let variables = variables("variables", &request.variables)?;
    let command = EvaluateDecision {
        decision,
        variables,
    };
    of_tenant(Command::EvaluateDecision(command), tenant)
}

pub fn delete_resource(request: pb::DeleteResourceRequest) -> Decoded {
    let command = Command::DeleteResource {
        resource_key: Key(request.resource_key),
        delete_history: request.delete_history.unwrap_or_default(),
    };
    referenced(command, request.operation_reference)
}

pub fn activate(
    request: pb::ActivateJobsRequest,
    tenancy: Tenancy,
) -> Result<ActivateJobs, Failure> {
    check::not_blank("worker", &request.worker, "Name the worker.")?;
    let max_jobs = request.max_jobs_to_activate;
    let what = "Give the maximum number of jobs to activate.";
    check::at_least_one("maxJobsToActivate", i64::from(max_jobs), what)?;
    activation(
        request.r#type,
        request.worker,
        request.timeout,
        u32::try_from(max_jobs).unwrap_or(1),
        request.fetch_variable,
        tenants(&request.tenant_ids, request.tenant_filter, tenancy)?,
    )
}

pub fn stream(
    request: pb::StreamActivatedJobsRequest,
    tenancy: Tenancy,
) -> Result<ActivateJobs, Failure> {
    let tenants = tenants(&request.tenant_ids, request.tenant_filter, tenancy)?;
    // The front end puts the stream's credit in.
    activation(
        request.r#type,
        request.worker,
        request.timeout,
        1,
        request.fetch_variable,
        tenants,
    )
}

fn activation(
    job_type: String,
    worker: String,
    timeout: i64,
    max_jobs: u32,
    fetch_variables: Vec<String>,
    tenants: Tenants,
) -> Result<ActivateJobs, Failure> {
    check::not_blank("type", &job_type, "Name the job type to activate.")?;
    check::length("type", &job_type)?;
    check::length("worker", &worker)?;
    check::at_least_one(
        "timeout",
        timeout,
        "Give the time in milliseconds that a worker has for a job.",
    )?;
    Ok(ActivateJobs {
        job_type: job_type.into(),
        worker: worker.into(),
        timeout,
        max_jobs,
        fetch_variables: fetch_variables.into_iter().map(Into::into).collect(),
        tenants,
    })
}

fn tenants(ids: &[String], filter: i32, tenancy: Tenancy) -> Result<Tenants, Failure> {
    let provided = ids.iter().map(String::as_str);
    let filter = match pb::TenantFilter::try_from(filter) {
        Ok(pb::TenantFilter::Provided) => TenantFilter::Provided,
        Ok(pb::TenantFilter::Assigned) => TenantFilter::Assigned,
        Err(_) => {
            return invalid(format!(
                "The field 'tenantFilter' is {filter}, but must be PROVIDED (0) or ASSIGNED (1)."
            ));
        }
    };
    tenancy.tenants(filter, provided)
}

pub fn complete(request: pb::CompleteJobRequest) -> Decoded {
    let command = Command::CompleteJob {
        job_key: Key(request.job_key),
        variables: variables("variables", &request.variables)?,
        result: job_result::decode(request.result)?,
    };
    Ok(command.into())
}

pub fn fail(request: pb::FailJobRequest) -> Decoded {
    Ok(Command::FailJob(FailJob {
        job_key: Key(request.job_key),
        retries: request.retries,
        retry_back_off: request.retry_back_off,
        error_message: request.error_message,
        variables: variables("variables", &request.variables)?,
    })
    .into())
}

pub fn throw_error(request: pb::ThrowErrorRequest) -> Decoded {
    // An empty code is one that only an event which catches all codes catches.
    Ok(Command::ThrowError(ThrowError {
        job_key: Key(request.job_key),
        error_code: request.error_code,
        error_message: request.error_message,
        variables: variables("variables", &request.variables)?,
    })
    .into())
}

pub fn update_retries(request: pb::UpdateJobRetriesRequest) -> Decoded {
    let command = Command::UpdateJob {
        job_key: Key(request.job_key),
        retries: Some(request.retries),
        timeout: None,
        kind: UpdateJobKind::Retries,
    };
    referenced(command, request.operation_reference)
}

pub fn update_timeout(request: pb::UpdateJobTimeoutRequest) -> Decoded {
    let command = Command::UpdateJob {
        job_key: Key(request.job_key),
        retries: None,
        timeout: Some(request.timeout),
        kind: UpdateJobKind::Timeout,
    };
    referenced(command, request.operation_reference)
}

pub fn publish(request: pb::PublishMessageRequest, tenancy: Tenancy) -> Decoded {
    let tenant = tenancy.tenant("Publish Message", Some(&request.tenant_id))?;
    check::not_blank("name", &request.name, "Name the message to publish.")?;
    check::length("name", &request.name)?;
    check::length("correlationKey", &request.correlation_key)?;
    check::length("messageId", &request.message_id)?;
    let command = PublishMessage {
        name: request.name.into(),
        correlation_key: request.correlation_key.into(),
        time_to_live: request.time_to_live,
        message_id: request.message_id.into(),
        variables: variables("variables", &request.variables)?,
    };
    of_tenant(Command::PublishMessage(command), tenant)
}

pub fn broadcast_signal(request: pb::BroadcastSignalRequest, tenancy: Tenancy) -> Decoded {
    let tenant = tenancy.tenant("Broadcast Signal", Some(&request.tenant_id))?;
    let name = &request.signal_name;
    check::not_blank("signalName", name, "Name the signal to broadcast.")?;
    check::length("signalName", name)?;
    let command = BroadcastSignal {
        signal_name: name.as_str().into(),
        variables: variables("variables", &request.variables)?,
    };
    of_tenant(Command::BroadcastSignal(command), tenant)
}

pub fn evaluate_conditional(request: pb::EvaluateConditionalRequest, tenancy: Tenancy) -> Decoded {
    let tenant = tenancy.tenant("Evaluate Conditional Event", Some(&request.tenant_id))?;
    let command = EvaluateConditionals {
        process_definition_key: request.process_definition_key.map(Key),
        variables: variables("variables", &request.variables)?,
    };
    of_tenant(Command::EvaluateConditionals(command), tenant)
}

pub fn resolve_incident(request: pb::ResolveIncidentRequest) -> Decoded {
    let incident_key = Key(request.incident_key);
    referenced(
        Command::ResolveIncident { incident_key },
        request.operation_reference,
    )
}
