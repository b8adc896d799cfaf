//! The entities for the permission tests. All are called `thing`, so that one id fits each type of resource.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{Server, eventually};
use super::{Answer, send};

const PROCESS: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="d" targetNamespace="t">
<message id="m" name="thing"><extensionElements><zeebe:subscription correlationKey="=key"/></extensionElements></message>
<signal id="g" name="thing"/>
<process id="thing" name="NAME" isExecutable="true">
<extensionElements><zeebe:formDefinition formId="thing"/></extensionElements>
<startEvent id="s"><extensionElements><zeebe:formDefinition formId="thing"/></extensionElements></startEvent><parallelGateway id="fork"/>
<startEvent id="large"><conditionalEventDefinition id="c"><condition xsi:type="tFormalExpression">=amount &gt; 100</condition></conditionalEventDefinition></startEvent><endEvent id="end"/>
<sequenceFlow id="f0" sourceRef="s" targetRef="fork"/><sequenceFlow id="f9" sourceRef="large" targetRef="end"/>
<sequenceFlow id="f1" sourceRef="fork" targetRef="work"/><serviceTask id="work"><extensionElements><zeebe:taskDefinition type="work"/></extensionElements></serviceTask>
<sequenceFlow id="f2" sourceRef="fork" targetRef="broken"/><serviceTask id="broken"><extensionElements><zeebe:taskDefinition type="broken"/></extensionElements></serviceTask>
<sequenceFlow id="f3" sourceRef="fork" targetRef="ask"/><userTask id="ask"><extensionElements><zeebe:userTask/><zeebe:formDefinition formId="thing"/></extensionElements></userTask>
<sequenceFlow id="f4" sourceRef="fork" targetRef="wait"/><intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
<sequenceFlow id="f5" sourceRef="fork" targetRef="hear"/><intermediateCatchEvent id="hear"><signalEventDefinition signalRef="g"/></intermediateCatchEvent>
<sequenceFlow id="f6" sourceRef="fork" targetRef="choose"/><adHocSubProcess id="choose"><serviceTask id="inner"><extensionElements><zeebe:taskDefinition type="inner"/></extensionElements></serviceTask></adHocSubProcess>
</process></definitions>"#;

const DECISION: &str = r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="thing" name="thing" namespace="n">
<decision id="thing" name="thing"><variable name="v"/><literalExpression><text>1</text></literalExpression></decision></definitions>"#;

/// The tenant of all entities.
const TENANT: &str = "<default>";

/// Operations whose body names a tenant.
const TAKE_A_TENANT: [&str; 7] = [
    "/process-instances",
    "/decision-definitions/evaluation",
    "/messages/publication",
    "/messages/correlation",
    "/signals/broadcast",
    "/conditionals/evaluation",
    "/expression/evaluation",
];

const HEAD: &str = "--xx\r\nContent-Disposition: form-data; name=";

/// The process with another name.
pub fn process(name: &str) -> String {
    PROCESS.replace("NAME", name)
}

/// The body of a deployment with a new version of the process, a decision and a form.
pub fn deployment(name: &str) -> String {
    let process = process(name);
    let form = json!({"id": "thing", "components": []}).to_string();
    let script = json!({"id": "thing", "script": name}).to_string();
    let files = [
        ("thing.bpmn", &*process),
        ("thing.dmn", DECISION),
        ("thing.form", &form),
        ("thing.rpa", &script),
    ];
    let parts = files
        .map(|(name, text)| format!("{HEAD}\"resources\"; filename=\"{name}\"\r\n\r\n{text}\r\n"));
    format!("{}--xx--\r\n", parts.concat())
}

/// The body of an upload; `field`: `file` for one, `files` for several.
pub fn upload(field: &str) -> String {
    format!(
        "{HEAD}\"{field}\"; filename=\"thing.txt\"\r\nContent-Type: text/plain\r\n\r\nthing\r\n--xx--\r\n"
    )
}

/// The keys of existing entities, by their names in paths.
pub struct Things<'s> {
    pub server: &'s Server,
    pub admin: &'s str,
    /// Whether requests name their tenant.
    tenants: bool,
    pub keys: BTreeMap<&'static str, String>,
    deployed: usize,
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl<'s> Things<'s> {
    /// No entities yet.
    pub fn none(server: &'s Server, admin: &'s str, tenants: bool) -> Things<'s> {
        Things {
            server,
            admin,
            tenants,
            keys: BTreeMap::new(),
            deployed: 0,
        }
    }

    /// Creates entities for every search.
    pub fn make(server: &'s Server, admin: &'s str, tenants: bool) -> Things<'s> {
        let mut things = Things::none(server, admin, tenants);
        for name in ["name", "username", "groupId", "roleId", "tenantId"] {
            things.keys.insert(name, "thing".to_string());
        }
        for name in ["mappingRuleId", "clientId", "id"] {
            things.keys.insert(name, "thing".to_string());
        }
        things.deploy();
        things.members();
        things.instance();
        things.fail();
        let message = r#"{"name":"thing","correlationKey":"thing"}"#;
        things.ok("POST", "/messages/correlation", message);
        things.instance();
        things.decide();
        let of_nothing = r#"{"filter":{"processDefinitionId":"thing"}}"#;
        let batch = things.ok("POST", "/process-instances/incident-resolution", of_nothing);
        things.keep("batchOperationKey", &batch["batchOperationKey"]);
        things.fail();
        things.authorize();
        things.upload();
        let variable = r#"{"name":"thing","value":1}"#;
        things.ok("POST", "/cluster-variables/global", variable);
        things.ok("POST", "/cluster-variables/tenants/%3Cdefault%3E", variable);
        things.find_all();
        things
    }

    /// The tenant that requests name, if they name one.
    pub fn tenant(&self) -> Option<&'static str> {
        self.tenants.then_some(TENANT)
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let body = self.of_tenant(path, body);
        send(self.server, (method, path), &body, Some(self.admin))
    }

    /// The body of a request, with the tenant where the operation accepts one.
    pub fn of_tenant(&self, path: &str, body: &str) -> String {
        let Some(tenant) = self.tenant() else {
            return body.to_string();
        };
        if path.ends_with("/deployments") || path.ends_with("/deployments/check") {
            let part = format!("{HEAD}\"tenantId\"\r\n\r\n{tenant}\r\n--xx--");
            return body.replace("--xx--", &part);
        }
        let (field, tenant) = match path {
            "/jobs/activation" | "/jobs/stream" => ("tenantIds", json!([tenant])),
            path if TAKE_A_TENANT.contains(&path) => ("tenantId", json!(tenant)),
            _ => return body.to_string(),
        };
        let mut body: Value = serde_json::from_str(body).unwrap();
        body[field] = tenant;
        body.to_string()
    }

    fn ok(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    fn keep(&mut self, name: &'static str, key: &Value) {
        self.keys.insert(name, text(key));
    }

    /// Deploys another version.
    pub fn deploy(&mut self) {
        self.deployed += 1;
        let body = deployment(&format!("version {}", self.deployed));
        let deployed = self.ok("POST", "/deployments", &body);
        for one in deployed["deployments"].as_array().unwrap() {
            for (kind, name) in [
                ("processDefinition", "processDefinitionKey"),
                ("decisionDefinition", "decisionDefinitionKey"),
                ("decisionRequirements", "decisionRequirementsKey"),
                ("resource", "resourceKey"),
                ("form", "formKey"),
            ] {
                if let Some(key) = one[kind].get(name) {
                    self.keep(name, key);
                }
            }
        }
    }

    fn members(&self) {
        self.ok("POST", "/groups", r#"{"groupId":"thing","name":"thing"}"#);
        self.ok("POST", "/roles", r#"{"roleId":"thing","name":"thing"}"#);
        self.ok("POST", "/tenants", r#"{"tenantId":"thing","name":"thing"}"#);
        let rule = r#"{"mappingRuleId":"thing","claimName":"c","claimValue":"v","name":"thing"}"#;
        self.ok("POST", "/mapping-rules", rule);
        for parent in ["groups", "roles", "tenants"] {
            for member in ["users", "clients", "mapping-rules"] {
                self.ok("PUT", &format!("/{parent}/thing/{member}/thing"), "");
            }
        }
        self.ok("PUT", "/roles/thing/groups/thing", "");
        self.ok("PUT", "/tenants/thing/groups/thing", "");
        self.ok("PUT", "/tenants/thing/roles/thing", "");
    }

    pub fn instance(&mut self) {
        let creation = r#"{"processDefinitionId":"thing","variables":{"key":"thing"}}"#;
        let created = self.ok("POST", "/process-instances", creation);
        self.keep("processInstanceKey", &created["processInstanceKey"]);
    }

    /// An ended instance, already known to searches.
    fn ended(&mut self) {
        self.instance();
        let path = format!("/process-instances/{}", self.keys["processInstanceKey"]);
        self.ok("POST", &format!("{path}/cancellation"), "{}");
        eventually("the instance has ended", || {
            self.ask("GET", &path, "").1["state"] == "TERMINATED"
        });
    }

    /// Creates a job of a new instance.
    pub fn job(&mut self, kind: &str) {
        self.instance();
        let asked = json!({"type": kind, "timeout": 600_000, "maxJobsToActivate": 1});
        let activated = self.ok("POST", "/jobs/activation", &asked.to_string());
        let job = &activated["jobs"][0];
        self.keep("jobKey", &job["jobKey"]);
        self.keep("processInstanceKey", &job["processInstanceKey"]);
    }

    /// Creates an incident.
    pub fn fail(&mut self) {
        self.job("broken");
        let path = format!("/jobs/{}/failure", self.keys["jobKey"]);
        self.ok("POST", &path, r#"{"retries":0,"errorMessage":"thing"}"#);
        let open =
            json!({"processInstanceKey": self.keys["processInstanceKey"], "state": "ACTIVE"});
        self.find_by(&open, "incidents", "incidentKey", "incidentKey");
    }

    pub fn decide(&mut self) {
        let asked = r#"{"decisionDefinitionId":"thing"}"#;
        let decided = self.ok("POST", "/decision-definitions/evaluation", asked);
        let key = &decided["decisionEvaluationKey"];
        self.keep("decisionEvaluationKey", key);
        self.keep(
            "decisionEvaluationInstanceKey",
            &json!(format!("{}-1", text(key))),
        );
        self.is_found(&format!("/decision-instances/{}-1", text(key)));
    }

    fn is_found(&self, path: &str) {
        eventually(path, || self.ask("GET", path, "").0 == 200);
    }

    pub fn authorize(&mut self) {
        let asked = r#"{"ownerType":"USER","ownerId":"thing","resourceType":"SYSTEM","resourceId":"*","permissionTypes":["READ"]}"#;
        let (status, made) = self.ask("POST", "/authorizations", asked);
        if status == 201 {
            self.keep("authorizationKey", &made["authorizationKey"]);
        }
    }

    pub fn upload(&mut self) {
        let made = self.ok("POST", "/documents", &upload("file"));
        self.keep("documentId", &made["documentId"]);
        self.keep("contentHash", &made["contentHash"]);
    }

    /// Creates a suspended batch operation, which can be resumed.
    pub fn batch(&mut self) {
        eventually("an operation is suspended before it ends", || {
            let asked = r#"{"filter":{"processDefinitionId":"thing"}}"#;
            let made = self.ok("POST", "/process-instances/incident-resolution", asked);
            self.keep("batchOperationKey", &made["batchOperationKey"]);
            let key = &self.keys["batchOperationKey"];
            let path = format!("/batch-operations/{key}/suspension");
            self.ask("POST", &path, "").0 == 204
        });
    }

    /// Finds the key of an entity of the instance, once it exists.
    pub fn find(&mut self, of: &str, field: &str, name: &'static str) {
        let filter = json!({"processInstanceKey": self.keys["processInstanceKey"]});
        self.find_by(&filter, of, field, name);
    }

    fn find_by(&mut self, filter: &Value, of: &str, field: &str, name: &'static str) {
        let asked = json!({"filter": filter}).to_string();
        let mut found = Value::Null;
        eventually(of, || {
            let (_, answer) = self.ask("POST", &format!("/{of}/search"), &asked);
            found = answer["items"][0].clone();
            !found.is_null()
        });
        self.keep(name, &found[field]);
    }

    fn find_all(&mut self) {
        for (of, name) in [
            ("incidents", "elementInstanceKey"),
            ("user-tasks", "userTaskKey"),
            ("variables", "variableKey"),
            ("message-subscriptions", "messageSubscriptionKey"),
            ("audit-logs", "auditLogKey"),
        ] {
            self.find(of, name, name);
        }
        let asked = json!({"filter": {"elementId": "choose", "processInstanceKey": self.keys["processInstanceKey"]}});
        let found = self.ok("POST", "/element-instances/search", &asked.to_string());
        let key = &found["items"][0]["elementInstanceKey"];
        self.keep("adHocSubProcessInstanceKey", key);
        let path = format!("/user-tasks/{}/assignment", self.keys["userTaskKey"]);
        self.ok("POST", &path, r#"{"assignee":"bert"}"#);
        let of_tasks = json!({"category": "USER_TASKS"});
        self.find_by(&of_tasks, "audit-logs", "auditLogKey", "taskAuditLogKey");
        for variable in ["global/thing", "tenants/%3Cdefault%3E/thing"] {
            self.is_found(&format!("/cluster-variables/{variable}"));
        }
        let path = "/incidents/statistics/process-instances-by-error";
        let errors = self.ok("POST", path, "{}");
        self.keep("errorHashCode", &errors["items"][0]["errorHashCode"]);
    }

    /// Recreates the entity that an operation has deleted or finished.
    pub fn again(&mut self, what: &str) {
        match what {
            "" => {}
            "instance" => self.instance(),
            "job" => self.job("work"),
            "incident" => self.fail(),
            "task" => {
                self.instance();
                self.find("user-tasks", "userTaskKey", "userTaskKey");
            }
            "batch" => self.batch(),
            "authorization" => self.authorize(),
            "document" => self.upload(),
            "decision" => self.decide(),
            "ended" => self.ended(),
            "resource" => self.deploy(),
            request => {
                let mut words = request.splitn(3, ' ');
                let method = words.next().unwrap();
                let path = self.filled(words.next().unwrap());
                // It may still exist.
                let (status, answer) = self.ask(method, &path, words.next().unwrap_or_default());
                let is_there = (200..300).contains(&status) || status == 409;
                assert!(is_there, "{request}: {status} {answer}");
                if method == "POST" {
                    self.is_found(&format!("{path}/thing"));
                }
            }
        }
    }

    /// Replaces names in a path or body by keys.
    pub fn filled(&self, template: &str) -> String {
        let keys = self.keys.iter();
        let number = format!("\"{{{}}}\"", "errorHashCode");
        let template = template.replace(&number, &self.keys["errorHashCode"]);
        keys.fold(template, |text, (name, key)| {
            text.replace(&format!("{{{name}}}"), key)
        })
    }
}
