//! Asks secondary storage for the data that a caller may see.

use skep_identity::Tenancy;
use skep_protocol::Key;
use skep_protocol::origin::Claims;
use skep_query::access::{Narrowed, Sight};
use skep_query::entities::{JOB, PROCESS_INSTANCE};
use skep_query::{
    Answer, Condition, Consistency, Entity, Op, Query, ResultPage, Row, Search, Value, answer,
};

use super::time::Time;
use super::{
    MAX_HIERARCHY, is_there, narrowed, not_found, refused, sequence_flows, text_of, unexpected,
    value_of,
};
use crate::call::FrontEnd;
use crate::rest::problem::Problem;
use crate::rest::sight;

pub(super) struct Ask<'f> {
    pub(super) front: &'f FrontEnd,
    /// The data that the caller may see. Grants are not checked for an entity that belongs to one the caller was shown.
    pub(super) sight: Sight,
    pub(super) consistency: Consistency,
    pub(super) behind: u64,
    pub(super) time: Time,
}

impl<'f> Ask<'f> {
    /// # Errors
    /// This node does not know yet what the caller may see.
    pub(super) fn new(
        front: &'f FrontEnd,
        claims: &Claims,
        consistency: Consistency,
    ) -> Result<Ask<'f>, Problem> {
        sight::is_known(front, claims)?;
        Ok(Ask::of(front, sight::sight(front, claims), consistency))
    }

    /// For a caller who may see this.
    pub(super) fn of(front: &'f FrontEnd, sight: Sight, consistency: Consistency) -> Ask<'f> {
        Ask {
            front,
            sight,
            consistency,
            behind: 0,
            time: Time::new(front.config.request_timeout),
        }
    }

    /// Runs a query for the data that the caller may see.
    pub(super) async fn answer(&mut self, query: Query) -> Result<Answer, Problem> {
        if self.sight.is_whole() {
            return self.whole_answer(query).await;
        }
        let sight = self.sight.clone();
        match query {
            Query::Search(mut search) => match narrowed(&mut search, &sight)? {
                Narrowed::Whole | Narrowed::Part => self.whole_answer(Query::Search(search)).await,
                Narrowed::Nothing => Ok(Answer::Page(ResultPage::default())),
            },
            Query::Groups(mut groups) => match narrowed(&mut groups.search, &sight)? {
                Narrowed::Whole | Narrowed::Part => self.whole_answer(Query::Groups(groups)).await,
                Narrowed::Nothing => Ok(Answer::Rows(Vec::new())),
            },
            Query::Get { entity, key } => {
                let answer = self.whole_answer(Query::Get { entity, key }).await?;
                match &answer {
                    Answer::Row(Some(row)) if sight.is_foreign(entity, row) => {
                        Ok(Answer::Row(None))
                    }
                    Answer::Row(Some(_))
                        if sight.grants.is_some() && !self.sees(entity, key).await? =>
                    {
                        Err(refused(entity))
                    }
                    _ => Ok(answer),
                }
            }
            Query::SequenceFlows {
                process_instance_key: key,
            } => self.rows_of(&PROCESS_INSTANCE, key, query).await,
            // Statistics leave out what the caller may not read, and so does that of a single instance.
            Query::ElementStatistics {
                process_instance_key: key,
            } => {
                if self.sees(&PROCESS_INSTANCE, key).await? {
                    self.whole_answer(query).await
                } else {
                    Ok(Answer::Rows(Vec::new()))
                }
            }
            // All instances of a definition have its process id and tenant: a caller who may read none of them counts none.
            Query::DefinitionStatistics {
                process_definition_key: key,
            } => {
                let definition = "processDefinitionKey";
                if self.sees_by(&PROCESS_INSTANCE, definition, key).await? {
                    self.whole_answer(query).await
                } else {
                    Ok(Answer::Rows(Vec::new()))
                }
            }
        }
    }

    /// Rows that belong to one entity. That of another tenant has none, as if it did not exist.
    pub(super) async fn rows_of(
        &mut self,
        owner: &'static Entity,
        key: Key,
        query: Query,
    ) -> Result<Answer, Problem> {
        if self.sees(owner, key).await? {
            return self.whole_answer(query).await;
        }
        let mut of_grants = Search::all(owner, Vec::new(), 1);
        let granted = Sight {
            tenancy: Tenancy::All,
            ..self.sight.clone()
        };
        match narrowed(&mut of_grants, &granted)? {
            Narrowed::Whole => Ok(Answer::Rows(Vec::new())),
            Narrowed::Part | Narrowed::Nothing => Err(refused(owner)),
        }
    }

    /// Whether the caller was granted to read some rows of an entity, whichever tenants they belong to.
    ///
    /// # Errors
    /// No such permission, on any resource.
    pub(super) fn may_read_some(&self, entity: &'static Entity) -> Result<(), Problem> {
        let granted = Sight {
            tenancy: Tenancy::All,
            ..self.sight.clone()
        };
        match narrowed(&mut Search::all(entity, Vec::new(), 1), &granted)? {
            Narrowed::Whole | Narrowed::Part => Ok(()),
            Narrowed::Nothing => Err(refused(entity)),
        }
    }

    /// Whether the caller may see it, that is, whether a search finds it.
    pub(super) async fn sees(
        &mut self,
        entity: &'static Entity,
        key: Key,
    ) -> Result<bool, Problem> {
        self.sees_by(entity, entity.key().name, key).await
    }

    /// Likewise a row whose column has this key.
    pub(super) async fn sees_by(
        &mut self,
        entity: &'static Entity,
        column: &'static str,
        key: Key,
    ) -> Result<bool, Problem> {
        let has_key = Condition::Field {
            field: entity.index_of(column).unwrap_or_default(),
            op: Op::Eq(Value::Int(key.0)),
        };
        let mut search = Search::all(entity, vec![has_key], 1);
        match narrowed(&mut search, &self.sight)? {
            Narrowed::Whole => Ok(true),
            Narrowed::Nothing => Ok(false),
            Narrowed::Part => match self.whole_answer(Query::Search(search)).await? {
                Answer::Page(found) => Ok(!found.rows.is_empty()),
                other => Err(unexpected(&other)),
            },
        }
    }

    /// Stops checking grants: what follows belongs to something the caller was shown, like the form of a task or the names of
    /// an instance.
    pub(super) fn trust(&mut self) {
        self.sight.grants = None;
    }

    pub(super) async fn whole_answer(&mut self, query: Query) -> Result<Answer, Problem> {
        self.time.begin_query()?;
        let (answer, behind) = self.front.storage.query(query, self.consistency).await?;
        self.behind = self.behind.max(behind);
        Ok(answer)
    }

    pub(super) async fn page(&mut self, search: Search) -> Result<String, Problem> {
        let mut found = self.counted(search.clone()).await?;
        if std::ptr::eq(search.entity, &JOB) {
            self.add_business_ids(&mut found.rows).await?;
        }
        Ok(answer::page(&search, &found))
    }

    pub(super) async fn rows(&mut self, query: Query) -> Result<Vec<Row>, Problem> {
        match self.answer(query).await? {
            Answer::Rows(rows) => Ok(rows),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn one(&mut self, entity: &'static Entity, key: Key) -> Result<Row, Problem> {
        match self.answer(Query::Get { entity, key }).await? {
            Answer::Row(Some(row)) if is_there(entity, &row) => Ok(row),
            Answer::Row(_) => Err(not_found(entity, key)),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn counted(&mut self, search: Search) -> Result<ResultPage, Problem> {
        match self.answer(Query::Search(search)).await? {
            Answer::Page(found) => Ok(found),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn found(&mut self, search: Search) -> Result<Vec<Row>, Problem> {
        Ok(self.counted(search).await?.rows)
    }

    pub(super) async fn sequence_flows(
        &mut self,
        process_instance_key: Key,
    ) -> Result<String, Problem> {
        let query = Query::SequenceFlows {
            process_instance_key,
        };
        Ok(sequence_flows(&self.rows(query).await?))
    }

    /// The process instance and those that it was called from, the outermost first.
    pub(super) async fn call_hierarchy(&mut self, key: Key) -> Result<String, Problem> {
        let mut entries = Vec::new();
        let mut next = Some(key);
        while let Some(key) = next.filter(|_| entries.len() < MAX_HIERARCHY) {
            let row = self.one(&PROCESS_INSTANCE, key).await?;
            let name = text_of(&PROCESS_INSTANCE, &row, "processDefinitionName");
            let name = name.or_else(|| text_of(&PROCESS_INSTANCE, &row, "processDefinitionId"));
            let mut entry = format!(r#"{{"processInstanceKey":"{key}","processDefinitionKey":"#);
            let definition = value_of(&PROCESS_INSTANCE, &row, "processDefinitionKey");
            match definition.and_then(Value::as_int) {
                Some(definition) => entry.push_str(&format!(r#""{definition}""#)),
                None => entry.push_str("null"),
            }
            entry.push_str(r#","processDefinitionName":"#);
            answer::write_text(name.map_or("", |name| name), &mut entry);
            entry.push('}');
            entries.push(entry);
            let parent = value_of(&PROCESS_INSTANCE, &row, "parentProcessInstanceKey");
            next = parent.and_then(Value::as_int).map(Key);
        }
        entries.reverse();
        Ok(format!("[{}]", entries.join(",")))
    }
}
