//! A page of a search, in the order of its sort.
//!
//! What is absent comes last, and a cursor stands anywhere. So that an index can give the rows in order and begin at the cursor, a
//! page is asked for in parts: rows that have what is sorted by first, and those that have not, as far as they are needed.

use skep_query::entities::PREVIEW;
use skep_query::{Condition, Cursor, Entity, Indexed, Kind, Op, Search, Sort, Start, Value};

use super::select::{columns, from};
use super::{Dialect, Sql};

/// Rows of a search, by what they have of the field that they are sorted by first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All: where nothing can be absent, or the page begins in the middle without a cursor.
    Whole,
    Present,
    Absent,
}

/// In which parts the rows of the page may be, in the order in which they come.
pub fn parts(search: &Search) -> &'static [Part] {
    use Part::{Absent, Present, Whole};
    if sorts(search).first().is_none_or(|first| first.field == 0) {
        return &[Whole];
    }
    let at_absent = |cursor: &Cursor| matches!(cursor.0.first(), None | Some(Value::Null));
    match &search.page.start {
        Start::Offset(0) => &[Present, Absent],
        Start::Offset(_) => &[Whole],
        Start::After(cursor) if at_absent(cursor) => &[Absent],
        Start::After(_) => &[Present, Absent],
        Start::Before(cursor) if at_absent(cursor) => &[Absent, Present],
        Start::Before(_) => &[Present],
    }
}

/// The first rows of a part of the page. Before a cursor they come in the reverse order. With `many` rows that match, those that
/// match are soon found by going through all of them in the order of the sort.
pub fn rows<'a>(mut sql: Sql<'a>, search: &Search, part: Part, limit: u32, many: bool) -> Sql<'a> {
    sql.walks = many && sql.dialect == Dialect::Sqlite && can_walk(search);
    sql.push("SELECT ");
    sql.push(&listed(search));
    from(&mut sql, search);
    sql.walks = false;
    begin(&mut sql, search, part);
    order(&mut sql, search, part);
    sql.push(&format!(" LIMIT {limit}"));
    if let Start::Offset(from @ 1..) = search.page.start {
        sql.push(&format!(" OFFSET {from}"));
    }
    sql
}

/// What is sorted by, with the key at the end.
fn sorts(search: &Search) -> Vec<Sort> {
    let key = Sort {
        field: 0,
        descending: false,
    };
    let mut sorts = search.sort.clone();
    sorts.push(key);
    sorts
}

fn name(entity: &Entity, sort: &Sort) -> String {
    format!("t.\"{}\"", entity.field(sort.field).name)
}

fn is_reversed(search: &Search) -> bool {
    matches!(search.page.start, Start::Before(_))
}

/// Where the part begins: at the cursor, or with the first row that belongs to it.
fn begin(sql: &mut Sql<'_>, search: &Search, part: Part) {
    let sorts = sorts(search);
    let Some((first, others)) = sorts.split_first() else {
        return;
    };
    let (column, before) = (name(search.entity, first), is_reversed(search));
    let values = match &search.page.start {
        Start::Offset(_) => &[],
        Start::After(cursor) | Start::Before(cursor) => cursor.0.as_slice(),
    };
    match (part, values.split_first()) {
        (Part::Absent, Some((Value::Null, values))) => {
            sql.push(&format!(" AND {column} IS NULL"));
            beyond(sql, search.entity, (others, values), before);
        }
        (Part::Absent, _) => sql.push(&format!(" AND {column} IS NULL")),
        (Part::Present, None | Some((Value::Null, _))) => {
            sql.push(&format!(" AND {column} IS NOT NULL"));
        }
        (Part::Whole, None) => {}
        // A cursor of another sort may claim that a row has no key.
        (Part::Whole, Some((Value::Null, _))) => {
            beyond(sql, search.entity, (&sorts, values), before);
        }
        (Part::Present | Part::Whole, Some((value, _))) => {
            // Here an index is entered; what follows says the same more exactly.
            let comparison = if first.descending == before {
                ">="
            } else {
                "<="
            };
            sql.push(&format!(" AND {column} {comparison} "));
            sql.bind(value);
            beyond(sql, search.entity, (&sorts, values), before);
        }
    }
}

/// Rows that come after those with these values in the order of the sort, or before them: by the first value in which they differ.
fn beyond(sql: &mut Sql<'_>, entity: &Entity, (sorts, values): (&[Sort], &[Value]), before: bool) {
    sql.push(" AND (FALSE");
    for (at, (sort, value)) in sorts.iter().zip(values).enumerate() {
        // Nothing comes after what is absent, and everything that is there before it.
        if *value == Value::Null && !before {
            continue;
        }
        sql.push(" OR (");
        for (sort, value) in sorts.iter().zip(values).take(at) {
            sql.push(&name(entity, sort));
            match value {
                Value::Null => sql.push(" IS NULL AND "),
                value => {
                    sql.push(" = ");
                    sql.bind(value);
                    sql.push(" AND ");
                }
            }
        }
        let column = name(entity, sort);
        match value {
            Value::Null => sql.push(&format!("{column} IS NOT NULL")),
            value => {
                let greater = sort.descending == before;
                let comparison = if greater { ">" } else { "<" };
                sql.push(&format!("({column} {comparison} "));
                sql.bind(value);
                sql.push(if before { "" } else { " OR " });
                let absent = format!("{column} IS NULL");
                sql.push(if before { "" } else { &absent });
                sql.push(")");
            }
        }
        sql.push(")");
    }
    sql.push(")");
}

fn order(sql: &mut Sql<'_>, search: &Search, part: Part) {
    let reversed = is_reversed(search);
    let mut terms = Vec::new();
    for (at, sort) in sorts(search).iter().enumerate() {
        let column = name(search.entity, sort);
        let direction = match sort.descending != reversed {
            true => "DESC",
            false => "ASC",
        };
        // What is absent comes last; in a reversed page that is first.
        let nulls = match reversed {
            true => " NULLS FIRST",
            false => " NULLS LAST",
        };
        match (at, part) {
            (0, Part::Absent) => {}
            // An index need not know where it has what is absent.
            (0, Part::Present) => terms.push(format!("{column} {direction}")),
            _ if sort.field == 0 => terms.push(format!("{column} {direction}")),
            _ => terms.push(format!("{column} {direction}{nulls}")),
        }
    }
    sql.push(" ORDER BY ");
    sql.push(&terms.join(", "));
}

/// Whether an index gives rows in the order of the sort, and no condition leads to few of them: such a one is worth more.
fn can_walk(search: &Search) -> bool {
    let entity = search.entity;
    let begins_index = |field: usize| {
        let name = entity.field(field).name;
        let mut indices = entity.indices.iter();
        let has = indices.any(|columns| columns.first() == Some(&name));
        has && entity.field(field).indexed == Indexed::All
    };
    let has_few_values = |field: usize| matches!(entity.field(field).kind, Kind::Enum(_));
    let leads_nowhere = |condition: &Condition| match condition {
        Condition::Field { field, op } => {
            has_few_values(*field) || !matches!(op, Op::Eq(_) | Op::In(_))
        }
        Condition::Item { .. } => true,
        Condition::Within { .. } | Condition::Any(_) | Condition::Related(_) => false,
    };
    search.any_of.is_empty()
        && search
            .sort
            .first()
            .is_some_and(|sort| begins_index(sort.field))
        && search.filter.iter().all(leads_nowhere)
}

/// The columns of a list: without what it does not show, and of long values no more than their previews, so that a page of large
/// ones need not fit into memory.
fn listed(search: &Search) -> String {
    let entity = search.entity;
    if search.details {
        return columns(entity);
    }
    let fields = entity.fields.iter().enumerate();
    let columns = fields.map(|(at, field)| match (entity.table, field.name) {
        ("variable", "value") if !search.whole_texts && !sorts_by(search, at) => {
            format!("substr(t.value, 1, {})", PREVIEW + 1)
        }
        // Cursors have the key and what is sorted by, shown or not.
        _ if at > 0 && (!field.shown || field.detail) && !sorts_by(search, at) => {
            "NULL".to_string()
        }
        (_, name) => format!("t.\"{name}\""),
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The whole value is in the cursor then.
fn sorts_by(search: &Search, field: usize) -> bool {
    search.sort.iter().any(|sort| sort.field == field)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params_from_iter};
    use skep_query::entities::PROCESS_INSTANCE;
    use skep_query::search;

    use super::*;
    use crate::sql::table_script;
    use crate::sqlite::writer::Bound;

    fn table() -> Connection {
        let connection = Connection::open_in_memory().expect("a database");
        let script = table_script(Dialect::Sqlite, "", &PROCESS_INSTANCE);
        connection.execute_batch(&script).expect("a table");
        let insert = r#"INSERT INTO process_instance ("processInstanceKey", "processDefinitionId", "startDate", "state")
            VALUES (?, 'p' || (?1 % 3), CASE WHEN ?1 % 7 > 0 THEN ?1 % 50 END, CASE WHEN ?1 % 5 > 0 THEN 'ACTIVE' ELSE 'COMPLETED' END)"#;
        for key in 0..300 {
            connection.execute(insert, [key]).expect("a row");
        }
        connection
    }

    fn first_columns<T: rusqlite::types::FromSql>(
        connection: &Connection,
        sql: &Sql<'_>,
        column: usize,
        before: &str,
    ) -> Vec<T> {
        let mut statement = connection
            .prepare(&format!("{before}{}", sql.text))
            .unwrap_or_else(|error| panic!("{}: {error}", sql.text));
        let rows = statement.query_map(params_from_iter(sql.parameters.iter().map(Bound)), |row| {
            row.get(column)
        });
        rows.expect("rows")
            .map(|row| row.expect("a value"))
            .collect()
    }

    /// Of the searches that lists make; cursors stand in the middle.
    fn searches() -> Vec<Search> {
        let mut all = Vec::new();
        for filter in [
            "{}",
            r#"{"state": "ACTIVE"}"#,
            r#"{"state": {"$in": ["ACTIVE"]}}"#,
        ] {
            for order in ["ASC", "DESC"] {
                let cursor = Cursor(vec![Value::Int(25), Value::Int(150)]).encode();
                for page in [
                    r#""limit": 5"#.to_string(),
                    format!(r#""limit": 5, "after": "{cursor}""#),
                    format!(r#""limit": 5, "before": "{cursor}""#),
                ] {
                    let body = format!(
                        r#"{{"filter": {filter}, "sort": [{{"field": "startDate", "order": "{order}"}}], "page": {{{page}}}}}"#
                    );
                    all.push(search(&PROCESS_INSTANCE, &body).expect("a search"));
                }
            }
        }
        all
    }

    #[test]
    fn an_index_gives_many_rows_in_the_order_of_the_sort() {
        let connection = table();
        for search in searches() {
            let [part, ..] = parts(&search) else {
                panic!("a page has parts");
            };
            let sql = rows(Sql::new(Dialect::Sqlite, ""), &search, *part, 5, true);
            let plan: Vec<String> = first_columns(&connection, &sql, 3, "EXPLAIN QUERY PLAN ");
            let sorts = plan.iter().any(|step| step.contains("B-TREE FOR ORDER BY"));
            let enters = plan.iter().any(|step| step.contains("startDate"));
            let at_cursor = !matches!(search.page.start, Start::Offset(_));
            assert!(!sorts && enters | !at_cursor, "{}: {plan:?}", sql.text);
        }
    }

    #[test]
    fn whatever_way_is_taken_the_rows_are_the_same() {
        let connection = table();
        for search in searches() {
            for part in parts(&search) {
                let found = [true, false].map(|many| {
                    let sql = rows(Sql::new(Dialect::Sqlite, ""), &search, *part, 5, many);
                    first_columns::<i64>(&connection, &sql, 0, "")
                });
                assert_eq!(found[0], found[1], "{search:?}");
                assert!(!found[0].is_empty() || *part == Part::Absent, "{search:?}");
            }
        }
    }
}
