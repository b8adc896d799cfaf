//! Authorization of client commands. Checked once for each command, before its first record: a refused command leaves only
//! its rejection.
//!
//! If the entity does not exist, the decision is left to the processor, whose "not found" takes precedence over
//! permissions. Commands of the engine itself and of unauthenticated callers ([`Claims::Anonymous`]) pass.
//!
//! [`Claims::Anonymous`]: skep_protocol::origin::Claims::Anonymous

mod cache;
mod reached;
mod tenancy;

use std::sync::Arc;

pub(crate) use cache::GrantsCache;
pub(crate) use reached::signal as may_signal;
use skep_identity::Grants;
use skep_protocol::command::{About, Command, DecisionRef, Need, On, ProcessRef};
use skep_protocol::permission::{Permission, ResourceType};
use skep_protocol::value::ResourceType as Deployed;
use skep_protocol::{Key, Rejection, RejectionType, grants};
pub(crate) use tenancy::{gets, owner, tenants};

use super::deployment::delete_resource;
use super::{Context, reject};

/// Refuses the command if its caller may not execute it: first for entities that do not exist for the caller, then for
/// missing permissions.
pub(crate) fn check(
    cx: &mut Context<'_>,
    command: &Command,
    intent: &'static str,
) -> Result<(), Rejection> {
    tenancy::check(cx, command, intent)?;
    let Some(grants) = grants_of_caller(cx) else {
        return Ok(());
    };
    let access = AccessCheck {
        grants: &grants,
        intent,
    };
    match command.needs() {
        Need::Nothing | Need::Filters(_) => Ok(()),
        Need::AnyOf(permissions, On::Any | On::Each([])) => access.any(permissions),
        Need::AnyOf(permissions, On::Each(ids)) => {
            ids.iter().try_for_each(|id| access.on(permissions, id))
        }
        Need::AnyOf(permissions, on) => match resource_of(cx, command, &on) {
            Some(Resource::Is(id)) => access.on(permissions, &id),
            Some(Resource::Unknown) => access.any(permissions),
            // The resource of something on another partition is not known here, nor what a gateway of an earlier version has found of
            // something that has ended: that lookup has checked the permission. This only catches permissions revoked since.
            None if matches!(command.about(), About::Ended(_)) || matches!(on, On::Instance(_)) => {
                access.somewhere(permissions)
            }
            None => Ok(()),
        },
        Need::OfTask {
            any_of,
            or_assignee,
            or_for,
        } => of_task(cx, &access, command, any_of, or_assignee, or_for),
        Need::ToDelete { key, history } => to_delete(cx, &access, (key, history)),
        Need::OfEachReached(by) => reached::check(cx, &access, &by),
        Need::OfEachStarted(definition, variables) => {
            reached::conditions(cx, &access, definition, variables)
        }
        Need::Internal => Err(reject(
            RejectionType::Forbidden,
            intent,
            "Expected a command of a client, but this command is internal to the engine",
        )),
    }
}

/// The permissions of the caller. `None`: they are not checked.
pub(crate) fn grants_of_caller(cx: &mut Context<'_>) -> Option<Arc<Grants>> {
    if cx.config.identity.authorizations {
        resolved(cx)
    } else {
        None
    }
}

/// Whether each partition that a client's command reaches must check it.
pub(crate) fn asks(cx: &Context<'_>) -> bool {
    cx.config.identity.authorizations || cx.config.identity.tenant_checks
}

/// The permissions of the caller, from the directory. `None`: they are not checked for this caller.
fn resolved(cx: &mut Context<'_>) -> Option<Arc<Grants>> {
    let directory = &cx.state.identity.directory;
    cx.volatile.grants.of(directory, &cx.origin.claims)
}

/// A caller's permissions and its requested command.
pub(super) struct AccessCheck<'a> {
    grants: &'a Grants,
    intent: &'static str,
}

impl AccessCheck<'_> {
    /// Requires one of the permissions for all resources of its type.
    fn any(&self, permissions: &[Permission]) -> Result<(), Rejection> {
        if permissions.iter().any(|p| self.grants.allows_any(*p)) {
            Ok(())
        } else {
            Err(self.refusal(permissions, None))
        }
    }

    /// Requires one of the permissions on this resource.
    fn on(&self, permissions: &[Permission], id: &str) -> Result<(), Rejection> {
        if permissions.iter().any(|p| self.grants.allows(*p, id)) {
            Ok(())
        } else {
            Err(self.refusal(permissions, Some(id)))
        }
    }

    /// Requires one of the permissions on at least one resource.
    fn somewhere(&self, permissions: &[Permission]) -> Result<(), Rejection> {
        if permissions.iter().any(|p| self.grants.allows_some(*p)) {
            Ok(())
        } else {
            Err(self.refusal(permissions, None))
        }
    }

    fn refusal(&self, permissions: &[Permission], id: Option<&str>) -> Rejection {
        let each = permissions.iter().map(|Permission { on, to }| {
            let what = format!(
                "Insufficient permissions to perform operation '{}' on resource '{}'",
                to.name(),
                on.name()
            );
            match id {
                None => what,
                Some(id) => {
                    format!("{what}, required resource identifiers are one of '[*, {id}]'")
                }
            }
        });
        let reason = each.collect::<Vec<_>>().join("; and ");
        reject(RejectionType::Forbidden, self.intent, reason)
    }
}

/// The resource on which a permission is needed.
enum Resource {
    /// Its id.
    Is(Arc<str>),
    /// That of an entity whose definition is not here, though it should be: only whoever may do it to all may do it.
    Unknown,
}

/// The resource on which a permission is needed. `None`: the entity does not exist.
fn resource_of(cx: &mut Context<'_>, command: &Command, on: &On<'_>) -> Option<Resource> {
    match on {
        On::Any => Some(Resource::Is("*".into())),
        On::Id(id) => Some(Resource::Is((*id).into())),
        On::Process(process) => {
            let processes = &cx.state.processes;
            let found = match process {
                ProcessRef::Key(key) => processes.get(*key),
                ProcessRef::Id {
                    bpmn_process_id,
                    version: -1,
                } => processes.latest(&cx.tenant, bpmn_process_id),
                ProcessRef::Id {
                    bpmn_process_id,
                    version,
                } => processes.version(&cx.tenant, bpmn_process_id, *version),
            };
            let found = found.filter(|process| process.tenant == cx.tenant);
            found.map(|process| Resource::Is(process.bpmn_process_id.clone()))
        }
        On::Decision(decision) => {
            let decisions = &mut cx.state.decisions.decisions;
            let key = match decision {
                DecisionRef::Key(key) => *key,
                DecisionRef::Id(id) => decisions.latest(&cx.tenant, id)?,
            };
            let found = decisions.get(key);
            let found = found.filter(|decision| decision.tenant == cx.tenant);
            found.map(|decision| Resource::Is(decision.id.clone()))
        }
        On::ItsProcess => process_of(cx, command.about()),
        On::Instance(key) => process_of(cx, About::ProcessInstance(*key)),
        // Ended entities are not here: the gateway finds them and checks there. Each of several resources is checked by itself.
        On::Found | On::DecisionOf(_) | On::Each(_) => None,
    }
}

/// The process of the instance that an entity belongs to. `None`: the entity does not exist.
fn process_of(cx: &mut Context<'_>, about: About) -> Option<Resource> {
    let definition = definition_of(cx, about)?;
    let process = cx.state.processes.get(definition);
    let id = process.map(|process| process.bpmn_process_id.clone());
    Some(id.map_or(Resource::Unknown, Resource::Is))
}

/// The definition of the instance that an entity belongs to.
fn definition_of(cx: &mut Context<'_>, about: About) -> Option<Key> {
    let state = &mut *cx.state;
    Some(match about {
        About::ProcessInstance(key) | About::ElementInstance(key) => {
            state.elements.get(key)?.process_definition_key
        }
        About::Job(key) => state.jobs.get(key)?.process_definition_key,
        About::Incident(key) => state.incidents.get(key)?.process_definition_key,
        About::UserTask(key) => state.user_tasks.get(key)?.process_definition_key,
        About::Nothing | About::BatchOperation(_) | About::Ended(_) => return None,
    })
}

fn of_task(
    cx: &mut Context<'_>,
    access: &AccessCheck<'_>,
    command: &Command,
    any_of: &[Permission],
    or_assignee: &[Permission],
    or_for: Option<(&str, &[Permission])>,
) -> Result<(), Rejection> {
    let About::UserTask(key) = command.about() else {
        return access.any(any_of);
    };
    let Some(task) = cx.state.user_tasks.get(key) else {
        return Ok(());
    };
    let attributes = task.attributes.clone();
    let process = match process_of(cx, About::UserTask(key)) {
        Some(Resource::Is(process)) => process,
        Some(Resource::Unknown) => return access.any(any_of),
        None => return Ok(()),
    };
    let caller = access.grants.user();
    let is_caller = |name: &str| caller.is_some_and(|caller| **caller == *name);
    let mut enough: Vec<Permission> = any_of.to_vec();
    if is_caller(&attributes.assignee) {
        enough.extend(or_assignee);
    }
    if let Some((goes_to, permissions)) = or_for
        && is_caller(goes_to)
    {
        enough.extend(permissions);
    }
    let task_id = key.to_string();
    let granted = enough.iter().any(|permission| {
        let id = match permission.on {
            ResourceType::UserTask => &task_id,
            _ => &*process,
        };
        access.grants.allows(*permission, id)
            || access.grants.allows_by_property(
                *permission,
                &attributes.assignee,
                &attributes.candidate_users,
                &attributes.candidate_groups,
            )
    });
    if granted {
        Ok(())
    } else {
        Err(access.refusal(&enough, Some(&process)))
    }
}

fn to_delete(
    cx: &mut Context<'_>,
    access: &AccessCheck<'_>,
    (key, history): (Key, bool),
) -> Result<(), Rejection> {
    let Some((kind, id)) = delete_resource::named(cx, key) else {
        return Ok(());
    };
    let permissions: &[Permission] = match kind {
        Deployed::ProcessDefinition => grants![Resource: DeleteProcess],
        Deployed::DecisionRequirements => grants![Resource: DeleteDrd],
        Deployed::Form => grants![Resource: DeleteForm],
        Deployed::Unknown => grants![Resource: DeleteResource],
    };
    access.on(permissions, &id)?;
    match kind {
        Deployed::ProcessDefinition if history => {
            access.on(grants![ProcessDefinition: DeleteProcessInstance], &id)
        }
        Deployed::DecisionRequirements if history => {
            for decision in cx.state.decisions.of(key).to_vec() {
                if let Some(decision) = cx.state.decisions.decisions.get(decision) {
                    let to = grants![DecisionDefinition: DeleteDecisionInstance];
                    access.on(to, &decision.id)?;
                }
            }
            Ok(())
        }
        Deployed::ProcessDefinition
        | Deployed::DecisionRequirements
        | Deployed::Form
        | Deployed::Unknown => Ok(()),
    }
}
