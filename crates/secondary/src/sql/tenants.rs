//! Searches of callers who belong to tenants. Each is answered without reading a row, or an entry of an index, of another tenant: the time
//! that it takes then tells nothing about others.

use std::time::Duration;

use skep_query::{
    Condition, Conditions, Entity, Indexed, Kind, Op, QueryError, Row, Search, Value,
};

use super::answer::Database;
use super::counts::Counts;
use super::{Columns, Dialect, Sql, select};

pub const TENANT: &str = "tenantId";

/// The tenants that a search is limited to.
pub struct Tenants {
    /// The place of the condition in the filter; `None`: it is not limited, and these are all tenants.
    at: Option<usize>,
    /// Their IDs, each once; `Null` stands for rows that belong to no tenant.
    ids: Vec<Value>,
}

/// A database that is asked for rows of one tenant, or of a few.
pub struct OfTenant<'a, D>(pub &'a D);

impl<D: Database> Database for OfTenant<'_, D> {
    fn sql(&self) -> Sql<'_> {
        Sql {
            of_tenant: true,
            ..self.0.sql()
        }
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
        self.0.rows(sql, columns)
    }

    fn rows_within(
        &self,
        sql: &Sql<'_>,
        columns: usize,
        limit: Duration,
    ) -> Result<Option<Vec<Row>>, QueryError> {
        self.0.rows_within(sql, columns, limit)
    }

    fn is_counted(&self, counts: Counts) -> Result<bool, QueryError> {
        self.0.is_counted(counts)
    }
}

/// Where an entity has the tenant of its rows.
fn tenant_field(entity: &Entity) -> Option<usize> {
    let is_tenant = |at: &usize| entity.field(*at).indexed == Indexed::OfTenants;
    entity.index_of(TENANT).filter(is_tenant)
}

/// The columns of an index as a store has it. `tenants`: callers belong to tenants.
pub fn columns_of(entity: &Entity, index: Columns, tenants: bool) -> Vec<&'static str> {
    let is_led = index.first().is_some_and(|first| {
        tenant_field(entity).is_some() && *first != TENANT && !has_all_tenants(entity, first)
    });
    let tenant = (tenants && is_led).then_some(TENANT);
    tenant.into_iter().chain(index.iter().copied()).collect()
}

/// Whether an index that begins with this column has the rows of all tenants together.
fn has_all_tenants(entity: &Entity, first: &str) -> bool {
    let field = entity.index_of(first).map(|at| entity.field(at));
    field.is_some_and(|field| field.kind == Kind::Key || field.is_cluster_wide)
}

/// The columns of the indices that lead to rows, behind the tenant if the search is for one.
pub fn indices<'a>(sql: &Sql<'_>, entity: &'a Entity) -> impl Iterator<Item = Columns> + use<'a> {
    let of_tenant = sql.of_tenant;
    let led = move |columns: &&'static [&'static str]| match columns {
        [first, rest @ ..] if tenant_field(entity).is_some() && *first == TENANT => {
            of_tenant.then_some(rest)
        }
        [first, ..] => (!of_tenant || !has_all_tenants(entity, first)).then_some(*columns),
        [] => None,
    };
    entity.indices.iter().filter_map(led)
}

/// Whether the rows that a statement finds are of several tenants, each of which has its own part of an index.
pub fn are_mixed(sql: &Sql<'_>, entity: &Entity) -> bool {
    sql.tenants && !sql.of_tenant && tenant_field(entity).is_some()
}

/// Whether an index of all tenants begins with this column. A search for one tenant does not enter it.
pub fn is_of_all(sql: &Sql<'_>, entity: &Entity, column: &str) -> bool {
    let is_first = |columns: &&[&str]| columns.first() == Some(&column);
    sql.of_tenant
        && column != entity.key().name
        && has_all_tenants(entity, column)
        && entity.indices.iter().any(is_first)
}

/// Whether only indices of all tenants have this column first, so that a search for one tenant enters none by it. Where each tenant has its
/// part of another one, that leads to fewer rows.
pub fn is_only_of_all(sql: &Sql<'_>, entity: &Entity, column: &str) -> bool {
    let is_led = |columns: &&[&str]| columns.get(..2) == Some(&[TENANT, column]);
    is_of_all(sql, entity, column) && !entity.indices.iter().any(is_led)
}

impl Tenants {
    /// The tenants that a search in a store of tenants is limited to; `None`: its rows belong to no tenants.
    pub fn of(from: &impl Database, search: &Search) -> Result<Option<Tenants>, QueryError> {
        let sql = from.sql();
        let Some(tenant) = tenant_field(search.entity).filter(|_| sql.tenants) else {
            return Ok(None);
        };
        let listed = search.filter.iter().enumerate();
        let listed = listed.filter_map(|(at, one)| Some((at, listed_in(one, tenant)?)));
        // The tenants that the caller asks for, and those that the caller belongs to.
        let found = listed.reduce(|(at, mut ids), (_, others)| {
            ids.retain(|id| others.contains(id));
            (at, ids)
        });
        let (at, mut ids) = match (found, sql.dialect) {
            (Some((at, ids)), _) => (Some(at), ids),
            // A caller who sees all tenants: the store itself, for instance.
            (None, Dialect::Sqlite) => (None, all(from, search.entity)?),
            (None, Dialect::Postgres) => return Ok(None),
        };
        ids.sort_by(|a, b| a.compare(b, false));
        ids.dedup();
        Ok(Some(Tenants { at, ids }))
    }

    /// The condition that limits rows of an entity to these tenants; `None`: they belong to no tenant.
    pub fn condition(&self, entity: &Entity) -> Option<Condition> {
        let field = tenant_field(entity)?;
        let is = |op| Condition::Field { field, op };
        let named = self.ids.iter().filter(|id| **id != Value::Null);
        let named: Vec<Value> = named.cloned().collect();
        let has_none = named.len() < self.ids.len();
        Some(match (has_none, named.is_empty()) {
            (false, _) => is(Op::In(named)),
            (true, true) => is(Op::Exists(false)),
            (true, false) => {
                Condition::Any(vec![vec![is(Op::Exists(false))], vec![is(Op::In(named))]])
            }
        })
    }

    /// Whether no row can be found.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether the search is limited to tenants.
    pub fn are_limited(&self) -> bool {
        self.at.is_some()
    }

    /// The search for each of the tenants alone.
    pub fn each<'a>(&'a self, search: &'a Search) -> impl Iterator<Item = Search> + 'a {
        self.ids.iter().map(move |id| {
            let one = Tenants {
                at: self.at,
                ids: vec![id.clone()],
            };
            let mut search = one.with_related(search);
            let field = tenant_field(search.entity).unwrap_or_default();
            let op = match id {
                Value::Null => Op::Exists(false),
                id => Op::Eq(id.clone()),
            };
            let only = Condition::Field { field, op };
            match self.at.and_then(|at| search.filter.get_mut(at)) {
                Some(condition) => *condition = only,
                None => search.filter.push(only),
            }
            search
        })
    }

    /// The search with its conditions on related rows limited to the tenants as well: they have the tenant of the row that they belong to.
    pub fn with_related(&self, search: &Search) -> Search {
        let mut search = search.clone();
        self.limit_related(&mut search.filter);
        for conditions in &mut search.any_of {
            self.limit_related(conditions);
        }
        search
    }

    fn limit_related(&self, conditions: &mut Conditions) {
        for condition in conditions {
            match condition {
                Condition::Any(alternatives) => {
                    for conditions in alternatives {
                        self.limit_related(conditions);
                    }
                }
                Condition::Related(related) => {
                    self.limit_related(&mut related.conditions);
                    related.conditions.extend(self.condition(related.entity));
                }
                Condition::Field { .. } | Condition::Item { .. } | Condition::Within { .. } => {}
            }
        }
    }
}

/// The values that a condition lists of the tenant. A row without a tenant may belong to all of them.
fn listed_in(condition: &Condition, tenant: usize) -> Option<Vec<Value>> {
    match condition {
        Condition::Field { field, op } if *field == tenant => match op {
            Op::Eq(id) => Some(vec![id.clone()]),
            Op::In(ids) => Some(ids.clone()),
            Op::Exists(false) => Some(vec![Value::Null]),
            _ => None,
        },
        Condition::Any(alternatives) => {
            let one = |all: &Conditions| match all.as_slice() {
                [only] => listed_in(only, tenant),
                _ => None,
            };
            let ids: Option<Vec<_>> = alternatives.iter().map(one).collect();
            Some(ids?.concat())
        }
        _ => None,
    }
}

/// All tenants that have rows, found by the index on the tenant.
fn all(from: &impl Database, entity: &Entity) -> Result<Vec<Value>, QueryError> {
    let mut sql = from.sql();
    let table = sql.table(entity);
    sql.push(&format!(
        "WITH RECURSIVE ids(id) AS (SELECT min(\"{TENANT}\") FROM {table} UNION ALL
            SELECT (SELECT min(\"{TENANT}\") FROM {table} WHERE \"{TENANT}\" > ids.id) FROM ids WHERE ids.id IS NOT NULL)
        SELECT id FROM ids"
    ));
    let rows = from.rows(&sql, 1)?;
    Ok(rows
        .into_iter()
        .filter_map(|row| row.into_iter().next())
        .collect())
}

/// Keys that a search names, with the indices that lead to their rows.
pub struct Keys {
    /// The columns of these indices. No other is entered.
    pub columns: Vec<&'static str>,
    /// The places of their conditions in the filter.
    at: Vec<usize>,
}

impl Keys {
    /// `None`: no condition leads to few rows by their keys.
    pub fn of(search: &Search) -> Option<Keys> {
        let entity = search.entity;
        let (mut columns, mut at) = (Vec::new(), Vec::new());
        for (place, condition) in search.filter.iter().enumerate() {
            let Condition::Field {
                field,
                op: Op::Eq(_) | Op::In(_),
            } = condition
            else {
                continue;
            };
            let key = entity.field(*field);
            if *field == 0 {
                (columns, at) = (vec![key.name], vec![place]);
                break;
            }
            let (Indexed::All | Indexed::Present | Indexed::Unlike(_)) = key.indexed else {
                continue;
            };
            let mut indices = entity.indices.iter();
            let led = indices.find(|columns| columns.first() == Some(&key.name));
            if let Some(led) = led.filter(|_| key.kind == Kind::Key) {
                columns.extend_from_slice(led);
                if let Indexed::Unlike(other) = key.indexed {
                    columns.push(other);
                }
                at.push(place);
            }
        }
        (!at.is_empty()).then_some(Keys { columns, at })
    }

    /// The search for those of its keys whose rows belong to the tenants: the rows of one key have one tenant, so the first tells it. `None`:
    /// no such row is left to find.
    pub fn owned(
        &self,
        from: &impl Database,
        search: &Search,
        tenants: &Tenants,
    ) -> Result<Option<Search>, QueryError> {
        let mut search = search.clone();
        if !tenants.are_limited() {
            return Ok(Some(search));
        }
        let entity = search.entity;
        for at in &self.at {
            let Some(Condition::Field { field, op }) = search.filter.get_mut(*at) else {
                continue;
            };
            let is_own = |key: &Value| {
                let op = Op::Eq(key.clone());
                let condition = Condition::Field { field: *field, op };
                let sql = select::first(from.sql(), entity, &condition, TENANT);
                let first = from.rows(&sql, 1)?.pop();
                let first = first.and_then(|row| row.into_iter().next());
                Ok::<_, QueryError>(first.is_some_and(|id| tenants.ids.contains(&id)))
            };
            match op {
                Op::Eq(key) if is_own(key)? => {}
                Op::In(keys) => {
                    let mut own = Vec::new();
                    for key in std::mem::take(keys) {
                        if is_own(&key)? {
                            own.push(key);
                        }
                    }
                    if own.is_empty() {
                        return Ok(None);
                    }
                    *keys = own;
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(search))
    }
}

#[cfg(test)]
mod tests;
