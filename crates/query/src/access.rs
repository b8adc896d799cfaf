//! Read access: adds conditions to each search that exclude rows its caller may not read.
//!
//! This is the only place that defines which permission allows reading a row, and which column names the resource. It applies
//! before a query reaches any store. An entity that is not listed here is visible only to callers without restrictions.

mod related;

use std::collections::HashSet;
use std::sync::Arc;

use skep_identity::{Grants, Tenancy, Visible};
use skep_protocol::permission::{Permission, PermissionType, ResourceType};
use skep_protocol::{TenantId, grants};

use crate::entities;
use crate::entity::Entity;
use crate::search::{Condition, Conditions, Op, Related, Search};
use crate::value::Value;

/// Maximum number of IDs of one type that a search can be narrowed to. Callers with more should be granted `*`.
pub const MAX_IDS: usize = 5_000;

/// The caller has grants on more single resources than a search can name. The text says which, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TooManyGrants(String);

/// How reading a row is permitted.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// By one of these permissions on the resource that the column names.
    By(&'static str, &'static [Permission]),
    /// By one of these permissions on all resources of the type.
    All(&'static [Permission]),
    /// By one of these permissions on the process of the instance that this column names. Used for rows without the process ID.
    OfInstance(&'static str, &'static [Permission]),
    /// User tasks: by process, by task key, or by task properties.
    Task,
    /// The audit log: by category, by process, or by properties of user tasks.
    Audit,
    /// Members are readable by callers who may read the group, role or tenant.
    Members,
}

const INSTANCE: &[Permission] = grants![ProcessDefinition: ReadProcessInstance];

/// How reading rows of an entity is permitted; `None`: not defined.
pub fn of(entity: &Entity) -> Option<Access> {
    use Access::{All, Audit, By, Members, OfInstance, Task};
    Some(match entity.table {
        "process_definition" | "start_timer" => By(
            "processDefinitionId",
            grants![ProcessDefinition: ReadProcessDefinition],
        ),
        "process_instance"
        | "element_instance"
        | "element_duration"
        | "incident"
        | "job"
        | "message_subscription"
        | "correlated_message_subscription"
        | "event_wait" => By("processDefinitionId", INSTANCE),
        "variable" => OfInstance("processInstanceKey", INSTANCE),
        "user_task" => Task,
        "decision_definition" => By(
            "decisionDefinitionId",
            grants![DecisionDefinition: ReadDecisionDefinition],
        ),
        "decision_instance" => By(
            "decisionDefinitionId",
            grants![DecisionDefinition: ReadDecisionInstance],
        ),
        "decision_requirements" => By(
            "decisionRequirementsId",
            grants![DecisionRequirementsDefinition: Read],
        ),
        "form" => By("formId", grants![Resource: Read]),
        "resource" => By("resourceId", grants![Resource: Read]),
        "batch_operation" | "batch_operation_item" | "batch_operation_request" => {
            All(grants![Batch: Read])
        }
        "audit_log" => Audit,
        "cluster_variable" => By("name", grants![ClusterVariable: Read]),
        "global_task_listener" => All(grants![GlobalListener: ReadTaskListener]),
        "job_statistics" => All(grants![System: ReadJobMetric]),
        "usage_metric" => All(grants![System: ReadUsageMetric]),
        "identity_user" => By("username", grants![User: Read]),
        "identity_group" => By("groupId", grants![Group: Read]),
        "identity_role" => By("roleId", grants![Role: Read]),
        "identity_tenant" => By("tenantId", grants![Tenant: Read]),
        "identity_mapping_rule" => By("mappingRuleId", grants![MappingRule: Read]),
        "identity_authorization" => All(grants![Authorization: Read]),
        "identity_member" => Members,
        _ => return None,
    })
}

/// Columns used to narrow searches of an entity. All kinds of stores must be able to filter by them.
pub fn columns(entity: &Entity) -> Vec<&'static str> {
    let mut columns = match of(entity) {
        Some(Access::By(column, _) | Access::OfInstance(column, _)) => vec![column],
        Some(Access::Task) => vec!["processDefinitionId", "userTaskKey", "assignee"],
        Some(Access::Audit) => vec!["category", "processDefinitionId", "userTaskKey"],
        Some(Access::Members) => vec!["parentType", "parentId"],
        Some(Access::All(_)) | None => Vec::new(),
    };
    if let Some(Owned::By(column) | Owned::AsInstance(column)) = owned(entity) {
        columns.push(column);
    }
    columns
}

/// How the owner of a row is determined.
#[derive(Clone, Copy, Debug)]
pub enum Owned {
    /// This column contains the tenant. A row without a tenant belongs to the cluster.
    By(&'static str),
    /// The owner is that of the process instance that this column names.
    AsInstance(&'static str),
    /// The rows belong to the cluster.
    ByNobody,
}

const TENANT: &str = "tenantId";

/// How the owner of an entity's rows is determined; `None`: not defined.
pub fn owned(entity: &Entity) -> Option<Owned> {
    Some(match entity.table {
        "process_definition"
        | "process_instance"
        | "element_instance"
        | "element_duration"
        | "start_timer"
        | "incident"
        | "job"
        | "message_subscription"
        | "correlated_message_subscription"
        | "event_wait"
        | "variable"
        | "user_task"
        | "decision_definition"
        | "decision_instance"
        | "decision_requirements"
        | "form"
        | "resource"
        | "audit_log"
        | "cluster_variable"
        | "job_statistics"
        | "usage_metric" => Owned::By(TENANT),
        "batch_operation_item" => Owned::AsInstance("processInstanceKey"),
        "batch_operation"
        | "batch_operation_request"
        | "global_task_listener"
        | "identity_user"
        | "identity_group"
        | "identity_role"
        | "identity_tenant"
        | "identity_mapping_rule"
        | "identity_authorization"
        | "identity_member" => Owned::ByNobody,
        _ => return None,
    })
}

/// The rows that a caller may see.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The grants of the caller; `None`: they are not checked.
    pub grants: Option<Arc<Grants>>,
    /// The tenants whose rows the caller sees.
    pub tenancy: Tenancy,
}

impl Sight {
    /// Sight without restrictions.
    pub fn whole() -> Sight {
        Sight {
            grants: None,
            tenancy: Tenancy::All,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.grants.is_none() && self.tenancy == Tenancy::All
    }

    /// Whether a row found by key belongs to another tenant. It is then treated as missing.
    pub fn is_foreign(&self, entity: &Entity, row: &[Value]) -> bool {
        let Tenancy::Of(_) = &self.tenancy else {
            return false;
        };
        match owned(entity) {
            Some(Owned::ByNobody) => false,
            Some(Owned::By(column)) => {
                let at = entity.index_of(column);
                match at.and_then(|at| row.get(at)) {
                    Some(Value::Null) => false,
                    Some(Value::Text(id)) => !self.tenancy.has(&TenantId::new(id)),
                    _ => true,
                }
            }
            Some(Owned::AsInstance(_)) | None => true,
        }
    }
}

/// The result of narrowing a search.
#[derive(Debug)]
pub enum Narrowed {
    /// The search is unrestricted.
    Whole,
    /// The search got additional conditions.
    Part,
    /// Nothing can match, so no store needs to be queried.
    Nothing,
}

/// Adds conditions that exclude rows of other tenants and rows without a grant, also from the rows that conditions of the
/// search relate to.
///
/// # Errors
/// The caller was granted more single resources than a search can name.
pub fn narrow(search: &mut Search, sight: &Sight) -> Result<Narrowed, TooManyGrants> {
    // First, because the conditions added below are not the caller's.
    let of_related = related::narrow(search, sight)?;
    let of_tenants = to_tenants(search, &sight.tenancy);
    let granted = match &sight.grants {
        Some(grants) => to_grants(search, grants)?,
        None => Narrowed::Whole,
    };
    Ok(match (of_tenants, granted) {
        (Narrowed::Nothing, _) | (_, Narrowed::Nothing) => Narrowed::Nothing,
        (Narrowed::Whole, Narrowed::Whole) if !of_related => Narrowed::Whole,
        _ => Narrowed::Part,
    })
}

fn to_tenants(search: &mut Search, tenancy: &Tenancy) -> Narrowed {
    let Tenancy::Of(tenants) = tenancy else {
        return Narrowed::Whole;
    };
    let ids = tenants.iter().map(|tenant| Value::text(tenant.as_str()));
    let is_theirs = Op::In(ids.collect());
    let narrowed = match owned(search.entity) {
        Some(Owned::ByNobody) => return Narrowed::Whole,
        // Without an alternative, so that the index of the tenants is used.
        Some(Owned::By(column)) if has_always(search.entity, column) => {
            let is_theirs = (!tenants.is_empty()).then_some(is_theirs);
            is_theirs.and_then(|op| condition(search.entity, column, op))
        }
        Some(Owned::By(column)) => {
            let mut ways = vec![Op::Exists(false)];
            ways.extend((!tenants.is_empty()).then_some(is_theirs));
            let ways = ways.into_iter();
            let ways = ways.map(|op| Some(vec![condition(search.entity, column, op)?]));
            ways.collect::<Option<Vec<_>>>().map(Condition::Any)
        }
        Some(Owned::AsInstance(column)) if !tenants.is_empty() => {
            let instance = &entities::PROCESS_INSTANCE;
            condition(instance, TENANT, is_theirs).map(|is_theirs| {
                Condition::Related(Box::new(Related {
                    entity: instance,
                    own: column,
                    link: "processInstanceKey",
                    conditions: vec![is_theirs],
                }))
            })
        }
        Some(Owned::AsInstance(_)) | None => None,
    };
    match narrowed {
        Some(condition) => {
            search.filter.push(condition);
            Narrowed::Part
        }
        None => Narrowed::Nothing,
    }
}

fn to_grants(search: &mut Search, grants: &Grants) -> Result<Narrowed, TooManyGrants> {
    let entity = search.entity;
    let Some(access) = of(entity) else {
        return Ok(Narrowed::Nothing);
    };
    let any: Vec<Conditions> = match access {
        Access::All(permissions) => {
            let is_granted = permissions.iter().any(|p| grants.allows_any(*p));
            return Ok(if is_granted {
                Narrowed::Whole
            } else {
                Narrowed::Nothing
            });
        }
        Access::By(column, permissions) => match listed(grants, permissions)? {
            Visible::All => return Ok(Narrowed::Whole),
            Visible::Ids(ids) => match to_own_condition(search, column, &ids) {
                Some(narrowed) => return Ok(narrowed),
                None => by_text(entity, column, &ids),
            },
        },
        Access::OfInstance(column, permissions) => match listed(grants, permissions)? {
            Visible::All => return Ok(Narrowed::Whole),
            Visible::Ids(ids) => of_instance(column, &ids),
        },
        Access::Task => match tasks(entity, grants)? {
            Some(any) => any,
            None => return Ok(Narrowed::Whole),
        },
        Access::Audit => match audit(entity, grants)? {
            Some(any) => any,
            None => return Ok(Narrowed::Whole),
        },
        Access::Members => match members(entity, grants)? {
            Some(any) => any,
            None => return Ok(Narrowed::Whole),
        },
    };
    Ok(if any.is_empty() {
        Narrowed::Nothing
    } else {
        search.filter.push(Condition::Any(any));
        Narrowed::Part
    })
}

/// Narrows a condition of the caller's that names values of this column to the granted ones. A store would look through a list of
/// all that is granted for each row. `None`: the search has no such condition.
fn to_own_condition(search: &mut Search, column: &str, ids: &[Arc<str>]) -> Option<Narrowed> {
    let own = search.entity.index_of(column)?;
    let has_any = search
        .filter
        .iter_mut()
        .find_map(|condition| match condition {
            Condition::Field { field, op } if *field == own => match op {
                Op::Eq(value) => Some(ids.iter().any(|id| value.as_text() == Some(id))),
                Op::In(values) => {
                    let ids: HashSet<&str> = ids.iter().map(|id| &**id).collect();
                    values.retain(|value| value.as_text().is_some_and(|id| ids.contains(id)));
                    Some(!values.is_empty())
                }
                _ => None,
            },
            _ => None,
        })?;
    Some(if has_any {
        Narrowed::Part
    } else {
        Narrowed::Nothing
    })
}

/// How deleting rows of an entity is permitted: the column that names the resource, and the permission on it.
fn deletable(entity: &Entity) -> Option<(&'static str, Permission)> {
    let to = Permission::of;
    match entity.table {
        "process_instance" => Some((
            "processDefinitionId",
            to(
                ResourceType::ProcessDefinition,
                PermissionType::DeleteProcessInstance,
            ),
        )),
        "decision_instance" => Some((
            "decisionDefinitionId",
            to(
                ResourceType::DecisionDefinition,
                PermissionType::DeleteDecisionInstance,
            ),
        )),
        _ => None,
    }
}

/// Adds conditions to a search for rows to delete that exclude those the caller may not delete.
///
/// # Errors
/// As [`narrow`].
pub fn narrow_to_deletable(
    search: &mut Search,
    grants: &Grants,
) -> Result<Narrowed, TooManyGrants> {
    let Some((column, permission)) = deletable(search.entity) else {
        return Ok(Narrowed::Nothing);
    };
    let Visible::Ids(ids) = listed(grants, &[permission])? else {
        return Ok(Narrowed::Whole);
    };
    Ok(match by_text(search.entity, column, &ids).pop() {
        Some(conditions) => {
            search.filter.extend(conditions);
            Narrowed::Part
        }
        None => Narrowed::Nothing,
    })
}

/// Adds conditions that exclude rows of process instances the caller may not read, whatever else permits reading them.
///
/// # Errors
/// As [`narrow`].
pub fn narrow_to_instances(
    search: &mut Search,
    grants: &Grants,
) -> Result<Narrowed, TooManyGrants> {
    let Visible::Ids(ids) = listed(grants, INSTANCE)? else {
        return Ok(Narrowed::Whole);
    };
    let of_process = by_text(search.entity, "processDefinitionId", &ids).pop();
    Ok(match of_process {
        Some(conditions) => {
            search.filter.extend(conditions);
            Narrowed::Part
        }
        None => Narrowed::Nothing,
    })
}

fn listed(grants: &Grants, permissions: &[Permission]) -> Result<Visible, TooManyGrants> {
    match grants.visible(permissions) {
        Visible::Ids(ids) if ids.len() > MAX_IDS => Err(TooManyGrants(format!(
            "The caller was granted {} on {} single resources, and a search can be narrowed to {MAX_IDS}. Grant it on '*' instead.",
            permissions
                .first()
                .map(Permission::to_string)
                .unwrap_or_default(),
            ids.len()
        ))),
        visible => Ok(visible),
    }
}

fn has_always(entity: &Entity, column: &str) -> bool {
    let at = entity.index_of(column);
    at.is_some_and(|at| entity.field(at).always_there)
}

fn condition(entity: &Entity, column: &str, op: Op) -> Option<Condition> {
    let field = entity.index_of(column)?;
    Some(Condition::Field { field, op })
}

fn texts(ids: &[Arc<str>]) -> Op {
    Op::In(ids.iter().map(|id| Value::Text(id.clone())).collect())
}

fn by_text(entity: &Entity, column: &str, ids: &[Arc<str>]) -> Vec<Conditions> {
    let given = (!ids.is_empty()).then(|| condition(entity, column, texts(ids)));
    given.flatten().map(|is| vec![is]).into_iter().collect()
}

fn of_instance(column: &'static str, ids: &[Arc<str>]) -> Vec<Conditions> {
    let instance = &entities::PROCESS_INSTANCE;
    let conditions = by_text(instance, "processDefinitionId", ids);
    let related = conditions.into_iter().map(|conditions| {
        vec![Condition::Related(Box::new(Related {
            entity: instance,
            own: column,
            link: "processInstanceKey",
            conditions,
        }))]
    });
    related.collect()
}

/// `None`: all tasks are visible.
fn tasks(entity: &Entity, grants: &Grants) -> Result<Option<Vec<Conditions>>, TooManyGrants> {
    const OF_PROCESS: &[Permission] = grants![ProcessDefinition: ReadUserTask];
    const OF_TASK: &[Permission] = grants![UserTask: Read];
    let (processes, keys) = (listed(grants, OF_PROCESS)?, listed(grants, OF_TASK)?);
    let (Visible::Ids(processes), Visible::Ids(keys)) = (processes, keys) else {
        return Ok(None);
    };
    let mut any = by_text(entity, "processDefinitionId", &processes);
    let keys = keys.iter().filter_map(|key| key.parse().ok());
    let keys: Vec<Value> = keys.map(Value::Int).collect();
    if !keys.is_empty() {
        any.extend(condition(entity, "userTaskKey", Op::In(keys)).map(|is| vec![is]));
    }
    any.extend(by_properties(grants));
    Ok(Some(any))
}

/// User tasks that may be read because of their properties.
fn by_properties(grants: &Grants) -> Vec<Conditions> {
    let read = const { Permission::of(ResourceType::UserTask, PermissionType::Read) };
    let properties = grants.properties(read).into_iter();
    let ways = properties.filter_map(|property| by_property(&property, grants));
    ways.map(|is| vec![is]).collect()
}

fn by_property(property: &str, grants: &Grants) -> Option<Condition> {
    let entity = &entities::USER_TASK;
    let item = |name: &str, op: Op| {
        let items = entity.items.iter();
        let (_, column, _) = items.clone().find(|(named, _, _)| *named == name)?;
        let field = entity.index_of(column)?;
        Some(Condition::Item { field, op })
    };
    let user = grants.user();
    match property {
        "assignee" => condition(entity, "assignee", Op::Eq(Value::Text(user?.clone()))),
        "candidateUsers" => item("candidateUser", Op::Eq(Value::Text(user?.clone()))),
        "candidateGroups" => {
            let groups: Vec<Value> = grants.groups().iter().cloned().map(Value::Text).collect();
            (!groups.is_empty()).then(|| item("candidateGroup", Op::In(groups)))?
        }
        _ => None,
    }
}

/// `None`: all entries are visible.
fn audit(entity: &Entity, grants: &Grants) -> Result<Option<Vec<Conditions>>, TooManyGrants> {
    let Visible::Ids(categories) = listed(grants, grants![AuditLog: Read])? else {
        return Ok(None);
    };
    let mut any = by_text(entity, "category", &categories);
    let ways: [(&[Permission], &[&str]); 2] = [
        (INSTANCE, &["DEPLOYED_RESOURCES", "USER_TASKS"]),
        (grants![ProcessDefinition: ReadUserTask], &["USER_TASKS"]),
    ];
    for (permissions, categories) in ways {
        let categories: Vec<Value> = categories.iter().map(|one| Value::text(one)).collect();
        let of_category = condition(entity, "category", Op::In(categories));
        let of_process = match listed(grants, permissions)? {
            // Entries without a process are readable by category alone.
            Visible::All => condition(entity, "processDefinitionId", Op::Exists(true)),
            Visible::Ids(ids) => by_text(entity, "processDefinitionId", &ids)
                .pop()
                .and_then(|mut one| one.pop()),
        };
        if let (Some(category), Some(process)) = (of_category, of_process) {
            any.push(vec![category, process]);
        }
    }
    any.extend(of_tasks(by_properties(grants)));
    Ok(Some(any))
}

/// Entries about user tasks for which one of these alternatives holds.
fn of_tasks(any: Vec<Conditions>) -> Option<Conditions> {
    const TASK: &str = "userTaskKey";
    (!any.is_empty()).then(|| {
        vec![Condition::Related(Box::new(Related {
            entity: &entities::USER_TASK,
            own: TASK,
            link: TASK,
            conditions: vec![Condition::Any(any)],
        }))]
    })
}

/// `None`: all members are visible.
fn members(entity: &Entity, grants: &Grants) -> Result<Option<Vec<Conditions>>, TooManyGrants> {
    let ways: [(&str, &[Permission]); 3] = [
        ("GROUP", grants![Group: Read]),
        ("ROLE", grants![Role: Read]),
        ("TENANT", grants![Tenant: Read]),
    ];
    let (mut any, mut all) = (Vec::new(), true);
    for (kind, permissions) in ways {
        let of_kind = condition(entity, "parentType", Op::Eq(Value::text(kind)));
        let Some(of_kind) = of_kind else {
            continue;
        };
        match listed(grants, permissions)? {
            Visible::All => any.push(vec![of_kind]),
            Visible::Ids(ids) => {
                all = false;
                for mut parents in by_text(entity, "parentId", &ids) {
                    parents.push(of_kind.clone());
                    any.push(parents);
                }
            }
        }
    }
    Ok((!all).then_some(any))
}

#[cfg(test)]
mod tests;
