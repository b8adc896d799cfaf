//! The plan that a modification's instructions lead to. Nothing changes before all instructions have been validated.

use std::collections::{BTreeSet, HashMap, HashSet};

use skep_model::{ElementIndex, ElementKind, Process};
use skep_protocol::command::ModifyProcessInstance;
use skep_protocol::value::{
    ActivateInstruction, MoveAncestor, MoveInstruction, ProcessInstanceModificationValue,
    TerminateInstruction, VariableInstruction,
};
use skep_protocol::{Key, Rejection, RejectionType};

use super::search::Instances;
use super::{INTENT, MAX_INSTRUCTIONS, refused};
use crate::processing::bpmn::{Subject, modification, start_instructions};
use crate::processing::{Context, reject};
use crate::state::{ElementInstance, ElementState};

/// Builds the plan: the command with its move instructions resolved. Each element to activate has the scope to begin in,
/// and each element instance to terminate has its key.
pub(super) fn make(
    cx: &mut Context<'_>,
    instance: &Subject,
    command: &ModifyProcessInstance,
) -> Result<ProcessInstanceModificationValue, Rejection> {
    let given = command.activate_instructions.len()
        + command.terminate_instructions.len()
        + command.move_instructions.len();
    let mut planner = Planner {
        instance,
        instances: Instances::default(),
        activate: Vec::new(),
        terminate: Vec::new(),
        ends: HashSet::new(),
        scopes: 0,
    };
    planner.has_room_for(given)?;
    planner.check_moves_differ(&command.move_instructions)?;
    for instruction in &command.activate_instructions {
        planner.activate(cx, instruction)?;
    }
    for instruction in &command.terminate_instructions {
        planner.terminate(cx, instruction)?;
    }
    for instruction in &command.move_instructions {
        planner.r#move(cx, instruction)?;
    }
    planner.check_scopes_stay(cx)?;
    planner.check_called_stays(cx)?;
    let scopes = planner.scopes;
    let value = ProcessInstanceModificationValue {
        process_instance_key: instance.key,
        process_definition_key: instance.process.key,
        root_process_instance_key: instance.value.root_process_instance_key,
        activate_instructions: planner.activate,
        terminate_instructions: planner.terminate,
        move_instructions: command.move_instructions.clone(),
    };
    // It is written when the modification begins, and again with all scopes when it is done.
    let bytes = value.weight() + scopes * size_of::<Key>();
    let most = cx.max_step_bytes();
    if bytes > most {
        return Err(refused(
            instance,
            format_args!(
                "its instructions come to {bytes} bytes, and at most {most} can be carried out at a time. Modify it in several \
                 steps, or set the variables before"
            ),
        ));
    }
    Ok(value)
}

struct Planner<'a> {
    instance: &'a Subject,
    instances: Instances,
    activate: Vec<ActivateInstruction>,
    terminate: Vec<TerminateInstruction>,
    /// Element instances to terminate.
    ends: HashSet<Key>,
    /// Number of scopes around the elements to activate, counted once for each element.
    scopes: usize,
}

impl Planner<'_> {
    fn refused(&self, why: impl std::fmt::Display) -> Rejection {
        refused(self.instance, why)
    }

    fn graph(&self) -> &Process {
        &self.instance.process.graph
    }

    fn has_room_for(&self, more: usize) -> Result<(), Rejection> {
        let all = self.activate.len().max(self.terminate.len());
        let count = all.saturating_add(more);
        if count <= MAX_INSTRUCTIONS {
            Ok(())
        } else {
            Err(self.refused(format_args!(
            "its instructions come to {count} or more element instances, and at most {MAX_INSTRUCTIONS} can be activated \
             or terminated at a time. Modify it in several steps, or terminate the scope around them"
        )))
        }
    }

    /// Checks that no two instructions move the instances of the same element.
    fn check_moves_differ(&self, moves: &[MoveInstruction]) -> Result<(), Rejection> {
        let mut seen = HashSet::new();
        let mut repeated = BTreeSet::new();
        for MoveInstruction {
            source_element_id: id,
            ..
        } in moves
        {
            if !id.is_empty() && !seen.insert(id) {
                repeated.insert(&**id);
            }
        }
        if repeated.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = repeated.into_iter().collect();
        let process = &self.instance.process.bpmn_process_id;
        let reason = format!(
            "Expected to modify instance of process '{process}' but it contains multiple move instructions with identical source \
             element ids: '{}'",
            ids.join("', '")
        );
        Err(reject(RejectionType::InvalidArgument, INTENT, reason))
    }

    fn find(&self, id: &str, what: &str) -> Result<ElementIndex, Rejection> {
        self.graph().find(id).ok_or_else(|| {
            self.refused(format_args!(
                "it {what} the element with id '{id}', which the process does not have"
            ))
        })
    }

    fn activate(
        &mut self,
        cx: &mut Context<'_>,
        instruction: &ActivateInstruction,
    ) -> Result<(), Rejection> {
        self.has_room_for(1)?;
        let id = &instruction.element_id;
        let target = self.find(id, "activates")?;
        if let Some(what) = start_instructions::why_not_chosen(self.graph(), target) {
            return Err(self.refused(format_args!(
                "it activates the element with id '{id}', which is {what}: choose an activity, gateway or catch event"
            )));
        }
        let path = start_instructions::path(self.graph(), ElementIndex::PROCESS, target);
        self.scopes += path.len() + 1;
        self.check_variables(target, &path, &instruction.variable_instructions)?;
        let scope = if instruction.has_ancestor() {
            self.chosen(cx, id, &path, instruction.ancestor_scope_key)?
        } else {
            self.found(cx, id, &path)?
        };
        self.activate.push(ActivateInstruction {
            ancestor_scope_keys: vec![scope],
            ..instruction.clone()
        });
        Ok(())
    }

    /// Checks that variables are for the element, or for a scope that it will be in.
    fn check_variables(
        &self,
        target: ElementIndex,
        path: &[ElementIndex],
        variables: &[VariableInstruction],
    ) -> Result<(), Rejection> {
        let graph = self.graph();
        let around = || path.iter().chain([&ElementIndex::PROCESS]);
        for VariableInstruction { element_id: id, .. } in variables {
            let is_around = around().any(|scope| graph.element(*scope).id == *id);
            let element = graph.element(target);
            let is_itself = element.id == *id;
            if is_itself && matches!(element.kind, ElementKind::EventSubProcess { .. }) {
                return Err(self.refused(format_args!(
                    "it has variables for the event sub-process '{id}', which its start event begins. Choose a scope around it"
                )));
            }
            if !(id.is_empty() || is_around || is_itself) {
                return Err(self.refused(format_args!(
                    "it contains one or more variable instructions with a scope element that doesn't belong to the activating \
                     element's flow scope: '{id}' is neither '{}' nor around it. These variables should be set before or after \
                     the modification",
                    element.id
                )));
            }
        }
        Ok(())
    }

    /// Checks the scope that an instruction has chosen.
    fn chosen(
        &self,
        cx: &mut Context<'_>,
        id: &str,
        path: &[ElementIndex],
        ancestor: Key,
    ) -> Result<Key, Rejection> {
        let row = cx.state.elements.get(ancestor);
        let Some(row) = row.filter(|row| row.process_instance_key == self.instance.key) else {
            return Err(self.refused(format_args!(
                "it activates the element with id '{id}' with the ancestor '{ancestor}', which is not one of its element instances"
            )));
        };
        let element = ElementIndex(row.element);
        let is_open = modification::is_open(row);
        let place = path.iter().position(|scope| *scope == element);
        let below = match (element, place) {
            (ElementIndex::PROCESS, _) => path,
            (_, Some(place)) => path.get(place + 1..).unwrap_or_default(),
            (_, None) => {
                let other = &self.graph().element(element).id;
                return Err(self.refused(format_args!(
                    "it activates the element with id '{id}' with the ancestor '{ancestor}', an instance of '{other}', which is \
                     not a flow scope of it"
                )));
            }
        };
        if !is_open {
            return Err(self.refused(format_args!(
                "it activates the element with id '{id}' with the ancestor '{ancestor}', which has not begun yet, or is about to \
                 end"
            )));
        }
        self.can_be_made(id, below)?;
        Ok(ancestor)
    }

    /// Finds the innermost existing scope, which must be unambiguous.
    fn found(
        &mut self,
        cx: &mut Context<'_>,
        id: &str,
        path: &[ElementIndex],
    ) -> Result<Key, Rejection> {
        for (place, scope) in path.iter().enumerate().rev() {
            let open: fn(&ElementInstance) -> bool = modification::is_open;
            let all = self.instances.of(cx, self.instance, *scope, open)?;
            match *all.as_slice() {
                [] => {}
                [scope] => {
                    self.can_be_made(id, path.get(place + 1..).unwrap_or_default())?;
                    return Ok(scope);
                }
                [..] => {
                    let (count, of) = (all.len(), &self.graph().element(*scope).id);
                    return Err(self.refused(format_args!(
                        "it activates the element with id '{id}', whose flow scope '{of}' has {count} active instances. Choose \
                         one of them as ancestor"
                    )));
                }
            }
        }
        self.can_be_made(id, path)?;
        Ok(self.instance.key)
    }

    /// Checks that these scopes around an element can be created. Inside a multi-instance activity they cannot: the item of
    /// a new instance would be unknown.
    fn can_be_made(&self, id: &str, scopes: &[ElementIndex]) -> Result<(), Rejection> {
        let graph = self.graph();
        let is_body = |index: ElementIndex| {
            matches!(graph.element(index).kind, ElementKind::MultiInstanceBody(_))
        };
        let repeated =
            |scope: &&ElementIndex| is_body(**scope) || is_body(graph.element(**scope).parent);
        match scopes.iter().find(repeated) {
            None => Ok(()),
            Some(scope) => Err(self.refused(format_args!(
                "it activates the element with id '{id}' inside of the multi-instance activity '{}'. Activate that, or choose one \
                 of its active inner instances as ancestor",
                graph.element(*scope).id
            ))),
        }
    }

    fn terminate(
        &mut self,
        cx: &mut Context<'_>,
        instruction: &TerminateInstruction,
    ) -> Result<(), Rejection> {
        let key = instruction.element_instance_key;
        if key.0 > 0 || instruction.element_id.is_empty() {
            self.own(cx, key, "terminates")?;
            return self.end(key);
        }
        let element = self.find(&instruction.element_id, "terminates")?;
        // Also those that already terminate, and wait for their listeners: a modification does not wait for them.
        let all = self.instances.of(cx, self.instance, element, |_| true)?;
        self.has_room_for(all.len())?;
        all.into_iter().try_for_each(|key| self.end(key))
    }

    /// Checks that the key belongs to this instance.
    fn own(&self, cx: &mut Context<'_>, key: Key, what: &str) -> Result<Subject, Rejection> {
        let own = self.instance.key;
        let found = Subject::load(cx, key).filter(|el| el.value.process_instance_key == own);
        found.ok_or_else(|| {
            self.refused(format_args!(
                "it {what} the element instance with key '{key}', which is not one of its active element instances"
            ))
        })
    }

    fn end(&mut self, key: Key) -> Result<(), Rejection> {
        if self.ends.insert(key) {
            self.has_room_for(1)?;
            self.terminate.push(TerminateInstruction {
                element_instance_key: key,
                ..TerminateInstruction::default()
            });
        }
        Ok(())
    }

    fn r#move(
        &mut self,
        cx: &mut Context<'_>,
        instruction: &MoveInstruction,
    ) -> Result<(), Rejection> {
        let key = instruction.source_element_instance_key;
        let sources = if key.0 > 0 || instruction.source_element_id.is_empty() {
            self.own(cx, key, "moves")?;
            vec![key]
        } else {
            let source = self.find(&instruction.source_element_id, "moves")?;
            let stays = |row: &ElementInstance| row.state != ElementState::Terminating;
            self.instances.of(cx, self.instance, source, stays)?
        };
        let target = self.find(&instruction.target_element_id, "activates")?;
        self.has_room_for(sources.len())?;
        let around = start_instructions::path(self.graph(), ElementIndex::PROCESS, target);
        let around: HashSet<ElementIndex> = around.into_iter().collect();
        for source in sources {
            if source == self.instance.key {
                return Err(self.refused("it moves the process itself: move what is active in it"));
            }
            let activate = ActivateInstruction {
                element_id: instruction.target_element_id.clone(),
                ancestor_scope_key: self.ancestor_of(cx, source, instruction.ancestor, &around),
                variable_instructions: instruction.variable_instructions.clone(),
                ancestor_scope_keys: Vec::new(),
            };
            self.activate(cx, &activate)?;
            self.end(source)?;
        }
        Ok(())
    }

    fn ancestor_of(
        &self,
        cx: &mut Context<'_>,
        source: Key,
        ancestor: MoveAncestor,
        around: &HashSet<ElementIndex>,
    ) -> Key {
        let parent = cx.state.elements.get(source).map(|row| row.flow_scope_key);
        let mut scope = parent.unwrap_or(Key::NONE);
        match ancestor {
            MoveAncestor::Any => return Key::NONE,
            MoveAncestor::Key(key) => return key,
            MoveAncestor::SourceParent => return scope,
            MoveAncestor::Inferred => {}
        }
        // The process is around every element.
        while let Some(row) = cx.state.elements.get(scope) {
            if around.contains(&ElementIndex(row.element)) || row.flow_scope_key.is_none() {
                break;
            }
            scope = row.flow_scope_key;
        }
        scope
    }

    /// Checks that no element is activated in a scope that is terminated.
    fn check_scopes_stay(&self, cx: &mut Context<'_>) -> Result<(), Rejection> {
        let mut stays = HashSet::new();
        for instruction in &self.activate {
            let mut scope = instruction.ancestor_scope_keys.first().copied();
            while let Some(key) = scope.filter(|key| stays.insert(*key)) {
                if self.ends.contains(&key) {
                    return Err(self.refused(format_args!(
                        "it activates the element with id '{}' in a scope that it terminates ('{key}'). Choose another scope \
                         around it as ancestor",
                        instruction.element_id
                    )));
                }
                let row = cx.state.elements.get(key);
                scope = row.and_then(|row| row.flow_scope_key.some());
            }
        }
        Ok(())
    }

    /// Checks that a called instance is not ended by its own modification: the call activity would wait forever.
    fn check_called_stays(&self, cx: &mut Context<'_>) -> Result<(), Rejection> {
        let was_called = self
            .instance
            .value
            .parent_element_instance_key
            .some()
            .is_some();
        if !was_called || !self.activate.is_empty() || !self.ends_all(cx) {
            return Ok(());
        }
        Err(self.refused(
            "the given instructions would terminate the instance. The instance was created by a call activity in the parent \
             process. To terminate this instance please modify the parent process instead",
        ))
    }

    /// Whether the modification would leave nothing active.
    fn ends_all(&self, cx: &mut Context<'_>) -> bool {
        let mut ended: HashSet<Key> = self.ends.clone();
        let mut waiting: Vec<Key> = self.ends.iter().copied().collect();
        let mut children: HashMap<Key, u32> = HashMap::new();
        while let Some(key) = waiting.pop() {
            if key == self.instance.key {
                return true;
            }
            let Some(scope) = cx.state.elements.get(key).map(|row| row.flow_scope_key) else {
                continue;
            };
            let count = children.entry(scope).or_default();
            *count += 1;
            let row = cx.state.elements.get(scope);
            let is_last = row.is_some_and(|row| modification::has_nothing_else(row, *count));
            if is_last && ended.insert(scope) {
                waiting.push(scope);
            }
        }
        false
    }
}
