//! Plays the steps of a scenario on an engine of one partition, and keeps its records and answers.

use serde_json::{Value, json};
use skep_engine::{RecordNames, RequestId};
use skep_protocol::batch::BatchReader;
use skep_protocol::command::{ActivateJobs, AddBatchItems, BatchCommand, Command};
use skep_protocol::json::render;
use skep_protocol::{ActivatedJob, Key, Rejection, Response};

use crate::commands::{Arguments, Stop, command};
use crate::yaml;
use crate::{batch_operations, keys};
use skep_testkit::rig::Rig;
use skep_testkit::scenario::Scenario;

/// Outcome of a scenario.
#[derive(Default)]
pub struct Played {
    /// Records, each with the number of its step.
    pub records: Vec<(usize, Value)>,
    /// Answers that differ from the expected ones.
    pub answers: Vec<String>,
    /// Jobs handed out to workers, each with the number of its step.
    pub activated: Vec<(usize, ActivatedJob)>,
}

/// Configuration that a scenario is played with.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Number of partitions. Instances live on the first one, messages on all.
    pub partitions: u32,
    /// Number of steps that a command may take before it is deferred; `None` for the default, as on a server.
    pub turn_steps: Option<u32>,
}

/// The configuration that the scenarios were recorded with.
pub const AS_RECORDED: Setting = Setting {
    partitions: 1,
    turn_steps: None,
};

pub fn play(scenario: &Scenario, setting: Setting) -> Result<Played, Stop> {
    let steps = yaml::read(scenario.part("steps.yaml"));
    let steps: &[Value] = steps["steps"].as_array().expect("steps are a list");
    let mut player = Player {
        rig: Rig::with_partitions(setting.partitions),
        names: (1..=setting.partitions).map(RecordNames::new).collect(),
        scenario,
        records: Vec::new(),
        played: Played::default(),
        waiting: Vec::new(),
    };
    player.rig.record_batches();
    if let Some(turn_steps) = setting.turn_steps {
        player.rig.turn_steps(turn_steps);
    }
    for (index, step) in steps.iter().enumerate() {
        player.step(index + 1, step)?;
    }
    player.answers_that_waited();
    Ok(player.played)
}

struct Player<'a> {
    rig: Rig,
    /// By partition.
    names: Vec<RecordNames>,
    scenario: &'a Scenario,
    /// All records so far, rendered.
    records: Vec<Value>,
    played: Played,
    /// Creations that await their result: step, request and expected answer.
    waiting: Vec<(usize, RequestId, Value)>,
}

impl Player<'_> {
    fn step(&mut self, number: usize, step: &Value) -> Result<(), Stop> {
        let fields = step.as_object().expect("a step is a map");
        let (operation, arguments) = fields
            .iter()
            .find(|(name, _)| !matches!(name.as_str(), "expect" | "why" | "note"))
            .expect("a step has an operation");
        let missing = |what| Stop::Deviates(format!("step {number}: {what}"));
        let mut resolved = keys::resolve(arguments, &self.records).map_err(missing)?;
        if resolved["valueType"] == "BATCH_OPERATION_CHUNK" {
            batch_operations::in_recorded_order(&mut resolved, self.scenario, &self.records);
        }
        let answer = self.carry_out(operation, &Arguments(&resolved), number, &step["expect"])?;
        // Due timers fire immediately.
        self.rig.run_due();
        self.collect(number);
        if let Some(answer) = answer {
            self.compare_answer(number, operation, &step["expect"], answer);
        }
        Ok(())
    }

    /// The answer in the notation of `expect`. `None` if it comes later.
    fn carry_out(
        &mut self,
        operation: &str,
        arguments: &Arguments<'_>,
        number: usize,
        expected: &Value,
    ) -> Result<Option<Value>, Stop> {
        if operation == "clock" {
            self.rig.advance(arguments.seconds("add", 0.0));
            return Ok(Some(json!("ok")));
        }
        let mut job = arguments.key("job");
        let works = matches!(operation, "complete" | "fail" | "throwError");
        if works && job == Key::NONE {
            match self.oldest_job(arguments.text("type"), number) {
                Some(oldest) => job = oldest,
                None => return Ok(Some(json!({"noJob": true}))),
            }
        }
        if let Some(done) = self.batch_operation(arguments) {
            return Ok(Some(done));
        }
        let command = command(operation, arguments, self.scenario, job)?;
        if arguments.0["awaitResult"] == true {
            let request = self.rig.send_async(command);
            self.waiting.push((number, request, expected.clone()));
            return Ok(None);
        }
        let request = self.rig.send_async(command);
        let Some(answer) = self.rig.answer(request) else {
            // The answer waits for listeners; the recorder did not.
            return Ok(Some(json!("ok")));
        };
        if let Ok(Response::JobsActivated { jobs, .. }) = &answer {
            self.hand_out(number, jobs.clone());
        }
        if let Ok(Response::BatchOperationCreated { key, .. }) = &answer
            && batch_operations::finds_nothing(&arguments.0["value"])
        {
            self.nothing_more(*key);
        }
        Ok(Some(shape_of(answer)))
    }

    /// Steps of batch operations that are not commands of a client.
    fn batch_operation(&mut self, arguments: &Arguments<'_>) -> Option<Value> {
        let key = Arguments(&arguments.0["value"]).key("batchOperationKey");
        match arguments.text("valueType") {
            // Deferred until the step that executes it.
            "BATCH_OPERATION_INITIALIZATION" => {
                self.rig.interrupted = true;
                self.nothing_more(key);
            }
            "BATCH_OPERATION_EXECUTION" => {
                self.rig.interrupted = false;
                self.rig.settle(1);
            }
            _ => return None,
        }
        Some(json!("ok"))
    }

    /// Reports all items of a batch operation as found, on all partitions.
    fn nothing_more(&mut self, batch_operation_key: Key) {
        for partition in 1..=self.rig.partitions.len() as u32 {
            let operations = &mut self.rig.engine(partition).state.batch_operations;
            let after = operations.get(batch_operation_key).expect("it is there");
            let command = Command::Batch(BatchCommand::Add(AddBatchItems {
                batch_operation_key,
                resources: Vec::new(),
                items: Vec::new(),
                after: after.chosen_up_to,
                last: true,
            }));
            let request = self.rig.send_to(partition, command);
            assert_eq!(self.rig.answer(request), Some(Ok(Response::Empty)));
        }
    }

    /// Activates the oldest job of a type, as the recorder did.
    fn oldest_job(&mut self, job_type: &str, number: usize) -> Option<Key> {
        let command = Command::ActivateJobs(ActivateJobs {
            job_type: job_type.into(),
            worker: "w".into(),
            timeout: 300_000,
            max_jobs: 1,
            fetch_variables: Vec::new(),
            tenants: skep_protocol::Tenants::default(),
        });
        match self.rig.send(command) {
            Ok(Response::JobsActivated { jobs, .. }) => {
                let oldest = jobs.first().map(|job| job.key);
                self.hand_out(number, jobs);
                oldest
            }
            other => panic!("jobs are activated or there are none: {other:?}"),
        }
    }

    fn hand_out(&mut self, number: usize, jobs: Vec<ActivatedJob>) {
        let jobs = jobs.into_iter().map(|job| (number, job));
        self.played.activated.extend(jobs);
    }

    /// Renders the records written in the step.
    fn collect(&mut self, step: usize) {
        for (partition, batch) in std::mem::take(&mut self.rig.batches) {
            let names = &mut self.names[partition as usize - 1];
            let records = BatchReader::new(&batch).unwrap().map(Result::unwrap);
            let records: Vec<_> = records.collect();
            for record in &records {
                names.learn(record);
            }
            for record in &records {
                let json = render(record, names).unwrap();
                self.records.push(json.clone());
                self.played.records.push((step, json));
            }
            names.batch_ends();
        }
    }

    fn answers_that_waited(&mut self) {
        for (number, request, expected) in std::mem::take(&mut self.waiting) {
            let answer = match self.rig.answer(request) {
                Some(answer) => shape_of(answer),
                None => json!({"unanswered": true}),
            };
            self.compare_answer(number, "create", &expected, answer);
        }
    }

    fn compare_answer(&mut self, number: usize, operation: &str, expected: &Value, got: Value) {
        let mut expected = expected.clone();
        if let Some(fields) = expected.as_object_mut() {
            // The gateway determines the gRPC status.
            fields.remove("grpc");
        }
        let expected = with_sorted_jobs(self.with_keys(&expected));
        let got = with_sorted_jobs(got);
        // The scenario may expect no more than a positive answer.
        if expected == "ok" && got.get("rejection").is_none() && got.get("noJob").is_none() {
            return;
        }
        if expected != got {
            let deviation = format!("step {number} {operation}: expected {expected}, got {got}");
            self.played.answers.push(deviation);
        }
    }

    /// Replaces symbols in an expected answer by the keys of this run.
    fn with_keys(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match keys::symbol(text, &self.records) {
                Some(key) => json!(key.0),
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.with_keys(item)).collect(),
            Value::Object(fields) => {
                let keep = |name: &str| name == "variables";
                let fields = fields.iter().map(|(name, value)| {
                    let value = if keep(name) {
                        value.clone()
                    } else {
                        self.with_keys(value)
                    };
                    (name.clone(), value)
                });
                Value::Object(fields.collect())
            }
            _ => value.clone(),
        }
    }
}

fn shape_of(answer: Result<Response, Rejection>) -> Value {
    match answer {
        Err(rejection) => json!({"rejection": rejection.kind.as_str()}),
        Ok(Response::JobsActivated { jobs, .. }) => {
            let keys: Vec<i64> = jobs.iter().map(|job| job.key.0).collect();
            json!({"ok": {"jobs": keys}})
        }
        Ok(Response::ProcessInstanceResult { created, variables }) => {
            let variables: Value = serde_json::from_str(&variables).unwrap();
            json!({"ok": {"variables": variables, "processInstanceKey": created.process_instance_key.0}})
        }
        Ok(Response::DecisionEvaluated { evaluation, .. }) => {
            let output: Value = serde_json::from_str(&evaluation.output).unwrap();
            let failed = evaluation.failure.map(|failure| failure.decision_id);
            let failed = failed.as_deref().unwrap_or("").to_string();
            json!({"ok": {"output": output, "failedDecisionId": failed}})
        }
        Ok(_) => json!("ok"),
    }
}

/// Records, like Skep's answers, list the jobs of an activation oldest first; answers of the reference are in arbitrary order.
fn with_sorted_jobs(mut answer: Value) -> Value {
    let jobs = answer.pointer_mut("/ok/jobs").and_then(Value::as_array_mut);
    if let Some(jobs) = jobs {
        jobs.sort_by_key(Value::as_i64);
    }
    answer
}
