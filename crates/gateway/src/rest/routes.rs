//! The operations of the API: those that this release carries out, and those that it knows and answers 501 to.

/// What a route does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Topology,
    Status,
    License,
    OpenApi,
    Deploy,
    DeleteResource,
    CreateProcessInstance,
    CancelProcessInstance,
    ActivateJobs,
    StreamJobs,
    CompleteJob,
    FailJob,
    ThrowError,
    UpdateJob,
    PublishMessage,
    CorrelateMessage,
    ResolveIncident,
    SetVariables,
    PinClock,
    ResetClock,
    EvaluateExpression,
    /// An operation of the API that this release does not carry out.
    NotYet,
}

impl Op {
    /// Finishes work that is in the system, so that it is never refused for lack of room (see `Command::is_finishing`).
    pub fn is_finishing(self) -> bool {
        use Op::*;
        matches!(
            self,
            CompleteJob
                | FailJob
                | ThrowError
                | UpdateJob
                | CancelProcessInstance
                | ResolveIncident
        )
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub method: &'static str,
    /// Template; `{name}` stands for one segment.
    pub path: &'static str,
    pub operation: &'static str,
    pub op: Op,
}

const fn route(method: &'static str, path: &'static str, operation: &'static str, op: Op) -> Route {
    Route {
        method,
        path,
        operation,
        op,
    }
}

const fn not_yet(method: &'static str, path: &'static str, operation: &'static str) -> Route {
    route(method, path, operation, Op::NotYet)
}

/// Every method and path that is answered with something else than 404 or 405.
pub const ROUTES: &[Route] = &[
    route("GET", "/v2/topology", "getTopology", Op::Topology),
    route("GET", "/v2/status", "getStatus", Op::Status),
    route("GET", "/v2/license", "getLicense", Op::License),
    route("POST", "/v2/deployments", "createDeployment", Op::Deploy),
    route(
        "POST",
        "/v2/resources/{resourceKey}/deletion",
        "deleteResource",
        Op::DeleteResource,
    ),
    route(
        "POST",
        "/v2/process-instances",
        "createProcessInstance",
        Op::CreateProcessInstance,
    ),
    route(
        "POST",
        "/v2/process-instances/{processInstanceKey}/cancellation",
        "cancelProcessInstance",
        Op::CancelProcessInstance,
    ),
    route(
        "POST",
        "/v2/jobs/activation",
        "activateJobs",
        Op::ActivateJobs,
    ),
    route(
        "POST",
        "/v2/jobs/{jobKey}/completion",
        "completeJob",
        Op::CompleteJob,
    ),
    route("POST", "/v2/jobs/{jobKey}/failure", "failJob", Op::FailJob),
    route(
        "POST",
        "/v2/jobs/{jobKey}/error",
        "throwJobError",
        Op::ThrowError,
    ),
    route("PATCH", "/v2/jobs/{jobKey}", "updateJob", Op::UpdateJob),
    route(
        "POST",
        "/v2/messages/publication",
        "publishMessage",
        Op::PublishMessage,
    ),
    route(
        "POST",
        "/v2/messages/correlation",
        "correlateMessage",
        Op::CorrelateMessage,
    ),
    route(
        "POST",
        "/v2/incidents/{incidentKey}/resolution",
        "resolveIncident",
        Op::ResolveIncident,
    ),
    route(
        "PUT",
        "/v2/element-instances/{elementInstanceKey}/variables",
        "createElementInstanceVariables",
        Op::SetVariables,
    ),
    route("PUT", "/v2/clock", "pinClock", Op::PinClock),
    route("POST", "/v2/clock/reset", "resetClock", Op::ResetClock),
    route(
        "POST",
        "/v2/expression/evaluation",
        "evaluateExpression",
        Op::EvaluateExpression,
    ),
    // our own
    route("POST", "/v2/jobs/stream", "streamJobs", Op::StreamJobs),
    route("GET", "/v2/openapi.json", "getOpenApi", Op::OpenApi),
    // not yet
    not_yet("POST", "/v2/audit-logs/search", "searchAuditLogs"),
    not_yet("GET", "/v2/audit-logs/{auditLogKey}", "getAuditLog"),
    not_yet("GET", "/v2/authentication/me", "getAuthentication"),
    not_yet("POST", "/v2/authorizations", "createAuthorization"),
    not_yet("POST", "/v2/authorizations/search", "searchAuthorizations"),
    not_yet(
        "PUT",
        "/v2/authorizations/{authorizationKey}",
        "updateAuthorization",
    ),
    not_yet(
        "GET",
        "/v2/authorizations/{authorizationKey}",
        "getAuthorization",
    ),
    not_yet(
        "DELETE",
        "/v2/authorizations/{authorizationKey}",
        "deleteAuthorization",
    ),
    not_yet(
        "POST",
        "/v2/batch-operation-items/search",
        "searchBatchOperationItems",
    ),
    not_yet(
        "POST",
        "/v2/batch-operations/search",
        "searchBatchOperations",
    ),
    not_yet(
        "GET",
        "/v2/batch-operations/{batchOperationKey}",
        "getBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/batch-operations/{batchOperationKey}/cancellation",
        "cancelBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/batch-operations/{batchOperationKey}/resumption",
        "resumeBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/batch-operations/{batchOperationKey}/suspension",
        "suspendBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/cluster-variables/global",
        "createGlobalClusterVariable",
    ),
    not_yet(
        "GET",
        "/v2/cluster-variables/global/{name}",
        "getGlobalClusterVariable",
    ),
    not_yet(
        "PUT",
        "/v2/cluster-variables/global/{name}",
        "updateGlobalClusterVariable",
    ),
    not_yet(
        "DELETE",
        "/v2/cluster-variables/global/{name}",
        "deleteGlobalClusterVariable",
    ),
    not_yet(
        "POST",
        "/v2/cluster-variables/search",
        "searchClusterVariables",
    ),
    not_yet(
        "POST",
        "/v2/cluster-variables/tenants/{tenantId}",
        "createTenantClusterVariable",
    ),
    not_yet(
        "GET",
        "/v2/cluster-variables/tenants/{tenantId}/{name}",
        "getTenantClusterVariable",
    ),
    not_yet(
        "PUT",
        "/v2/cluster-variables/tenants/{tenantId}/{name}",
        "updateTenantClusterVariable",
    ),
    not_yet(
        "DELETE",
        "/v2/cluster-variables/tenants/{tenantId}/{name}",
        "deleteTenantClusterVariable",
    ),
    not_yet(
        "POST",
        "/v2/conditionals/evaluation",
        "evaluateConditionals",
    ),
    not_yet(
        "POST",
        "/v2/correlated-message-subscriptions/search",
        "searchCorrelatedMessageSubscriptions",
    ),
    not_yet(
        "POST",
        "/v2/decision-definitions/evaluation",
        "evaluateDecision",
    ),
    not_yet(
        "POST",
        "/v2/decision-definitions/search",
        "searchDecisionDefinitions",
    ),
    not_yet(
        "GET",
        "/v2/decision-definitions/{decisionDefinitionKey}",
        "getDecisionDefinition",
    ),
    not_yet(
        "GET",
        "/v2/decision-definitions/{decisionDefinitionKey}/xml",
        "getDecisionDefinitionXML",
    ),
    not_yet(
        "POST",
        "/v2/decision-instances/search",
        "searchDecisionInstances",
    ),
    not_yet(
        "GET",
        "/v2/decision-instances/{decisionEvaluationInstanceKey}",
        "getDecisionInstance",
    ),
    not_yet(
        "POST",
        "/v2/decision-instances/{decisionEvaluationKey}/deletion",
        "deleteDecisionInstance",
    ),
    not_yet(
        "POST",
        "/v2/decision-instances/deletion",
        "deleteDecisionInstancesBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/decision-requirements/search",
        "searchDecisionRequirements",
    ),
    not_yet(
        "GET",
        "/v2/decision-requirements/{decisionRequirementsKey}",
        "getDecisionRequirements",
    ),
    not_yet(
        "GET",
        "/v2/decision-requirements/{decisionRequirementsKey}/xml",
        "getDecisionRequirementsXML",
    ),
    not_yet("POST", "/v2/documents", "createDocument"),
    not_yet("POST", "/v2/documents/batch", "createDocuments"),
    not_yet("GET", "/v2/documents/{documentId}", "getDocument"),
    not_yet("DELETE", "/v2/documents/{documentId}", "deleteDocument"),
    not_yet(
        "POST",
        "/v2/documents/{documentId}/links",
        "createDocumentLink",
    ),
    not_yet(
        "POST",
        "/v2/element-instances/ad-hoc-activities/{adHocSubProcessInstanceKey}/activation",
        "activateAdHocSubProcessActivities",
    ),
    not_yet(
        "POST",
        "/v2/element-instances/search",
        "searchElementInstances",
    ),
    not_yet(
        "GET",
        "/v2/element-instances/{elementInstanceKey}",
        "getElementInstance",
    ),
    not_yet(
        "POST",
        "/v2/element-instances/{elementInstanceKey}/incidents/search",
        "searchElementInstanceIncidents",
    ),
    not_yet(
        "POST",
        "/v2/global-task-listeners",
        "createGlobalTaskListener",
    ),
    not_yet(
        "GET",
        "/v2/global-task-listeners/{id}",
        "getGlobalTaskListener",
    ),
    not_yet(
        "PUT",
        "/v2/global-task-listeners/{id}",
        "updateGlobalTaskListener",
    ),
    not_yet(
        "DELETE",
        "/v2/global-task-listeners/{id}",
        "deleteGlobalTaskListener",
    ),
    not_yet(
        "POST",
        "/v2/global-task-listeners/search",
        "searchGlobalTaskListeners",
    ),
    not_yet("POST", "/v2/groups", "createGroup"),
    not_yet("POST", "/v2/groups/search", "searchGroups"),
    not_yet("GET", "/v2/groups/{groupId}", "getGroup"),
    not_yet("PUT", "/v2/groups/{groupId}", "updateGroup"),
    not_yet("DELETE", "/v2/groups/{groupId}", "deleteGroup"),
    not_yet(
        "POST",
        "/v2/groups/{groupId}/clients/search",
        "searchClientsForGroup",
    ),
    not_yet(
        "PUT",
        "/v2/groups/{groupId}/clients/{clientId}",
        "assignClientToGroup",
    ),
    not_yet(
        "DELETE",
        "/v2/groups/{groupId}/clients/{clientId}",
        "unassignClientFromGroup",
    ),
    not_yet(
        "POST",
        "/v2/groups/{groupId}/mapping-rules/search",
        "searchMappingRulesForGroup",
    ),
    not_yet(
        "PUT",
        "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}",
        "assignMappingRuleToGroup",
    ),
    not_yet(
        "DELETE",
        "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}",
        "unassignMappingRuleFromGroup",
    ),
    not_yet(
        "POST",
        "/v2/groups/{groupId}/roles/search",
        "searchRolesForGroup",
    ),
    not_yet(
        "POST",
        "/v2/groups/{groupId}/users/search",
        "searchUsersForGroup",
    ),
    not_yet(
        "PUT",
        "/v2/groups/{groupId}/users/{username}",
        "assignUserToGroup",
    ),
    not_yet(
        "DELETE",
        "/v2/groups/{groupId}/users/{username}",
        "unassignUserFromGroup",
    ),
    not_yet("POST", "/v2/incidents/search", "searchIncidents"),
    not_yet("GET", "/v2/incidents/{incidentKey}", "getIncident"),
    not_yet(
        "POST",
        "/v2/incidents/statistics/process-instances-by-definition",
        "getProcessInstanceStatisticsByDefinition",
    ),
    not_yet(
        "POST",
        "/v2/incidents/statistics/process-instances-by-error",
        "getProcessInstanceStatisticsByError",
    ),
    not_yet("POST", "/v2/jobs/search", "searchJobs"),
    not_yet(
        "GET",
        "/v2/jobs/statistics/global",
        "getGlobalJobStatistics",
    ),
    not_yet(
        "POST",
        "/v2/jobs/statistics/by-types",
        "getJobTypeStatistics",
    ),
    not_yet(
        "POST",
        "/v2/jobs/statistics/by-workers",
        "getJobWorkerStatistics",
    ),
    not_yet(
        "POST",
        "/v2/jobs/statistics/time-series",
        "getJobTimeSeriesStatistics",
    ),
    not_yet(
        "POST",
        "/v2/jobs/statistics/errors",
        "getJobErrorStatistics",
    ),
    not_yet("POST", "/v2/mapping-rules", "createMappingRule"),
    not_yet("POST", "/v2/mapping-rules/search", "searchMappingRule"),
    not_yet(
        "PUT",
        "/v2/mapping-rules/{mappingRuleId}",
        "updateMappingRule",
    ),
    not_yet(
        "DELETE",
        "/v2/mapping-rules/{mappingRuleId}",
        "deleteMappingRule",
    ),
    not_yet("GET", "/v2/mapping-rules/{mappingRuleId}", "getMappingRule"),
    not_yet(
        "POST",
        "/v2/message-subscriptions/search",
        "searchMessageSubscriptions",
    ),
    not_yet(
        "POST",
        "/v2/process-definitions/search",
        "searchProcessDefinitions",
    ),
    not_yet(
        "POST",
        "/v2/process-definitions/statistics/message-subscriptions",
        "getProcessDefinitionMessageSubscriptionStatistics",
    ),
    not_yet(
        "POST",
        "/v2/process-definitions/statistics/process-instances",
        "getProcessDefinitionInstanceStatistics",
    ),
    not_yet(
        "GET",
        "/v2/process-definitions/{processDefinitionKey}",
        "getProcessDefinition",
    ),
    not_yet(
        "GET",
        "/v2/process-definitions/{processDefinitionKey}/form",
        "getStartProcessForm",
    ),
    not_yet(
        "POST",
        "/v2/process-definitions/{processDefinitionKey}/statistics/element-instances",
        "getProcessDefinitionStatistics",
    ),
    not_yet(
        "GET",
        "/v2/process-definitions/{processDefinitionKey}/xml",
        "getProcessDefinitionXML",
    ),
    not_yet(
        "POST",
        "/v2/process-definitions/statistics/process-instances-by-version",
        "getProcessDefinitionInstanceVersionStatistics",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/cancellation",
        "cancelProcessInstancesBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/deletion",
        "deleteProcessInstancesBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/incident-resolution",
        "resolveIncidentsBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/migration",
        "migrateProcessInstancesBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/modification",
        "modifyProcessInstancesBatchOperation",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/search",
        "searchProcessInstances",
    ),
    not_yet(
        "GET",
        "/v2/process-instances/{processInstanceKey}",
        "getProcessInstance",
    ),
    not_yet(
        "GET",
        "/v2/process-instances/{processInstanceKey}/call-hierarchy",
        "getProcessInstanceCallHierarchy",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/{processInstanceKey}/deletion",
        "deleteProcessInstance",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/{processInstanceKey}/incident-resolution",
        "resolveProcessInstanceIncidents",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/{processInstanceKey}/incidents/search",
        "searchProcessInstanceIncidents",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/{processInstanceKey}/migration",
        "migrateProcessInstance",
    ),
    not_yet(
        "POST",
        "/v2/process-instances/{processInstanceKey}/modification",
        "modifyProcessInstance",
    ),
    not_yet(
        "GET",
        "/v2/process-instances/{processInstanceKey}/sequence-flows",
        "getProcessInstanceSequenceFlows",
    ),
    not_yet(
        "GET",
        "/v2/process-instances/{processInstanceKey}/statistics/element-instances",
        "getProcessInstanceStatistics",
    ),
    not_yet("GET", "/v2/resources/{resourceKey}", "getResource"),
    not_yet(
        "GET",
        "/v2/resources/{resourceKey}/content",
        "getResourceContent",
    ),
    not_yet("POST", "/v2/roles", "createRole"),
    not_yet("POST", "/v2/roles/search", "searchRoles"),
    not_yet("GET", "/v2/roles/{roleId}", "getRole"),
    not_yet("PUT", "/v2/roles/{roleId}", "updateRole"),
    not_yet("DELETE", "/v2/roles/{roleId}", "deleteRole"),
    not_yet(
        "POST",
        "/v2/roles/{roleId}/clients/search",
        "searchClientsForRole",
    ),
    not_yet(
        "PUT",
        "/v2/roles/{roleId}/clients/{clientId}",
        "assignRoleToClient",
    ),
    not_yet(
        "DELETE",
        "/v2/roles/{roleId}/clients/{clientId}",
        "unassignRoleFromClient",
    ),
    not_yet(
        "POST",
        "/v2/roles/{roleId}/groups/search",
        "searchGroupsForRole",
    ),
    not_yet(
        "PUT",
        "/v2/roles/{roleId}/groups/{groupId}",
        "assignRoleToGroup",
    ),
    not_yet(
        "DELETE",
        "/v2/roles/{roleId}/groups/{groupId}",
        "unassignRoleFromGroup",
    ),
    not_yet(
        "POST",
        "/v2/roles/{roleId}/mapping-rules/search",
        "searchMappingRulesForRole",
    ),
    not_yet(
        "PUT",
        "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}",
        "assignRoleToMappingRule",
    ),
    not_yet(
        "DELETE",
        "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}",
        "unassignRoleFromMappingRule",
    ),
    not_yet(
        "POST",
        "/v2/roles/{roleId}/users/search",
        "searchUsersForRole",
    ),
    not_yet(
        "PUT",
        "/v2/roles/{roleId}/users/{username}",
        "assignRoleToUser",
    ),
    not_yet(
        "DELETE",
        "/v2/roles/{roleId}/users/{username}",
        "unassignRoleFromUser",
    ),
    not_yet("POST", "/v2/setup/user", "createAdminUser"),
    not_yet("POST", "/v2/signals/broadcast", "broadcastSignal"),
    not_yet("GET", "/v2/system/usage-metrics", "getUsageMetrics"),
    not_yet("GET", "/v2/system/configuration", "getSystemConfiguration"),
    not_yet("POST", "/v2/tenants", "createTenant"),
    not_yet("POST", "/v2/tenants/search", "searchTenants"),
    not_yet("GET", "/v2/tenants/{tenantId}", "getTenant"),
    not_yet("PUT", "/v2/tenants/{tenantId}", "updateTenant"),
    not_yet("DELETE", "/v2/tenants/{tenantId}", "deleteTenant"),
    not_yet(
        "POST",
        "/v2/tenants/{tenantId}/clients/search",
        "searchClientsForTenant",
    ),
    not_yet(
        "PUT",
        "/v2/tenants/{tenantId}/clients/{clientId}",
        "assignClientToTenant",
    ),
    not_yet(
        "DELETE",
        "/v2/tenants/{tenantId}/clients/{clientId}",
        "unassignClientFromTenant",
    ),
    not_yet(
        "POST",
        "/v2/tenants/{tenantId}/groups/search",
        "searchGroupIdsForTenant",
    ),
    not_yet(
        "PUT",
        "/v2/tenants/{tenantId}/groups/{groupId}",
        "assignGroupToTenant",
    ),
    not_yet(
        "DELETE",
        "/v2/tenants/{tenantId}/groups/{groupId}",
        "unassignGroupFromTenant",
    ),
    not_yet(
        "POST",
        "/v2/tenants/{tenantId}/mapping-rules/search",
        "searchMappingRulesForTenant",
    ),
    not_yet(
        "PUT",
        "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}",
        "assignMappingRuleToTenant",
    ),
    not_yet(
        "DELETE",
        "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}",
        "unassignMappingRuleFromTenant",
    ),
    not_yet(
        "POST",
        "/v2/tenants/{tenantId}/roles/search",
        "searchRolesForTenant",
    ),
    not_yet(
        "PUT",
        "/v2/tenants/{tenantId}/roles/{roleId}",
        "assignRoleToTenant",
    ),
    not_yet(
        "DELETE",
        "/v2/tenants/{tenantId}/roles/{roleId}",
        "unassignRoleFromTenant",
    ),
    not_yet(
        "POST",
        "/v2/tenants/{tenantId}/users/search",
        "searchUsersForTenant",
    ),
    not_yet(
        "PUT",
        "/v2/tenants/{tenantId}/users/{username}",
        "assignUserToTenant",
    ),
    not_yet(
        "DELETE",
        "/v2/tenants/{tenantId}/users/{username}",
        "unassignUserFromTenant",
    ),
    not_yet("POST", "/v2/users", "createUser"),
    not_yet("POST", "/v2/users/search", "searchUsers"),
    not_yet("GET", "/v2/users/{username}", "getUser"),
    not_yet("PUT", "/v2/users/{username}", "updateUser"),
    not_yet("DELETE", "/v2/users/{username}", "deleteUser"),
    not_yet("POST", "/v2/user-tasks/search", "searchUserTasks"),
    not_yet("GET", "/v2/user-tasks/{userTaskKey}", "getUserTask"),
    not_yet("PATCH", "/v2/user-tasks/{userTaskKey}", "updateUserTask"),
    not_yet(
        "DELETE",
        "/v2/user-tasks/{userTaskKey}/assignee",
        "unassignUserTask",
    ),
    not_yet(
        "POST",
        "/v2/user-tasks/{userTaskKey}/assignment",
        "assignUserTask",
    ),
    not_yet(
        "POST",
        "/v2/user-tasks/{userTaskKey}/audit-logs/search",
        "searchUserTaskAuditLogs",
    ),
    not_yet(
        "POST",
        "/v2/user-tasks/{userTaskKey}/completion",
        "completeUserTask",
    ),
    not_yet(
        "POST",
        "/v2/user-tasks/{userTaskKey}/effective-variables/search",
        "searchUserTaskEffectiveVariables",
    ),
    not_yet(
        "GET",
        "/v2/user-tasks/{userTaskKey}/form",
        "getUserTaskForm",
    ),
    not_yet(
        "POST",
        "/v2/user-tasks/{userTaskKey}/variables/search",
        "searchUserTaskVariables",
    ),
    not_yet("POST", "/v2/variables/search", "searchVariables"),
    not_yet("GET", "/v2/variables/{variableKey}", "getVariable"),
];
