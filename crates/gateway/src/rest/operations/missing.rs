//! Operations of the API that this release knows but answers with 501. When an operation is implemented, its row moves to the
//! file of its tag, where it states its action and needs.

use super::rows::missing;

missing! {
"Agent definition":
    POST "/v2/agent-definitions/search" () searchAgentDefinitions;
    GET "/v2/agent-definitions/{agentDefinitionKey}" (agentDefinitionKey: Key) getAgentDefinition;
"Agent instance":
    POST "/v2/agent-instances" () createAgentInstance;
    POST "/v2/agent-instances/search" () searchAgentInstances;
    GET "/v2/agent-instances/{agentInstanceKey}" (agentInstanceKey: Key) getAgentInstance;
    PATCH "/v2/agent-instances/{agentInstanceKey}" (agentInstanceKey: Key) updateAgentInstance;
    POST "/v2/agent-instances/{agentInstanceKey}/history/search" (agentInstanceKey: Key) searchAgentInstanceHistory;
"Backup":
    POST "/v2/backups/history" () takeHistoryBackup;
    GET "/v2/backups/history" () listHistoryBackups;
    GET "/v2/backups/history/{backupId}" (backupId: Number) getHistoryBackup;
    DELETE "/v2/backups/history/{backupId}" (backupId: Number) deleteHistoryBackup;
    POST "/v2/backups/runtime" () takeRuntimeBackup;
    GET "/v2/backups/runtime" () listRuntimeBackups;
    GET "/v2/backups/runtime/state" () getRuntimeBackupState;
    DELETE "/v2/backups/runtime/state" () deleteRuntimeBackupState;
    POST "/v2/backups/runtime/state/sync" () syncRuntimeBackupState;
    GET "/v2/backups/runtime/{backupId}" (backupId: Number) getRuntimeBackup;
    DELETE "/v2/backups/runtime/{backupId}" (backupId: Number) deleteRuntimeBackup;
    POST "/cluster/v2/backups/history" () takeHistoryBackupAsClusterAdmin;
    GET "/cluster/v2/backups/history" () listHistoryBackupsAsClusterAdmin;
    GET "/cluster/v2/backups/history/{backupId}" (backupId: Number) getHistoryBackupAsClusterAdmin;
    DELETE "/cluster/v2/backups/history/{backupId}" (backupId: Number) deleteHistoryBackupAsClusterAdmin;
    POST "/cluster/v2/backups/runtime" () takeRuntimeBackupAsClusterAdmin;
    GET "/cluster/v2/backups/runtime" () listRuntimeBackupsAsClusterAdmin;
    GET "/cluster/v2/backups/runtime/state" () getRuntimeBackupStateAsClusterAdmin;
    DELETE "/cluster/v2/backups/runtime/state" () deleteRuntimeBackupStateAsClusterAdmin;
    POST "/cluster/v2/backups/runtime/state/sync" () syncRuntimeBackupStateAsClusterAdmin;
    GET "/cluster/v2/backups/runtime/{backupId}" (backupId: Number) getRuntimeBackupAsClusterAdmin;
    DELETE "/cluster/v2/backups/runtime/{backupId}" (backupId: Number) deleteRuntimeBackupAsClusterAdmin;
"Exporting":
    GET "/cluster/v2/exporting" () getClusterExportingStatus;
    POST "/cluster/v2/exporting/pause" () pauseClusterExporting;
    POST "/cluster/v2/exporting/resume" () resumeClusterExporting;
    GET "/v2/exporting" () getExportingStatus;
    POST "/v2/exporting/pause" () pauseExporting;
    POST "/v2/exporting/resume" () resumeExporting;
"Recovery":
    PATCH "/cluster/v2/mode" () changeClusterModeAsClusterAdmin;
    POST "/cluster/v2/restore" () restoreAsClusterAdmin;
    PATCH "/v2/mode" () changeClusterMode;
    POST "/v2/restore" () restore;
    GET "/v2/restore" () getRestoreStatus;
"Cluster":
    POST "/cluster/v2/rebalance" () triggerClusterRebalance;
    GET "/cluster/v2/rebalance" () getClusterRebalance;
    DELETE "/cluster/v2/rebalance" () cancelClusterRebalance;
    GET "/cluster/v2/status/upgrade" () getClusterUpgradeStatus;
    GET "/cluster/v2/topology" () getClusterTopology;
"Job":
    POST "/v2/jobs/batch-update" () updateJobsBatchOperation;
"Process instance":
    POST "/v2/process-instances/resumption" () resumeProcessInstancesBatchOperation;
    POST "/v2/process-instances/suspension" () suspendProcessInstancesBatchOperation;
    POST "/v2/process-instances/{processInstanceKey}/business-id-assignment" (processInstanceKey: Key) assignProcessInstanceBusinessId;
    POST "/v2/process-instances/{processInstanceKey}/resumption" (processInstanceKey: Key) resumeProcessInstance;
    POST "/v2/process-instances/{processInstanceKey}/suspension" (processInstanceKey: Key) suspendProcessInstance;
"Secret":
    POST "/v2/secrets/list" () listSecrets;
    POST "/v2/secrets/resolve" () resolveSecrets;
}
