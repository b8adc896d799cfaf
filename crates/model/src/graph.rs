//! The executable graph of a process: what the engine walks.

use std::collections::HashMap;
use std::sync::Arc;

use skep_feel::Expression;

/// Names an element (flow node, sequence flow or the process itself) within one process definition.
///
/// Index 0 is the process. Indices are part of the log: a definition keeps them for ever (see [`Process::element_ids`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementIndex(pub u32);

impl ElementIndex {
    pub const PROCESS: ElementIndex = ElementIndex(0);
    pub fn get(self) -> usize {
        self.0 as usize
    }
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
    /// Elements by their ids: clients name very many of them in one command.
    pub(crate) by_id: HashMap<Arc<str>, ElementIndex>,
}

impl Process {
    pub fn element(&self, index: ElementIndex) -> &Element {
        &self.elements[index.get()]
    }
    /// The element with this BPMN id.
    pub fn find(&self, id: &str) -> Option<ElementIndex> {
        self.by_id.get(id).copied()
    }
    /// To be called when the elements are complete.
    pub(crate) fn index(&mut self) {
        let ids = self.elements.iter().enumerate();
        let ids = ids.map(|(i, element)| (element.id.clone(), ElementIndex(i as u32)));
        self.by_id = ids.collect();
    }
    /// Element ids in index order, as they are kept in the PROCESS record so that indices in old logs stay readable.
    pub fn element_ids(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(|e| &*e.id)
    }
    /// What stands in for a stored definition that cannot be compiled at all: its elements have their ids, and none can be
    /// reached or left.
    pub fn unusable(element_ids: &[String], reason: &str) -> Process {
        let reason: Arc<str> = reason.into();
        let element = |(index, id): (usize, &String)| {
            let mut element = Element::new(id, ElementType::Task, ElementIndex::PROCESS);
            element.kind = ElementKind::Unusable(reason.clone());
            if index == 0 {
                element.element_type = ElementType::Process;
                element.kind = ElementKind::Process;
            }
            element
        };
        let mut process = Process {
            id: element_ids
                .first()
                .map(String::as_str)
                .unwrap_or_default()
                .into(),
            version_tag: None,
            call_activities: Arc::from([]),
            elements: element_ids.iter().enumerate().map(element).collect(),
            by_id: HashMap::new(),
        };
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

/// Element types of the record model (`bpmnElementType`), as far as they can be deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    Process,
    SubProcess,
    StartEvent,
    IntermediateCatchEvent,
    BoundaryEvent,
    EndEvent,
    ServiceTask,
    ReceiveTask,
    ManualTask,
    Task,
    ExclusiveGateway,
    ParallelGateway,
    SequenceFlow,
    CallActivity,
}

impl ElementType {
    /// The name in records, for instance `SERVICE_TASK`.
    pub fn as_str(self) -> &'static str {
        match self {
            ElementType::Process => "PROCESS",
            ElementType::SubProcess => "SUB_PROCESS",
            ElementType::StartEvent => "START_EVENT",
            ElementType::IntermediateCatchEvent => "INTERMEDIATE_CATCH_EVENT",
            ElementType::BoundaryEvent => "BOUNDARY_EVENT",
            ElementType::EndEvent => "END_EVENT",
            ElementType::ServiceTask => "SERVICE_TASK",
            ElementType::ReceiveTask => "RECEIVE_TASK",
            ElementType::ManualTask => "MANUAL_TASK",
            ElementType::Task => "TASK",
            ElementType::ExclusiveGateway => "EXCLUSIVE_GATEWAY",
            ElementType::ParallelGateway => "PARALLEL_GATEWAY",
            ElementType::SequenceFlow => "SEQUENCE_FLOW",
            ElementType::CallActivity => "CALL_ACTIVITY",
        }
    }
}

/// One element of a process.
#[derive(Debug)]
pub struct Element {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub element_type: ElementType,
    /// The flow scope: the process or sub-process that contains this element. The process names itself.
    pub parent: ElementIndex,
    /// Sequence flows that lead here, in document order.
    pub incoming: Vec<ElementIndex>,
    /// Sequence flows that leave, the last of the document first: in this order they are taken and their conditions tried.
    pub outgoing: Vec<ElementIndex>,
    /// Boundary events attached to this activity, in document order.
    pub boundary_events: Vec<ElementIndex>,
    /// For a process or embedded sub-process: its none start event.
    pub none_start: Option<ElementIndex>,
    /// One mapping per variable, in the order in which they take effect.
    pub inputs: Vec<Mapping>,
    pub outputs: Vec<Mapping>,
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
            none_start: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            kind: ElementKind::Task,
        }
    }
    /// What triggers or is thrown by an event (`bpmnEventType`); `UNSPECIFIED` for what is no event.
    pub fn event_type(&self) -> &'static str {
        match &self.kind {
            ElementKind::StartEvent | ElementKind::EndEvent(EndEvent::None) => "NONE",
            ElementKind::EndEvent(EndEvent::Error { .. }) => "ERROR",
            ElementKind::EndEvent(EndEvent::Terminate) => "TERMINATE",
            ElementKind::IntermediateCatchEvent(CatchEvent::Timer(_)) => "TIMER",
            ElementKind::IntermediateCatchEvent(CatchEvent::Message(_))
            | ElementKind::ReceiveTask(_) => "MESSAGE",
            ElementKind::BoundaryEvent(boundary) => match boundary.event {
                BoundaryTrigger::Timer(_) => "TIMER",
                BoundaryTrigger::Message(_) => "MESSAGE",
                BoundaryTrigger::Error { .. } => "ERROR",
            },
            _ => "UNSPECIFIED",
        }
    }
}

/// What is particular to a kind of element.
#[derive(Debug)]
pub enum ElementKind {
    Process,
    SubProcess,
    StartEvent,
    EndEvent(EndEvent),
    IntermediateCatchEvent(CatchEvent),
    BoundaryEvent(BoundaryEvent),
    ServiceTask(JobDefinition),
    ReceiveTask(MessageCatch),
    ManualTask,
    Task,
    CallActivity(CalledElement),
    ExclusiveGateway {
        /// The default sequence flow.
        default: Option<ElementIndex>,
    },
    ParallelGateway,
    SequenceFlow(SequenceFlow),
    /// Of a stored definition, with the reason: this release cannot compile it. What reaches it gets an incident.
    Unusable(Arc<str>),
}

#[derive(Debug)]
pub struct SequenceFlow {
    pub source: ElementIndex,
    pub target: ElementIndex,
    /// Only on flows that leave an exclusive gateway.
    pub condition: Option<Expression>,
}

#[derive(Debug)]
pub enum EndEvent {
    None,
    Error { code: TextValue },
    Terminate,
}

/// What a catching event (intermediate or boundary) waits for.
#[derive(Debug)]
pub enum CatchEvent {
    Timer(Timer),
    Message(MessageCatch),
}

#[derive(Debug)]
pub struct BoundaryEvent {
    pub attached_to: ElementIndex,
    pub interrupting: bool,
    pub event: BoundaryTrigger,
}

#[derive(Debug)]
pub enum BoundaryTrigger {
    Timer(Timer),
    Message(MessageCatch),
    /// `None` catches every error code.
    Error {
        code: Option<Arc<str>>,
    },
}

#[derive(Debug)]
pub enum Timer {
    /// ISO 8601 date-time with zone.
    Date(TextValue),
    /// ISO 8601 duration.
    Duration(TextValue),
    /// `R[n]/duration`, `R[n]/start/duration` or cron; only on non-interrupting boundary events in this release.
    Cycle(TextValue),
}

#[derive(Debug)]
pub struct MessageCatch {
    pub name: TextValue,
    pub correlation_key: Expression,
}

#[derive(Debug)]
pub struct JobDefinition {
    pub job_type: TextValue,
    /// Text of a whole number, or an expression that yields one.
    pub retries: TextValue,
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// `headers` as the text of a JSON object, made once.
    pub headers_json: Arc<str>,
}

#[derive(Debug)]
pub struct CalledElement {
    pub process_id: TextValue,
    pub binding: Binding,
    pub propagate_all_parent_variables: bool,
    pub propagate_all_child_variables: bool,
}

/// Which version of a called resource is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    Latest,
    Deployment,
    VersionTag(Arc<str>),
}

/// A constant text, or a FEEL expression (an attribute that starts with `=`).
#[derive(Clone, Debug)]
pub enum TextValue {
    Static(Arc<str>),
    Expression(Expression),
}

impl TextValue {
    /// The text, if it is constant.
    pub fn as_static(&self) -> Option<&str> {
        match self {
            TextValue::Static(text) => Some(text),
            TextValue::Expression(_) => None,
        }
    }
}

/// An input or output mapping: what one variable, or one part of an object, is set to.
#[derive(Debug)]
pub struct Mapping {
    pub target: Arc<str>,
    pub source: MappingSource,
}

#[derive(Debug)]
pub enum MappingSource {
    /// The JSON text of a constant.
    Constant(Arc<str>),
    Expression(Expression),
    /// Mappings whose targets are parts of this one: `order.id` is a mapping `id` within the object `order`. Nested at most
    /// as deep as a target path may be long, 200 names.
    Object(Vec<Mapping>),
}
