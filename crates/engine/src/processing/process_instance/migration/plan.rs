//! The plan of a migration: the definitions, and which element becomes which.

use std::collections::HashMap;
use std::sync::Arc;

use skep_model::{ElementIndex, ElementKind, Process};
use skep_protocol::command::MigrateProcessInstance;
use skep_protocol::value::{
    MappingInstruction, MigrationProgress, ProcessInstanceMigrationValue, ProcessInstanceValue,
};
use skep_protocol::{Key, Rejection, RejectionType};

use super::{message_start, not_found, refuse};
use crate::processing::Context;
use crate::processing::bpmn::Subject;
use crate::state::{DeployedProcess, ElementState, Migration};

pub(super) struct Plan {
    pub instance: Key,
    pub source: Arc<DeployedProcess>,
    pub target: Arc<DeployedProcess>,
    root: Key,
    instructions: Vec<MappingInstruction>,
    /// Targets by element of the source.
    to: Vec<Option<ElementIndex>>,
}

impl Plan {
    /// Builds the plan. Refuses whatever is invalid regardless of the active elements.
    pub fn of(cx: &mut Context<'_>, command: &MigrateProcessInstance) -> Result<Plan, Rejection> {
        let instance = command.process_instance_key;
        let process = Subject::load(cx, instance).filter(|el| el.index() == ElementIndex::PROCESS);
        let Some(process) = process else {
            return Err(not_found(instance));
        };
        let row = cx.state.elements.get(instance);
        if row.is_none_or(|row| row.state == ElementState::Terminating) {
            return Err(not_found(instance));
        }
        if cx.state.modifications.get(instance).is_some() {
            let why = "it is being modified. Try again after the modification";
            return Err(refuse(RejectionType::InvalidState, instance, why));
        }
        let source = process.process;
        let target = find_target(cx, command, &source)?;
        let mut plan = Plan {
            instance,
            root: process.value.root_process_instance_key,
            to: vec![None; source.graph.elements.len()],
            source,
            target,
            instructions: command.mapping_instructions.clone(),
        };
        message_start::check(cx, &plan)?;
        plan.map(true)?;
        Ok(plan)
    }

    /// The plan of a migration that continues.
    pub fn of_row(cx: &mut Context<'_>, instance: Key, row: &Migration) -> Option<Plan> {
        let source = cx.process(row.source)?;
        let mut plan = Plan {
            instance,
            root: row.root_process_instance_key,
            to: vec![None; source.graph.elements.len()],
            source,
            target: cx.process(row.target)?,
            instructions: row.mapping_instructions.clone(),
        };
        plan.map(false).ok()?;
        Some(plan)
    }

    /// The target of an element of the source.
    pub fn to(&self, element: ElementIndex) -> Option<ElementIndex> {
        *self.to.get(element.get())?
    }

    /// `el` as an instance of the target.
    pub fn subject(&self, el: &Subject, target: ElementIndex) -> Subject {
        Subject {
            key: el.key,
            process: self.target.clone(),
            value: ProcessInstanceValue {
                process_definition_key: self.target.key,
                element: target.0,
                ..el.value.clone()
            },
        }
    }

    pub fn value(&self, progress: MigrationProgress) -> ProcessInstanceMigrationValue {
        ProcessInstanceMigrationValue {
            process_instance_key: self.instance,
            root_process_instance_key: self.root,
            process_definition_key: self.source.key,
            target_process_definition_key: self.target.key,
            mapping_instructions: self.instructions.clone(),
            progress,
        }
    }

    /// A rejection for an invalid argument.
    fn invalid(&self, why: impl std::fmt::Display) -> Rejection {
        refuse(RejectionType::InvalidArgument, self.instance, why)
    }

    /// A rejection because the instance is not as the plan expects it.
    pub fn impossible(&self, why: impl std::fmt::Display) -> Rejection {
        refuse(RejectionType::InvalidState, self.instance, why)
    }

    fn map(&mut self, check: bool) -> Result<(), Rejection> {
        let (from, into) = (inner(&self.source.graph), inner(&self.target.graph));
        let mut mapped: HashMap<ElementIndex, ElementIndex> = HashMap::new();
        for MappingInstruction {
            source_element_id,
            target_element_id,
        } in &self.instructions
        {
            let Some(source) = self.source.graph.find(source_element_id) else {
                return Err(self.invalid(format_args!(
                    "the mapping instructions name the source element '{source_element_id}', which its process definition {} \
                     does not have",
                    named(&self.source)
                )));
            };
            let Some(target) = self.target.graph.find(target_element_id) else {
                return Err(self.invalid(format_args!(
                    "the mapping instructions name the target element '{target_element_id}', which the target process \
                     definition {} does not have",
                    named(&self.target)
                )));
            };
            if mapped.insert(source, target).is_some() && check {
                return Err(self.invalid(format_args!(
                    "several mapping instructions name the source element '{source_element_id}'. Map it once"
                )));
            }
        }
        mapped.insert(ElementIndex::PROCESS, ElementIndex::PROCESS);
        for pair in mapped {
            let mut next = Some(pair);
            while let Some((source, target)) = next {
                if let Some(to) = self.to.get_mut(source.get()) {
                    *to = Some(target);
                }
                let inside = from.get(&source).zip(into.get(&target));
                next = inside.map(|(source, target)| (*source, *target));
            }
        }
        Ok(())
    }
}

/// Elements that no instruction can name, by their parent: the activity in a multi-instance body, which has the id of the
/// body, and the inner instance of an ad-hoc sub-process. They are mapped along with their parent.
fn inner(graph: &Process) -> HashMap<ElementIndex, ElementIndex> {
    let elements = graph.elements.iter().zip(0..);
    let inner = elements.filter_map(|(element, index)| {
        let around = &graph.element(element.parent).kind;
        let is_inner = matches!(around, ElementKind::MultiInstanceBody(_))
            || matches!(element.kind, ElementKind::AdHocSubProcessInnerInstance);
        is_inner.then_some((element.parent, ElementIndex(index)))
    });
    inner.collect()
}

/// The definition as shown in messages.
fn named(process: &DeployedProcess) -> String {
    format!(
        "'{}' (key '{}', version {})",
        process.bpmn_process_id, process.key, process.version
    )
}

fn find_target(
    cx: &mut Context<'_>,
    command: &MigrateProcessInstance,
    source: &DeployedProcess,
) -> Result<Arc<DeployedProcess>, Rejection> {
    let (instance, key) = (
        command.process_instance_key,
        command.target_process_definition_key,
    );
    let target = cx.state.processes.startable(key).cloned();
    let Some(target) = target.filter(|target| target.tenant == source.tenant) else {
        let why = format!("no process definition with the target key '{key}' is deployed");
        return Err(refuse(RejectionType::NotFound, instance, why));
    };
    match &target.unusable {
        Some(reason) => Err(refuse(RejectionType::InvalidState, instance, reason)),
        None => Ok(target),
    }
}
