//! Activities beyond jobs, and their markers and listeners.

use super::{Bpmn, write};

/// Activities and scopes.
impl Bpmn {
    /// A script task with an expression; its result is a local variable.
    pub fn script(self, id: impl Into<String>, expression: &str, result_variable: &str) -> Self {
        self.element("scriptTask", id).extension(&write::tag(
            "zeebe:script",
            &[
                ("expression", expression),
                ("resultVariable", result_variable),
            ],
        ))
    }

    /// A business rule task with a decision; its result is a local variable.
    pub fn decision(self, id: impl Into<String>, decision_id: &str, result_variable: &str) -> Self {
        self.element("businessRuleTask", id).extension(&write::tag(
            "zeebe:calledDecision",
            &[
                ("decisionId", decision_id),
                ("resultVariable", result_variable),
            ],
        ))
    }

    /// A send task, which is a job of this type.
    pub fn send_task(self, id: impl Into<String>, job_type: &str) -> Self {
        self.job_task("sendTask", id, job_type)
    }

    /// A task of any kind that can be a job: `scriptTask`, `businessRuleTask`, `sendTask`, `serviceTask`.
    pub fn job_task(self, tag: &'static str, id: impl Into<String>, job_type: &str) -> Self {
        let mut this = self.element(tag, id);
        this.last().task_definition = Some((job_type.into(), None));
        this
    }

    /// A Camunda user task. `assignmentDefinition` and the like are added with `extension`.
    pub fn user_task(self, id: impl Into<String>) -> Self {
        self.element("userTask", id).extension("<zeebe:userTask/>")
    }

    /// A user task that is a job.
    pub fn user_task_job(self, id: impl Into<String>) -> Self {
        self.element("userTask", id)
    }

    pub fn inclusive(self, id: impl Into<String>) -> Self {
        self.element("inclusiveGateway", id)
    }

    /// An event-based gateway; add the events with `from`.
    pub fn event_based(self, id: impl Into<String>) -> Self {
        self.element("eventBasedGateway", id)
    }

    /// An event sub-process, filled by the closure. It is not joined to anything, and an element added next is joined to the
    /// one before it.
    pub fn event_sub_process(
        mut self,
        id: impl Into<String>,
        content: impl FnOnce(Self) -> Self,
    ) -> Self {
        let before = self.before.take();
        let mut this = self
            .scope_of("subProcess", id, content)
            .attribute("triggeredByEvent", "true");
        this.before = before;
        this
    }

    /// An ad-hoc sub-process, filled by the closure; in it, elements that must not be joined begin with `apart`.
    pub fn ad_hoc(self, id: impl Into<String>, content: impl FnOnce(Self) -> Self) -> Self {
        self.scope_of("adHocSubProcess", id, content)
    }

    /// The ad-hoc sub-process added last first activates these elements (an expression).
    pub fn active_elements(self, expression: &str) -> Self {
        self.extension(&write::tag(
            "zeebe:adHoc",
            &[("activeElementsCollection", expression)],
        ))
    }

    /// The element added next is not joined to any before it.
    pub fn apart(mut self) -> Self {
        self.before = None;
        self
    }
}

/// Markers and listeners of the element added last.
impl Bpmn {
    /// Repeats the activity for each item of a collection, in parallel; the item is a variable.
    pub fn for_each(mut self, collection: &str, element: &str) -> Self {
        let item = self.last();
        item.multi_instance.attributes = vec![
            ("inputCollection".into(), collection.into()),
            ("inputElement".into(), element.into()),
        ];
        self
    }

    /// One after the other instead of in parallel; follows `for_each`.
    pub fn sequential(mut self) -> Self {
        self.last().multi_instance.sequential = true;
        self
    }

    /// Collects a value of each inner instance in a list; follows `for_each`.
    pub fn collect(mut self, element: &str, collection: &str) -> Self {
        let attributes = &mut self.last().multi_instance.attributes;
        attributes.push(("outputElement".into(), element.into()));
        attributes.push(("outputCollection".into(), collection.into()));
        self
    }

    /// The completion condition of a multi-instance activity (follows `for_each`) or ad-hoc sub-process.
    pub fn until(mut self, condition: &str) -> Self {
        let xml = format!(
            "<bpmn:completionCondition>{}</bpmn:completionCondition>",
            skep_xml::escape(condition)
        );
        let item = self.last();
        if item.multi_instance.attributes.is_empty() {
            item.content.push(xml)
        } else {
            item.multi_instance.condition = xml
        }
        self
    }

    /// Makes an activity a compensation handler. Add it `apart`.
    pub fn for_compensation(self) -> Self {
        self.attribute("isForCompensation", "true")
    }

    /// An execution listener of the event `start` or `end`, with three retries.
    pub fn listener(mut self, event: &str, job_type: &str) -> Self {
        self.last().listeners.push(listener(event, job_type));
        self
    }

    /// An execution listener of the process.
    pub fn process_listener(self, event: &str, job_type: &str) -> Self {
        let listener = listener(event, job_type);
        self.process_extension(&format!(
            "<zeebe:executionListeners>{listener}</zeebe:executionListeners>"
        ))
    }

    /// A task listener of a Camunda user task, with three retries.
    pub fn task_listener(mut self, event: &str, job_type: &str) -> Self {
        let attributes = [("eventType", event), ("type", job_type)];
        let listener = write::tag("zeebe:taskListener", &attributes);
        self.last().task_listeners.push(listener);
        self
    }
}

fn listener(event: &str, job_type: &str) -> String {
    let attributes = [("eventType", event), ("type", job_type)];
    write::tag("zeebe:executionListener", &attributes)
}
