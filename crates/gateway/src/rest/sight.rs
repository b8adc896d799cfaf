//! Permission checks for documents, which have no command, and for all searches.

use std::sync::Arc;

use http::StatusCode;
use skep_identity::{Grants, Tenancy};
use skep_protocol::TenantId;
use skep_protocol::command::{Need, On};
use skep_protocol::origin::Claims;
use skep_protocol::permission::Permission;
use skep_query::access::Sight;

use super::operations::{Needs, Operation};
use super::problem::Problem;
use crate::call::FrontEnd;
use crate::check;
use crate::door::basic;

/// Whether it is known what the caller may see. The tokens of a provider are good before that, and commands are checked elsewhere.
///
/// # Errors
/// This node has not heard of permissions yet.
pub fn is_known(front: &FrontEnd, claims: &Claims) -> Result<(), Problem> {
    match claims {
        Claims::User(_) | Claims::Client(_) => {
            basic::is_known(&front.broker.directory()).map_err(Problem::from)
        }
        Claims::Anonymous | Claims::Internal => Ok(()),
    }
}

/// The data that the caller may see.
pub fn sight(front: &FrontEnd, claims: &Claims) -> Sight {
    Sight {
        grants: grants(front, claims),
        tenancy: tenancy(front, claims),
    }
}

/// The tenants whose data the caller sees. Without checks that is the default tenant: data left by others from a time with
/// checks is out of reach.
fn tenancy(front: &FrontEnd, claims: &Claims) -> Tenancy {
    let directory = front.broker.directory();
    match front.config.security.tenancy {
        check::Tenancy::On => match front.door.sights.of(&directory, claims) {
            Some(grants) => Tenancy::Of(grants.tenants().clone()),
            None => Tenancy::All,
        },
        check::Tenancy::Off if directory.has_other_tenants() => {
            Tenancy::Of([TenantId::default()].into())
        }
        check::Tenancy::Off => Tenancy::All,
    }
}

/// The caller's permissions; `None`: there is nothing to check.
pub fn grants(front: &FrontEnd, claims: &Claims) -> Option<Arc<Grants>> {
    if front.config.security.authorizations {
        front.door.sights.of(&front.broker.directory(), claims)
    } else {
        None
    }
}

/// The permissions of the caller, whether or not they are checked; `None`: nobody in particular calls.
pub fn of_caller(front: &FrontEnd, claims: &Claims) -> Option<Arc<Grants>> {
    front.door.sights.of(&front.broker.directory(), claims)
}

/// For operations that require a permission on all resources of a type.
///
/// # Errors
/// The caller has none of the sufficient permissions.
pub fn may(front: &FrontEnd, claims: &Claims, operation: &Operation) -> Result<(), Problem> {
    let Some(grants) = grants(front, claims) else {
        return Ok(());
    };
    match operation.needs {
        Needs::Stated(Need::AnyOf(permissions, On::Any)) => {
            is_known(front, claims)?;
            if permissions.iter().any(|p| grants.allows_any(*p)) {
                Ok(())
            } else {
                Err(unauthorized(permissions))
            }
        }
        Needs::Stated(_) | Needs::OfCommand | Needs::NotYet => Ok(()),
    }
}

/// The error for a caller who may not see what the request names.
pub fn unauthorized(permissions: &[Permission]) -> Problem {
    let each = permissions.iter().map(|Permission { on, to }| {
        format!(
            "Unauthorized to perform operation '{}' on resource '{}'",
            to.name(),
            on.name()
        )
    });
    let text = each.collect::<Vec<_>>().join("; and ");
    Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", text)
}
