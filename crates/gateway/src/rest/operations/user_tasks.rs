//! Operations of user tasks.

use skep_protocol::command::{Command, Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::{AUDIT_LOG, FORM, GLOBAL_TASK_LISTENER, USER_TASK, VARIABLE};

use super::path::{Id, Name};
use super::rows::operations;
use crate::rest::decode::{global_listeners, user_tasks};
use crate::rest::queries::{self, What, related};

operations! { "User tasks":
    POST "/v2/user-tasks/{userTaskKey}/assignment" (userTaskKey: Key) assignUserTask {
        does: Command(AssignUserTask) = |call| user_tasks::assign(userTaskKey, call.text, call.front),
    }
    DELETE "/v2/user-tasks/{userTaskKey}/assignee" (userTaskKey: Key) unassignUserTask {
        does: Command(AssignUserTask) = |call| user_tasks::unassign(userTaskKey, call.text, call.front),
    }
    PATCH "/v2/user-tasks/{userTaskKey}" (userTaskKey: Key) updateUserTask {
        does: Command(UpdateUserTask) = |call| user_tasks::update(userTaskKey, call.text, call.front),
    }
    POST "/v2/user-tasks/{userTaskKey}/completion" (userTaskKey: Key) completeUserTask {
        does: Command(CompleteUserTask) = |call| user_tasks::complete(userTaskKey, call.text, call.front),
    }
    POST "/v2/global-task-listeners" () createGlobalTaskListener {
        does: Command(CreateGlobalListener) = |call| global_listeners::create(call.text, call.front),
    }
    PUT "/v2/global-task-listeners/{id}" (id: Name) updateGlobalTaskListener {
        does: Command(UpdateGlobalListener) = |call| global_listeners::update(id, call.text, call.front),
    }
    DELETE "/v2/global-task-listeners/{id}" (id: Name) deleteGlobalTaskListener {
        does: Command(DeleteGlobalListener) = |call| global_listeners::delete(id, call.text, call.front),
    }
    GET "/v2/user-tasks/{userTaskKey}" (userTaskKey: Key) getUserTask {
        does: One(USER_TASK),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadUserTask, UserTask: Read], On::Found),
    }
    POST "/v2/user-tasks/search" () searchUserTasks {
        does: Page(USER_TASK),
        needs: Need::Filters(grants![ProcessDefinition: ReadUserTask, UserTask: Read]),
    }
    POST "/v2/user-tasks/{userTaskKey}/effective-variables/search" (userTaskKey: Key) searchUserTaskEffectiveVariables {
        does: Query(VARIABLE) = |call| related::task_variables(userTaskKey, call.text, call.parts, true),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/v2/user-tasks/{userTaskKey}/form" (userTaskKey: Key) getUserTaskForm {
        does: Query(FORM) = |_| Ok(What::UserTaskForm(userTaskKey)),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadUserTask, UserTask: Read], On::Found),
    }
    POST "/v2/user-tasks/{userTaskKey}/variables/search" (userTaskKey: Key) searchUserTaskVariables {
        does: Query(VARIABLE) = |call| related::task_variables(userTaskKey, call.text, call.parts, false),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadProcessInstance], On::Found),
    }
    GET "/v2/global-task-listeners/{id}" (id: Id) getGlobalTaskListener {
        does: Query(GLOBAL_TASK_LISTENER) = |_| related::global_listener(id),
        needs: Need::AnyOf(grants![GlobalListener: ReadTaskListener], On::Any),
    }
    POST "/v2/global-task-listeners/search" () searchGlobalTaskListeners {
        does: Query(GLOBAL_TASK_LISTENER) = |call| related::global_listeners(call.text, call.parts),
        needs: Need::Filters(grants![GlobalListener: ReadTaskListener]),
    }
    POST "/v2/user-tasks/{userTaskKey}/audit-logs/search" (userTaskKey: Key) searchUserTaskAuditLogs {
        does: Query(AUDIT_LOG) = |call| related::task_audit_log(userTaskKey, call.text, call.parts),
        needs: Need::AnyOf(grants![ProcessDefinition: ReadUserTask, UserTask: Read], On::Found),
    }
}
