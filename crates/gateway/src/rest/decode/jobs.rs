//! Activating, completing, failing and updating jobs.

use serde::Deserialize;
use skep_protocol::command::{ActivateJobs, Command, FailJob, ThrowError, UpdateJobKind};
use skep_protocol::{Document, Failure, Key, TenantFilter};

use super::fields::{Object, Text, bounded, named, present, said, shared};
use super::job_result::{self, ResultBody};
use super::{Decoded, command, optional, referenced, required};
use crate::call::FrontEnd;
use crate::check::{self, invalid};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Activation<'a> {
    #[serde(borrow, rename = "type")]
    job_type: Option<Text<'a>>,
    #[serde(borrow)]
    worker: Option<Text<'a>>,
    timeout: Option<i64>,
    max_jobs_to_activate: Option<i32>,
    #[serde(borrow)]
    fetch_variable: Option<Vec<Text<'a>>>,
    request_timeout: Option<i64>,
    #[serde(borrow)]
    tenant_ids: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    tenant_filter: Option<Text<'a>>,
}

pub fn activate(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let mut body: Activation = required(text)?;
    let what = "Give the maximum number of jobs to activate.";
    let max_jobs = present(body.max_jobs_to_activate, "maxJobsToActivate", what)?;
    check::at_least_one("maxJobsToActivate", i64::from(max_jobs), what)?;
    let wait = front.long_poll(body.request_timeout.take().unwrap_or(0));
    Ok(Decoded::Activate {
        command: activation(body, u32::try_from(max_jobs).unwrap_or(1), front)?,
        wait,
    })
}

pub fn stream(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Activation = required(text)?;
    for (name, given) in [
        ("maxJobsToActivate", body.max_jobs_to_activate.is_some()),
        ("requestTimeout", body.request_timeout.is_some()),
    ] {
        if given {
            return invalid(format!(
                "The field '{name}' has no meaning for a stream, which stays open until the client closes it. Leave it out."
            ));
        }
    }
    // The front end puts the stream's credit in.
    activation(body, 1, front).map(Decoded::Stream)
}

fn activation(body: Activation, max_jobs: u32, front: &FrontEnd) -> Result<ActivateJobs, Failure> {
    let job_type = named(body.job_type, "type", "Name the job type to activate.")?;
    let what = "Give the time in milliseconds that a worker has for a job.";
    let timeout = present(body.timeout, "timeout", what)?;
    check::at_least_one("timeout", timeout, what)?;
    let provided = body.tenant_ids.iter().flatten().map(|t| &**t);
    let filter = tenant_filter(body.tenant_filter.as_deref())?;
    let tenants = front.config.security.tenancy.tenants(filter, provided)?;
    Ok(ActivateJobs {
        job_type: job_type.shared(),
        worker: bounded(body.worker, "worker")?,
        timeout,
        max_jobs,
        fetch_variables: shared(body.fetch_variable),
        tenants,
    })
}

fn tenant_filter(filter: Option<&str>) -> Result<TenantFilter, Failure> {
    let Some(name) = filter else {
        return Ok(TenantFilter::default());
    };
    let known = [TenantFilter::Provided, TenantFilter::Assigned];
    let named = |filter: &TenantFilter| name.eq_ignore_ascii_case(filter.name());
    known.into_iter().find(named).map_or_else(
        || {
            invalid(format!(
                "The field 'tenantFilter' is '{name}', but must be PROVIDED or ASSIGNED."
            ))
        },
        Ok,
    )
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Completion<'a> {
    variables: Option<Document>,
    #[serde(borrow)]
    result: Option<Object<ResultBody<'a>>>,
}

pub fn complete(job_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Completion = optional(text)?;
    let result = body.result.map(|Object(result)| job_result::decode(result));
    let completion = Command::CompleteJob {
        job_key,
        variables: body.variables.unwrap_or_default(),
        result: result.transpose()?.flatten(),
    };
    Ok(command(completion, front))
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Failing<'a> {
    retries: Option<i32>,
    #[serde(borrow)]
    error_message: Option<Text<'a>>,
    retry_back_off: Option<i64>,
    variables: Option<Document>,
}

pub fn fail(job_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Failing = optional(text)?;
    let fail = FailJob {
        job_key,
        retries: body.retries.unwrap_or(0),
        retry_back_off: body.retry_back_off.unwrap_or(0),
        error_message: body.error_message.map(Text::owned).unwrap_or_default(),
        variables: body.variables.unwrap_or_default(),
    };
    Ok(command(Command::FailJob(fail), front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Throwing<'a> {
    #[serde(borrow)]
    error_code: Option<Text<'a>>,
    #[serde(borrow)]
    error_message: Option<Text<'a>>,
    variables: Option<Document>,
}

pub fn throw_error(job_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Throwing = required(text)?;
    let throw = ThrowError {
        job_key,
        error_code: said(body.error_code, "errorCode", "Name the error to throw.")?.owned(),
        error_message: body.error_message.map(Text::owned).unwrap_or_default(),
        variables: body.variables.unwrap_or_default(),
    };
    Ok(command(Command::ThrowError(throw), front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    changeset: Option<Object<Changeset>>,
    operation_reference: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Changeset {
    retries: Option<i32>,
    timeout: Option<i64>,
}

pub fn update(job_key: Key, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Update = required(text)?;
    let what = "Give the retries, the timeout, or both.";
    let Object(Changeset { retries, timeout }) = present(body.changeset, "changeset", what)?;
    let kind = match (retries, timeout) {
        (Some(_), None) => UpdateJobKind::Retries,
        (None, Some(_)) => UpdateJobKind::Timeout,
        (Some(_), Some(_)) => UpdateJobKind::Both,
        (None, None) => return invalid(format!("The field 'changeset' changes nothing. {what}")),
    };
    let command = Command::UpdateJob {
        job_key,
        retries,
        timeout,
        kind,
    };
    let reference = check::operation_reference(body.operation_reference)?;
    Ok(referenced(command, reference, front))
}
