//! Builds SQL for searches. Texts from requests are only ever passed as parameters.

use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_INSTANCE};
use skep_query::{
    Condition, Conditions, Entity, Field, Groups, Indexed, Kind, Measure, Op, Related, Search,
    Value,
};

use super::like::{self, glob};
use super::page::Way;
use super::{Dialect, INDEXED_CHARACTERS, Sql, begins, statistics, tenants};

/// Selects columns of the rows that match the conditions.
pub fn look_up<'a>(
    mut sql: Sql<'a>,
    entity: &Entity,
    conditions: &Conditions,
    columns: &[usize],
) -> Sql<'a> {
    let columns = columns.iter().map(|at| entity.field(*at).name);
    let columns: Vec<String> = columns.map(|name| format!("t.\"{name}\"")).collect();
    let table = sql.table(entity);
    let columns = columns.join(", ");
    sql.push(&format!("SELECT {columns} FROM {table} t WHERE TRUE"));
    all(&mut sql, "t", entity, conditions);
    sql
}

/// Selects the row of a key.
pub fn get<'a>(mut sql: Sql<'a>, entity: &Entity, key: i64) -> Sql<'a> {
    sql.push(&format!(
        "SELECT {} FROM {} t WHERE t.\"{}\" = ",
        columns(entity),
        sql.table(entity),
        entity.key().name
    ));
    sql.bind(&Value::Int(key));
    sql
}

/// Selects the groups of matching rows, with the measures of each.
pub fn groups<'a>(mut sql: Sql<'a>, groups: &Groups) -> Sql<'a> {
    let entity = groups.search.entity;
    let column = |at: usize| format!("t.\"{}\"", entity.field(at).name);
    let by: Vec<String> = groups
        .by
        .iter()
        .map(|at| match groups.span {
            Some(span) if entity.field(*at).kind == Kind::Time => {
                format!("{0} - {0} % {span}", column(*at))
            }
            // The order of an index of all tenants is no reason to read it.
            _ => {
                let is_of_all = tenants::is_of_all(&sql, entity, entity.field(*at).name);
                format!("{}{}", sql.sign(is_of_all), column(*at))
            }
        })
        .collect();
    let by = by.join(", ");
    sql.push(&format!("SELECT {by}"));
    for measure in &groups.measures {
        match measure {
            Measure::Rows => sql.push(", count(*)"),
            Measure::RowsWhere(conditions) => {
                sql.push(", count(*) FILTER (WHERE TRUE");
                all(&mut sql, "t", entity, conditions);
                sql.push(")");
            }
            Measure::Distinct(at) => sql.push(&format!(", count(DISTINCT {})", column(*at))),
            Measure::Sum(at) => {
                let sum = statistics::sum(&sql, &column(*at));
                sql.push(&format!(", {sum}"));
            }
            Measure::Least(at) => sql.push(&format!(", min({})", column(*at))),
            Measure::Most(at) => sql.push(&format!(", max({})", column(*at))),
        }
    }
    from(&mut sql, &groups.search);
    sql.push(&format!(
        " GROUP BY {by} LIMIT {}",
        skep_query::groups::MAX_GROUPS + 1
    ));
    sql
}

/// Counts the matching rows, up to a limit. No index has all of them in order: walking is like planning.
pub fn count<'a>(mut sql: Sql<'a>, search: &Search, way: &Way<'a>, limit: u64) -> Sql<'a> {
    match way {
        Way::Planned(broad) => sql.broad = broad.to_vec(),
        Way::Listed(columns) => sql.walks = Some(columns.clone()),
        Way::Without(columns) => sql.without.clone_from(columns),
        Way::Walked => {}
    }
    sql.push("SELECT count(*) FROM (SELECT 1");
    from(&mut sql, search);
    sql.push(&format!(" LIMIT {limit}) counted"));
    sql
}

/// Counts the related rows that match a condition, up to a limit.
pub fn count_related<'a>(mut sql: Sql<'a>, related: &Related, limit: u64) -> Sql<'a> {
    let table = sql.table(related.entity);
    sql.push(&format!(
        "SELECT count(*) FROM (SELECT 1 FROM {table} r WHERE TRUE"
    ));
    all(&mut sql, "r", related.entity, &related.conditions);
    sql.push(&format!(" LIMIT {limit}) counted"));
    sql
}

/// Selects a column of one of the rows for which one condition holds.
pub fn first<'a>(
    mut sql: Sql<'a>,
    entity: &Entity,
    condition: &Condition,
    column: &str,
) -> Sql<'a> {
    let table = sql.table(entity);
    sql.push(&format!("SELECT t.\"{column}\" FROM {table} t WHERE "));
    one(&mut sql, "t", entity, condition);
    sql.push(" LIMIT 1");
    sql
}

/// Counts the rows for which one condition holds, up to a limit.
pub fn count_one<'a>(
    mut sql: Sql<'a>,
    entity: &Entity,
    condition: &Condition,
    limit: u64,
) -> Sql<'a> {
    let table = sql.table(entity);
    sql.push(&format!(
        "SELECT count(*) FROM (SELECT 1 FROM {table} t WHERE "
    ));
    one(&mut sql, "t", entity, condition);
    sql.push(&format!(" LIMIT {limit}) counted"));
    sql
}

pub fn columns(entity: &Entity) -> String {
    let names = entity.fields.iter();
    let names: Vec<String> = names.map(|field| format!("t.\"{}\"", field.name)).collect();
    names.join(", ")
}

/// Adds the table and the conditions of a search.
pub fn from(sql: &mut Sql<'_>, search: &Search) {
    let entity = search.entity;
    sql.push(&format!(" FROM {} t WHERE TRUE", sql.table(entity)));
    restrict(sql, entity, &search.filter, &search.any_of);
}

/// Adds conditions and alternatives to those of the table `t`, which has columns of the entity.
pub fn restrict(sql: &mut Sql<'_>, entity: &Entity, filter: &Conditions, any_of: &[Conditions]) {
    all(sql, "t", entity, filter);
    if !any_of.is_empty() {
        sql.push(" AND ");
        any(sql, "t", entity, any_of);
    }
}

fn all(sql: &mut Sql<'_>, table: &str, entity: &Entity, conditions: &Conditions) {
    if !conditions.is_empty() {
        sql.push(" AND ");
        joined(sql, " AND ", conditions, &mut |sql, condition| {
            one(sql, table, entity, condition);
        });
    }
}

fn any(sql: &mut Sql<'_>, table: &str, entity: &Entity, alternatives: &[Conditions]) {
    sql.push("(");
    joined(sql, " OR ", alternatives, &mut |sql, conditions| {
        sql.push("(TRUE");
        all(sql, table, entity, conditions);
        sql.push(")");
    });
    sql.push(")");
}

/// Joins terms with an operator as a balanced tree. A flat chain would be as deep as it is long, and databases limit the depth
/// of expressions.
fn joined<T>(sql: &mut Sql<'_>, word: &str, terms: &[T], write: &mut impl FnMut(&mut Sql<'_>, &T)) {
    match terms {
        // An empty disjunction is false.
        [] => sql.push("FALSE"),
        [term] => write(sql, term),
        terms => {
            let (left, right) = terms.split_at(terms.len() / 2);
            sql.push("(");
            joined(sql, word, left, write);
            sql.push(word);
            joined(sql, word, right, write);
            sql.push(")");
        }
    }
}

fn one(sql: &mut Sql<'_>, table: &str, entity: &Entity, condition: &Condition) {
    match condition {
        Condition::Field { field, op } => of_field(sql, table, (entity, *field), op),
        Condition::Item { field, op } => {
            let name = entity.field(*field).name;
            let items = match sql.dialect {
                Dialect::Sqlite => format!("json_each({table}.\"{name}\") item"),
                Dialect::Postgres => {
                    format!("json_array_elements_text({table}.\"{name}\"::json) item(value)")
                }
            };
            sql.push(&format!("EXISTS (SELECT 1 FROM {items} WHERE "));
            operator(sql, "item.value", op);
            sql.push(")");
        }
        Condition::Within { field, key } => {
            let name = entity.field(*field).name;
            sql.push(&format!(
                "{table}.\"{name}\" IN (WITH RECURSIVE inside(key) AS (SELECT "
            ));
            sql.bind(&Value::Int(key.0));
            within(sql);
        }
        Condition::Any(alternatives) => any(sql, table, entity, alternatives),
        Condition::Related(related) => of_related(sql, table, related),
    }
}

fn of_related(sql: &mut Sql<'_>, table: &str, related: &Related) {
    let (own, link) = (related.own, related.link);
    let others = sql.table(related.entity);
    let mut broad = sql.broad.iter();
    let is_asked = broad.any(|broad| std::ptr::eq(*broad, related)) || sql.walks.is_some();
    let entered = link_index(related).filter(|_| is_asked && table == "t");
    sql.push(&match entered {
        Some(_) => {
            format!("EXISTS (SELECT 1 FROM {others} r WHERE r.\"{link}\" = {table}.\"{own}\"")
        }
        None => format!("{table}.\"{own}\" IN (SELECT r.\"{link}\" FROM {others} r WHERE TRUE"),
    });
    let outside = std::mem::replace(&mut sql.entered, entered);
    all(sql, "r", related.entity, &related.conditions);
    sql.entered = outside;
    sql.push(")");
}

/// The columns of the index by which the related rows of one row are found.
fn link_index(related: &Related) -> Option<&'static [&'static str]> {
    let entity = related.entity;
    let is_whole = |name| {
        let field = entity.index_of(name).map(|at| entity.field(at));
        field.is_some_and(|field| field.indexed == Indexed::All)
    };
    let mut indices = entity.indices.iter();
    let index = indices.find(|columns| columns.first() == Some(&related.link))?;
    is_whole(related.link).then_some(*index)
}

/// A column in a condition.
fn column_of(sql: &Sql<'_>, table: &str, entity: &Entity, name: &str) -> String {
    let is_looked_at = match table {
        "t" => sql.is_looked_at(entity, name),
        _ => sql.entered.is_some_and(|columns| !columns.contains(&name)),
    };
    format!("{}{table}.\"{name}\"", sql.sign(is_looked_at))
}

fn of_field(sql: &mut Sql<'_>, table: &str, (entity, field): (&Entity, usize), op: &Op) {
    let described = entity.field(field);
    let Field {
        name,
        indexed,
        kind,
        ..
    } = *described;
    let column = column_of(sql, table, entity, name);
    match (indexed, op) {
        (Indexed::Unlike(other), Op::Eq(_) | Op::In(_)) => {
            let other = column_of(sql, table, entity, other);
            equal_to_either(sql, &column, &other, op);
        }
        // Literals allow the use of partial indices for this value.
        _ if let (Kind::Bool, Op::Eq(Value::Int(value))) = (kind, op) => {
            sql.push(&format!("{column} = {value}"));
        }
        _ if let (Kind::Enum(names), Op::Eq(value)) = (kind, op)
            && let Some(name) = names.iter().find(|name| value.as_text() == Some(name)) =>
        {
            sql.push(&format!("{column} = '{name}'"));
        }
        _ => operator(sql, &column, op),
    }
    if column.starts_with('+') {
        return;
    }
    // Redundant conditions that allow the use of indices on the beginnings of texts.
    if begins(sql.dialect, described) {
        beginning(sql, &column, op);
    }
    if let (Op::Like(pattern), Kind::Text) = (op, kind) {
        begins_like(sql, (table, entity), described, &like::prefix(pattern));
    }
    if let (("variable", "value"), Op::Eq(value)) = ((entity.table, name), op) {
        sql.push(&format!(" AND substr({table}.value, 1, 64) = substr("));
        sql.bind(value);
        sql.push(", 1, 64)");
    }
}

/// A condition on a column whose index omits rows in which it equals another column, which has its own index. Each index is
/// used for its part.
fn equal_to_either(sql: &mut Sql<'_>, column: &str, other: &str, op: &Op) {
    sql.push(&format!("(({column} <> {other} AND "));
    operator(sql, column, op);
    sql.push(&format!(") OR ({column} = {other} AND "));
    operator(sql, other, op);
    sql.push("))");
}

/// Adds a condition on the beginnings of texts, which are what an index contains.
fn beginning(sql: &mut Sql<'_>, column: &str, op: &Op) {
    let values = match op {
        Op::Eq(value) => std::slice::from_ref(value),
        Op::In(values) if !values.is_empty() => values,
        Op::Exists(false) => {
            sql.push(&format!(
                " AND left({column}, {INDEXED_CHARACTERS}) IS NULL"
            ));
            return;
        }
        _ => return,
    };
    let cut = |value: &Value| match value.as_text() {
        Some(text) => Value::text(&text.chars().take(INDEXED_CHARACTERS).collect::<String>()),
        None => value.clone(),
    };
    let beginnings: Vec<Value> = values.iter().map(cut).collect();
    let before = format!(" AND left({column}, {INDEXED_CHARACTERS}) IN (");
    list(sql, &before, &beginnings, ")");
}

/// Adds range conditions for patterns that do not start with a wildcard: matching texts are adjacent in an index.
fn begins_like(sql: &mut Sql<'_>, (table, entity): (&str, &Entity), field: &Field, prefix: &str) {
    let name = field.name;
    let (indexed, characters) = match (entity.table, name) {
        ("variable", "value") => (format!("substr({table}.value, 1, 64)"), 64),
        _ if begins(sql.dialect, field) => {
            let beginning = format!("left({table}.\"{name}\", {INDEXED_CHARACTERS})");
            (beginning, INDEXED_CHARACTERS)
        }
        _ => (format!("{table}.\"{name}\""), usize::MAX),
    };
    if prefix.is_empty() {
        return;
    }
    let from: String = prefix.chars().take(characters).collect();
    sql.push(&format!(" AND {indexed} >= "));
    sql.bind(&Value::text(&from));
    if let Some(to) = like::after_all_that_begin_with(&from) {
        sql.push(&format!(" AND {indexed} < "));
        sql.bind(&Value::text(&to));
    }
}

/// Adds the recursion: scopes lead to elements, and call activities to process instances in the same partition.
fn within(sql: &mut Sql<'_>) {
    let elements = sql.table(&ELEMENT_INSTANCE);
    let instances = sql.table(&PROCESS_INSTANCE);
    // In PostgreSQL, a recursive query may refer to itself only once, but laterally.
    let (first, next, last) = match sql.dialect {
        Dialect::Sqlite => (" UNION", ", inside", ""),
        Dialect::Postgres => (" UNION SELECT x.key FROM inside, LATERAL (", "", ") x"),
    };
    let arms = [
        format!(
            "SELECT e.\"elementInstanceKey\" AS key FROM {elements} e{next} WHERE e.\"processInstanceKey\" = inside.key"
        ),
        format!(
            "SELECT e.\"elementInstanceKey\" FROM {elements} e{next}
                WHERE e.\"elementInstanceScopeKey\" <> e.\"processInstanceKey\"
                AND e.\"elementInstanceScopeKey\" = inside.key"
        ),
        format!(
            "SELECT p.\"processInstanceKey\" FROM {instances} p{next} WHERE p.\"parentElementInstanceKey\" = inside.key"
        ),
    ];
    sql.push(&format!(
        "{first} {}{last}) SELECT key FROM inside)",
        arms.join(" UNION ")
    ));
}

fn operator(sql: &mut Sql<'_>, column: &str, op: &Op) {
    let mut compare = |operator: &str, value: &Value| {
        sql.push(column);
        sql.push(operator);
        sql.bind(value);
    };
    match op {
        Op::Eq(value) => compare(" = ", value),
        // An absent value differs from every value that is present.
        Op::Neq(value) => compare(" IS DISTINCT FROM ", value),
        Op::Gt(value) => compare(" > ", value),
        Op::Gte(value) => compare(" >= ", value),
        Op::Lt(value) => compare(" < ", value),
        Op::Lte(value) => compare(" <= ", value),
        Op::Like(pattern) => match sql.dialect {
            Dialect::Sqlite => {
                sql.push(&format!("{column} GLOB "));
                sql.bind(&Value::Text(glob(pattern)));
            }
            Dialect::Postgres => {
                sql.push(&format!("{column} LIKE "));
                sql.bind(&Value::Text(like::like(pattern)));
            }
        },
        Op::Exists(true) => sql.push(&format!("{column} IS NOT NULL")),
        Op::Exists(false) => sql.push(&format!("{column} IS NULL")),
        Op::In(values) if values.is_empty() => sql.push("FALSE"),
        Op::NotIn(values) if values.is_empty() => sql.push("TRUE"),
        Op::In(values) => list(sql, &format!("{column} IN ("), values, ")"),
        Op::NotIn(values) => list(
            sql,
            &format!("({column} IS NULL OR {column} NOT IN ("),
            values,
            "))",
        ),
    }
}

fn list(sql: &mut Sql<'_>, before: &str, values: &[Value], after: &str) {
    sql.push(before);
    for (n, value) in values.iter().enumerate() {
        if n > 0 {
            sql.push(", ");
        }
        sql.bind(value);
    }
    sql.push(after);
}
