//! Built-in processes beyond a sequence of tasks: one for each kind of work that deserves its own
//! figure.

use clap::ValueEnum;
use serde::Serialize;
use skep_client::Resource;

use crate::process::{JOB_TYPE, Process, built_in, named};

/// What each instance does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Ten service tasks, one after the other.
    TenTasks,
    /// A service task for each of 100 items, all at once.
    MultiInstance,
    /// A user task in its form as a job.
    UserTask,
    /// A decision table with ten rules, then a service task.
    Decision,
    /// A service task in a sub-process that has a time limit.
    TimerBoundary,
    /// A service task whose worker publishes a message; the instance waits for it, mostly on another partition.
    Message,
    /// A message as in that scenario, then a call of another process with a task, then a service task for each of 50 items.
    Realistic,
}

/// Job type whose worker publishes the message that the instance waits for, with the instance's
/// key, and returns the key as a variable.
pub const PUBLISHES: &str = "skep-load-publish";

/// Job type of the called process. Its jobs belong to other instances; a variable has the key of the instance that called them.
pub const CALLED: &str = "skep-load-called";

/// The name of that variable.
pub const CALLER: &str = "key";

/// The name of the message.
pub const MESSAGE: &str = "skep-load";

impl Scenario {
    /// The process to deploy, with the number of jobs per instance.
    pub fn process(self) -> Process {
        match self {
            Scenario::TenTasks => built_in(10),
            Scenario::MultiInstance => bpmn("multi-instance", MULTI_INSTANCE, &[JOB_TYPE], 100),
            Scenario::UserTask => bpmn("user-task", USER_TASK, &["io.camunda.zeebe:userTask"], 1),
            Scenario::Decision => {
                let mut process = bpmn("decision", DECISION, &[JOB_TYPE], 1);
                process.resources.push(Resource {
                    name: "skep-load.dmn".into(),
                    content: decision_table().into(),
                });
                process
            }
            Scenario::TimerBoundary => bpmn("timer-boundary", TIMER_BOUNDARY, &[JOB_TYPE], 1),
            Scenario::Message => {
                let last = format!("{AWAITED}{LAST_TASK}");
                bpmn("message", &last, &[PUBLISHES, JOB_TYPE], 2)
            }
            Scenario::Realistic => {
                let all = format!("{AWAITED}{CALL_AND_FAN_OUT}");
                let mut process = bpmn("realistic", &all, &[PUBLISHES, CALLED, JOB_TYPE], 52);
                process.resources.push(called());
                process
            }
        }
    }
}

fn bpmn(name: &str, elements: &str, job_types: &[&str], jobs: u32) -> Process {
    let process_id = format!("skep-load-{name}");
    let text = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="skep-load" targetNamespace="http://skep/load">
  <bpmn:message id="message" name="{MESSAGE}">
    <bpmn:extensionElements><zeebe:subscription correlationKey="=key"/></bpmn:extensionElements>
  </bpmn:message>
  <bpmn:process id="{process_id}" isExecutable="true">
    <bpmn:startEvent id="start"/>{elements}
    <bpmn:endEvent id="end"/>
  </bpmn:process>
</bpmn:definitions>
"#
    );
    Process {
        resources: vec![Resource {
            name: format!("{process_id}.bpmn"),
            content: text.into(),
        }],
        process_id,
        job_types: job_types.iter().map(|name| (*name).into()).collect(),
        jobs_per_instance: jobs,
    }
}

const MULTI_INSTANCE: &str = r#"
    <bpmn:serviceTask id="each">
      <bpmn:extensionElements><zeebe:taskDefinition type="skep-load"/></bpmn:extensionElements>
      <bpmn:multiInstanceLoopCharacteristics>
        <bpmn:extensionElements><zeebe:loopCharacteristics inputCollection="=for i in 1..100 return i" inputElement="item"/></bpmn:extensionElements>
      </bpmn:multiInstanceLoopCharacteristics>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="to-each" sourceRef="start" targetRef="each"/>
    <bpmn:sequenceFlow id="to-end" sourceRef="each" targetRef="end"/>"#;

const USER_TASK: &str = r#"
    <bpmn:userTask id="ask"/>
    <bpmn:sequenceFlow id="to-ask" sourceRef="start" targetRef="ask"/>
    <bpmn:sequenceFlow id="to-end" sourceRef="ask" targetRef="end"/>"#;

const DECISION: &str = r#"
    <bpmn:businessRuleTask id="decide">
      <bpmn:extensionElements>
        <zeebe:calledDecision decisionId="skep-load-rate" resultVariable="rate"/>
        <zeebe:ioMapping><zeebe:input source="=73" target="amount"/></zeebe:ioMapping>
      </bpmn:extensionElements>
    </bpmn:businessRuleTask>
    <bpmn:serviceTask id="task">
      <bpmn:extensionElements><zeebe:taskDefinition type="skep-load"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="to-decide" sourceRef="start" targetRef="decide"/>
    <bpmn:sequenceFlow id="to-task" sourceRef="decide" targetRef="task"/>
    <bpmn:sequenceFlow id="to-end" sourceRef="task" targetRef="end"/>"#;

const TIMER_BOUNDARY: &str = r#"
    <bpmn:subProcess id="limited">
      <bpmn:startEvent id="inside"/>
      <bpmn:serviceTask id="task">
        <bpmn:extensionElements><zeebe:taskDefinition type="skep-load"/></bpmn:extensionElements>
      </bpmn:serviceTask>
      <bpmn:endEvent id="done"/>
      <bpmn:sequenceFlow id="to-task" sourceRef="inside" targetRef="task"/>
      <bpmn:sequenceFlow id="to-done" sourceRef="task" targetRef="done"/>
    </bpmn:subProcess>
    <bpmn:boundaryEvent id="late" attachedToRef="limited">
      <bpmn:timerEventDefinition><bpmn:timeDuration>PT1H</bpmn:timeDuration></bpmn:timerEventDefinition>
    </bpmn:boundaryEvent>
    <bpmn:endEvent id="too-late"/>
    <bpmn:sequenceFlow id="to-limited" sourceRef="start" targetRef="limited"/>
    <bpmn:sequenceFlow id="to-end" sourceRef="limited" targetRef="end"/>
    <bpmn:sequenceFlow id="to-too-late" sourceRef="late" targetRef="too-late"/>"#;

const AWAITED: &str = r#"
    <bpmn:serviceTask id="publish">
      <bpmn:extensionElements><zeebe:taskDefinition type="skep-load-publish"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:intermediateCatchEvent id="await"><bpmn:messageEventDefinition messageRef="message"/></bpmn:intermediateCatchEvent>
    <bpmn:sequenceFlow id="to-publish" sourceRef="start" targetRef="publish"/>
    <bpmn:sequenceFlow id="to-await" sourceRef="publish" targetRef="await"/>"#;

const LAST_TASK: &str = r#"
    <bpmn:serviceTask id="task">
      <bpmn:extensionElements><zeebe:taskDefinition type="skep-load"/></bpmn:extensionElements>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="to-task" sourceRef="await" targetRef="task"/>
    <bpmn:sequenceFlow id="to-end" sourceRef="task" targetRef="end"/>"#;

const CALL_AND_FAN_OUT: &str = r#"
    <bpmn:callActivity id="call">
      <bpmn:extensionElements><zeebe:calledElement processId="skep-load-callee" propagateAllChildVariables="false"/></bpmn:extensionElements>
    </bpmn:callActivity>
    <bpmn:serviceTask id="each">
      <bpmn:extensionElements><zeebe:taskDefinition type="skep-load"/></bpmn:extensionElements>
      <bpmn:multiInstanceLoopCharacteristics>
        <bpmn:extensionElements><zeebe:loopCharacteristics inputCollection="=for i in 1..50 return i" inputElement="item"/></bpmn:extensionElements>
      </bpmn:multiInstanceLoopCharacteristics>
    </bpmn:serviceTask>
    <bpmn:sequenceFlow id="to-call" sourceRef="await" targetRef="call"/>
    <bpmn:sequenceFlow id="to-each" sourceRef="call" targetRef="each"/>
    <bpmn:sequenceFlow id="to-end" sourceRef="each" targetRef="end"/>"#;

/// The called process.
fn called() -> Resource {
    let mut resources = named("skep-load-callee".into(), CALLED, 1).resources;
    resources.swap_remove(0)
}

/// Ten rules over one number, one for each range of ten.
fn decision_table() -> String {
    let rules = (0..10).map(|rule| {
        let (from, to) = (rule * 10, rule * 10 + 10);
        format!(
            r#"<rule id="rule-{rule}"><inputEntry id="in-{rule}"><text>[{from}..{to})</text></inputEntry><outputEntry id="out-{rule}"><text>{rule}</text></outputEntry></rule>"#
        )
    });
    let rules: String = rules.collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="skep-load" name="Skep load" namespace="http://skep/load">
  <decision id="skep-load-rate" name="Rate">
    <decisionTable id="table" hitPolicy="UNIQUE">
      <input id="input" label="Amount"><inputExpression id="expression"><text>amount</text></inputExpression></input>
      <output id="output" name="rate"/>
      {rules}
    </decisionTable>
  </decision>
</definitions>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::parse;

    #[test]
    fn the_realistic_process_calls_another_one_that_is_deployed_with_it() {
        let made = Scenario::Realistic.process();
        let texts = made.resources.iter();
        let mut texts = texts.map(|it| String::from_utf8(it.content.to_vec()).unwrap());
        let (caller, callee) = (texts.next().unwrap(), texts.next().unwrap());
        let callee = parse("callee".into(), callee, None).unwrap();
        assert_eq!(callee.job_types, [CALLED]);
        let calls = format!("calledElement processId=\"{}\"", callee.process_id);
        assert!(caller.contains(&calls), "{caller}");
        // The message, the call, and the items.
        assert_eq!(made.jobs_per_instance, 1 + 1 + 50);
    }

    #[test]
    fn each_scenario_is_a_process_with_its_jobs() {
        for scenario in Scenario::value_variants() {
            let made = scenario.process();
            let file = &made.resources[0];
            let text = String::from_utf8(file.content.to_vec()).unwrap();
            let read = parse(file.name.clone(), text, Some(made.jobs_per_instance)).unwrap();
            assert_eq!(read.process_id, made.process_id);
            // The job type of a user task is not in the file.
            if *scenario != Scenario::UserTask {
                let mut types = made.job_types.clone();
                types.sort();
                // That of a called process is in another one.
                types.retain(|it| it != CALLED);
                assert_eq!(read.job_types, types);
            }
        }
    }
}
