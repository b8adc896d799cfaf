//! Gateways at which a token waits for others: part of the diagnosis.
//!
//! A gateway begins when its last token arrives, so nothing is stored about one that waits. It follows from the model and
//! from the flows that the instance has taken. Those are known without their number and their scope, so only certain cases
//! are reported: gateways that have not begun in this instance, in scopes that were entered once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};
use skep_protocol::Key;
use skep_query::entities::{ELEMENT_INSTANCE, PROCESS_DEFINITION, PROCESS_INSTANCE};
use skep_query::{Op, Query, Row, Search, Value, render_time};
use skep_xml::{Document, Node, is_named};

use super::Ask;
use super::statistics::is as equals;
use super::waiting::{Waiting, is};
use crate::rest::problem::Problem;

/// Longer models are not parsed for each request.
const MAX_MODEL: usize = 1 << 20;
/// Element instances that are considered. If there are more, the instance loops, and nothing is certain.
const MAX_INSTANCES: u32 = 1_000;
/// Gateways that are considered.
const MAX_JOINS: usize = 100;

const BPMN: &str = "http://www.omg.org/spec/BPMN/20100524/MODEL";
const KINDS: [(&str, &str); 2] = [
    ("parallelGateway", "PARALLEL_GATEWAY"),
    ("inclusiveGateway", "INCLUSIVE_GATEWAY"),
];

const KEY: usize = 0;
const ELEMENT: usize = ELEMENT_INSTANCE.column("elementId");
const STATE: usize = ELEMENT_INSTANCE.column("state");
const END: usize = ELEMENT_INSTANCE.column("endDate");
const SCOPE: usize = ELEMENT_INSTANCE.column("elementInstanceScopeKey");

/// A gateway with several incoming flows.
#[derive(Debug, PartialEq)]
struct Join {
    id: String,
    name: String,
    kind: &'static str,
    /// The sub-process that it is in; `None`: the process itself.
    scope: Option<String>,
    incoming: Vec<Incoming>,
}

#[derive(Clone, Debug, PartialEq)]
struct Incoming {
    flow: String,
    /// Where it comes from.
    element: String,
    name: String,
}

impl Incoming {
    fn json(&self) -> Json {
        json!({"flowId": self.flow, "elementId": self.element, "elementName": self.name})
    }
}

/// A model that cannot be read yields nothing: it was deployed, so another version can read it.
fn joins(xml: &str, process: &str) -> Vec<Join> {
    let has_any = KINDS.iter().any(|(tag, _)| xml.contains(tag));
    if xml.len() > MAX_MODEL || !has_any {
        return Vec::new();
    }
    let Ok(document) = skep_xml::parse_stored(xml) else {
        return Vec::new();
    };
    of_document(&document, process)
}

fn of_document(document: &Document<'_>, process: &str) -> Vec<Join> {
    let is_own =
        |node: &Node<'_>| is_named(*node, BPMN, "process") && node.attribute("id") == Some(process);
    let Some(process) = document.descendants().find(is_own) else {
        return Vec::new();
    };
    let (mut names, mut flows) = (BTreeMap::new(), BTreeMap::<&str, Vec<[&str; 2]>>::new());
    for node in process.descendants().filter(Node::is_element) {
        let Some(id) = node.attribute("id") else {
            continue;
        };
        names.insert(id, node.attribute("name").unwrap_or(id));
        let ends = [node.attribute("sourceRef"), node.attribute("targetRef")];
        if let (true, [Some(source), Some(target)]) = (is_named(node, BPMN, "sequenceFlow"), ends) {
            flows.entry(target).or_default().push([id, source]);
        }
    }
    let name = |id: &str| names.get(id).copied().unwrap_or(id).to_string();
    let join = |node: Node<'_>| {
        let (_, kind) = KINDS
            .into_iter()
            .find(|(tag, _)| is_named(node, BPMN, tag))?;
        let id = node.attribute("id")?;
        let incoming = flows.get(id).filter(|flows| flows.len() > 1)?;
        let around = node.parent_element().filter(|parent| *parent != process);
        Some(Join {
            id: id.to_string(),
            name: name(id),
            kind,
            scope: around.and_then(|it| it.attribute("id")).map(str::to_string),
            incoming: incoming
                .iter()
                .map(|[flow, source]| Incoming {
                    flow: (*flow).to_string(),
                    element: (*source).to_string(),
                    name: name(source),
                })
                .collect(),
        })
    };
    let found = process.descendants().filter_map(join);
    found.take(MAX_JOINS).collect()
}

/// The known state of an instance.
struct Known<'k> {
    instance: i64,
    taken: BTreeSet<&'k str>,
    /// Instances of the gateways, of the elements before them, and of the sub-processes around them.
    rows: Vec<Row>,
    active: &'k [Row],
}

impl Known<'_> {
    fn of<'s>(&'s self, element: &'s str) -> impl Iterator<Item = &'s Row> {
        let is_its = move |row: &&Row| row.get(ELEMENT).and_then(Value::as_text) == Some(element);
        self.rows.iter().filter(is_its)
    }

    /// The key of the enclosing scope, if that was entered exactly once.
    fn scope(&self, join: &Join) -> Option<i64> {
        let Some(id) = &join.scope else {
            return Some(self.instance);
        };
        let mut entered = self.of(id);
        let (only, None) = (entered.next()?, entered.next()) else {
            return None;
        };
        let is_active = only.get(STATE).and_then(Value::as_text) == Some("ACTIVE");
        only.get(KEY).and_then(Value::as_int).filter(|_| is_active)
    }

    /// When the first of the tokens arrived.
    fn since(&self, arrived: &[&Incoming]) -> Option<i64> {
        let ends = arrived.iter().flat_map(|it| self.of(&it.element));
        ends.filter_map(|row| row.get(END)?.as_int()).min()
    }

    fn waiting(&self, join: &Join) -> Option<Waiting> {
        let is_taken = |it: &&Incoming| self.taken.contains(&*it.flow);
        let (arrived, missing): (Vec<&Incoming>, Vec<&Incoming>) =
            join.incoming.iter().partition(is_taken);
        if arrived.is_empty() || missing.is_empty() || self.of(&join.id).next().is_some() {
            return None;
        }
        let scope = self.scope(join)?;
        let is_inside = |row: &Row| row.get(SCOPE).and_then(Value::as_int) == Some(scope);
        // If nothing else is active the engine raises an incident, which names the gateway.
        if !self.active.iter().any(is_inside) {
            return None;
        }
        let list = |of: &[&Incoming]| of.iter().map(|it| it.json()).collect::<Vec<Json>>();
        let mut who = Map::new();
        for (name, value) in [
            ("elementInstanceKey", json!(scope.to_string())),
            ("elementId", json!(join.id)),
            ("elementName", json!(join.name)),
            ("type", json!(join.kind)),
            // It has not begun.
            ("since", Json::Null),
        ] {
            who.insert(name.to_string(), value);
        }
        let waits_for = json!({
            "for": "JOIN",
            "since": self.since(&arrived).map(render_time),
            "arrived": list(&arrived),
            "missing": list(&missing),
        });
        Some(Waiting {
            who,
            waits_for: vec![waits_for],
        })
    }
}

impl Ask<'_> {
    /// The gateways at which a token of the instance waits for others. `active`: its elements.
    pub(super) async fn waiting_joins(
        &mut self,
        process: &Row,
        active: &[Row],
    ) -> Result<Vec<Waiting>, Problem> {
        const XML: usize = PROCESS_DEFINITION.column("xml");
        let column = |at: usize| process.get(at).cloned().unwrap_or_default();
        let taken = column(const { PROCESS_INSTANCE.column("takenFlows") });
        let taken: BTreeSet<&str> = taken.as_text().unwrap_or_default().lines().collect();
        let state = column(const { PROCESS_INSTANCE.column("state") });
        let definition = column(const { PROCESS_INSTANCE.column("processDefinitionKey") });
        let id = column(const { PROCESS_INSTANCE.column("processDefinitionId") });
        let (Some(instance), Some(definition)) = (column(KEY).as_int(), definition.as_int()) else {
            return Ok(Vec::new());
        };
        if taken.is_empty() || state.as_text() != Some("ACTIVE") {
            return Ok(Vec::new());
        }
        let get = Query::Get {
            entity: &PROCESS_DEFINITION,
            key: Key(definition),
        };
        // A caller who may read the instance may also see its diagram.
        let skep_query::Answer::Row(Some(definition)) = self.whole_answer(get).await? else {
            return Ok(Vec::new());
        };
        let xml = definition.get(XML).and_then(Value::as_text);
        let joins = joins(xml.unwrap_or_default(), id.as_text().unwrap_or_default());
        if joins.is_empty() {
            return Ok(Vec::new());
        }
        let Some(rows) = self.beside(instance, &joins).await? else {
            return Ok(Vec::new());
        };
        let known = Known {
            instance,
            taken,
            rows,
            active,
        };
        Ok(joins.iter().filter_map(|it| known.waiting(it)).collect())
    }

    /// Instances of the gateways, of the elements before them, and of the sub-processes around them. `None`: too many.
    async fn beside(&mut self, instance: i64, joins: &[Join]) -> Result<Option<Vec<Row>>, Problem> {
        let of_join = |join: &Join| {
            let before = join.incoming.iter().map(|it| it.element.clone());
            let around = join.scope.iter().cloned();
            before
                .chain(around)
                .chain([join.id.clone()])
                .collect::<Vec<String>>()
        };
        let ids: BTreeSet<String> = joins.iter().flat_map(of_join).collect();
        let ids = ids.iter().map(|id| Value::text(id)).collect();
        let filter = vec![
            equals(
                const { ELEMENT_INSTANCE.column("processInstanceKey") },
                Value::Int(instance),
            ),
            is(ELEMENT, Op::In(ids)),
        ];
        let rows = self
            .found(Search::all(&ELEMENT_INSTANCE, filter, MAX_INSTANCES))
            .await?;
        Ok((rows.len() < MAX_INSTANCES as usize).then_some(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL">
        <process id="p">
            <sequenceFlow id="a" sourceRef="x" targetRef="g"/>
            <sequenceFlow id="b" sourceRef="y" targetRef="g"/>
            <sequenceFlow id="c" sourceRef="g" targetRef="h"/>
            <task id="x" name="X"/><task id="y"/>
            <parallelGateway id="g" name="Both"/>
            <parallelGateway id="h"/>
            <subProcess id="s">
                <inclusiveGateway id="i"/>
                <sequenceFlow id="d" sourceRef="j" targetRef="i"/>
                <sequenceFlow id="e" sourceRef="k" targetRef="i"/>
            </subProcess>
        </process>
        <process id="q"><parallelGateway id="z"/></process>
    </definitions>"#;

    #[test]
    fn joins_are_gateways_with_several_incoming_flows() {
        let incoming = |flow: &str, element: &str, name: &str| Incoming {
            flow: flow.into(),
            element: element.into(),
            name: name.into(),
        };
        let found = joins(MODEL, "p");
        assert_eq!(
            found,
            [
                Join {
                    id: "g".into(),
                    name: "Both".into(),
                    kind: "PARALLEL_GATEWAY",
                    scope: None,
                    incoming: vec![incoming("a", "x", "X"), incoming("b", "y", "y")],
                },
                Join {
                    id: "i".into(),
                    name: "i".into(),
                    kind: "INCLUSIVE_GATEWAY",
                    scope: Some("s".into()),
                    incoming: vec![incoming("d", "j", "j"), incoming("e", "k", "k")],
                },
            ]
        );
        assert_eq!(joins(MODEL, "q"), []);
        assert_eq!(joins("<parallelGateway", "p"), []);
        let long = format!("{MODEL}{}", " ".repeat(MAX_MODEL));
        assert_eq!(joins(&long, "p"), []);
    }
}
