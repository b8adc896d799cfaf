//! Checks that both front ends make before the broker sees a request.

use std::time::Duration;

use skep_protocol::value::JobResultType;
use skep_protocol::{DEFAULT_TENANT, Failure};

pub fn invalid<T>(detail: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::InvalidArgument(detail.into()))
}

/// Multi-tenancy is off: `<default>`, empty and absent mean the same, anything else is refused.
pub fn tenant(field: &str, tenant_id: Option<&str>) -> Result<(), Failure> {
    match tenant_id {
        None | Some("") | Some(DEFAULT_TENANT) => Ok(()),
        Some(other) => invalid(format!(
            "The field '{field}' names the tenant '{other}', but multi-tenancy is off and the only tenant is \
             '{DEFAULT_TENANT}'. Leave the field out."
        )),
    }
}

/// In a list an empty id is no absent one, but wrong.
pub fn tenants<'a>(field: &str, ids: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    ids.into_iter().try_for_each(|id| match id {
        "" => invalid(format!(
            "The field '{field}' holds an empty tenant id. Name the tenant '{DEFAULT_TENANT}', or leave the field out."
        )),
        id => tenant(field, Some(id)),
    })
}

/// -1 is the latest version of a process.
pub fn version(field: &str, version: i32) -> Result<(), Failure> {
    if version < -1 {
        return invalid(format!(
            "The field '{field}' is {version}, but must be a version from 1 on, or -1 for the latest."
        ));
    }
    Ok(())
}

/// Kinds of results that a job may be completed with; empty is the first of them.
pub fn job_result_type(kind: &str) -> Result<JobResultType, Failure> {
    if kind.is_empty() || kind.eq_ignore_ascii_case("userTask") {
        return Ok(JobResultType::UserTask);
    }
    if kind.eq_ignore_ascii_case("adHocSubProcess") {
        return Ok(JobResultType::AdHocSubProcess);
    }
    invalid(format!(
        "The field 'result.type' is '{kind}', but must be userTask or adHocSubProcess."
    ))
}

/// The priority of a user task.
pub fn priority(field: &str, priority: Option<i32>) -> Result<(), Failure> {
    match priority {
        Some(p) if !(0..=100).contains(&p) => invalid(format!(
            "The field '{field}' is {p}, but must be from 0 to 100."
        )),
        _ => Ok(()),
    }
}

pub fn not_blank(field: &str, text: &str, what: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return invalid(format!("The field '{field}' is missing or blank. {what}"));
    }
    Ok(())
}

pub fn at_least_one(field: &str, value: i64, what: &str) -> Result<(), Failure> {
    if value < 1 {
        return invalid(format!(
            "The field '{field}' is {value}, but must be at least 1. {what}"
        ));
    }
    Ok(())
}

pub fn operation_reference(reference: Option<i64>) -> Result<Option<u64>, Failure> {
    match reference {
        None => Ok(None),
        Some(r) if r >= 1 => Ok(Some(r as u64)),
        Some(r) => invalid(format!(
            "The field 'operationReference' is {r}, but must be at least 1. Choose a positive number, or leave the field out."
        )),
    }
}

/// See [`skep_protocol::tags`].
pub fn tags(tags: &[String]) -> Result<(), Failure> {
    skep_protocol::tags::check(tags).or_else(invalid)
}

const MAX_NAME: usize = 256;

/// A name that stands in paths: of a cluster variable, of a global listener and its job type.
pub fn name(field: &str, text: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_~@.+-".contains(c);
    if (1..=MAX_NAME).contains(&text.len()) && text.chars().all(fits) {
        return Ok(());
    }
    invalid(format!(
        "The field '{field}' is '{text}', but must have 1 to {MAX_NAME} characters out of letters and digits of ASCII and _ ~ @ . + -."
    ))
}

const MAX_BUSINESS_ID: usize = 256;

pub fn business_id(id: Option<&str>) -> Result<(), Failure> {
    let length = id.map(|id| id.chars().count());
    match length {
        Some(0) => invalid("The field 'businessId' is empty. Give an id, or leave the field out."),
        Some(n) if n > MAX_BUSINESS_ID => invalid(format!(
            "The field 'businessId' has {n} characters, but at most {MAX_BUSINESS_ID} are allowed."
        )),
        _ => Ok(()),
    }
}

/// A time in milliseconds from the client; zero and less mean that the client names none.
pub fn millis(ms: i64) -> Option<Duration> {
    // A wait longer than a day is a day: the clock of the runtime has an end.
    const DAY: u64 = 24 * 60 * 60 * 1000;
    u64::try_from(ms)
        .ok()
        .filter(|ms| *ms > 0)
        .map(|ms| Duration::from_millis(ms.min(DAY)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_default_tenant_exists() {
        assert!(tenant("tenantId", None).is_ok());
        assert!(tenant("tenantId", Some("<default>")).is_ok());
        let refused = tenant("tenantId", Some("acme")).unwrap_err().to_string();
        assert!(
            refused.contains("'tenantId'") && refused.contains("'acme'"),
            "{refused}"
        );
    }

    #[test]
    fn a_time_that_the_client_does_not_name_is_none() {
        assert_eq!(millis(0), None);
        assert_eq!(millis(-1), None);
        assert_eq!(millis(5), Some(Duration::from_millis(5)));
        assert_eq!(millis(i64::MAX), Some(Duration::from_secs(86_400)));
    }
}
