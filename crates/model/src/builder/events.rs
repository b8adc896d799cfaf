//! Events of all kinds, by position.

use super::{Bpmn, write};

/// Start events: of the process, or of an event sub-process. They are joined to nothing before them.
impl Bpmn {
    /// A start event of the process by messages of this name (or expression).
    pub fn start_message(self, id: impl Into<String>, message: &str) -> Self {
        self.start_message_for(id, message, "=\"unused\"")
    }

    /// Of an event sub-process: a message with its correlation key, which is an expression.
    pub fn start_message_for(
        self,
        id: impl Into<String>,
        message: &str,
        correlation_key: &str,
    ) -> Self {
        self.start(id).message_definition(message, correlation_key)
    }

    pub fn start_signal(self, id: impl Into<String>, signal: &str) -> Self {
        self.start(id).signal_definition(signal)
    }

    pub fn start_cycle(self, id: impl Into<String>, cycle: &str) -> Self {
        self.start(id).timer("timeCycle", cycle)
    }

    pub fn start_date(self, id: impl Into<String>, date: &str) -> Self {
        self.start(id).timer("timeDate", date)
    }

    pub fn start_duration(self, id: impl Into<String>, duration: &str) -> Self {
        self.start(id).timer("timeDuration", duration)
    }

    pub fn start_condition(self, id: impl Into<String>, condition: &str) -> Self {
        self.start(id).condition_definition(condition)
    }

    /// Of an event sub-process.
    pub fn start_error<'a>(self, id: impl Into<String>, code: impl Into<Option<&'a str>>) -> Self {
        self.start(id).error(code.into())
    }

    /// Of an event sub-process.
    pub fn start_escalation<'a>(
        self,
        id: impl Into<String>,
        code: impl Into<Option<&'a str>>,
    ) -> Self {
        self.start(id).escalation_definition(code.into())
    }
}

/// Intermediate catch events.
impl Bpmn {
    pub fn catch_signal(self, id: impl Into<String>, signal: &str) -> Self {
        self.element("intermediateCatchEvent", id)
            .signal_definition(signal)
    }

    pub fn catch_condition(self, id: impl Into<String>, condition: &str) -> Self {
        self.element("intermediateCatchEvent", id)
            .condition_definition(condition)
    }

    /// Where links of this name continue. It is not joined to any element before it.
    pub fn catch_link(self, id: impl Into<String>, name: &str) -> Self {
        self.apart()
            .element("intermediateCatchEvent", id)
            .link_definition(name)
    }
}

/// Boundary events. They are joined to nothing before them, and interrupt unless `non_interrupting` follows.
impl Bpmn {
    pub fn boundary_signal(self, id: impl Into<String>, activity: &str, signal: &str) -> Self {
        self.boundary(id, activity).signal_definition(signal)
    }

    pub fn boundary_condition(
        self,
        id: impl Into<String>,
        activity: &str,
        condition: &str,
    ) -> Self {
        self.boundary(id, activity).condition_definition(condition)
    }

    /// Catches an escalation code, or all with `None`.
    pub fn boundary_escalation<'a>(
        self,
        id: impl Into<String>,
        activity: &str,
        code: impl Into<Option<&'a str>>,
    ) -> Self {
        self.boundary(id, activity)
            .escalation_definition(code.into())
    }

    /// The handler is an element marked with `for_compensation`; an element added next is not joined to anything.
    pub fn boundary_compensation(
        self,
        id: impl Into<String>,
        activity: &str,
        handler: &str,
    ) -> Self {
        let id = id.into();
        let association = write::tag(
            "bpmn:association",
            &[
                ("id", &format!("{id}-to-{handler}")),
                ("sourceRef", &id),
                ("targetRef", handler),
            ],
        );
        self.boundary(id, activity)
            .content("<bpmn:compensateEventDefinition/>")
            .drawn(&association)
            .apart()
    }
}

/// Intermediate throw events and end events.
impl Bpmn {
    /// A none throw event; with `content` one of any type.
    pub fn throw(self, id: impl Into<String>) -> Self {
        self.element("intermediateThrowEvent", id)
    }

    /// A message throw event, which is a job of this type.
    pub fn throw_message(self, id: impl Into<String>, job_type: &str) -> Self {
        self.throw(id).message_job(job_type)
    }

    pub fn throw_signal(self, id: impl Into<String>, signal: &str) -> Self {
        self.throw(id).signal_definition(signal)
    }

    pub fn throw_escalation(self, id: impl Into<String>, code: &str) -> Self {
        self.throw(id).escalation_definition(Some(code))
    }

    /// Compensates an activity, or all of the scope with `None`.
    pub fn throw_compensation<'a>(
        self,
        id: impl Into<String>,
        activity: impl Into<Option<&'a str>>,
    ) -> Self {
        self.throw(id).compensation_definition(activity.into())
    }

    /// Continues at the link catch event of this name; an element added next is not joined to anything.
    pub fn throw_link(self, id: impl Into<String>, name: &str) -> Self {
        self.throw(id).link_definition(name).apart()
    }

    /// A message end event, which is a job of this type.
    pub fn end_message(self, id: impl Into<String>, job_type: &str) -> Self {
        self.end(id).message_job(job_type)
    }

    pub fn end_signal(self, id: impl Into<String>, signal: &str) -> Self {
        self.end(id).signal_definition(signal)
    }

    pub fn end_escalation(self, id: impl Into<String>, code: &str) -> Self {
        self.end(id).escalation_definition(Some(code))
    }

    /// Compensates an activity, or all of the scope with `None`.
    pub fn end_compensation<'a>(
        self,
        id: impl Into<String>,
        activity: impl Into<Option<&'a str>>,
    ) -> Self {
        self.end(id).compensation_definition(activity.into())
    }
}

/// Event definitions of the element added last.
impl Bpmn {
    fn message_job(mut self, job_type: &str) -> Self {
        self.last().task_definition = Some((job_type.into(), None));
        self.content("<bpmn:messageEventDefinition/>")
    }

    fn signal_definition(mut self, name: &str) -> Self {
        let id = self.define("signal", &[("name", name)]);
        self.content(&write::tag(
            "bpmn:signalEventDefinition",
            &[("signalRef", &id)],
        ))
    }

    fn escalation_definition(mut self, code: Option<&str>) -> Self {
        let Some(code) = code else {
            return self.content("<bpmn:escalationEventDefinition/>");
        };
        let id = self.define("escalation", &[("escalationCode", code)]);
        self.content(&write::tag(
            "bpmn:escalationEventDefinition",
            &[("escalationRef", &id)],
        ))
    }

    fn condition_definition(self, condition: &str) -> Self {
        let condition = skep_xml::escape(condition);
        self.content(&format!(
            "<bpmn:conditionalEventDefinition><bpmn:extensionElements></bpmn:extensionElements><bpmn:condition>{condition}</bpmn:condition></bpmn:conditionalEventDefinition>"
        ))
    }

    /// Of the conditional event added last: the variables whose changes count, and which changes.
    pub fn variable_filter(mut self, names: &str, events: &str) -> Self {
        let filter = write::tag(
            "zeebe:conditionalFilter",
            &[("variableNames", names), ("variableEvents", events)],
        );
        if let Some(content) = self.last().content.last_mut() {
            *content = content.replace(
                "<bpmn:extensionElements></bpmn:extensionElements>",
                &format!("<bpmn:extensionElements>{filter}</bpmn:extensionElements>"),
            );
        }
        self
    }

    fn compensation_definition(self, activity: Option<&str>) -> Self {
        let activity = activity.map(|activity| ("activityRef", activity));
        let attributes: Vec<_> = activity.into_iter().collect();
        self.content(&write::tag("bpmn:compensateEventDefinition", &attributes))
    }

    fn link_definition(self, name: &str) -> Self {
        self.content(&write::tag("bpmn:linkEventDefinition", &[("name", name)]))
    }

    /// Adds a definition beside the process and returns its id.
    fn define(&mut self, kind: &str, attributes: &[(&str, &str)]) -> String {
        let id = format!("{kind}-{}-{}", self.id, self.definitions.len());
        let mut all = vec![("id", id.as_str())];
        all.extend_from_slice(attributes);
        self.definitions
            .push(write::tag(&format!("bpmn:{kind}"), &all));
        id
    }
}
