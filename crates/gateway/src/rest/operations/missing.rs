//! Operations of the API that this release knows and answers 501 to. One that is carried out goes to the file of its tag, where it says what
//! it does and what it needs.

use super::rows::missing;

missing! {
"Authentication":
    GET "/v2/authentication/me" () getAuthentication;
    POST "/v2/authentication/me/authorizations/search" () searchOwnAuthorizations;
"Authorization":
    POST "/v2/authorizations" () createAuthorization;
    POST "/v2/authorizations/search" () searchAuthorizations;
    PUT "/v2/authorizations/{authorizationKey}" (authorizationKey: Key) updateAuthorization;
    GET "/v2/authorizations/{authorizationKey}" (authorizationKey: Key) getAuthorization;
    DELETE "/v2/authorizations/{authorizationKey}" (authorizationKey: Key) deleteAuthorization;
"Group":
    POST "/v2/groups" () createGroup;
    POST "/v2/groups/search" () searchGroups;
    GET "/v2/groups/{groupId}" (groupId: Name) getGroup;
    PUT "/v2/groups/{groupId}" (groupId: Name) updateGroup;
    DELETE "/v2/groups/{groupId}" (groupId: Name) deleteGroup;
    POST "/v2/groups/{groupId}/clients/search" (groupId: Name) searchClientsForGroup;
    PUT "/v2/groups/{groupId}/clients/{clientId}" (groupId: Name, clientId: Name) assignClientToGroup;
    DELETE "/v2/groups/{groupId}/clients/{clientId}" (groupId: Name, clientId: Name) unassignClientFromGroup;
    POST "/v2/groups/{groupId}/mapping-rules/search" (groupId: Name) searchMappingRulesForGroup;
    PUT "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}" (groupId: Name, mappingRuleId: Name) assignMappingRuleToGroup;
    DELETE "/v2/groups/{groupId}/mapping-rules/{mappingRuleId}" (groupId: Name, mappingRuleId: Name) unassignMappingRuleFromGroup;
    POST "/v2/groups/{groupId}/roles/search" (groupId: Name) searchRolesForGroup;
    POST "/v2/groups/{groupId}/users/search" (groupId: Name) searchUsersForGroup;
    PUT "/v2/groups/{groupId}/users/{username}" (groupId: Name, username: Name) assignUserToGroup;
    DELETE "/v2/groups/{groupId}/users/{username}" (groupId: Name, username: Name) unassignUserFromGroup;
"Mapping rule":
    POST "/v2/mapping-rules" () createMappingRule;
    POST "/v2/mapping-rules/search" () searchMappingRule;
    PUT "/v2/mapping-rules/{mappingRuleId}" (mappingRuleId: Name) updateMappingRule;
    DELETE "/v2/mapping-rules/{mappingRuleId}" (mappingRuleId: Name) deleteMappingRule;
    GET "/v2/mapping-rules/{mappingRuleId}" (mappingRuleId: Name) getMappingRule;
"Role":
    POST "/v2/roles" () createRole;
    POST "/v2/roles/search" () searchRoles;
    GET "/v2/roles/{roleId}" (roleId: Name) getRole;
    PUT "/v2/roles/{roleId}" (roleId: Name) updateRole;
    DELETE "/v2/roles/{roleId}" (roleId: Name) deleteRole;
    POST "/v2/roles/{roleId}/clients/search" (roleId: Name) searchClientsForRole;
    PUT "/v2/roles/{roleId}/clients/{clientId}" (roleId: Name, clientId: Name) assignRoleToClient;
    DELETE "/v2/roles/{roleId}/clients/{clientId}" (roleId: Name, clientId: Name) unassignRoleFromClient;
    POST "/v2/roles/{roleId}/groups/search" (roleId: Name) searchGroupsForRole;
    PUT "/v2/roles/{roleId}/groups/{groupId}" (roleId: Name, groupId: Name) assignRoleToGroup;
    DELETE "/v2/roles/{roleId}/groups/{groupId}" (roleId: Name, groupId: Name) unassignRoleFromGroup;
    POST "/v2/roles/{roleId}/mapping-rules/search" (roleId: Name) searchMappingRulesForRole;
    PUT "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}" (roleId: Name, mappingRuleId: Name) assignRoleToMappingRule;
    DELETE "/v2/roles/{roleId}/mapping-rules/{mappingRuleId}" (roleId: Name, mappingRuleId: Name) unassignRoleFromMappingRule;
    POST "/v2/roles/{roleId}/users/search" (roleId: Name) searchUsersForRole;
    PUT "/v2/roles/{roleId}/users/{username}" (roleId: Name, username: Name) assignRoleToUser;
    DELETE "/v2/roles/{roleId}/users/{username}" (roleId: Name, username: Name) unassignRoleFromUser;
"Setup":
    POST "/v2/setup/user" () createAdminUser;
"Tenant":
    POST "/v2/tenants" () createTenant;
    POST "/v2/tenants/search" () searchTenants;
    GET "/v2/tenants/{tenantId}" (tenantId: Text) getTenant;
    PUT "/v2/tenants/{tenantId}" (tenantId: Text) updateTenant;
    DELETE "/v2/tenants/{tenantId}" (tenantId: Text) deleteTenant;
    POST "/v2/tenants/{tenantId}/clients/search" (tenantId: Text) searchClientsForTenant;
    PUT "/v2/tenants/{tenantId}/clients/{clientId}" (tenantId: Text, clientId: Name) assignClientToTenant;
    DELETE "/v2/tenants/{tenantId}/clients/{clientId}" (tenantId: Text, clientId: Name) unassignClientFromTenant;
    POST "/v2/tenants/{tenantId}/groups/search" (tenantId: Text) searchGroupIdsForTenant;
    PUT "/v2/tenants/{tenantId}/groups/{groupId}" (tenantId: Text, groupId: Name) assignGroupToTenant;
    DELETE "/v2/tenants/{tenantId}/groups/{groupId}" (tenantId: Text, groupId: Name) unassignGroupFromTenant;
    POST "/v2/tenants/{tenantId}/mapping-rules/search" (tenantId: Text) searchMappingRulesForTenant;
    PUT "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}" (tenantId: Text, mappingRuleId: Name) assignMappingRuleToTenant;
    DELETE "/v2/tenants/{tenantId}/mapping-rules/{mappingRuleId}" (tenantId: Text, mappingRuleId: Name) unassignMappingRuleFromTenant;
    POST "/v2/tenants/{tenantId}/roles/search" (tenantId: Text) searchRolesForTenant;
    PUT "/v2/tenants/{tenantId}/roles/{roleId}" (tenantId: Text, roleId: Name) assignRoleToTenant;
    DELETE "/v2/tenants/{tenantId}/roles/{roleId}" (tenantId: Text, roleId: Name) unassignRoleFromTenant;
    POST "/v2/tenants/{tenantId}/users/search" (tenantId: Text) searchUsersForTenant;
    PUT "/v2/tenants/{tenantId}/users/{username}" (tenantId: Text, username: Name) assignUserToTenant;
    DELETE "/v2/tenants/{tenantId}/users/{username}" (tenantId: Text, username: Name) unassignUserFromTenant;
"User":
    POST "/v2/users" () createUser;
    POST "/v2/users/search" () searchUsers;
    GET "/v2/users/{username}" (username: Name) getUser;
    PUT "/v2/users/{username}" (username: Name) updateUser;
    DELETE "/v2/users/{username}" (username: Name) deleteUser;
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
