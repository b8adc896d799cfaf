//! That no search reads rows of other tenants, by the plans of its statements.

use std::cell::RefCell;

use rusqlite::Connection;
use skep_query::entities::{self, INCIDENT, PROCESS_INSTANCE, VARIABLE};
use skep_query::{Cursor, Groups, Measure, Query, Related, Sort, Start, Value};

use super::*;
use crate::sql::page::tests::first_columns;
use crate::sql::{Tables, answer, table_script};

/// Plans statements, and answers that there are as many rows as it has.
struct Planned<'a> {
    connection: &'a Connection,
    rows: i64,
    /// Whether attempts succeed in time.
    succeeds: bool,
    /// The steps of each statement.
    plans: RefCell<Vec<(String, Vec<String>)>>,
}

impl Database for Planned<'_> {
    fn sql(&self) -> Sql<'_> {
        Sql::new(Dialect::Sqlite, "").with_tenants(true)
    }

    fn rows(&self, sql: &Sql<'_>, columns: usize) -> Result<Vec<Row>, QueryError> {
        let plan = first_columns(self.connection, sql, 3, "EXPLAIN QUERY PLAN ");
        self.plans.borrow_mut().push((sql.text.clone(), plan));
        let value = if sql.text.starts_with("SELECT count") {
            Value::Int(self.rows)
        } else {
            Value::text("acme")
        };
        Ok(if columns == 1 {
            vec![vec![value]]
        } else {
            Vec::new()
        })
    }

    fn rows_within(
        &self,
        sql: &Sql<'_>,
        columns: usize,
        _limit: Duration,
    ) -> Result<Option<Vec<Row>>, QueryError> {
        let rows = self.rows(sql, columns)?;
        Ok(self.succeeds.then_some(rows))
    }

    fn is_counted(&self, _counts: Counts) -> Result<bool, QueryError> {
        Ok(false)
    }
}

fn all_tables() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    let tables = Tables {
        dialect: Dialect::Sqlite,
        prefix: "",
        tenants: true,
    };
    for entity in entities::ALL {
        let script = table_script(tables, entity);
        connection.execute_batch(&script).expect("a table");
    }
    connection
}

/// What filters can ask of a field.
fn asked(entity: &Entity, field: usize) -> Vec<Condition> {
    let (one, other) = match entity.field(field).kind {
        Kind::Enum(names) => (Value::text(names[0]), Value::text(names[1])),
        Kind::Text | Kind::Json => (Value::text("a"), Value::text("b")),
        Kind::Key | Kind::Int | Kind::Time | Kind::Bool => (Value::Int(1), Value::Int(0)),
    };
    let mut ops = vec![
        Op::Eq(one.clone()),
        Op::In(vec![one.clone(), other]),
        Op::Neq(one.clone()),
        Op::Gt(one.clone()),
        Op::Lte(one),
        Op::Exists(true),
        Op::Exists(false),
    ];
    if entity.field(field).kind == Kind::Text {
        ops.push(Op::Like("a*".into()));
    }
    let conditions = ops.into_iter().map(|op| Condition::Field { field, op });
    conditions.collect()
}

/// Searches by each field with each operator, together with the field behind it and as an alternative, sorted by each field.
fn searches(entity: &'static Entity) -> Vec<Search> {
    let fields = entity.fields.len();
    let mut all = Vec::new();
    for field in 0..fields {
        for (n, condition) in asked(entity, field).into_iter().enumerate() {
            let next = (field + 1 + n) % fields;
            let beside = asked(entity, next).swap_remove(n % 7);
            let any = Condition::Any(vec![vec![condition.clone()], vec![beside.clone()]]);
            for filter in [vec![condition.clone()], vec![condition, beside], vec![any]] {
                let mut search = Search::all(entity, filter, 5);
                let sort = (field + 3 * n + search.filter.len()) % (fields + 1);
                search.sort.extend((sort < fields).then_some(Sort {
                    field: sort,
                    descending: n % 2 == 0,
                }));
                let mut cursor = vec![Value::Int(7); search.sort.len()];
                cursor.push(Value::Int(7));
                search.page.start = match n % 3 {
                    0 => Start::Offset(0),
                    1 => Start::After(Cursor(cursor)),
                    _ => Start::Before(Cursor(cursor)),
                };
                all.push(search);
            }
        }
    }
    for sort in 0..fields {
        let mut search = Search::all(entity, Vec::new(), 5);
        search.sort.push(Sort {
            field: sort,
            descending: true,
        });
        all.push(search);
    }
    all
}

/// With conditions on related rows.
fn related() -> Vec<Search> {
    let of = |entity: &'static Entity, conditions: Vec<(&str, Op)>| {
        let is = |(column, op): (&str, Op)| Condition::Field {
            field: entity.column(column),
            op,
        };
        let related = Condition::Related(Box::new(Related {
            entity,
            own: "processInstanceKey",
            link: "processInstanceKey",
            conditions: conditions.into_iter().map(is).collect(),
        }));
        let mut search = Search::all(&PROCESS_INSTANCE, vec![related], 5);
        search.sort.push(Sort {
            field: PROCESS_INSTANCE.column("startDate"),
            descending: true,
        });
        search
    };
    let text = |text| Op::Eq(Value::text(text));
    let element = &entities::ELEMENT_INSTANCE;
    vec![
        of(&VARIABLE, vec![("name", text("a")), ("value", text("1"))]),
        of(&VARIABLE, vec![("value", Op::Like("a*".into()))]),
        of(
            &INCIDENT,
            vec![("state", text("ACTIVE")), ("errorMessage", text("a"))],
        ),
        of(
            element,
            vec![("elementId", text("a")), ("state", text("ACTIVE"))],
        ),
        of(element, vec![("hasIncident", Op::Eq(Value::Int(1)))]),
    ]
}

/// Whether a step of a plan reads rows of other tenants: it has to begin with the tenant, or with a key.
fn reads_others(entity: &Entity, step: &str, is_by_key: bool) -> bool {
    let Some((table, by)) = step
        .strip_prefix("SEARCH ")
        .or_else(|| step.strip_prefix("SCAN "))
        .and_then(|step| step.split_once(' '))
    else {
        return step == "SCAN t" || step == "SCAN r";
    };
    let leads = |column: &str| by.contains(&format!("({column}=?"));
    let by_key = by.split_once('(').is_some_and(|(_, column)| {
        let column = column.split_once("=?").map_or("", |(column, _)| column);
        column.ends_with("Key") || column == "rowid" || column == "key" || column == "id"
    });
    match table {
        // Whatever a row of its own key is, it is one.
        "t" if leads("rowid") || leads(entity.key().name) => false,
        "t" => !(leads(TENANT) || is_by_key && by_key),
        "r" => !leads(TENANT) && !by_key,
        _ => false,
    }
}

fn of_tenants(search: &mut Search, ids: &[&str]) -> bool {
    let Some(field) = tenant_field(search.entity) else {
        return false;
    };
    let ids = ids.iter().map(|id| Value::text(id)).collect();
    let op = Op::In(ids);
    search.filter.push(Condition::Field { field, op });
    true
}

#[test]
fn no_search_reads_rows_of_other_tenants() {
    let connection = all_tables();
    let (mut statements, mut asked) = (0, 0);
    let searches = entities::ALL.into_iter().flat_map(searches);
    for mut search in searches.chain(related()) {
        if !of_tenants(&mut search, &["acme", "globex"]) {
            continue;
        }
        asked += 1;
        let entity = search.entity;
        for (rows, succeeds) in [(5, true), (2_000, true), (2_000, false), (20_000, true)] {
            let database = Planned {
                connection: &connection,
                rows,
                succeeds,
                plans: RefCell::default(),
            };
            let query = Query::Search(search.clone());
            answer::answer(&database, &query).expect("an answer");
            let is_by_key = Keys::of(&search).is_some();
            for (text, plan) in database.plans.take() {
                statements += 1;
                let is_by_key = is_by_key || text.starts_with("SELECT t.\"tenantId\"");
                let others = plan
                    .iter()
                    .find(|step| reads_others(entity, step, is_by_key));
                assert_eq!(others, None, "{text}: {plan:?}");
            }
        }
    }
    assert!(
        asked > 1_000 && statements > 10 * asked,
        "{asked} {statements}"
    );
}

#[test]
fn no_statistics_read_rows_of_other_tenants() {
    let connection = all_tables();
    let searches = entities::ALL.into_iter().flat_map(searches);
    for (n, mut search) in searches.chain(related()).enumerate() {
        if !of_tenants(&mut search, &["acme", "globex"]) {
            continue;
        }
        let entity = search.entity;
        let is_by_key = Keys::of(&search).is_some();
        let groups = Groups {
            by: vec![n % entity.fields.len()],
            search,
            span: None,
            measures: vec![Measure::Rows],
        };
        for rows in [5, 2_000] {
            let database = Planned {
                connection: &connection,
                rows,
                succeeds: true,
                plans: RefCell::default(),
            };
            answer::answer(&database, &Query::Groups(groups.clone())).expect("an answer");
            for (text, plan) in database.plans.take() {
                let is_by_key = is_by_key || text.starts_with("SELECT t.\"tenantId\"");
                let others = plan
                    .iter()
                    .find(|step| reads_others(entity, step, is_by_key));
                assert_eq!(others, None, "{text}: {plan:?}");
            }
        }
    }
}

#[test]
fn rows_of_a_key_of_another_tenant_are_not_read() {
    let connection = all_tables();
    let field = VARIABLE.column("processInstanceKey");
    for op in [
        Op::Eq(Value::Int(7)),
        Op::In(vec![Value::Int(7), Value::Int(8)]),
    ] {
        let keys = if matches!(op, Op::Eq(_)) { 1 } else { 2 };
        let mut search = Search::all(&VARIABLE, vec![Condition::Field { field, op }], 5);
        assert!(of_tenants(&mut search, &["globex"]));
        let database = Planned {
            connection: &connection,
            rows: 5,
            succeeds: true,
            plans: RefCell::default(),
        };
        // The first row of each key is one of another tenant.
        answer::answer(&database, &Query::Search(search)).expect("an answer");
        let plans = database.plans.take();
        assert_eq!(plans.len(), keys, "{plans:?}");
    }
}

#[test]
fn a_caller_that_names_a_tenant_of_others_is_answered_at_once() {
    let connection = all_tables();
    let mut search = Search::all(&PROCESS_INSTANCE, Vec::new(), 5);
    of_tenants(&mut search, &["acme"]);
    of_tenants(&mut search, &["globex", "umbrella"]);
    let database = Planned {
        connection: &connection,
        rows: 5,
        succeeds: true,
        plans: RefCell::default(),
    };
    let tenants = Tenants::of(&database, &search)
        .expect("tenants")
        .expect("some");
    assert!(tenants.ids.is_empty());
}
