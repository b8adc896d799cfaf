//! The executable graph of a process, which the engine walks.

mod event;
mod kind;
mod listener;
mod scope;
mod task;
mod value;

use std::collections::HashMap;
use std::sync::Arc;

pub use event::*;
pub use kind::*;
pub use listener::*;
pub use scope::*;
pub use skep_protocol::element_type::ElementType;
pub use skep_protocol::value::PinnedElement;
pub use task::*;
pub use value::*;

/// Names an element (flow node, sequence flow or the process itself) within one process definition.
///
/// Index 0 is the process. Indices are part of the log: a definition keeps them for ever (see [`Process::pinned_elements`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementIndex(pub u32);

impl ElementIndex {
    pub const PROCESS: ElementIndex = ElementIndex(0);
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// The entry of a list by element index.
pub(crate) fn of<T>(all: &[T], index: ElementIndex) -> &T {
    match all.get(index.get()) {
        Some(one) => one,
        None => not_of_this_process(index, all.len()),
    }
}

/// As [`of`], to change it.
pub(crate) fn of_mut<T>(all: &mut [T], index: ElementIndex) -> &mut T {
    let count = all.len();
    match all.get_mut(index.get()) {
        Some(one) => one,
        None => not_of_this_process(index, count),
    }
}

/// An index belongs to the process that it is used with; otherwise everything after would be about another element.
#[cold]
fn not_of_this_process(index: ElementIndex, count: usize) -> ! {
    let ElementIndex(index) = index;
    panic!("element {index} is asked of a process that has {count} elements")
}

/// One executable process of a BPMN resource.
#[derive(Debug)]
pub struct Process {
    /// The `id` attribute: the BPMN process id.
    pub id: Arc<str>,
    pub version_tag: Option<Arc<str>>,
    /// All elements; `elements[0]` is the process, sequence flows are elements too.
    pub elements: Vec<Element>,
    /// Ids of the call activities of all processes of the file, sorted: records name a call activity by its place here.
    pub call_activities: Arc<[Arc<str>]>,
    /// Start events of the process itself, in document order.
    pub start_events: Vec<ElementIndex>,
    /// Elements by their ids: clients name very many of them in one command.
    pub(crate) by_id: HashMap<Arc<str>, ElementIndex>,
}

impl Process {
    /// A process without elements, to be filled.
    pub(crate) fn empty(id: &str) -> Process {
        Process {
            id: id.into(),
            version_tag: None,
            elements: Vec::new(),
            call_activities: Arc::from([]),
            start_events: Vec::new(),
            by_id: HashMap::new(),
        }
    }
    /// # Panics
    ///
    /// If the index is not one of this process: the caller has the wrong definition.
    pub fn element(&self, index: ElementIndex) -> &Element {
        of(&self.elements, index)
    }
    /// As [`element`](Process::element), while the process is compiled.
    pub(crate) fn element_mut(&mut self, index: ElementIndex) -> &mut Element {
        of_mut(&mut self.elements, index)
    }
    /// The element with this BPMN id. A multi-instance activity and its body share their id: the body is found.
    pub fn find(&self, id: &str) -> Option<ElementIndex> {
        self.by_id.get(id).copied()
    }
    /// To be called when the elements are complete.
    pub(crate) fn index(&mut self) {
        for (i, element) in self.elements.iter().enumerate() {
            let index = ElementIndex(i as u32);
            let found = self.by_id.entry(element.id.clone()).or_insert(index);
            if element.element_type == ElementType::MultiInstanceBody {
                *found = index;
            }
        }
    }
    /// Element ids in index order.
    pub fn element_ids(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(|e| &*e.id)
    }
    /// Names of the elements, in index order, as kept in the PROCESS record so that indices in old logs stay readable.
    pub fn pinned_elements(&self) -> impl Iterator<Item = PinnedElement> {
        self.elements.iter().map(|element| PinnedElement {
            id: element.id.clone(),
            element_type: element.element_type,
        })
    }
    /// Placeholder for a stored definition that cannot be compiled at all: its elements have their ids, and none can be reached or left.
    pub fn unusable(elements: &[PinnedElement], reason: &str) -> Process {
        let reason: Arc<str> = reason.into();
        let element = |(index, pinned): (usize, &PinnedElement)| {
            let (id, element_type) = (&pinned.id, pinned.element_type);
            let mut element = Element::new(id, element_type, ElementIndex::PROCESS);
            element.kind = match index {
                0 => ElementKind::Process,
                _ => ElementKind::Unusable(reason.clone()),
            };
            element
        };
        let id = elements.first().map(|process| &*process.id);
        let mut process = Process::empty(id.unwrap_or_default());
        process.elements = elements.iter().enumerate().map(element).collect();
        process.index();
        process
    }
    /// Elements of a stored definition that this release cannot compile, with the reason.
    pub fn unusable_elements(&self) -> impl Iterator<Item = (&Element, &Arc<str>)> {
        self.elements
            .iter()
            .filter_map(|element| match &element.kind {
                ElementKind::Unusable(reason) => Some((element, reason)),
                _ => None,
            })
    }
    /// The none start event of the process itself, if it has one.
    pub fn none_start_event(&self) -> Option<ElementIndex> {
        self.elements.first()?.none_start
    }
}

/// One element of a process.
#[derive(Debug)]
pub struct Element {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub element_type: ElementType,
    /// The flow scope: the container of this element (process, sub-process, multi-instance body of an activity, inner
    /// instance of an ad-hoc sub-process). The process names itself.
    pub parent: ElementIndex,
    /// Sequence flows that lead here, in document order.
    pub incoming: Vec<ElementIndex>,
    /// Sequence flows that leave, the last of the document first: in this order they are taken and their conditions tried.
    pub outgoing: Vec<ElementIndex>,
    /// Boundary events attached to this activity, in document order.
    pub boundary_events: Vec<ElementIndex>,
    /// Of a scope: its event sub-processes, in document order.
    pub event_sub_processes: Vec<ElementIndex>,
    /// Of a scope: its inclusive gateways with several incoming sequence flows. One that leads to another comes before it.
    pub inclusive_joins: Vec<ElementIndex>,
    /// For a process or embedded sub-process: its none start event.
    pub none_start: Option<ElementIndex>,
    /// A compensation handler (`isForCompensation`): only its boundary event leads here.
    pub is_for_compensation: bool,
    /// One mapping per variable, in the order in which they take effect.
    pub inputs: Vec<Mapping>,
    pub outputs: Vec<Mapping>,
    /// Execution listeners, in the order in which they run.
    pub start_listeners: Vec<ListenerDefinition>,
    pub end_listeners: Vec<ListenerDefinition>,
    /// Text of the documentation and `zeebe:properties`: without effect, but available to readers (the job worker of an
    /// ad-hoc sub-process is one).
    pub documentation: Option<Arc<str>>,
    pub properties: Vec<(Arc<str>, Arc<str>)>,
    pub kind: ElementKind,
}

impl Element {
    /// A task of this id, to be filled.
    pub(crate) fn new(id: &str, element_type: ElementType, parent: ElementIndex) -> Element {
        Element {
            id: id.into(),
            name: None,
            element_type,
            parent,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            boundary_events: Vec::new(),
            event_sub_processes: Vec::new(),
            inclusive_joins: Vec::new(),
            none_start: None,
            is_for_compensation: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            start_listeners: Vec::new(),
            end_listeners: Vec::new(),
            documentation: None,
            properties: Vec::new(),
            kind: ElementKind::Task,
        }
    }
    /// A gateway that waits for the tokens of several sequence flows.
    pub fn joins(&self) -> bool {
        self.incoming.len() > 1
            && matches!(
                self.kind,
                ElementKind::ParallelGateway | ElementKind::InclusiveGateway { .. }
            )
    }
    /// Trigger or result of an event (`bpmnEventType`), or the trigger of a compensation handler; `UNSPECIFIED` otherwise.
    pub fn event_type(&self) -> &'static str {
        match &self.kind {
            _ if self.is_for_compensation => "COMPENSATION",
            ElementKind::StartEvent(StartEvent { event: None, .. }) => "NONE",
            ElementKind::EndEvent(event) | ElementKind::IntermediateThrowEvent(event) => {
                event.event_type()
            }
            ElementKind::ReceiveTask(_) => "MESSAGE",
            _ => self.caught().map_or("UNSPECIFIED", CatchEvent::event_type),
        }
    }
    /// The trigger of a start event that has one, an intermediate catch event or a boundary event.
    pub fn caught(&self) -> Option<&CatchEvent> {
        match &self.kind {
            ElementKind::StartEvent(start) => start.event.as_ref(),
            ElementKind::IntermediateCatchEvent(event) => Some(event),
            ElementKind::BoundaryEvent(boundary) => Some(&boundary.event),
            _ => None,
        }
    }
    /// The job that the element creates for a worker, if its kind does so.
    pub fn job(&self) -> Option<&JobDefinition> {
        match &self.kind {
            ElementKind::ServiceTask(job)
            | ElementKind::SendTask(MessageThrow::Job(job))
            | ElementKind::ScriptTask(ScriptTask::Job(job))
            | ElementKind::BusinessRuleTask(BusinessRuleTask::Job(job))
            | ElementKind::EndEvent(ThrowEvent::Message(MessageThrow::Job(job)))
            | ElementKind::IntermediateThrowEvent(ThrowEvent::Message(MessageThrow::Job(job))) => {
                Some(job)
            }
            ElementKind::AdHocSubProcess(ad_hoc) => ad_hoc.job.as_ref(),
            _ => None,
        }
    }
    /// The constant headers of the element's jobs, or of its user tasks, as the text of a JSON object.
    pub fn headers_json(&self) -> Option<&Arc<str>> {
        match &self.kind {
            ElementKind::UserTask(task) => Some(&task.headers_json),
            _ => self.job().map(|job| &job.headers_json),
        }
    }
}
