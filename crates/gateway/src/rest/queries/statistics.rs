//! Statistics: the rows that a filter finds, in groups. The groups themselves are sorted and paged like rows of an entity.

use serde_json::{Map, Value as Json};
use skep_protocol::Key;
use skep_query::entities::{
    ELEMENT_INSTANCE, INCIDENT, MESSAGE_SUBSCRIPTION, PROCESS_DEFINITION, PROCESS_INSTANCE,
    VARIABLE,
};
use skep_query::{
    Answer, Condition, Conditions, Entity, Field, Groups, Kind, Leaves, Measure, Op, Ops, Query,
    Related, Row, Search, Start, Value, answer, merge,
};

use super::{Ask, invalid, unexpected};
use crate::check;
use crate::rest::problem::Problem;

pub(super) const fn groups_of(title: &'static str, fields: &'static [Field]) -> Entity {
    Entity {
        title,
        table: "",
        fields,
        related: &[],
        items: &[],
        indices: &[],
        everywhere: false,
        leaves: Leaves::Never,
    }
}

static BY_ERROR: Entity = groups_of(
    "Incident Statistics",
    &[
        Field::new("errorHashCode", Kind::Int, Ops::NONE),
        Field::new("errorMessage", Kind::Text, Ops::NONE).sortable(),
        Field::new("activeInstancesWithErrorCount", Kind::Int, Ops::NONE).sortable(),
    ],
);

static BY_DEFINITION: Entity = groups_of(
    "Incident Statistics",
    &[
        Field::new("processDefinitionKey", Kind::Key, Ops::NONE).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::NONE),
        Field::new("tenantId", Kind::Text, Ops::NONE).sortable(),
        Field::new("activeInstancesWithErrorCount", Kind::Int, Ops::NONE).sortable(),
        Field::new("processDefinitionName", Kind::Text, Ops::NONE),
        Field::new("processDefinitionVersion", Kind::Int, Ops::NONE),
        Field::new("errorHashCode", Kind::Int, Ops::PLAIN).hidden(),
    ],
);

static SUBSCRIPTIONS: Entity = groups_of(
    "Message Subscription Statistics",
    &[
        Field::new("processDefinitionKey", Kind::Key, Ops::NONE),
        Field::new("processDefinitionId", Kind::Text, Ops::NONE),
        Field::new("tenantId", Kind::Text, Ops::NONE),
        Field::new(
            "processInstancesWithActiveSubscriptions",
            Kind::Int,
            Ops::NONE,
        ),
        Field::new("activeSubscriptions", Kind::Int, Ops::NONE),
    ],
);

static INSTANCES: Entity = groups_of(
    "Process Instance Statistics",
    &[
        Field::new("processDefinitionId", Kind::Text, Ops::NONE).sortable(),
        Field::new("tenantId", Kind::Text, Ops::NONE),
        Field::new("activeInstancesWithIncidentCount", Kind::Int, Ops::NONE).sortable(),
        Field::new("activeInstancesWithoutIncidentCount", Kind::Int, Ops::NONE).sortable(),
        Field::new("hasMultipleVersions", Kind::Bool, Ops::NONE),
        Field::new("latestProcessDefinitionName", Kind::Text, Ops::NONE),
    ],
);

static VERSIONS: Entity = groups_of(
    "Process Instance Statistics",
    &[
        Field::new("processDefinitionKey", Kind::Key, Ops::NONE).sortable(),
        Field::new("processDefinitionId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("processDefinitionName", Kind::Text, Ops::NONE).sortable(),
        Field::new("processDefinitionVersion", Kind::Int, Ops::NONE).sortable(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN),
        Field::new("activeInstancesWithIncidentCount", Kind::Int, Ops::NONE).sortable(),
        Field::new("activeInstancesWithoutIncidentCount", Kind::Int, Ops::NONE).sortable(),
    ],
);

/// The names that variables of a process have.
static VARIABLE_NAMES: Entity = groups_of(
    "Variable Name",
    &[Field::new("name", Kind::Text, Ops::TEXT)],
);

/// Filters of process instances that the statistics of one definition do not take: the path names it.
const OF_DEFINITION: [&str; 5] = [
    "processDefinitionId",
    "processDefinitionName",
    "processDefinitionVersion",
    "processDefinitionVersionTag",
    "processDefinitionKey",
];

/// A query for statistics.
#[derive(Debug)]
pub enum Statistics {
    /// Groups, and the page of them.
    Paged { groups: Groups, page: Search },
    /// Of the elements of a definition, over these of its process instances.
    Elements { definition: Key, filter: Search },
}

pub(super) fn is(field: usize, value: Value) -> Condition {
    let op = Op::Eq(value);
    Condition::Field { field, op }
}

fn active() -> Condition {
    is(
        const { PROCESS_INSTANCE.column("state") },
        Value::text("ACTIVE"),
    )
}

fn with_incident(yes: bool) -> Measure {
    let at = const { PROCESS_INSTANCE.column("hasIncident") };
    Measure::RowsWhere(vec![is(at, Value::from(yes))])
}

pub(super) fn parse(entity: &'static Entity, body: &str) -> Result<Search, Problem> {
    skep_query::search(entity, body).map_err(|error| invalid(error.to_string()))
}

/// The page of an operation without cursors.
fn by_offset(entity: &'static Entity, body: &str) -> Result<Search, Problem> {
    let page = parse(entity, body)?;
    match page.page.start {
        Start::Offset(_) => Ok(page),
        Start::After(_) | Start::Before(_) => Err(invalid(
            "These statistics have no cursors. Choose the page with 'page.from' and 'page.limit'."
                .to_string(),
        )),
    }
}

/// The page of an operation whose cursors go forward only.
pub(super) fn forward(entity: &'static Entity, body: &str) -> Result<Search, Problem> {
    let page = parse(entity, body)?;
    let named = members(body)?;
    let named = named.get("page").and_then(Json::as_object);
    if named.is_some_and(|page| page.contains_key("from") || page.contains_key("before")) {
        return Err(invalid(
            "These statistics have no offsets, and their cursors only go forward. Continue with 'page.after' and the 'endCursor' of the \
             previous page."
                .to_string(),
        ));
    }
    Ok(page)
}

/// The value of a filter that must be there. The search of groups has no other use for it.
pub(super) fn required(page: &mut Search, field: usize) -> Result<Value, Problem> {
    let found = page.filter.iter().position(
        |condition| matches!(condition, Condition::Field { field: at, .. } if *at == field),
    );
    match found.map(|at| page.filter.remove(at)) {
        Some(Condition::Field {
            op: Op::Eq(value), ..
        }) => Ok(value),
        _ => Err(invalid(format!(
            "The field 'filter.{}' is missing. Name the subject of the statistics.",
            page.entity.field(field).name
        ))),
    }
}

fn counted(entity: &'static Entity, filter: Conditions, by: Vec<usize>) -> Groups {
    Groups {
        search: Search::all(entity, filter, 0),
        by,
        span: None,
        measures: Vec::new(),
    }
}

/// A process instance of this definition, for which more may have to hold, has the row.
fn of_instance(definition: Key, mut conditions: Conditions) -> Condition {
    let field = const { PROCESS_INSTANCE.column("processDefinitionKey") };
    conditions.push(is(field, Value::Int(definition.0)));
    instance_is(conditions)
}

fn instance_is(conditions: Conditions) -> Condition {
    Condition::Related(Box::new(Related {
        entity: &PROCESS_INSTANCE,
        own: "processInstanceKey",
        link: "processInstanceKey",
        conditions,
    }))
}

pub fn variable_names(body: &str, definition: Key) -> Result<Statistics, Problem> {
    let name = const { VARIABLE.column("name") };
    let mut page = parse(&VARIABLE_NAMES, body)?;
    let mut filter = vec![of_instance(definition, Vec::new())];
    for condition in page.filter.drain(..) {
        // Names are the only thing to filter by.
        if let Condition::Field { op, .. } = condition {
            filter.push(Condition::Field { field: name, op });
        }
    }
    let groups = counted(&VARIABLE, filter, vec![name]);
    Ok(Statistics::Paged { groups, page })
}

pub fn by_error(body: &str) -> Result<Statistics, Problem> {
    let state = const { INCIDENT.column("state") };
    let mut groups = counted(
        &INCIDENT,
        vec![is(state, Value::text("ACTIVE"))],
        vec![
            const { INCIDENT.column("errorHashCode") },
            const { INCIDENT.column("errorMessage") },
        ],
    );
    groups.measures = vec![Measure::Distinct(
        const { INCIDENT.column("processInstanceKey") },
    )];
    let page = by_offset(&BY_ERROR, body)?;
    Ok(Statistics::Paged { groups, page })
}

pub fn by_definition(body: &str) -> Result<Statistics, Problem> {
    let mut page = by_offset(&BY_DEFINITION, body)?;
    let hash = required(&mut page, const { BY_DEFINITION.column("errorHashCode") })?;
    let state = const { INCIDENT.column("state") };
    let mut groups = counted(
        &INCIDENT,
        vec![
            is(state, Value::text("ACTIVE")),
            is(const { INCIDENT.column("errorHashCode") }, hash),
        ],
        vec![
            const { INCIDENT.column("processDefinitionKey") },
            const { INCIDENT.column("processDefinitionId") },
            const { INCIDENT.column("tenantId") },
        ],
    );
    groups.measures = vec![Measure::Distinct(
        const { INCIDENT.column("processInstanceKey") },
    )];
    Ok(Statistics::Paged { groups, page })
}

/// The filter is one for message subscriptions, the page is one of groups.
pub fn subscriptions(body: &str) -> Result<Statistics, Problem> {
    let (filter, page) = split(body)?;
    let mut filter = parse(&MESSAGE_SUBSCRIPTION, &filter)?.filter;
    let page = forward(&SUBSCRIPTIONS, &page)?;
    let state = const { MESSAGE_SUBSCRIPTION.column("messageSubscriptionState") };
    filter.push(Condition::Field {
        field: state,
        op: Op::In(vec![Value::text("CREATED"), Value::text("MIGRATED")]),
    });
    let mut groups = counted(
        &MESSAGE_SUBSCRIPTION,
        filter,
        vec![
            const { MESSAGE_SUBSCRIPTION.column("processDefinitionKey") },
            const { MESSAGE_SUBSCRIPTION.column("processDefinitionId") },
            const { MESSAGE_SUBSCRIPTION.column("tenantId") },
        ],
    );
    let instance = const { MESSAGE_SUBSCRIPTION.column("processInstanceKey") };
    groups.measures = vec![Measure::Distinct(instance), Measure::Rows];
    Ok(Statistics::Paged { groups, page })
}

pub fn instances(body: &str) -> Result<Statistics, Problem> {
    let mut groups = counted(
        &PROCESS_INSTANCE,
        vec![active()],
        vec![
            const { PROCESS_INSTANCE.column("processDefinitionId") },
            const { PROCESS_INSTANCE.column("tenantId") },
        ],
    );
    let version = const { PROCESS_INSTANCE.column("processDefinitionVersion") };
    groups.measures = vec![
        with_incident(true),
        with_incident(false),
        Measure::Least(version),
        Measure::Most(version),
    ];
    let page = by_offset(&INSTANCES, body)?;
    Ok(Statistics::Paged { groups, page })
}

pub fn versions(body: &str) -> Result<Statistics, Problem> {
    let mut page = by_offset(&VERSIONS, body)?;
    let id = required(&mut page, const { VERSIONS.column("processDefinitionId") })?;
    let name = "filter.processDefinitionId";
    check::not_blank(name, id.as_text().unwrap_or_default(), "Name the process.")?;
    let mut filter = vec![
        active(),
        is(const { PROCESS_INSTANCE.column("processDefinitionId") }, id),
    ];
    let tenant = const { VERSIONS.column("tenantId") };
    if let Ok(tenant) = required(&mut page, tenant) {
        filter.push(is(const { PROCESS_INSTANCE.column("tenantId") }, tenant));
    }
    let mut groups = counted(
        &PROCESS_INSTANCE,
        filter,
        vec![
            const { PROCESS_INSTANCE.column("processDefinitionKey") },
            const { PROCESS_INSTANCE.column("processDefinitionId") },
            const { PROCESS_INSTANCE.column("processDefinitionName") },
            const { PROCESS_INSTANCE.column("processDefinitionVersion") },
            const { PROCESS_INSTANCE.column("tenantId") },
        ],
    );
    groups.measures = vec![with_incident(true), with_incident(false)];
    Ok(Statistics::Paged { groups, page })
}

pub fn elements(body: &str, definition: Key) -> Result<Statistics, Problem> {
    let (filter, rest) = split(body)?;
    if let Some(name) = members(&rest)?.keys().next() {
        return Err(invalid(format!(
            "The field '{name}' is not known here. These statistics accept only a 'filter'."
        )));
    }
    let named = members(&filter)?;
    let filters = named.get("filter").and_then(Json::as_object);
    let alternatives = filters.and_then(|filter| filter.get("$or")?.as_array());
    let inner = alternatives
        .into_iter()
        .flatten()
        .filter_map(Json::as_object);
    for name in filters.into_iter().chain(inner).flat_map(Map::keys) {
        if OF_DEFINITION.contains(&name.as_str()) {
            return Err(invalid(format!(
                "The field 'filter.{name}' is not known here: the path names the process definition."
            )));
        }
    }
    let filter = parse(&PROCESS_INSTANCE, &filter)?;
    Ok(Statistics::Elements { definition, filter })
}

pub(super) fn members(body: &str) -> Result<Map<String, Json>, Problem> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(body) {
        Ok(Json::Object(members)) => Ok(members),
        Ok(Json::Null) => Ok(Map::new()),
        Ok(_) => Err(invalid(
            "The request body must be a JSON object.".to_string(),
        )),
        Err(error) => Err(invalid(format!(
            "The request body is not valid JSON: {error}. Send one JSON object."
        ))),
    }
}

/// The filter of a body, and all the rest, as bodies of their own.
fn split(body: &str) -> Result<(String, String), Problem> {
    let mut rest = members(body)?;
    let filter: Map<String, Json> = rest.remove_entry("filter").into_iter().collect();
    Ok((
        Json::Object(filter).to_string(),
        Json::Object(rest).to_string(),
    ))
}

impl Ask<'_> {
    pub(super) async fn statistics(&mut self, asked: Statistics) -> Result<String, Problem> {
        match asked {
            Statistics::Paged { groups, page } => {
                // Unlike other statistics, those of incidents are refused if the caller may read none at all.
                if std::ptr::eq(groups.search.entity, &INCIDENT) {
                    self.may_read_some(&INCIDENT)?;
                }
                let mut rows = self.rows(Query::Groups(groups)).await?;
                for row in &mut rows {
                    if std::ptr::eq(page.entity, &INSTANCES) {
                        // The lowest and highest version show whether there are several.
                        let several = row.get(4) != row.get(5);
                        row.truncate(4);
                        row.push(Value::from(several));
                    }
                    row.resize(page.entity.fields.len(), Value::Null);
                }
                let mut found = merge::page(&page, rows);
                self.name(page.entity, &mut found.rows).await?;
                Ok(answer::page(&page, &found))
            }
            Statistics::Elements { definition, filter } => {
                let rows = self.element_groups(definition, filter).await?;
                Ok(super::element_statistics(&rows))
            }
        }
    }

    async fn element_groups(
        &mut self,
        process_definition_key: Key,
        filter: Search,
    ) -> Result<Vec<Row>, Problem> {
        if filter.filter.is_empty() && filter.any_of.is_empty() {
            let query = Query::DefinitionStatistics {
                process_definition_key,
            };
            return self.rows(query).await;
        }
        let mut groups = counted(
            &ELEMENT_INSTANCE,
            vec![of_instance(process_definition_key, filter.filter)],
            vec![const { ELEMENT_INSTANCE.column("elementId") }],
        );
        let alternatives = filter.any_of.into_iter();
        groups.search.any_of = alternatives.map(|any| vec![instance_is(any)]).collect();
        let state = |name| {
            is(
                const { ELEMENT_INSTANCE.column("state") },
                Value::text(name),
            )
        };
        let incident = |yes| {
            let at = const { ELEMENT_INSTANCE.column("hasIncident") };
            is(at, Value::from(yes))
        };
        groups.measures = vec![
            Measure::RowsWhere(vec![state("ACTIVE"), incident(false)]),
            Measure::RowsWhere(vec![state("TERMINATED")]),
            Measure::RowsWhere(vec![state("ACTIVE"), incident(true)]),
            Measure::RowsWhere(vec![state("COMPLETED")]),
        ];
        self.rows(Query::Groups(groups)).await
    }

    /// Fills in fields that only the definitions have.
    async fn name(&mut self, entity: &Entity, rows: &mut [Row]) -> Result<(), Problem> {
        const KEY: usize = PROCESS_DEFINITION.column("processDefinitionKey");
        const ID: usize = PROCESS_DEFINITION.column("processDefinitionId");
        const NAME: usize = PROCESS_DEFINITION.column("name");
        const VERSION: usize = PROCESS_DEFINITION.column("version");
        const TENANT: usize = PROCESS_DEFINITION.column("tenantId");
        let firsts: Vec<Value> = rows.iter().filter_map(|row| row.first().cloned()).collect();
        let named = |field| Condition::Field {
            field,
            op: Op::In(firsts),
        };
        if std::ptr::eq(entity, &BY_DEFINITION) {
            let found = self.definitions(vec![named(KEY)]).await?;
            for row in rows {
                let definition = found.iter().find(|other| other.get(KEY) == row.first());
                let id = row.get(1).cloned().unwrap_or_default();
                let name = definition.and_then(|found| found.get(NAME).cloned());
                let name = name.filter(|name| *name != Value::Null).unwrap_or(id);
                let version = definition.and_then(|found| found.get(VERSION).cloned());
                row.splice(4..6, [name, version.unwrap_or(Value::Int(0))]);
            }
        } else if std::ptr::eq(entity, &INSTANCES) {
            let latest = is(
                const { PROCESS_DEFINITION.column("isLatestVersion") },
                Value::from(true),
            );
            let found = self.definitions(vec![named(ID), latest]).await?;
            for row in rows {
                let definition = found
                    .iter()
                    .find(|other| other.get(ID) == row.first() && other.get(TENANT) == row.get(1));
                let name = definition.and_then(|found| found.get(NAME).cloned());
                row.splice(5..6, [name.unwrap_or_default()]);
            }
        }
        Ok(())
    }

    async fn definitions(&mut self, filter: Conditions) -> Result<Vec<Row>, Problem> {
        let search = Search::all(&PROCESS_DEFINITION, filter, skep_query::MAX_LIMIT);
        let mut search = search;
        search.details = true;
        match self.answer(Query::Search(search)).await? {
            Answer::Page(found) => Ok(found.rows),
            other => Err(unexpected(&other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use skep_query::ActiveInstances;

    use super::*;

    /// The first one is what the home page asks (`ui/src/api/processes.ts`). Over a million instances, to count rows takes a second.
    #[test]
    fn counts_that_stores_keep_answer_the_statistics_of_instances() {
        let of_one = r#"{"filter": {"processDefinitionId": "p", "tenantId": "a"}, "sort": [{"field": "processDefinitionVersion"}]}"#;
        for asked in [instances(r#"{"page": {"limit": 1000}}"#), versions(of_one)] {
            let Ok(Statistics::Paged { groups, .. }) = asked else {
                panic!("{asked:?}");
            };
            let measures = groups.measures.len();
            let asked = ActiveInstances::of(&groups).map(|asked| asked.measures.len());
            assert_eq!(asked, Some(measures), "{groups:?}");
        }
    }
}
