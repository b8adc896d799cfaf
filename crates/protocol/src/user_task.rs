//! The user task as the worker of a task listener sees it: in the headers of the job, under reserved names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Reserved: no header of a model begins so.
pub const RESERVED_PREFIX: &str = "io.camunda.zeebe:";

/// The user task of a task listener's job, as it was when the job was created.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserTaskProperties {
    /// The action on the task, as the client named it.
    pub action: String,
    pub assignee: Option<String>,
    pub candidate_groups: Vec<String>,
    pub candidate_users: Vec<String>,
    pub changed_attributes: Vec<String>,
    /// ISO 8601.
    pub due_date: Option<String>,
    pub follow_up_date: Option<String>,
    pub form_key: Option<i64>,
    pub priority: Option<i32>,
    pub user_task_key: Option<i64>,
}

impl UserTaskProperties {
    /// Reads the reserved headers; missing or malformed ones are left out.
    pub fn from_headers(headers: &str) -> UserTaskProperties {
        let headers: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(headers).unwrap_or_default();
        let text = |name: &str| {
            let header = headers.get(&format!("{RESERVED_PREFIX}{name}"))?;
            header.as_str().map(String::from)
        };
        let list = |name: &str| -> Vec<String> {
            let list = text(name).and_then(|list| serde_json::from_str(&list).ok());
            list.unwrap_or_default()
        };
        UserTaskProperties {
            action: text("action").unwrap_or_default(),
            assignee: text("assignee"),
            candidate_groups: list("candidateGroups"),
            candidate_users: list("candidateUsers"),
            changed_attributes: list("changedAttributes"),
            due_date: text("dueDate"),
            follow_up_date: text("followUpDate"),
            form_key: text("formKey").and_then(|key| key.parse().ok()),
            priority: text("priority").and_then(|priority| priority.parse().ok()),
            user_task_key: text("userTaskKey").and_then(|key| key.parse().ok()),
        }
    }

    /// Bytes of its texts.
    pub fn text_bytes(&self) -> usize {
        let lists = [
            &self.candidate_groups,
            &self.candidate_users,
            &self.changed_attributes,
        ];
        let listed: usize = lists.into_iter().flatten().map(|text| text.len() + 4).sum();
        let texts = [&self.assignee, &self.due_date, &self.follow_up_date];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        self.action.len() + listed + texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_task_is_read_from_the_reserved_headers() {
        let headers = r#"{"own":"x","io.camunda.zeebe:action":"complete","io.camunda.zeebe:assignee":"anna",
            "io.camunda.zeebe:candidateGroups":"[\"managers\"]","io.camunda.zeebe:changedAttributes":"[\"assignee\"]",
            "io.camunda.zeebe:dueDate":"2031-05-06T07:08:09Z","io.camunda.zeebe:formKey":"7",
            "io.camunda.zeebe:priority":"50","io.camunda.zeebe:userTaskKey":"2251799813685260"}"#;
        let expected = UserTaskProperties {
            action: "complete".into(),
            assignee: Some("anna".into()),
            candidate_groups: vec!["managers".into()],
            candidate_users: vec![],
            changed_attributes: vec!["assignee".into()],
            due_date: Some("2031-05-06T07:08:09Z".into()),
            follow_up_date: None,
            form_key: Some(7),
            priority: Some(50),
            user_task_key: Some(2_251_799_813_685_260),
        };
        assert_eq!(UserTaskProperties::from_headers(headers), expected);
        assert_eq!(
            UserTaskProperties::from_headers("{}"),
            UserTaskProperties::default()
        );
    }
}
