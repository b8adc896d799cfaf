//! Entities found through others: the forms of tasks and processes, the variables that a task sees, the file of a decision.

use std::collections::{BTreeSet, HashMap, HashSet};

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Map, Value as Json};
use skep_identity::Grants;
use skep_protocol::Key;
use skep_protocol::permission::{Permission, PermissionType, ResourceType};
use skep_query::entities::{
    AUDIT_LOG, CLUSTER_VARIABLE, DECISION_DEFINITION, DECISION_REQUIREMENTS, ELEMENT_INSTANCE,
    FORM, GLOBAL_TASK_LISTENER, JOB, PROCESS_DEFINITION, PROCESS_INSTANCE, RESOURCE, USER_TASK,
    VARIABLE,
};
use skep_query::{
    Condition, Entity, Field, Kind, Leaves, Op, Ops, Row, Search, Sort, Value, answer,
};

use super::statistics::members;
use super::waiting::is;
use super::{Ask, What, invalid, not_found, read, refused};
use crate::rest::operations::path::{Id, Name};
use crate::rest::problem::Problem;
use crate::rest::{RestBody, encode};

/// Scopes around a user task at most; the engine's own bound is below.
const MAX_SCOPES: usize = 1_000;

const READS_INSTANCE: Permission = Permission::of(
    ResourceType::ProcessDefinition,
    PermissionType::ReadProcessInstance,
);
const AUDITS: Permission = Permission::of(ResourceType::AuditLog, PermissionType::Read);

/// The variables of a user task can be filtered by their names only.
static TASK_VARIABLE: Entity = Entity {
    title: "User Task Variable",
    fields: &[
        Field::new("variableKey", Kind::Key, Ops::NONE).sortable(),
        Field::new("name", Kind::Text, Ops::TEXT).sortable(),
        Field::new("value", Kind::Text, Ops::NONE).sortable(),
        Field::new("tenantId", Kind::Text, Ops::NONE)
            .always_there()
            .tenant()
            .sortable(),
        Field::new("isTruncated", Kind::Bool, Ops::NONE),
        Field::new("scopeKey", Kind::Key, Ops::NONE)
            .sortable()
            .mostly_like("processInstanceKey"),
        Field::new("processInstanceKey", Kind::Key, Ops::NONE).sortable(),
        Field::new("rootProcessInstanceKey", Kind::Key, Ops::NONE),
    ],
    ..VARIABLE_TABLE
};

/// Settings common to both entities.
const VARIABLE_TABLE: Entity = Entity {
    title: "",
    table: VARIABLE.table,
    fields: &[],
    related: &[],
    items: &[],
    indices: &[],
    everywhere: false,
    leaves: Leaves::Never,
};

#[derive(Debug)]
pub struct TaskVariables {
    user_task: Key,
    search: Search,
    /// Of several variables of one name only the innermost.
    effective: bool,
}

pub fn task_variables(
    key: Key,
    body: &str,
    parts: &Parts,
    effective: bool,
) -> Result<TaskVariables, Problem> {
    let search = read(&TASK_VARIABLE, body, parts)?;
    if effective && !matches!(search.page.start, skep_query::Start::Offset(_)) {
        return Err(invalid(
            "Effective variables have no cursors. Choose the page with 'page.from' and 'page.limit'.".to_string(),
        ));
    }
    Ok(TaskVariables {
        user_task: key,
        search,
        effective,
    })
}

/// Filters of the audit log that its entries about one user task take.
const OF_TASK: [&str; 5] = [
    "operationType",
    "result",
    "timestamp",
    "actorType",
    "actorId",
];

pub fn task_audit_log(key: Key, body: &str, parts: &Parts) -> Result<What, Problem> {
    let named = members(body)?;
    let filters = named.get("filter").and_then(Json::as_object);
    if let Some(name) = filters
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| !OF_TASK.contains(&name.as_str()))
    {
        return Err(invalid(format!(
            "The field 'filter.{name}' is not one that the audit log of a user task can be filtered by. Those are: {}.",
            OF_TASK.join(", ")
        )));
    }
    let mut search = read(&AUDIT_LOG, body, parts)?;
    search.filter.push(Condition::Field {
        field: const { AUDIT_LOG.column("userTaskKey") },
        op: Op::Eq(Value::Int(key.0)),
    });
    Ok(What::UserTaskAuditLog(key, search))
}

fn column(row: &Row, at: usize) -> Value {
    row.get(at).cloned().unwrap_or_default()
}

fn key_at(row: &Row, at: usize) -> Option<Key> {
    column(row, at).as_int().map(Key)
}

/// Nodes with builds before 30 November 2026 keep the rows of deleted entities.
fn is_there(is_deleted: usize) -> Condition {
    Condition::Field {
        field: is_deleted,
        op: Op::Eq(Value::from(false)),
    }
}

const DELETED_VARIABLE: usize = CLUSTER_VARIABLE.column("isDeleted");
const DELETED_LISTENER: usize = GLOBAL_TASK_LISTENER.column("isDeleted");

pub fn global_listeners(body: &str, parts: &Parts) -> Result<Search, Problem> {
    let mut search = read(&GLOBAL_TASK_LISTENER, body, parts)?;
    search.filter.push(is_there(DELETED_LISTENER));
    Ok(search)
}

/// An id that no listener can have is not found.
pub fn global_listener(Id(id): Id) -> Result<What, Problem> {
    let has_id = Condition::Field {
        field: const { GLOBAL_TASK_LISTENER.column("id") },
        op: Op::Eq(Value::text(id)),
    };
    let filter = vec![is_there(DELETED_LISTENER), has_id];
    Ok(What::Named(Search::all(&GLOBAL_TASK_LISTENER, filter, 1)))
}

/// Resources that were not deleted.
pub fn resources(body: &str, parts: &Parts) -> Result<Search, Problem> {
    let mut search = read(&RESOURCE, body, parts)?;
    search.filter.push(Condition::Field {
        field: const { RESOURCE.column("isDeleted") },
        op: Op::Eq(Value::from(false)),
    });
    Ok(search)
}

pub fn cluster_variables(body: &str, parts: &Parts) -> Result<Search, Problem> {
    let mut search = read(&CLUSTER_VARIABLE, body, parts)?;
    search.filter.push(is_there(DELETED_VARIABLE));
    Ok(search)
}

/// The one that the path names; `tenant` of a tenant.
pub fn cluster_variable(Name(name): &Name, tenant: Option<&str>) -> Result<What, Problem> {
    let is = |field, op| Condition::Field { field, op };
    // A tenant that is not there has no variables.
    let of_tenant = match tenant {
        Some(tenant) => Op::Eq(Value::text(tenant)),
        None => Op::Exists(false),
    };
    let filter = vec![
        is_there(DELETED_VARIABLE),
        is(
            const { CLUSTER_VARIABLE.column("name") },
            Op::Eq(Value::text(name)),
        ),
        is(const { CLUSTER_VARIABLE.column("tenantId") }, of_tenant),
    ];
    let mut search = Search::all(&CLUSTER_VARIABLE, filter, 1);
    search.details = true;
    Ok(What::Named(search))
}

/// 204 where there is none.
pub fn form(row: Option<Row>) -> Response<RestBody> {
    match row {
        Some(row) => encode::json(answer::row(&FORM, &row)),
        None => {
            let mut response = encode::json(String::new());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response.headers_mut().clear();
            response
        }
    }
}

impl Ask<'_> {
    pub(super) async fn named(&mut self, search: Search) -> Result<String, Problem> {
        let entity = search.entity;
        match self.only(search).await? {
            Some(row) => Ok(answer::row(entity, &row)),
            None => {
                let text = if std::ptr::eq(entity, &CLUSTER_VARIABLE) {
                    "There is no cluster variable of this name in this scope"
                } else {
                    "There is no global task listener with this id"
                };
                Err(Problem::new(StatusCode::NOT_FOUND, "NOT_FOUND", text))
            }
        }
    }

    pub(super) async fn one_by_text(
        &mut self,
        entity: &'static Entity,
        key: &str,
    ) -> Result<Row, Problem> {
        let named = Condition::Field {
            field: 0,
            op: Op::Eq(Value::text(key)),
        };
        let mut search = Search::all(entity, vec![named], 1);
        search.details = true;
        let row = self.only(search).await?;
        row.ok_or_else(|| not_found(entity, key))
    }

    /// The row that a search is about; `None`: there is none for the caller's tenants.
    ///
    /// # Errors
    /// It is there, and the caller may not see it.
    async fn only(&mut self, search: Search) -> Result<Option<Row>, Problem> {
        let entity = search.entity;
        let row = self.found(search.clone()).await?.pop();
        if row.is_none() && self.sight.grants.is_some() {
            self.trust();
            if self.found(search).await?.pop().is_some() {
                return Err(refused(entity));
            }
        }
        Ok(row)
    }

    /// Adds business ids to jobs. They are not stored with jobs: most instances have none, and jobs are the most numerous rows.
    pub(super) async fn add_business_ids(&mut self, jobs: &mut [Row]) -> Result<(), Problem> {
        const NAMED: usize = PROCESS_INSTANCE.column("businessId");
        const INSTANCE: usize = JOB.column("processInstanceKey");
        let keys: BTreeSet<i64> = jobs
            .iter()
            .filter_map(|job| job.get(INSTANCE)?.as_int())
            .collect();
        if keys.is_empty() {
            return Ok(());
        }
        let limit = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        let filter = vec![
            is(0, Op::In(keys.into_iter().map(Value::Int).collect())),
            is(NAMED, Op::Exists(true)),
        ];
        let instances = self
            .found(Search::all(&PROCESS_INSTANCE, filter, limit))
            .await?;
        let names: HashMap<Option<i64>, &Value> = instances
            .iter()
            .filter_map(|row| Some((row.first()?.as_int(), row.get(NAMED)?)))
            .collect();
        for job in jobs {
            let of = column(job, INSTANCE).as_int();
            if let (Some(name), Some(place)) = (
                names.get(&of),
                job.get_mut(const { JOB.column("businessId") }),
            ) {
                *place = (*name).clone();
            }
        }
        Ok(())
    }

    pub(super) async fn decision_requirements(&mut self, decision: Key) -> Result<Row, Problem> {
        let row = self.one(&DECISION_DEFINITION, decision).await?;
        self.trust();
        let file = key_at(
            &row,
            const { DECISION_DEFINITION.column("decisionRequirementsKey") },
        );
        self.one(&DECISION_REQUIREMENTS, file.unwrap_or(Key::NONE))
            .await
    }

    pub(super) async fn user_task_form(&mut self, task: Key) -> Result<Option<Row>, Problem> {
        let row = self.one(&USER_TASK, task).await?;
        self.trust();
        match key_at(&row, const { USER_TASK.column("formKey") }) {
            Some(form) => Ok(Some(self.one(&FORM, form).await?)),
            None => Ok(None),
        }
    }

    /// The form with which people start a process, as its start event names it.
    pub(super) async fn start_form(&mut self, definition: Key) -> Result<Option<Row>, Problem> {
        let row = self.one(&PROCESS_DEFINITION, definition).await?;
        self.trust();
        let id = column(&row, const { PROCESS_DEFINITION.column("startFormId") });
        if id == Value::Null {
            return Ok(None);
        }
        let is = |field, value| Condition::Field {
            field,
            op: Op::Eq(value),
        };
        let mut filter = vec![
            is(const { FORM.column("formId") }, id),
            is(
                const { FORM.column("tenantId") },
                column(&row, const { PROCESS_DEFINITION.column("tenantId") }),
            ),
            is(const { FORM.column("isDeleted") }, Value::from(false)),
        ];
        let binding = column(
            &row,
            const { PROCESS_DEFINITION.column("startFormBinding") },
        );
        match binding.as_text().unwrap_or_default() {
            "deployment" => filter.push(is(
                const { FORM.column("deploymentKey") },
                column(&row, const { PROCESS_DEFINITION.column("deploymentKey") }),
            )),
            tag if tag.starts_with('=') => filter.push(is(
                const { FORM.column("versionTag") },
                Value::text(tag.trim_start_matches('=')),
            )),
            _ => {}
        }
        let mut search = Search::all(&FORM, filter, 1);
        search.sort.push(Sort {
            field: const { FORM.column("version") },
            descending: true,
        });
        search.details = true;
        Ok(self.found(search).await?.pop())
    }

    /// The task's element instance and its enclosing scopes, the innermost first.
    async fn scopes_of(&mut self, task: &Row) -> Result<Vec<Value>, Problem> {
        let instance = column(task, const { USER_TASK.column("processInstanceKey") });
        let mut scopes = Vec::new();
        let mut next = column(task, const { USER_TASK.column("elementInstanceKey") });
        while next != Value::Null && next != instance && scopes.len() < MAX_SCOPES {
            let key = Key(next.as_int().unwrap_or_default());
            scopes.push(next);
            let around = self.one(&ELEMENT_INSTANCE, key).await?;
            next = column(
                &around,
                const { ELEMENT_INSTANCE.column("elementInstanceScopeKey") },
            );
        }
        scopes.push(instance);
        Ok(scopes)
    }

    /// A user task whose data is asked for: one that the caller may read, or one of a process of which `other` permits that.
    /// What belongs to it is not checked again.
    ///
    /// # Errors
    /// It does not exist for the caller's tenants, or neither is granted.
    async fn task_for(
        &mut self,
        key: Key,
        other: impl FnOnce(&Grants, &str) -> bool,
    ) -> Result<Row, Problem> {
        let is_shown = self.sight.grants.is_none() || self.sees(&USER_TASK, key).await?;
        let grants = self.sight.grants.take();
        let task = self.one(&USER_TASK, key).await?;
        let process = column(&task, const { USER_TASK.column("processDefinitionId") });
        let process = process.as_text().unwrap_or_default();
        if is_shown || grants.is_some_and(|grants| other(&grants, process)) {
            Ok(task)
        } else {
            Err(refused(&USER_TASK))
        }
    }

    pub(super) async fn task_audit_log(
        &mut self,
        user_task: Key,
        search: Search,
    ) -> Result<String, Problem> {
        let may = |grants: &Grants, process: &str| {
            grants.allows(AUDITS, "USER_TASKS") || grants.allows(READS_INSTANCE, process)
        };
        self.task_for(user_task, may).await?;
        self.page(search).await
    }

    pub(super) async fn task_variables(&mut self, asked: TaskVariables) -> Result<String, Problem> {
        let may = |grants: &Grants, process: &str| grants.allows(READS_INSTANCE, process);
        let task = self.task_for(asked.user_task, may).await?;
        let scopes = self.scopes_of(&task).await?;
        let visible = Condition::Field {
            field: const { VARIABLE.column("scopeKey") },
            op: Op::In(scopes.clone()),
        };
        let mut search = asked.search;
        search.filter.push(visible.clone());
        if asked.effective {
            let shadowed = self.shadowed(visible, &scopes).await?;
            search.filter.push(Condition::Field {
                field: 0,
                op: Op::NotIn(shadowed),
            });
        }
        self.page(search).await
    }

    /// The keys of variables that are hidden by one of the same name further in.
    async fn shadowed(
        &mut self,
        visible: Condition,
        scopes: &[Value],
    ) -> Result<Vec<Value>, Problem> {
        let all = Search::all(&VARIABLE, vec![visible], skep_query::MAX_LIMIT);
        let rows = self.found(all).await?;
        let scope_of = |row: &Row| {
            let scope = column(row, const { VARIABLE.column("scopeKey") });
            scopes.iter().position(|other| *other == scope)
        };
        let mut rows: Vec<(Option<usize>, Row)> =
            rows.into_iter().map(|row| (scope_of(&row), row)).collect();
        rows.sort_by_key(|(scope, _)| *scope);
        let mut seen = HashSet::new();
        let hidden = rows.iter().filter(|(_, row)| {
            let name = column(row, const { VARIABLE.column("name") });
            !seen.insert(name.as_text().unwrap_or_default().to_string())
        });
        Ok(hidden.map(|(_, row)| column(row, 0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_tasks_are_variables() {
        let names = |entity: &Entity| entity.fields.iter().map(|f| f.name).collect::<Vec<_>>();
        assert_eq!(names(&TASK_VARIABLE), names(&VARIABLE));
        assert!(
            TASK_VARIABLE
                .fields
                .iter()
                .zip(VARIABLE.fields)
                .all(|(a, b)| { (a.kind, a.indexed, a.shown) == (b.kind, b.indexed, b.shown) })
        );
    }
}
