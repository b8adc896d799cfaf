//! The value of USER_TASK records.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Corrections, RecordValue};
use crate::document::JsonText;
use crate::intent::{UserTaskIntent, ValueType};
use crate::key::Key;

/// The record's key is that of the user task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserTaskValue {
    pub process_definition_key: Key,
    pub process_instance_key: Key,
    pub root_process_instance_key: Key,
    pub element: u32,
    pub element_instance_key: Key,
    /// Epoch milliseconds.
    pub creation_timestamp: i64,
    /// Of a linked form.
    pub form_key: Key,
    pub external_form_reference: Arc<str>,
    pub attributes: UserTaskAttributes,
    /// Attributes that this transition changes.
    pub changed: Vec<UserTaskAttribute>,
    /// The user's name for the action.
    pub action: Arc<str>,
    /// Of a completion, or of an update of the task's variables.
    pub variables: Vec<(Arc<str>, JsonText)>,
    /// Why a listener refused the transition.
    pub denied_reason: Arc<str>,
}

impl RecordValue for UserTaskValue {
    const VALUE_TYPE: ValueType = ValueType::UserTask;
    type Intent = UserTaskIntent;
}

/// Attributes that users and listeners can change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserTaskAttributes {
    /// Empty: unassigned.
    pub assignee: Arc<str>,
    pub candidate_groups: Vec<Arc<str>>,
    pub candidate_users: Vec<Arc<str>>,
    /// Date and time with zone, as given; empty for none.
    pub due_date: Arc<str>,
    pub follow_up_date: Arc<str>,
    /// From 0 to 100.
    pub priority: i32,
}

impl UserTaskAttributes {
    /// Priority of a task that defines none.
    pub const DEFAULT_PRIORITY: i32 = 50;

    /// Applies corrections. Returns the attributes that change.
    pub fn correct(&mut self, corrections: &Corrections) -> Vec<UserTaskAttribute> {
        let before = self.clone();
        let set = |to: &mut Arc<str>, from: &Option<Arc<str>>| {
            if let Some(from) = from {
                *to = from.clone();
            }
        };
        let set_list = |to: &mut Vec<Arc<str>>, from: &Option<Vec<Arc<str>>>| {
            if let Some(from) = from {
                *to = from.clone();
            }
        };
        set(&mut self.assignee, &corrections.assignee);
        set_list(&mut self.candidate_groups, &corrections.candidate_groups);
        set_list(&mut self.candidate_users, &corrections.candidate_users);
        set(&mut self.due_date, &corrections.due_date);
        set(&mut self.follow_up_date, &corrections.follow_up_date);
        self.priority = corrections.priority.unwrap_or(self.priority);
        self.differences(&before)
    }

    /// The attributes that differ from those of `other`, in the order of their names.
    pub fn differences(&self, other: &UserTaskAttributes) -> Vec<UserTaskAttribute> {
        use UserTaskAttribute as Attribute;
        let differs = [
            (Attribute::Assignee, self.assignee != other.assignee),
            (
                Attribute::CandidateGroups,
                self.candidate_groups != other.candidate_groups,
            ),
            (
                Attribute::CandidateUsers,
                self.candidate_users != other.candidate_users,
            ),
            (Attribute::DueDate, self.due_date != other.due_date),
            (
                Attribute::FollowUpDate,
                self.follow_up_date != other.follow_up_date,
            ),
            (Attribute::Priority, self.priority != other.priority),
        ];
        let differs = differs.into_iter().filter(|(_, differs)| *differs);
        differs.map(|(attribute, _)| attribute).collect()
    }

    /// About how many bytes the texts take.
    pub fn weight(&self) -> usize {
        let lists = self.candidate_groups.iter().chain(&self.candidate_users);
        let lists: usize = lists.map(|text| text.len() + size_of::<Arc<str>>()).sum();
        lists + self.assignee.len() + self.due_date.len() + self.follow_up_date.len()
    }
}

/// Name of an attribute, in lists of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UserTaskAttribute {
    Assignee,
    CandidateGroups,
    CandidateUsers,
    DueDate,
    FollowUpDate,
    Priority,
    /// Not one of [`UserTaskAttributes`]: the variables in the task's scope.
    Variables,
}

impl UserTaskAttribute {
    /// The name in records and headers.
    pub fn name(self) -> &'static str {
        match self {
            UserTaskAttribute::Assignee => "assignee",
            UserTaskAttribute::CandidateGroups => "candidateGroupsList",
            UserTaskAttribute::CandidateUsers => "candidateUsersList",
            UserTaskAttribute::DueDate => "dueDate",
            UserTaskAttribute::FollowUpDate => "followUpDate",
            UserTaskAttribute::Priority => "priority",
            UserTaskAttribute::Variables => "variables",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_change_what_they_name() {
        let mut task = UserTaskAttributes {
            assignee: "anna".into(),
            candidate_groups: vec!["clerks".into()],
            priority: 50,
            ..UserTaskAttributes::default()
        };
        let corrections = Corrections {
            assignee: Some("".into()),
            candidate_groups: Some(vec![]),
            priority: Some(50),
            ..Corrections::default()
        };
        let changed = task.correct(&corrections);
        let expected = [
            UserTaskAttribute::Assignee,
            UserTaskAttribute::CandidateGroups,
        ];
        assert_eq!(changed, expected);
        assert!(task.assignee.is_empty() && task.candidate_groups.is_empty());
    }

    #[test]
    fn differences_are_listed_in_the_order_of_names() {
        let one = UserTaskAttributes {
            assignee: "anna".into(),
            priority: 50,
            ..UserTaskAttributes::default()
        };
        let other = UserTaskAttributes {
            priority: 10,
            due_date: "2031-01-01T00:00:00Z".into(),
            ..one.clone()
        };
        let differences = one.differences(&other);
        let names: Vec<_> = differences
            .into_iter()
            .map(UserTaskAttribute::name)
            .collect();
        assert_eq!(names, ["dueDate", "priority"]);
        assert!(one.differences(&one).is_empty());
    }
}
