//! Writes BPMN XML, concisely: for specification tests, property tests and generated load.
//!
//! ```
//! use skep_model::builder::Bpmn;
//!
//! let xml = Bpmn::process("order")
//!     .start("received")
//!     .service_task("charge", "charge-card").retries("5").header("currency", "EUR").input("=total", "amount")
//!     .exclusive("paid?")
//!     .when("=paid").service_task("ship", "ship-parcel").end("shipped")
//!     .from("paid?").otherwise().end("unpaid")
//!     .boundary_error("declined", "charge", "card-declined").end("refused")
//!     .xml();
//! # assert!(skep_model::parse("order.bpmn", xml.as_bytes(), &Default::default()).is_ok());
//! ```
//!
//! Reading it: each **element** (`start`, `service_task`, …) is added to the current scope, joined to the element before
//! it by a sequence flow (unless that is an end event), and becomes the element before the next. **`from(id)`** goes
//! back to an element, to add another outgoing flow there; **`to(id)`** joins to an element that exists, or will.
//! **`when(condition)`**, **`otherwise()`** and **`flow(id)`** describe the next flow. **Modifiers** (`retries`,
//! `input`, …) describe the element added last. Flows are named `source-target` unless `flow` says otherwise (with
//! `-2`, `-3` … for further flows between the same two).
//!
//! A sub-process is a closure; boundary events name their activity and are the element before the next:
//!
//! ```
//! # use skep_model::builder::Bpmn;
//! let process = Bpmn::process("p")
//!     .start("s")
//!     .sub_process("sub", |sub| sub.start("s2").service_task("work", "work").end("e2"))
//!     .end("e")
//!     .boundary_duration("late", "sub", "PT1H").non_interrupting().service_task("remind", "remind").end("e3")
//!     .compile();
//! ```
//!
//! Nothing is checked: invalid models are as easy to write as valid ones, for tests of the checks. What has no method
//! is added as XML by `raw`, `content`, `extension`, `attribute` and `definition`. Misuse (a modifier before any
//! element) panics. [`random`] makes random valid processes.

mod activities;
mod events;
mod random;
mod write;

pub use random::random;

use crate::graph::{ElementType, PinnedElement, Process};

/// A process in the making; see the [module](self).
#[derive(Clone, Debug)]
pub struct Bpmn {
    id: String,
    attributes: Vec<(String, String)>,
    extensions: Vec<String>,
    items: Vec<Item>,
    flows: Vec<Flow>,
    /// XML of messages, errors and the like, outside of the process.
    definitions: Vec<String>,
    /// The sub-process that is being filled.
    scope: Option<usize>,
    /// The element that modifiers describe.
    last: usize,
    /// The element that the next one is joined to.
    before: Option<String>,
    next_flow: NextFlow,
}

#[derive(Clone, Debug, Default)]
struct Item {
    tag: &'static str,
    id: String,
    scope: Option<usize>,
    attributes: Vec<(String, String)>,
    /// XML inside of `extensionElements`.
    extensions: Vec<String>,
    task_definition: Option<(String, Option<String>)>,
    called_element: Vec<(String, String)>,
    mappings: Vec<String>,
    headers: Vec<(String, String)>,
    multi_instance: MultiInstance,
    /// XML of execution listeners and task listeners.
    listeners: Vec<String>,
    task_listeners: Vec<String>,
    /// XML after `extensionElements`.
    content: Vec<String>,
    /// The element as a whole, given as XML.
    raw: Option<String>,
}

/// A multi-instance marker, if it has attributes.
#[derive(Clone, Debug, Default)]
struct MultiInstance {
    sequential: bool,
    /// Of `zeebe:loopCharacteristics`.
    attributes: Vec<(String, String)>,
    /// XML of the completion condition.
    condition: String,
}

#[derive(Clone, Debug)]
struct Flow {
    id: String,
    source: String,
    target: String,
    scope: Option<usize>,
    condition: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct NextFlow {
    id: Option<String>,
    condition: Option<String>,
    default: bool,
}

/// The process and its elements.
impl Bpmn {
    /// An executable process.
    pub fn process(id: impl Into<String>) -> Self {
        Bpmn {
            id: id.into(),
            attributes: vec![("isExecutable".into(), "true".into())],
            extensions: Vec::new(),
            items: Vec::new(),
            flows: Vec::new(),
            definitions: Vec::new(),
            scope: None,
            last: 0,
            before: None,
            next_flow: NextFlow::default(),
        }
    }

    /// The name of the process.
    pub fn name(mut self, name: &str) -> Self {
        self.attributes.push(("name".into(), name.into()));
        self
    }

    /// The version tag of the process.
    pub fn version_tag(mut self, tag: &str) -> Self {
        self.extensions
            .push(write::tag("zeebe:versionTag", &[("value", tag)]));
        self
    }

    /// Makes the process a drawing that is not executed.
    pub fn not_executable(mut self) -> Self {
        self.attributes.retain(|(name, _)| name != "isExecutable");
        self
    }

    /// XML in the `extensionElements` of the process.
    pub fn process_extension(mut self, xml: &str) -> Self {
        self.extensions.push(xml.into());
        self
    }

    /// XML beside the process, inside of `definitions`.
    pub fn definition(mut self, xml: &str) -> Self {
        self.definitions.push(xml.into());
        self
    }

    /// A none start event. It is joined to nothing before it.
    pub fn start(mut self, id: impl Into<String>) -> Self {
        self.before = None;
        self.element("startEvent", id)
    }

    /// A none end event.
    pub fn end(self, id: impl Into<String>) -> Self {
        self.element("endEvent", id)
    }

    /// An error end event; the code may be an expression.
    pub fn end_error(self, id: impl Into<String>, code: &str) -> Self {
        self.element("endEvent", id).error(Some(code))
    }

    /// A terminate end event.
    pub fn end_terminate(self, id: impl Into<String>) -> Self {
        self.element("endEvent", id)
            .content("<bpmn:terminateEventDefinition/>")
    }

    /// A service task; the job type may be an expression.
    pub fn service_task(self, id: impl Into<String>, job_type: &str) -> Self {
        let mut this = self.element("serviceTask", id);
        this.last().task_definition = Some((job_type.into(), None));
        this
    }

    pub fn manual_task(self, id: impl Into<String>) -> Self {
        self.element("manualTask", id)
    }

    /// An undefined task.
    pub fn task(self, id: impl Into<String>) -> Self {
        self.element("task", id)
    }

    /// A receive task; the correlation key is an expression.
    pub fn receive_task(self, id: impl Into<String>, message: &str, correlation_key: &str) -> Self {
        let mut this = self.element("receiveTask", id);
        let reference = this.message(message, correlation_key);
        this.attribute("messageRef", &reference)
    }

    pub fn exclusive(self, id: impl Into<String>) -> Self {
        self.element("exclusiveGateway", id)
    }

    pub fn parallel(self, id: impl Into<String>) -> Self {
        self.element("parallelGateway", id)
    }

    /// A call activity; the process id may be an expression.
    pub fn call_activity(self, id: impl Into<String>, process_id: &str) -> Self {
        let mut this = self.element("callActivity", id);
        this.last().called_element = vec![("processId".into(), process_id.into())];
        this
    }

    /// An embedded sub-process, filled by the closure.
    pub fn sub_process(self, id: impl Into<String>, content: impl FnOnce(Self) -> Self) -> Self {
        self.scope_of("subProcess", id, content)
    }

    fn scope_of(
        self,
        tag: &'static str,
        id: impl Into<String>,
        content: impl FnOnce(Self) -> Self,
    ) -> Self {
        let mut this = self.element(tag, id);
        let outer = this.scope;
        this.scope = Some(this.last);
        let (sub_process, before) = (this.last, this.before.take());
        let mut this = content(this);
        this.last = sub_process;
        this.scope = outer;
        this.before = before;
        this
    }

    /// An intermediate catch event that waits for a message; the correlation key is an expression.
    pub fn catch_message(
        self,
        id: impl Into<String>,
        message: &str,
        correlation_key: &str,
    ) -> Self {
        self.element("intermediateCatchEvent", id)
            .message_definition(message, correlation_key)
    }

    /// An intermediate catch event that waits for an ISO 8601 duration (or expression).
    pub fn catch_duration(self, id: impl Into<String>, duration: &str) -> Self {
        self.element("intermediateCatchEvent", id)
            .timer("timeDuration", duration)
    }

    /// An intermediate catch event that waits for an ISO 8601 date (or expression).
    pub fn catch_date(self, id: impl Into<String>, date: &str) -> Self {
        self.element("intermediateCatchEvent", id)
            .timer("timeDate", date)
    }

    /// A boundary event that catches an error code, or all with `None`.
    pub fn boundary_error<'a>(
        self,
        id: impl Into<String>,
        activity: &str,
        code: impl Into<Option<&'a str>>,
    ) -> Self {
        self.boundary(id, activity).error(code.into())
    }

    /// An interrupting boundary event that waits for a message; the correlation key is an expression.
    pub fn boundary_message(
        self,
        id: impl Into<String>,
        activity: &str,
        message: &str,
        correlation_key: &str,
    ) -> Self {
        self.boundary(id, activity)
            .message_definition(message, correlation_key)
    }

    /// An interrupting boundary event that waits for a duration (or expression).
    pub fn boundary_duration(self, id: impl Into<String>, activity: &str, duration: &str) -> Self {
        self.boundary(id, activity).timer("timeDuration", duration)
    }

    /// An interrupting boundary event that waits for a date (or expression).
    pub fn boundary_date(self, id: impl Into<String>, activity: &str, date: &str) -> Self {
        self.boundary(id, activity).timer("timeDate", date)
    }

    /// A non-interrupting boundary event that repeats by a cycle (or expression).
    pub fn boundary_cycle(self, id: impl Into<String>, activity: &str, cycle: &str) -> Self {
        self.boundary(id, activity)
            .timer("timeCycle", cycle)
            .non_interrupting()
    }

    /// A boundary event without event definition (add one with [`Self::content`]). It is joined to nothing before it.
    pub fn boundary(mut self, id: impl Into<String>, activity: &str) -> Self {
        self.before = None;
        self.element("boundaryEvent", id)
            .attribute("attachedToRef", activity)
    }

    /// Any element of BPMN, by the name of its tag.
    pub fn element(self, tag: &'static str, id: impl Into<String>) -> Self {
        let (id, scope) = (id.into(), self.scope);
        let ends = tag == "endEvent";
        let mut this = self.add(Item {
            tag,
            id,
            scope,
            ..Item::default()
        });
        if ends {
            this.before = None;
        }
        this
    }

    /// An element given as XML (prefix `bpmn`), joined like others by the id it has.
    pub fn raw(self, id: &str, xml: &str) -> Self {
        let (id, scope) = (id.into(), self.scope);
        self.add(Item {
            id,
            scope,
            raw: Some(xml.into()),
            ..Item::default()
        })
    }

    /// XML in the current scope that is no element of its own, such as an association.
    pub fn drawn(mut self, xml: &str) -> Self {
        self.items.push(Item {
            scope: self.scope,
            raw: Some(xml.into()),
            ..Item::default()
        });
        self
    }

    fn add(mut self, item: Item) -> Self {
        let id = item.id.clone();
        self.join(&id);
        self.last = self.items.len();
        self.items.push(item);
        self.before = Some(id);
        self
    }
}

/// Sequence flows.
impl Bpmn {
    /// Goes back to an element, which the next one is joined to.
    pub fn from(mut self, id: &str) -> Self {
        self.before = Some(id.into());
        self
    }

    /// Joins the element before to an element that exists elsewhere in the scope.
    pub fn to(mut self, id: &str) -> Self {
        self.join(id);
        self.before = Some(id.into());
        self
    }

    /// The condition of the next flow.
    pub fn when(mut self, condition: &str) -> Self {
        self.next_flow.condition = Some(condition.into());
        self
    }

    /// Makes the next flow the default flow of the element before.
    pub fn otherwise(mut self) -> Self {
        self.next_flow.default = true;
        self
    }

    /// The id of the next flow.
    pub fn flow(mut self, id: &str) -> Self {
        self.next_flow.id = Some(id.into());
        self
    }

    fn join(&mut self, target: &str) {
        let next = std::mem::take(&mut self.next_flow);
        let Some(source) = self.before.clone() else {
            return;
        };
        let id = next.id.unwrap_or_else(|| self.flow_id(&source, target));
        if next.default
            && let Some(item) = self.items.iter_mut().find(|item| item.id == source)
        {
            item.attributes.push(("default".into(), id.clone()));
        }
        self.flows.push(Flow {
            id,
            source,
            target: target.into(),
            scope: self.scope,
            condition: next.condition,
        });
    }

    fn flow_id(&self, source: &str, target: &str) -> String {
        match self
            .flows
            .iter()
            .filter(|flow| flow.source == source && flow.target == target)
            .count()
        {
            0 => format!("{source}-{target}"),
            others => format!("{source}-{target}-{}", others + 1),
        }
    }
}

/// Modifiers of the element added last.
impl Bpmn {
    /// The name of the element.
    pub fn named(self, name: &str) -> Self {
        self.attribute("name", name)
    }

    /// The retries of a service task; may be an expression.
    pub fn retries(mut self, retries: &str) -> Self {
        let item = self.last();
        let (_, slot) = item
            .task_definition
            .as_mut()
            .expect("retries belong to a service task");
        *slot = Some(retries.into());
        self
    }

    /// A task header.
    pub fn header(mut self, key: &str, value: &str) -> Self {
        self.last().headers.push((key.into(), value.into()));
        self
    }

    /// An input mapping.
    pub fn input(mut self, source: &str, target: &str) -> Self {
        self.last().mappings.push(write::tag(
            "zeebe:input",
            &[("source", source), ("target", target)],
        ));
        self
    }

    /// An output mapping.
    pub fn output(mut self, source: &str, target: &str) -> Self {
        self.last().mappings.push(write::tag(
            "zeebe:output",
            &[("source", source), ("target", target)],
        ));
        self
    }

    /// The binding type of a call activity: `latest`, `deployment` or `versionTag`.
    pub fn binding(self, binding_type: &str) -> Self {
        self.called("bindingType", binding_type)
    }

    /// Binds a call activity to the version with this tag.
    pub fn bind_to_tag(self, tag: &str) -> Self {
        self.called("bindingType", "versionTag")
            .called("versionTag", tag)
    }

    /// Whether a call activity copies all variables of its scope to the called process (default yes).
    pub fn propagate_all_parent_variables(self, all: bool) -> Self {
        self.called("propagateAllParentVariables", &all.to_string())
    }

    /// Whether a call activity takes over all variables of the called process (default yes).
    pub fn propagate_all_child_variables(self, all: bool) -> Self {
        self.called("propagateAllChildVariables", &all.to_string())
    }

    /// Any attribute of `zeebe:calledElement`.
    pub fn called(mut self, attribute: &str, value: &str) -> Self {
        self.last()
            .called_element
            .push((attribute.into(), value.into()));
        self
    }

    /// Makes a boundary event, or the start event of an event sub-process, one that does not interrupt.
    pub fn non_interrupting(mut self) -> Self {
        let attribute = match self.last().tag {
            "startEvent" => "isInterrupting",
            _ => "cancelActivity",
        };
        self.attribute(attribute, "false")
    }

    /// Any attribute of the element.
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.last().attributes.push((name.into(), value.into()));
        self
    }

    /// XML in the `extensionElements` of the element (prefix `zeebe`).
    pub fn extension(mut self, xml: &str) -> Self {
        self.last().extensions.push(xml.into());
        self
    }

    /// XML inside of the element (prefix `bpmn`), such as an event definition.
    pub fn content(mut self, xml: &str) -> Self {
        self.last().content.push(xml.into());
        self
    }

    fn timer(self, kind: &str, value: &str) -> Self {
        let xml = format!(
            "<bpmn:timerEventDefinition><bpmn:{kind}>{}</bpmn:{kind}></bpmn:timerEventDefinition>",
            skep_xml::escape(value)
        );
        self.content(&xml)
    }

    fn message_definition(mut self, message: &str, correlation_key: &str) -> Self {
        let reference = self.message(message, correlation_key);
        self.content(&write::tag(
            "bpmn:messageEventDefinition",
            &[("messageRef", &reference)],
        ))
    }

    /// Defines a message and returns its id.
    fn message(&mut self, name: &str, correlation_key: &str) -> String {
        let id = format!("message-{}-{}", self.id, self.definitions.len());
        self.definitions.push(format!(
            "<bpmn:message id=\"{}\" name=\"{}\"><bpmn:extensionElements>{}</bpmn:extensionElements></bpmn:message>",
            skep_xml::escape(&id),
            skep_xml::escape(name),
            write::tag("zeebe:subscription", &[("correlationKey", correlation_key)])
        ));
        id
    }

    fn error(mut self, code: Option<&str>) -> Self {
        let Some(code) = code else {
            return self.content("<bpmn:errorEventDefinition/>");
        };
        let id = format!("error-{}-{}", self.id, self.definitions.len());
        self.definitions.push(write::tag(
            "bpmn:error",
            &[("id", &id), ("errorCode", code)],
        ));
        self.content(&write::tag(
            "bpmn:errorEventDefinition",
            &[("errorRef", &id)],
        ))
    }

    fn last(&mut self) -> &mut Item {
        self.items
            .get_mut(self.last)
            .expect("a modifier follows an element")
    }
}

/// Results.
impl Bpmn {
    /// Writes the sequence flows in another order, one of its own for each seed: the order of a document must not matter.
    pub fn shuffle_flows(mut self, seed: u64) -> Self {
        self.flows.sort_by_key(|flow| {
            let bytes = flow.id.bytes();
            // FNV-1a: each seed mixes the ids in another way.
            bytes.fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        });
        self
    }

    /// The process as a BPMN file.
    pub fn xml(self) -> String {
        write::file(&[self])
    }

    /// Several processes in one BPMN file.
    pub fn file(processes: impl IntoIterator<Item = Bpmn>) -> String {
        write::file(&processes.into_iter().collect::<Vec<_>>())
    }

    /// Pins elements of these ids: each with its type here, the others as sequence flows.
    pub fn pin(&self, ids: &[&str]) -> Vec<PinnedElement> {
        let pin = |id: &&str| PinnedElement {
            id: (*id).into(),
            element_type: match self.items.iter().find(|item| item.id == **id) {
                _ if self.id == **id => ElementType::Process,
                Some(item) => write::element_type(item.tag),
                None => ElementType::SequenceFlow,
            },
        };
        ids.iter().map(pin).collect()
    }

    /// The executable graph. Panics with the findings if the process is not valid.
    pub fn compile(self) -> Process {
        let name = format!("{}.bpmn", self.id);
        match crate::parse(&name, self.xml().as_bytes(), &crate::Options::default()) {
            Ok(mut resource) => resource.processes.remove(0),
            Err(invalid) => panic!("{invalid}"),
        }
    }
}
