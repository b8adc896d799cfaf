//! Checks that both front ends make before the broker sees a request.

use std::time::Duration;

use skep_protocol::value::JobResultType;
use skep_protocol::{DEFAULT_TENANT, Failure, TenantFilter, TenantId, Tenants, names};

pub fn invalid<T>(detail: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::InvalidArgument(detail.into()))
}

/// How tenants are named in requests (`camunda.security.multi-tenancy.checks-enabled`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tenancy {
    /// Only the default tenant exists: `<default>`, empty and absent mean the same, anything else is refused.
    #[default]
    Off,
    /// Each request names its tenant. Whether the caller may use it is checked where the request is carried out.
    On,
}

/// Characters of a tenant's id.
const MAX_TENANT_ID: usize = 256;
/// Maximum number of tenants whose jobs a worker names. Each poll looks for jobs of each of them, for as long as it waits.
const MAX_TENANTS: usize = 1_000;

impl Tenancy {
    /// The tenant of a request with this name.
    ///
    /// # Errors
    /// It names none, or an invalid one.
    pub fn tenant(self, request: &str, tenant_id: Option<&str>) -> Result<TenantId, Failure> {
        match (self, tenant_id.unwrap_or_default()) {
            (Tenancy::On, "") => Err(missing(request, "tenantId")),
            (_, id) => self.known("tenantId", id),
        }
    }

    /// The tenant of a path.
    ///
    /// # Errors
    /// It is invalid.
    pub fn known(self, field: &str, id: &str) -> Result<TenantId, Failure> {
        match (self, id) {
            (Tenancy::Off, "" | DEFAULT_TENANT) => Ok(TenantId::default()),
            (Tenancy::Off, other) => invalid(format!(
                "The field '{field}' names the tenant '{other}', but multi-tenancy is off and the only tenant is \
                 '{DEFAULT_TENANT}'. Leave the field out."
            )),
            (Tenancy::On, id) if id.chars().count() > MAX_TENANT_ID => invalid(format!(
                "The field '{field}' has {} characters, and the id of a tenant has at most {MAX_TENANT_ID}.",
                id.chars().count()
            )),
            // Nobody has such a tenant, and a stream that asks for its jobs would wait for ever.
            (Tenancy::On, id) if id.trim().is_empty() || id.contains(char::is_control) => {
                invalid(format!(
                    "The field '{field}' is '{}', which is not the id of a tenant.",
                    id.escape_debug()
                ))
            }
            (Tenancy::On, id) => Ok(TenantId::new(id)),
        }
    }

    /// The tenants whose jobs a worker asks for. With the checks off nobody is assigned to a tenant. An empty id in a list is
    /// invalid, not absent.
    ///
    /// # Errors
    /// As [`Tenancy::tenant`]; there are too many.
    pub fn tenants<'a>(
        self,
        filter: TenantFilter,
        ids: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Result<Tenants, Failure> {
        if self == Tenancy::Off && filter == TenantFilter::Assigned {
            return invalid(format!(
                "Expected to handle request Activate Jobs for the tenants that the caller is assigned to, as the field 'tenantFilter' is \
                 ASSIGNED, but multi-tenancy is off and the only tenant is '{DEFAULT_TENANT}'. Leave the field out."
            ));
        }
        let number = ids.clone().into_iter().count();
        if number > MAX_TENANTS {
            return invalid(format!(
                "The field 'tenantIds' names {number} tenants, but at most {MAX_TENANTS} are allowed. Name fewer, or leave the field out and \
                 set 'tenantFilter' to ASSIGNED for the jobs of all tenants that the caller is assigned to."
            ));
        }
        let mut given = ids.clone().into_iter().peekable();
        if self == Tenancy::On && filter == TenantFilter::Provided && given.peek().is_none() {
            return Err(missing("Activate Jobs", "tenantIds"));
        }
        for id in given {
            if id.is_empty() {
                return invalid(format!(
                    "The field 'tenantIds' holds an empty tenant id. Name the tenant '{DEFAULT_TENANT}', or leave the field out."
                ));
            }
            self.known("tenantIds", id)?;
        }
        Ok(Tenants::chosen(filter, ids))
    }
}

fn missing(request: &str, field: &str) -> Failure {
    Failure::InvalidArgument(format!(
        "Expected to handle request {request} for a tenant, but the field '{field}' names none, and multi-tenancy is on. Name a tenant that \
         the caller is assigned to."
    ))
}

/// -1 is the latest version of a process.
pub fn version(field: &str, version: i32) -> Result<(), Failure> {
    if version < -1 {
        return invalid(format!(
            "The field '{field}' is {version}, but must be at least 1, or -1 for the latest version."
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

/// A name under which something is found. See [`skep_protocol::names`].
pub fn length(field: &str, name: &str) -> Result<(), Failure> {
    names::check(name)
        .or_else(|too_long| invalid(too_long.text(format_args!("The field '{field}'"))))
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
        "The field '{field}' is '{text}', but must have 1 to {MAX_NAME} characters: ASCII letters, ASCII digits and _ ~ @ . + -."
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
    fn only_the_default_tenant_exists_while_multi_tenancy_is_off() {
        let tenant = |id| Tenancy::Off.tenant("Deploy Resources", id);
        for id in [None, Some(""), Some("<default>")] {
            assert_eq!(tenant(id), Ok(TenantId::default()));
        }
        let refused = tenant(Some("acme")).unwrap_err().to_string();
        assert!(
            refused.contains("'tenantId'") && refused.contains("'acme'"),
            "{refused}"
        );
        let jobs = |ids: &[&'static str]| {
            Tenancy::Off.tenants(TenantFilter::Provided, ids.iter().copied())
        };
        assert_eq!(jobs(&[]), Ok(Tenants::default()));
        assert!(jobs(&["<default>", "acme"]).is_err());
        for ids in [&[][..], &["<default>"]] {
            let assigned = Tenancy::Off.tenants(TenantFilter::Assigned, ids.iter().copied());
            let refused = assigned.unwrap_err().to_string();
            assert!(refused.contains("'tenantFilter'"), "{refused}");
        }
    }

    #[test]
    fn a_blank_tenant_is_refused_as_no_tenant_has_such_an_id() {
        for id in [" ", "\t", "a\nb"] {
            let refused = Tenancy::On.tenants(TenantFilter::Provided, [id]);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("not the id of a tenant"), "{refused}");
        }
        // The configured pattern decides about other characters.
        assert!(Tenancy::On.known("tenantId", "a b").is_ok());
    }

    #[test]
    fn a_tenant_is_named_in_each_request_while_multi_tenancy_is_on() {
        let tenant = |id| Tenancy::On.tenant("Deploy Resources", id);
        for id in ["acme", "<default>"] {
            assert_eq!(tenant(Some(id)), Ok(TenantId::new(id)));
        }
        for id in [None, Some("")] {
            let refused = tenant(id).unwrap_err().to_string();
            let expected = "Expected to handle request Deploy Resources";
            assert!(refused.starts_with(expected), "{refused}");
        }
        assert!(tenant(Some(&"a".repeat(257))).is_err());
        let jobs = |filter, ids: &[&'static str]| Tenancy::On.tenants(filter, ids.iter().copied());
        assert!(jobs(TenantFilter::Provided, &[]).is_err());
        assert!(jobs(TenantFilter::Provided, &["acme", ""]).is_err());
        assert!(jobs(TenantFilter::Assigned, &[]).is_ok());
        let two = jobs(TenantFilter::Provided, &["acme", "<default>"]).unwrap();
        assert_eq!(two.iter().count(), 2);
    }

    #[test]
    fn a_worker_names_a_limited_number_of_tenants() {
        let named = |number: usize| {
            let ids = std::iter::repeat_n("acme", number);
            Tenancy::On.tenants(TenantFilter::Provided, ids)
        };
        // A tenant that is named several times is one tenant.
        assert_eq!(named(MAX_TENANTS), Ok(Tenants::provided(["acme"])));
        let refused = named(MAX_TENANTS + 1).unwrap_err().to_string();
        let said = "The field 'tenantIds' names 1001 tenants, but at most 1000 are allowed.";
        assert!(refused.contains(said), "{refused}");
        let assigned = std::iter::repeat_n("acme", MAX_TENANTS + 1);
        assert!(
            Tenancy::On
                .tenants(TenantFilter::Assigned, assigned)
                .is_err()
        );
    }

    #[test]
    fn a_name_has_a_length_limit() {
        assert_eq!(length("type", &"ä".repeat(32_768)), Ok(()));
        let refused = length("type", &"ä".repeat(32_769)).unwrap_err().to_string();
        let said =
            "The field 'type' has 32769 characters, but at most 32768 are allowed. Shorten it.";
        assert!(refused.contains(said), "{refused}");
    }

    #[test]
    fn a_time_that_the_client_does_not_name_is_none() {
        assert_eq!(millis(0), None);
        assert_eq!(millis(-1), None);
        assert_eq!(millis(5), Some(Duration::from_millis(5)));
        assert_eq!(millis(i64::MAX), Some(Duration::from_secs(86_400)));
    }
}
