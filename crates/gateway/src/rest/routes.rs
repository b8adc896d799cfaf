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
    MigrateProcessInstance,
    ModifyProcessInstance,
    ActivateJobs,
    StreamJobs,
    CompleteJob,
    FailJob,
    ThrowError,
    UpdateJob,
    PublishMessage,
    CorrelateMessage,
    BroadcastSignal,
    ResolveIncident,
    SetVariables,
    ActivateAdHoc,
    AssignUserTask,
    UnassignUserTask,
    UpdateUserTask,
    CompleteUserTask,
    CreateGlobalTaskListener,
    UpdateGlobalTaskListener,
    DeleteGlobalTaskListener,
    GetGlobalTaskListener,
    SearchGlobalTaskListeners,
    PinClock,
    ResetClock,
    EvaluateExpression,
    SearchProcessDefinitions,
    GetProcessDefinition,
    GetProcessDefinitionXml,
    SearchProcessInstances,
    GetProcessInstance,
    GetCallHierarchy,
    GetSequenceFlows,
    GetElementStatistics,
    SearchProcessInstanceIncidents,
    SearchElementInstances,
    GetElementInstance,
    SearchElementInstanceIncidents,
    SearchVariables,
    GetVariable,
    SearchIncidents,
    CancelProcessInstances,
    ResolveIncidents,
    MigrateProcessInstances,
    ModifyProcessInstances,
    DeleteProcessInstances,
    DeleteProcessInstance,
    DeleteDecisionInstances,
    DeleteDecisionInstance,
    ResolveProcessInstanceIncidents,
    CancelBatchOperation,
    SuspendBatchOperation,
    ResumeBatchOperation,
    GetBatchOperation,
    SearchBatchOperations,
    SearchBatchOperationItems,
    GetIncident,
    SearchJobs,
    GetUserTask,
    SearchUserTasks,
    GetWaitingStates,
    SearchWaitStates,
    GetWaitStateStatistics,
    IncidentsByError,
    IncidentsByDefinition,
    SubscriptionStatistics,
    InstanceStatistics,
    VersionStatistics,
    DefinitionElementStatistics,
    SearchDecisionDefinitions,
    GetDecisionDefinition,
    GetDecisionDefinitionXml,
    SearchDecisionInstances,
    GetDecisionInstance,
    SearchDecisionRequirements,
    GetDecisionRequirements,
    GetDecisionRequirementsXml,
    SearchMessageSubscriptions,
    SearchCorrelatedMessageSubscriptions,
    GetResource,
    GetResourceContent,
    GetStartForm,
    GetUserTaskForm,
    SearchUserTaskVariables,
    SearchUserTaskEffectiveVariables,
    EvaluateDecision,
    EvaluateConditionals,
    CreateGlobalClusterVariable,
    GetGlobalClusterVariable,
    GetTenantClusterVariable,
    SearchClusterVariables,
    UpdateGlobalClusterVariable,
    DeleteGlobalClusterVariable,
    CreateTenantClusterVariable,
    UpdateTenantClusterVariable,
    DeleteTenantClusterVariable,
    JobStatistics,
    JobStatisticsByType,
    JobStatisticsByWorker,
    JobStatisticsByTime,
    JobErrorStatistics,
    SearchAuditLogs,
    GetAuditLog,
    SearchUserTaskAuditLogs,
    GetUsageMetrics,
    GetForm,
    SearchResources,
    SearchVariableNames,
    GetResourceBytes,
    CreateDocument,
    CreateDocuments,
    GetDocument,
    DeleteDocument,
    CreateDocumentLink,
    GetSystemConfiguration,
    /// An operation of the API that this release does not carry out.
    NotYet,
}

impl Op {
    /// Is about a batch operation, or is one, or does what one does.
    pub fn is_of_batch_operations(self) -> bool {
        use Op::*;
        matches!(
            self,
            CancelProcessInstances
                | ResolveIncidents
                | MigrateProcessInstances
                | ModifyProcessInstances
                | DeleteProcessInstances
                | DeleteProcessInstance
                | DeleteDecisionInstances
                | DeleteDecisionInstance
                | ResolveProcessInstanceIncidents
                | CancelBatchOperation
                | SuspendBatchOperation
                | ResumeBatchOperation
        )
    }

    /// Is carried out by the stores of documents, and not by the broker.
    pub fn is_of_documents(self) -> bool {
        use Op::*;
        matches!(
            self,
            CreateDocument | CreateDocuments | GetDocument | DeleteDocument | CreateDocumentLink
        )
    }

    /// Takes files in parts of its body.
    pub fn takes_files(self) -> bool {
        matches!(self, Op::Deploy | Op::CreateDocument | Op::CreateDocuments)
    }

    /// Finishes work that is in the system, so that it is never refused for lack of room (see `Class` of commands).
    pub fn is_finishing(self) -> bool {
        use Op::*;
        matches!(
            self,
            CompleteJob
                | FailJob
                | ThrowError
                | UpdateJob
                | CompleteUserTask
                | CancelProcessInstance
                | ResolveIncident
                | CancelBatchOperation
                | SuspendBatchOperation
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

macro_rules! routes {
    ($($method:ident $path:literal $operation:ident $(=> $op:ident)?;)+) => {
        &[$(Route {
            method: stringify!($method),
            path: $path,
            operation: stringify!($operation),
            op: routes!(@op $($op)?),
        }),+]
    };
    (@op) => { Op::NotYet };
    (@op $op:ident) => { Op::$op };
}

/// Every method and path that is answered with something else than 404 or 405. Those without an operation of ours are not
/// there yet.
pub const ROUTES: &[Route] = routes! {
    GET "/v2/topology" getTopology => Topology;
    GET "/v2/status" getStatus => Status;
    GET "/v2/license" getLicense => License;
    GET "/v2/system/configuration" getSystemConfiguration => GetSystemConfiguration;
    POST "/v2/deployments" createDeployment => Deploy;
    POST "/v2/resources/{resourceKey}/deletion" deleteResource => DeleteResource;
    POST "/v2/process-instances" createProcessInstance => CreateProcessInstance;
    POST "/v2/process-instances/{processInstanceKey}/cancellation" cancelProcessInstance => CancelProcessInstance;
    POST "/v2/process-instances/{processInstanceKey}/migration" migrateProcessInstance => MigrateProcessInstance;
    POST "/v2/process-instances/{processInstanceKey}/modification" modifyProcessInstance => ModifyProcessInstance;
    POST "/v2/jobs/activation" activateJobs => ActivateJobs;
    POST "/v2/jobs/{jobKey}/completion" completeJob => CompleteJob;
    POST "/v2/jobs/{jobKey}/failure" failJob => FailJob;
    POST "/v2/jobs/{jobKey}/error" throwJobError => ThrowError;
    PATCH "/v2/jobs/{jobKey}" updateJob => UpdateJob;
    POST "/v2/messages/publication" publishMessage => PublishMessage;
    POST "/v2/messages/correlation" correlateMessage => CorrelateMessage;
    POST "/v2/signals/broadcast" broadcastSignal => BroadcastSignal;
    POST "/v2/incidents/{incidentKey}/resolution" resolveIncident => ResolveIncident;
    PUT "/v2/element-instances/{elementInstanceKey}/variables" createElementInstanceVariables => SetVariables;
    POST "/v2/element-instances/ad-hoc-activities/{adHocSubProcessInstanceKey}/activation" activateAdHocSubProcessActivities => ActivateAdHoc;
    POST "/v2/decision-definitions/evaluation" evaluateDecision => EvaluateDecision;
    POST "/v2/user-tasks/{userTaskKey}/assignment" assignUserTask => AssignUserTask;
    DELETE "/v2/user-tasks/{userTaskKey}/assignee" unassignUserTask => UnassignUserTask;
    PATCH "/v2/user-tasks/{userTaskKey}" updateUserTask => UpdateUserTask;
    POST "/v2/user-tasks/{userTaskKey}/completion" completeUserTask => CompleteUserTask;
    POST "/v2/global-task-listeners" createGlobalTaskListener => CreateGlobalTaskListener;
    PUT "/v2/global-task-listeners/{id}" updateGlobalTaskListener => UpdateGlobalTaskListener;
    DELETE "/v2/global-task-listeners/{id}" deleteGlobalTaskListener => DeleteGlobalTaskListener;
    POST "/v2/cluster-variables/global" createGlobalClusterVariable => CreateGlobalClusterVariable;
    PUT "/v2/cluster-variables/global/{name}" updateGlobalClusterVariable => UpdateGlobalClusterVariable;
    DELETE "/v2/cluster-variables/global/{name}" deleteGlobalClusterVariable => DeleteGlobalClusterVariable;
    POST "/v2/cluster-variables/tenants/{tenantId}" createTenantClusterVariable => CreateTenantClusterVariable;
    PUT "/v2/cluster-variables/tenants/{tenantId}/{name}" updateTenantClusterVariable => UpdateTenantClusterVariable;
    DELETE "/v2/cluster-variables/tenants/{tenantId}/{name}" deleteTenantClusterVariable => DeleteTenantClusterVariable;
    POST "/v2/conditionals/evaluation" evaluateConditionals => EvaluateConditionals;
    POST "/v2/batch-operations/{batchOperationKey}/cancellation" cancelBatchOperation => CancelBatchOperation;
    POST "/v2/batch-operations/{batchOperationKey}/resumption" resumeBatchOperation => ResumeBatchOperation;
    POST "/v2/batch-operations/{batchOperationKey}/suspension" suspendBatchOperation => SuspendBatchOperation;
    POST "/v2/process-instances/cancellation" cancelProcessInstancesBatchOperation => CancelProcessInstances;
    POST "/v2/process-instances/deletion" deleteProcessInstancesBatchOperation => DeleteProcessInstances;
    POST "/v2/decision-instances/{decisionEvaluationKey}/deletion" deleteDecisionInstance => DeleteDecisionInstance;
    POST "/v2/decision-instances/deletion" deleteDecisionInstancesBatchOperation => DeleteDecisionInstances;
    POST "/v2/process-instances/incident-resolution" resolveIncidentsBatchOperation => ResolveIncidents;
    POST "/v2/process-instances/migration" migrateProcessInstancesBatchOperation => MigrateProcessInstances;
    POST "/v2/process-instances/modification" modifyProcessInstancesBatchOperation => ModifyProcessInstances;
    POST "/v2/process-instances/{processInstanceKey}/deletion" deleteProcessInstance => DeleteProcessInstance;
    POST "/v2/process-instances/{processInstanceKey}/incident-resolution" resolveProcessInstanceIncidents => ResolveProcessInstanceIncidents;
    PUT "/v2/clock" pinClock => PinClock;
    POST "/v2/clock/reset" resetClock => ResetClock;
    POST "/v2/expression/evaluation" evaluateExpression => EvaluateExpression;

    // of the stores of documents
    POST "/v2/documents" createDocument => CreateDocument;
    POST "/v2/documents/batch" createDocuments => CreateDocuments;
    GET "/v2/documents/{documentId}" getDocument => GetDocument;
    DELETE "/v2/documents/{documentId}" deleteDocument => DeleteDocument;
    POST "/v2/documents/{documentId}/links" createDocumentLink => CreateDocumentLink;

    // answered from secondary storage
    POST "/v2/process-definitions/search" searchProcessDefinitions => SearchProcessDefinitions;
    GET "/v2/process-definitions/{processDefinitionKey}" getProcessDefinition => GetProcessDefinition;
    GET "/v2/process-definitions/{processDefinitionKey}/xml" getProcessDefinitionXML => GetProcessDefinitionXml;
    POST "/v2/process-instances/search" searchProcessInstances => SearchProcessInstances;
    GET "/v2/process-instances/{processInstanceKey}" getProcessInstance => GetProcessInstance;
    GET "/v2/process-instances/{processInstanceKey}/call-hierarchy" getProcessInstanceCallHierarchy => GetCallHierarchy;
    GET "/v2/process-instances/{processInstanceKey}/sequence-flows" getProcessInstanceSequenceFlows => GetSequenceFlows;
    GET "/v2/process-instances/{processInstanceKey}/statistics/element-instances" getProcessInstanceStatistics => GetElementStatistics;
    POST "/v2/process-instances/{processInstanceKey}/incidents/search" searchProcessInstanceIncidents => SearchProcessInstanceIncidents;
    POST "/v2/element-instances/search" searchElementInstances => SearchElementInstances;
    GET "/v2/element-instances/{elementInstanceKey}" getElementInstance => GetElementInstance;
    POST "/v2/element-instances/{elementInstanceKey}/incidents/search" searchElementInstanceIncidents => SearchElementInstanceIncidents;
    POST "/v2/variables/search" searchVariables => SearchVariables;
    GET "/v2/variables/{variableKey}" getVariable => GetVariable;
    POST "/v2/batch-operation-items/search" searchBatchOperationItems => SearchBatchOperationItems;
    POST "/v2/batch-operations/search" searchBatchOperations => SearchBatchOperations;
    GET "/v2/batch-operations/{batchOperationKey}" getBatchOperation => GetBatchOperation;
    POST "/v2/incidents/search" searchIncidents => SearchIncidents;
    GET "/v2/incidents/{incidentKey}" getIncident => GetIncident;
    POST "/v2/jobs/search" searchJobs => SearchJobs;
    GET "/v2/user-tasks/{userTaskKey}" getUserTask => GetUserTask;
    POST "/v2/user-tasks/search" searchUserTasks => SearchUserTasks;
    POST "/v2/incidents/statistics/process-instances-by-definition" getProcessInstanceStatisticsByDefinition => IncidentsByDefinition;
    POST "/v2/incidents/statistics/process-instances-by-error" getProcessInstanceStatisticsByError => IncidentsByError;
    POST "/v2/process-definitions/statistics/message-subscriptions" getProcessDefinitionMessageSubscriptionStatistics => SubscriptionStatistics;
    POST "/v2/process-definitions/statistics/process-instances" getProcessDefinitionInstanceStatistics => InstanceStatistics;
    POST "/v2/process-definitions/{processDefinitionKey}/statistics/element-instances" getProcessDefinitionStatistics => DefinitionElementStatistics;
    POST "/v2/process-definitions/statistics/process-instances-by-version" getProcessDefinitionInstanceVersionStatistics => VersionStatistics;
    POST "/v2/correlated-message-subscriptions/search" searchCorrelatedMessageSubscriptions => SearchCorrelatedMessageSubscriptions;
    POST "/v2/decision-definitions/search" searchDecisionDefinitions => SearchDecisionDefinitions;
    GET "/v2/decision-definitions/{decisionDefinitionKey}" getDecisionDefinition => GetDecisionDefinition;
    GET "/v2/decision-definitions/{decisionDefinitionKey}/xml" getDecisionDefinitionXML => GetDecisionDefinitionXml;
    POST "/v2/decision-instances/search" searchDecisionInstances => SearchDecisionInstances;
    GET "/v2/decision-instances/{decisionEvaluationInstanceKey}" getDecisionInstance => GetDecisionInstance;
    POST "/v2/decision-requirements/search" searchDecisionRequirements => SearchDecisionRequirements;
    GET "/v2/decision-requirements/{decisionRequirementsKey}" getDecisionRequirements => GetDecisionRequirements;
    GET "/v2/decision-requirements/{decisionRequirementsKey}/xml" getDecisionRequirementsXML => GetDecisionRequirementsXml;
    POST "/v2/message-subscriptions/search" searchMessageSubscriptions => SearchMessageSubscriptions;
    GET "/v2/process-definitions/{processDefinitionKey}/form" getStartProcessForm => GetStartForm;
    GET "/v2/resources/{resourceKey}" getResource => GetResource;
    GET "/v2/resources/{resourceKey}/content" getResourceContent => GetResourceContent;
    POST "/v2/user-tasks/{userTaskKey}/effective-variables/search" searchUserTaskEffectiveVariables => SearchUserTaskEffectiveVariables;
    GET "/v2/user-tasks/{userTaskKey}/form" getUserTaskForm => GetUserTaskForm;
    POST "/v2/user-tasks/{userTaskKey}/variables/search" searchUserTaskVariables => SearchUserTaskVariables;
    GET "/v2/global-task-listeners/{id}" getGlobalTaskListener => GetGlobalTaskListener;
    POST "/v2/global-task-listeners/search" searchGlobalTaskListeners => SearchGlobalTaskListeners;
    GET "/v2/cluster-variables/global/{name}" getGlobalClusterVariable => GetGlobalClusterVariable;
    POST "/v2/cluster-variables/search" searchClusterVariables => SearchClusterVariables;
    GET "/v2/cluster-variables/tenants/{tenantId}/{name}" getTenantClusterVariable => GetTenantClusterVariable;
    GET "/v2/jobs/statistics/global" getGlobalJobStatistics => JobStatistics;
    POST "/v2/jobs/statistics/by-types" getJobTypeStatistics => JobStatisticsByType;
    POST "/v2/jobs/statistics/by-workers" getJobWorkerStatistics => JobStatisticsByWorker;
    POST "/v2/jobs/statistics/time-series" getJobTimeSeriesStatistics => JobStatisticsByTime;
    POST "/v2/jobs/statistics/errors" getJobErrorStatistics => JobErrorStatistics;
    POST "/v2/audit-logs/search" searchAuditLogs => SearchAuditLogs;
    GET "/v2/audit-logs/{auditLogKey}" getAuditLog => GetAuditLog;
    POST "/v2/user-tasks/{userTaskKey}/audit-logs/search" searchUserTaskAuditLogs => SearchUserTaskAuditLogs;
    GET "/v2/system/usage-metrics" getUsageMetrics => GetUsageMetrics;

    // of 8.10
    POST "/v2/element-instances/wait-states/search" searchElementInstanceWaitStates => SearchWaitStates;
    GET "/v2/forms/{formKey}" getFormByKey => GetForm;
    POST "/v2/resources/search" searchResources => SearchResources;
    POST "/v2/process-definitions/{processDefinitionKey}/variable-names/search" searchProcessDefinitionVariableNames => SearchVariableNames;
    GET "/v2/process-instances/{processInstanceKey}/statistics/wait-states" getProcessInstanceWaitStateStatistics => GetWaitStateStatistics;
    GET "/v2/resources/{resourceKey}/content/binary" getResourceContentBinary => GetResourceBytes;

    // our own
    GET "/v2/process-instances/{processInstanceKey}/waiting-states" getProcessInstanceWaitingStates => GetWaitingStates;
    POST "/v2/jobs/stream" streamJobs => StreamJobs;
    GET "/v2/openapi.json" getOpenApi => OpenApi;

    // not yet
    GET "/v2/authentication/me" getAuthentication;
    POST "/v2/authorizations" createAuthorization;
    POST "/v2/authorizations/search" searchAuthorizations;
    PUT "/v2/authorizations/{authorizationKey}" updateAuthorization;
    GET "/v2/authorizations/{authorizationKey}" getAuthorization;
    DELETE "/v2/authorizations/{authorizationKey}" deleteAuthorization;
    POST "/v2/groups" createGroup;
    POST "/v2/groups/search" searchGroups;
    GET "/v2/groups/{groupId}" getGroup;
    PUT "/v2/groups/{groupId}" updateGroup;
    DELETE "/v2/groups/{groupId}" deleteGroup;
    POST "/v2/groups/{groupId}/clients/search" searchClientsForGroup;
    PUT "/v2/groups/{groupId}/clients/{clientId}" assignClientToGroup;
    DELETE "/v2/groups/{groupId}/clients/{clientId}" unassignClientFromGroup;
    POST "/v2/groups/{groupId}/mapping-rules/search" searchMappingRulesForGroup;
    PUT "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}" assignMappingRuleToGroup;
    DELETE "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}" unassignMappingRuleFromGroup;
    POST "/v2/groups/{groupId}/roles/search" searchRolesForGroup;
    POST "/v2/groups/{groupId}/users/search" searchUsersForGroup;
    PUT "/v2/groups/{groupId}/users/{username}" assignUserToGroup;
    DELETE "/v2/groups/{groupId}/users/{username}" unassignUserFromGroup;
    POST "/v2/mapping-rules" createMappingRule;
    POST "/v2/mapping-rules/search" searchMappingRule;
    PUT "/v2/mapping-rules/{mappingRuleId}" updateMappingRule;
    DELETE "/v2/mapping-rules/{mappingRuleId}" deleteMappingRule;
    GET "/v2/mapping-rules/{mappingRuleId}" getMappingRule;
    POST "/v2/roles" createRole;
    POST "/v2/roles/search" searchRoles;
    GET "/v2/roles/{roleId}" getRole;
    PUT "/v2/roles/{roleId}" updateRole;
    DELETE "/v2/roles/{roleId}" deleteRole;
    POST "/v2/roles/{roleId}/clients/search" searchClientsForRole;
    PUT "/v2/roles/{roleId}/clients/{clientId}" assignRoleToClient;
    DELETE "/v2/roles/{roleId}/clients/{clientId}" unassignRoleFromClient;
    POST "/v2/roles/{roleId}/groups/search" searchGroupsForRole;
    PUT "/v2/roles/{roleId}/groups/{groupId}" assignRoleToGroup;
    DELETE "/v2/roles/{roleId}/groups/{groupId}" unassignRoleFromGroup;
    POST "/v2/roles/{roleId}/mapping-rules/search" searchMappingRulesForRole;
    PUT "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}" assignRoleToMappingRule;
    DELETE "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}" unassignRoleFromMappingRule;
    POST "/v2/roles/{roleId}/users/search" searchUsersForRole;
    PUT "/v2/roles/{roleId}/users/{username}" assignRoleToUser;
    DELETE "/v2/roles/{roleId}/users/{username}" unassignRoleFromUser;
    POST "/v2/setup/user" createAdminUser;
    POST "/v2/tenants" createTenant;
    POST "/v2/tenants/search" searchTenants;
    GET "/v2/tenants/{tenantId}" getTenant;
    PUT "/v2/tenants/{tenantId}" updateTenant;
    DELETE "/v2/tenants/{tenantId}" deleteTenant;
    POST "/v2/tenants/{tenantId}/clients/search" searchClientsForTenant;
    PUT "/v2/tenants/{tenantId}/clients/{clientId}" assignClientToTenant;
    DELETE "/v2/tenants/{tenantId}/clients/{clientId}" unassignClientFromTenant;
    POST "/v2/tenants/{tenantId}/groups/search" searchGroupIdsForTenant;
    PUT "/v2/tenants/{tenantId}/groups/{groupId}" assignGroupToTenant;
    DELETE "/v2/tenants/{tenantId}/groups/{groupId}" unassignGroupFromTenant;
    POST "/v2/tenants/{tenantId}/mapping-rules/search" searchMappingRulesForTenant;
    PUT "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}" assignMappingRuleToTenant;
    DELETE "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}" unassignMappingRuleFromTenant;
    POST "/v2/tenants/{tenantId}/roles/search" searchRolesForTenant;
    PUT "/v2/tenants/{tenantId}/roles/{roleId}" assignRoleToTenant;
    DELETE "/v2/tenants/{tenantId}/roles/{roleId}" unassignRoleFromTenant;
    POST "/v2/tenants/{tenantId}/users/search" searchUsersForTenant;
    PUT "/v2/tenants/{tenantId}/users/{username}" assignUserToTenant;
    DELETE "/v2/tenants/{tenantId}/users/{username}" unassignUserFromTenant;
    POST "/v2/users" createUser;
    POST "/v2/users/search" searchUsers;
    GET "/v2/users/{username}" getUser;
    PUT "/v2/users/{username}" updateUser;
    DELETE "/v2/users/{username}" deleteUser;
    // Of 8.10.
    POST "/v2/agent-definitions/search" searchAgentDefinitions;
    GET "/v2/agent-definitions/{agentDefinitionKey}" getAgentDefinition;
    POST "/v2/agent-instances" createAgentInstance;
    POST "/v2/agent-instances/search" searchAgentInstances;
    GET "/v2/agent-instances/{agentInstanceKey}" getAgentInstance;
    PATCH "/v2/agent-instances/{agentInstanceKey}" updateAgentInstance;
    POST "/v2/agent-instances/{agentInstanceKey}/history/search" searchAgentInstanceHistory;
    POST "/v2/authentication/me/authorizations/search" searchOwnAuthorizations;
    POST "/v2/backups/history" takeHistoryBackup;
    GET "/v2/backups/history" listHistoryBackups;
    GET "/v2/backups/history/{backupId}" getHistoryBackup;
    DELETE "/v2/backups/history/{backupId}" deleteHistoryBackup;
    POST "/v2/backups/runtime" takeRuntimeBackup;
    GET "/v2/backups/runtime" listRuntimeBackups;
    GET "/v2/backups/runtime/state" getRuntimeBackupState;
    DELETE "/v2/backups/runtime/state" deleteRuntimeBackupState;
    POST "/v2/backups/runtime/state/sync" syncRuntimeBackupState;
    GET "/v2/backups/runtime/{backupId}" getRuntimeBackup;
    DELETE "/v2/backups/runtime/{backupId}" deleteRuntimeBackup;
    POST "/cluster/v2/backups/history" takeHistoryBackupAsClusterAdmin;
    GET "/cluster/v2/backups/history" listHistoryBackupsAsClusterAdmin;
    GET "/cluster/v2/backups/history/{backupId}" getHistoryBackupAsClusterAdmin;
    DELETE "/cluster/v2/backups/history/{backupId}" deleteHistoryBackupAsClusterAdmin;
    POST "/cluster/v2/backups/runtime" takeRuntimeBackupAsClusterAdmin;
    GET "/cluster/v2/backups/runtime" listRuntimeBackupsAsClusterAdmin;
    GET "/cluster/v2/backups/runtime/state" getRuntimeBackupStateAsClusterAdmin;
    DELETE "/cluster/v2/backups/runtime/state" deleteRuntimeBackupStateAsClusterAdmin;
    POST "/cluster/v2/backups/runtime/state/sync" syncRuntimeBackupStateAsClusterAdmin;
    GET "/cluster/v2/backups/runtime/{backupId}" getRuntimeBackupAsClusterAdmin;
    DELETE "/cluster/v2/backups/runtime/{backupId}" deleteRuntimeBackupAsClusterAdmin;
    GET "/cluster/v2/exporting" getClusterExportingStatus;
    POST "/cluster/v2/exporting/pause" pauseClusterExporting;
    POST "/cluster/v2/exporting/resume" resumeClusterExporting;
    PATCH "/cluster/v2/mode" changeClusterModeAsClusterAdmin;
    POST "/cluster/v2/rebalance" triggerClusterRebalance;
    GET "/cluster/v2/rebalance" getClusterRebalance;
    DELETE "/cluster/v2/rebalance" cancelClusterRebalance;
    POST "/cluster/v2/restore" restoreAsClusterAdmin;
    GET "/cluster/v2/status" getClusterStatus;
    GET "/cluster/v2/status/upgrade" getClusterUpgradeStatus;
    GET "/cluster/v2/topology" getClusterTopology;
    GET "/v2/exporting" getExportingStatus;
    POST "/v2/exporting/pause" pauseExporting;
    POST "/v2/exporting/resume" resumeExporting;
    POST "/v2/jobs/batch-update" updateJobsBatchOperation;
    PATCH "/v2/mode" changeClusterMode;
    POST "/v2/process-instances/resumption" resumeProcessInstancesBatchOperation;
    POST "/v2/process-instances/suspension" suspendProcessInstancesBatchOperation;
    POST "/v2/process-instances/{processInstanceKey}/business-id-assignment" assignProcessInstanceBusinessId;
    POST "/v2/process-instances/{processInstanceKey}/resumption" resumeProcessInstance;
    POST "/v2/process-instances/{processInstanceKey}/suspension" suspendProcessInstance;
    POST "/v2/restore" restore;
    GET "/v2/restore" getRestoreStatus;
    POST "/v2/secrets/list" listSecrets;
    POST "/v2/secrets/resolve" resolveSecrets;
};

#[cfg(test)]
mod tests {
    use super::*;

    /// What the README tells of the API is counted by hand there.
    #[test]
    fn the_readme_counts_the_operations() {
        const README: &str = include_str!("../../../../README.md");
        let works = ROUTES.iter().filter(|route| route.op != Op::NotYet);
        let (own, of_camunda): (Vec<&Route>, Vec<&Route>) = works.partition(|route| {
            matches!(
                route.op,
                Op::OpenApi | Op::StreamJobs | Op::GetWaitingStates
            )
        });
        assert_eq!(own.len(), 3, "{own:?}");
        let count = of_camunda.len();
        let told = format!("{count} operations of the Camunda 8 REST API and three of Skep's own");
        assert!(README.contains(&told), "README.md lacks: {told}");
    }
}
