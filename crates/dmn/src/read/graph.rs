//! The elements of the graph and how they refer to each other.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Reader;
use super::boxed::Names;
use crate::error::{Rule, abbreviate};
use crate::model::{
    Decision, Graph, Input, KnowledgeModel, Requirements, Service, ServiceParameter,
};
use crate::types::TypeId;
use crate::xml::{self, Node, dmn_name};

/// Element behind an id: its position within its kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    Input(usize),
    Decision(usize),
    Knowledge(usize),
    Service(usize),
}

impl Target {
    fn what(self) -> &'static str {
        match self {
            Target::Input(_) => "input data",
            Target::Decision(_) => "a decision",
            Target::Knowledge(_) => "a business knowledge model",
            Target::Service(_) => "a decision service",
        }
    }
}

/// The elements that can be referred to.
struct Index<'x> {
    targets: FxHashMap<&'x str, Target>,
    inputs: Vec<Input>,
    /// Name of the variable of each decision.
    decisions: Vec<(Node<'x>, Arc<str>)>,
    knowledge: Vec<Node<'x>>,
    services: Vec<Node<'x>>,
}

impl Reader<'_> {
    /// The graph; `None` when references between its elements are broken.
    pub(super) fn graph(&mut self, root: Node<'_>) -> Option<Graph> {
        let (id, name) = (self.id(root), self.name(root));
        if id.is_empty() && !self.standard() {
            self.findings.add(
                root,
                Rule::IdMissing,
                "The definitions have no id. Give them one: it names the decision requirements",
            );
        }
        self.item_definitions(root);
        let index = self.index(root);
        let mut decisions = Vec::new();
        let mut by_id = FxHashMap::default();
        for (at, (node, variable)) in index.decisions.iter().enumerate() {
            let decision = self.decision(*node, Arc::clone(variable), &index);
            by_id.insert(Arc::clone(&decision.id), at);
            decisions.push(decision);
        }
        let mut knowledge = Vec::new();
        for node in &index.knowledge {
            knowledge.push(self.knowledge_model(*node, &index));
        }
        let mut services = Vec::new();
        for node in &index.services {
            services.push(self.service(*node, &index));
        }
        let variables = variables(&decisions, &knowledge);
        let graph = Graph {
            id,
            name,
            namespace: Arc::from(root.attribute("namespace").unwrap_or_default()),
            version_tag: xml::version_tag(root).map(Arc::from),
            decisions,
            by_id,
            knowledge,
            services,
            types: Arc::clone(&self.types),
            variables,
            height: u32::try_from(self.height).unwrap_or(u32::MAX),
            dialect: self.options.dialect,
        };
        self.refuse_cycles(&graph, &index);
        self.findings.is_empty().then_some(graph)
    }

    fn index<'x>(&mut self, root: Node<'x>) -> Index<'x> {
        let mut index = Index {
            targets: FxHashMap::default(),
            inputs: Vec::new(),
            decisions: Vec::new(),
            knowledge: Vec::new(),
            services: Vec::new(),
        };
        for node in root.children() {
            let Some(
                kind @ ("inputData" | "decision" | "businessKnowledgeModel" | "decisionService"),
            ) = dmn_name(node)
            else {
                continue;
            };
            let id = node.attribute("id").unwrap_or_default();
            let name = self.name(node);
            self.id(node);
            if id.is_empty() {
                let message = format!("'{kind}' has no id. Give it one");
                self.findings.add(node, Rule::IdMissing, message);
            }
            if name.is_empty() {
                let message = format!("'{kind}' has no name. Give it one");
                self.findings.add(node, Rule::ValueMissing, message);
            }
            let variable = xml::child(node, "variable");
            let target = match kind {
                "inputData" => {
                    let kind = variable.and_then(|variable| self.type_ref(variable));
                    index.inputs.push(Input { name, kind });
                    Target::Input(index.inputs.len() - 1)
                }
                "decision" => {
                    let variable = variable
                        .and_then(|variable| variable.attribute("name"))
                        .filter(|name| !name.is_empty())
                        .map_or_else(|| Arc::clone(&name), Arc::from);
                    index.decisions.push((node, variable));
                    Target::Decision(index.decisions.len() - 1)
                }
                "businessKnowledgeModel" => {
                    index.knowledge.push(node);
                    Target::Knowledge(index.knowledge.len() - 1)
                }
                _ => {
                    index.services.push(node);
                    Target::Service(index.services.len() - 1)
                }
            };
            if !id.is_empty() && index.targets.insert(id, target).is_some() {
                let message = format!(
                    "The id '{}' is used twice. Give each element its own",
                    abbreviate(id)
                );
                self.findings.add(node, Rule::DuplicateId, message);
            }
        }
        index
    }

    fn decision(&mut self, node: Node<'_>, variable: Arc<str>, index: &Index<'_>) -> Decision {
        let output_type = xml::child(node, "variable").and_then(|v| self.type_of(node, v));
        Decision {
            id: Arc::from(node.attribute("id").unwrap_or_default()),
            name: Arc::from(node.attribute("name").unwrap_or_default()),
            version_tag: xml::version_tag(node).map(Arc::from),
            variable,
            output_type,
            requires: self.requirements(node, index),
            logic: self.logic(node, 0),
        }
    }

    /// The type of a decision. Of Camunda's decisions those with a literal expression are checked, against DMN's own types.
    fn type_of(&mut self, decision: Node<'_>, variable: Node<'_>) -> Option<TypeId> {
        if self.standard() {
            return self.type_ref(variable);
        }
        xml::child(decision, "literalExpression")?;
        self.types.built_in(variable.attribute("typeRef")?)
    }

    fn knowledge_model(&mut self, node: Node<'_>, index: &Index<'_>) -> KnowledgeModel {
        let variable = xml::child(node, "variable");
        let declared = variable.and_then(|variable| self.type_ref(variable));
        // Up to DMN 1.2 the variable has the type of the result, later that of the function.
        let output_type = declared.and_then(|id| self.types.function_result(id));
        let logic = xml::child(node, "encapsulatedLogic");
        if logic.is_none() && !self.standard() {
            self.findings.add(
                node,
                Rule::ExpressionMissing,
                "The business knowledge model has no logic. Add an expression",
            );
        }
        KnowledgeModel {
            name: variable_name(node),
            requires: self.requirements(node, index),
            function: Arc::new(self.function(logic.unwrap_or(node), 0)),
            declared: self.declared(logic.unwrap_or(node)),
            output_type,
        }
    }

    /// The types of the parameters that an invocation checks in Camunda's dialect: DMN's own ones.
    fn declared(&self, logic: Node<'_>) -> Vec<(Arc<str>, Option<TypeId>)> {
        if self.standard() {
            return Vec::new();
        }
        let parameters = xml::children(logic, "formalParameter").map(|parameter| {
            let kind = parameter.attribute("typeRef");
            (
                Arc::from(parameter.attribute("name").unwrap_or_default()),
                kind.and_then(|kind| self.types.built_in(kind)),
            )
        });
        parameters.collect()
    }

    fn service(&mut self, node: Node<'_>, index: &Index<'_>) -> Service {
        let declared = xml::child(node, "variable").and_then(|variable| self.type_ref(variable));
        let mut parameters = Vec::new();
        for child in xml::children(node, "inputData") {
            if let Some(Target::Input(at)) = self.reference(child, &["input data"], index)
                && let Some(input) = index.inputs.get(at)
            {
                parameters.push(ServiceParameter {
                    name: Arc::clone(&input.name),
                    kind: input.kind,
                    decision: None,
                });
            }
        }
        for child in xml::children(node, "inputDecision") {
            if let Some(Target::Decision(at)) = self.reference(child, &["a decision"], index)
                && let Some((decision, name)) = index.decisions.get(at)
            {
                parameters.push(ServiceParameter {
                    name: Arc::clone(name),
                    kind: xml::child(*decision, "variable").and_then(|v| self.type_ref(v)),
                    decision: Some(at),
                });
            }
        }
        let mut outputs = Vec::new();
        for child in xml::children(node, "outputDecision") {
            if let Some(Target::Decision(at)) = self.reference(child, &["a decision"], index) {
                outputs.push(at);
            }
        }
        for child in xml::children(node, "encapsulatedDecision") {
            self.reference(child, &["a decision"], index);
        }
        Service {
            name: variable_name(node),
            parameters,
            outputs,
            output_type: declared.and_then(|id| self.types.function_result(id)),
        }
    }

    fn requirements(&mut self, node: Node<'_>, index: &Index<'_>) -> Requirements {
        let mut requires = Requirements::default();
        let references = xml::children(node, "informationRequirement")
            .chain(xml::children(node, "knowledgeRequirement"))
            .flat_map(|requirement| requirement.children());
        for reference in references {
            let allowed: &[&str] = match dmn_name(reference) {
                Some("requiredInput") => &["input data"],
                Some("requiredDecision") => &["a decision"],
                Some("requiredKnowledge") => &["a business knowledge model", "a decision service"],
                _ => continue,
            };
            match self.reference(reference, allowed, index) {
                Some(Target::Input(at)) => requires.inputs.extend(index.inputs.get(at).cloned()),
                Some(Target::Decision(at)) if !requires.decisions.contains(&at) => {
                    requires.decisions.push(at);
                }
                Some(Target::Knowledge(at)) if !requires.knowledge.contains(&at) => {
                    requires.knowledge.push(at);
                }
                Some(Target::Service(at)) if !requires.services.contains(&at) => {
                    requires.services.push(at);
                }
                _ => {}
            }
        }
        requires
    }

    /// The element that the attribute `href` names; a finding if there is none, or none of these kinds.
    fn reference(&mut self, node: Node<'_>, allowed: &[&str], index: &Index<'_>) -> Option<Target> {
        let href = node.attribute("href").unwrap_or_default();
        let what = node.tag_name().name();
        let id = match href.split_once('#') {
            Some((namespace, id)) => {
                let own = node.document().root_element().attribute("namespace");
                if !namespace.is_empty() && Some(namespace) != own {
                    let message = format!(
                        "'{what}' refers to '{}' in another file. Imports are not supported: copy the element into this file",
                        abbreviate(href)
                    );
                    self.findings.add(node, Rule::NotSupported, message);
                    return None;
                }
                id
            }
            None => href,
        };
        match index.targets.get(id) {
            Some(target) if allowed.contains(&target.what()) => Some(*target),
            Some(target) => {
                let message = format!(
                    "'{what}' refers to '{}', which is {}. Expected {}",
                    abbreviate(id),
                    target.what(),
                    allowed.join(" or ")
                );
                self.findings.add(node, Rule::ReferenceNotAllowed, message);
                None
            }
            // As in the reference engine: modelers leave them behind when an element is deleted.
            None if !self.standard() && what.starts_with("required") => None,
            None => {
                let message = format!(
                    "'{what}' refers to '{}', which is not in this file. Expected the id of {}",
                    abbreviate(href),
                    allowed.join(" or ")
                );
                self.findings.add(node, Rule::ReferenceNotFound, message);
                None
            }
        }
    }

    /// Refuses elements that require themselves, directly or through others.
    fn refuse_cycles(&mut self, graph: &Graph, index: &Index<'_>) {
        let of = |requires: &Requirements| -> Vec<Target> {
            let decisions = requires.decisions.iter().map(|at| Target::Decision(*at));
            let knowledge = requires.knowledge.iter().map(|at| Target::Knowledge(*at));
            let services = requires.services.iter().map(|at| Target::Service(*at));
            decisions.chain(knowledge).chain(services).collect()
        };
        let next = |target: Target| -> Vec<Target> {
            let required = match target {
                Target::Input(_) => None,
                Target::Decision(at) => graph.decisions.get(at).map(|d| of(&d.requires)),
                Target::Knowledge(at) => graph.knowledge.get(at).map(|k| of(&k.requires)),
                Target::Service(at) => graph.services.get(at).map(|service| {
                    let outputs = service.outputs.iter().map(|at| Target::Decision(*at));
                    outputs.collect()
                }),
            };
            required.unwrap_or_default()
        };
        let node = |target: Target| match target {
            Target::Input(_) => None,
            Target::Decision(at) => index.decisions.get(at).map(|(node, _)| *node),
            Target::Knowledge(at) => index.knowledge.get(at).copied(),
            Target::Service(at) => index.services.get(at).copied(),
        };
        let starts = (0..graph.decisions.len())
            .map(Target::Decision)
            .chain((0..graph.knowledge.len()).map(Target::Knowledge))
            .chain((0..graph.services.len()).map(Target::Service));
        // False while the element is on the way, true when all behind it is known to be free of cycles.
        let mut seen: FxHashMap<Target, bool> = FxHashMap::default();
        for start in starts {
            if seen.contains_key(&start) {
                continue;
            }
            seen.insert(start, false);
            let mut way = vec![(start, next(start))];
            while let Some((target, open)) = way.last_mut() {
                let Some(required) = open.pop() else {
                    seen.insert(*target, true);
                    way.pop();
                    continue;
                };
                match seen.get(&required) {
                    Some(true) => {}
                    Some(false) => {
                        let ids: Vec<String> = way
                            .iter()
                            .map(|(target, _)| *target)
                            .skip_while(|target| *target != required)
                            .chain([required])
                            .filter_map(|target| node(target)?.attribute("id").map(abbreviate))
                            .take(20)
                            .collect();
                        if let Some(node) = node(required) {
                            let message = format!(
                                "The element requires itself: {}. Remove one of these requirements",
                                ids.join(" → ")
                            );
                            self.findings.add(node, Rule::RequiresItself, message);
                        }
                        return;
                    }
                    None => {
                        seen.insert(required, false);
                        way.push((required, next(required)));
                    }
                }
            }
        }
    }
}

/// The names that any expression of the file may read, and those of the inputs.
fn variables(decisions: &[Decision], knowledge: &[KnowledgeModel]) -> Vec<Arc<str>> {
    let mut names = Names::default();
    for logic in decisions.iter().filter_map(|d| d.logic.as_ref()) {
        logic.names(&mut names);
    }
    for model in knowledge {
        names.extend(model.function.free.iter().cloned());
    }
    let requirements = decisions.iter().map(|decision| &decision.requires);
    let inputs = requirements.flat_map(|requires| &requires.inputs);
    names.extend(inputs.map(|input| input.name.clone()));
    let mut names: Vec<Arc<str>> = names.into_iter().collect();
    names.sort();
    names
}

/// The name of an element's variable, or else of the element.
fn variable_name(node: Node<'_>) -> Arc<str> {
    let name = xml::child(node, "variable")
        .and_then(|variable| variable.attribute("name"))
        .filter(|name| !name.is_empty())
        .or_else(|| node.attribute("name"));
    Arc::from(name.unwrap_or_default())
}
