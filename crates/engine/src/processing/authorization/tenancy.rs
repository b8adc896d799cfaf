//! Tenant checks of commands. Creating something for a tenant requires that the caller is assigned to it. A command on
//! another tenant's entity gets the rejection of an unknown key, with the same text.
//!
//! The directory gives the caller's tenants when the command is processed. If the checks are off, only the default tenant exists; data that
//! other tenants left behind cannot be reached.

use std::borrow::Cow;
use std::sync::Arc;

use skep_identity::Grants;
use skep_protocol::command::{About, Command, Need, Request, Whose};
use skep_protocol::origin::Claims;
use skep_protocol::permission::Permission;
use skep_protocol::{Rejection, RejectionType, TenantFilter, TenantId, Tenants, grants};

use super::resolved;
use crate::engine::IdentityConfig;
use crate::processing::deployment::delete_resource;
use crate::processing::not_found::key_not_found;
use crate::processing::{Context, reject};

/// The tenants whose entities a caller sees.
enum Seen {
    /// Tenants are not checked.
    All,
    /// The default tenant only.
    Default,
    /// The tenants that the caller is assigned to.
    Of(Arc<Grants>),
}

impl Seen {
    fn has(&self, tenant: &TenantId) -> bool {
        match self {
            Seen::All => true,
            Seen::Default => tenant.is_default(),
            Seen::Of(grants) => grants.tenants().contains(tenant),
        }
    }
}

/// Refuses the command if it concerns an entity of a tenant that its caller does not belong to.
pub(super) fn check(
    cx: &mut Context<'_>,
    command: &Command,
    intent: &'static str,
) -> Result<(), Rejection> {
    let seen = seen_by_caller(cx);
    if let Seen::All = seen {
        return Ok(());
    }
    let is_foreign = |tenant: Option<TenantId>| tenant.filter(|tenant| !seen.has(tenant));
    let (foreign, kind) = match command.whose() {
        // Jobs are checked by `tenants`.
        Whose::Cluster | Whose::Each => return Ok(()),
        Whose::New => (Some(cx.tenant.clone()), RejectionType::Forbidden),
        Whose::NewOf(tenant) => (tenant.cloned(), RejectionType::Forbidden),
        Whose::Shown => (Some(cx.tenant.clone()), RejectionType::Unauthorized),
        Whose::Of(tenant) => (tenant.cloned(), RejectionType::NotFound),
        Whose::Its => (tenant_of(cx, command.about()), RejectionType::NotFound),
        Whose::Resource(key) => {
            let tenant = delete_resource::tenant_of(cx, key);
            (tenant, RejectionType::NotFound)
        }
    };
    match is_foreign(foreign) {
        None => Ok(()),
        Some(_) if kind == RejectionType::NotFound => Err(nothing(cx, command, intent)),
        Some(tenant) => Err(not_assigned(kind, command, (intent, &tenant))),
    }
}

/// The tenant of what a command would make, or is about; the default one if that has none, or does not exist.
pub(crate) fn owner(cx: &mut Context<'_>, command: &Command) -> TenantId {
    let tenant = match command.whose() {
        Whose::Cluster | Whose::Each => None,
        Whose::New | Whose::Shown => Some(cx.tenant.clone()),
        Whose::NewOf(tenant) | Whose::Of(tenant) => tenant.cloned(),
        Whose::Its => tenant_of(cx, command.about()),
        Whose::Resource(key) => delete_resource::tenant_of(cx, key),
    };
    tenant.unwrap_or_default()
}

fn seen_by_caller(cx: &mut Context<'_>) -> Seen {
    if cx.config.identity.tenant_checks {
        return resolved(cx).map_or(Seen::All, Seen::Of);
    }
    match cx.origin.claims {
        Claims::Internal => Seen::All,
        Claims::Anonymous | Claims::User(_) | Claims::Client(_) => {
            if cx.state.knows_other_tenants() {
                Seen::Default
            } else {
                Seen::All
            }
        }
    }
}

/// The tenant of the process whose instance an entity belongs to. `None`: the entity does not exist.
fn tenant_of(cx: &mut Context<'_>, about: About) -> Option<TenantId> {
    let definition = super::definition_of(cx, about)?;
    Some(cx.tenant_of(definition))
}

/// The rejection for an unknown key.
fn nothing(cx: &Context<'_>, command: &Command, intent: &'static str) -> Rejection {
    let mut request = Request::internal(command.clone());
    request.tenant = cx.tenant.clone();
    key_not_found(&request).unwrap_or_else(|| {
        let text = "Expected to find the subject of the command, but it was not found";
        reject(RejectionType::NotFound, intent, text)
    })
}

fn not_assigned(
    kind: RejectionType,
    command: &Command,
    (intent, tenant): (&'static str, &TenantId),
) -> Rejection {
    const REACHES: &[Permission] = grants![ProcessDefinition: UpdateProcessInstance];
    const STARTS: &[Permission] = grants![ProcessDefinition: CreateProcessInstance];
    let permissions = match command.needs() {
        Need::AnyOf(permissions, _) => permissions,
        Need::OfEachReached(_) => REACHES,
        Need::OfEachStarted(..) => STARTS,
        Need::OfTask { .. }
        | Need::ToDelete { .. }
        | Need::Filters(_)
        | Need::Nothing
        | Need::Internal => &[],
    };
    let what: Cow<'static, str> = match permissions.first() {
        Some(Permission { on, to }) => format!(
            "perform operation '{}' on resource '{}'",
            to.name(),
            on.name()
        )
        .into(),
        None => "do this".into(),
    };
    reject(
        kind,
        intent,
        format!(
            "Expected to {what} for tenant '{tenant}', but the caller is not assigned to this tenant"
        ),
    )
}

/// The tenants whose jobs of this type a worker receives if it requests those of `asked`, in the order of their ids. Of the tenants that
/// the caller is assigned to, these are the ones with waiting jobs.
///
/// # Errors
/// If it names tenants that the caller does not belong to.
pub(crate) fn tenants(
    cx: &mut Context<'_>,
    asked: &Tenants,
    job_type: &str,
) -> Result<Vec<TenantId>, Rejection> {
    let named: Vec<TenantId> = asked.iter().collect();
    if !cx.config.identity.tenant_checks {
        return Ok(named);
    }
    let Some(grants) = resolved(cx) else {
        return Ok(named);
    };
    let own = grants.tenants();
    if asked.filter == TenantFilter::Assigned {
        return Ok(cx.state.jobs.waiting_among(job_type, own));
    }
    if named.iter().all(|tenant| own.contains(tenant)) {
        return Ok(named);
    }
    let list = |ids: &mut dyn Iterator<Item = &TenantId>| {
        let ids: Vec<&str> = ids.map(TenantId::as_str).collect();
        ids.join(", ")
    };
    Err(reject(
        RejectionType::Unauthorized,
        "ACTIVATE",
        format!(
            "Expected to activate jobs of tenants '[{}]', but the caller is assigned to '[{}]'. Ask for these alone, or for those that are \
             ASSIGNED",
            list(&mut named.iter()),
            list(&mut own.iter())
        ),
    ))
}

/// Whether a stream opened for the jobs of `asked` receives one of this tenant now. `grants`: the permissions of the
/// stream's client.
pub(crate) fn gets(
    config: &IdentityConfig,
    grants: Option<&Grants>,
    asked: &Tenants,
    tenant: &TenantId,
) -> bool {
    match grants.filter(|_| config.tenant_checks) {
        Some(grants) => {
            let is_asked = asked.filter == TenantFilter::Assigned || asked.contains(tenant);
            is_asked && grants.tenants().contains(tenant)
        }
        None => asked.contains(tenant),
    }
}

/// Whether a client's signal may be delivered to this tenant.
pub(super) fn may_signal(cx: &mut Context<'_>, tenant: &TenantId) -> bool {
    !cx.config.identity.tenant_checks
        || resolved(cx).is_none_or(|grants| grants.tenants().contains(tenant))
}
