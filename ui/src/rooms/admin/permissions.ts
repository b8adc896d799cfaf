// Which permissions there are on which resources, and what names a resource of each kind.

const CRUD = ["CREATE", "DELETE", "READ", "UPDATE"] as const;

interface Resource {
  permissions: readonly string[];
  /** There are no single ones: a grant is always on all. */
  all?: true;
  /** Names that a grant may give instead of an id. */
  properties?: readonly string[];
}

export const RESOURCES: Record<string, Resource> = {
  AUDIT_LOG: { permissions: ["READ"] },
  AUTHORIZATION: { permissions: CRUD, all: true },
  BATCH: {
    permissions: [
      "CREATE", "CREATE_BATCH_OPERATION_CANCEL_PROCESS_INSTANCE", "CREATE_BATCH_OPERATION_DELETE_DECISION_DEFINITION", "CREATE_BATCH_OPERATION_DELETE_DECISION_INSTANCE",
      "CREATE_BATCH_OPERATION_DELETE_PROCESS_DEFINITION", "CREATE_BATCH_OPERATION_DELETE_PROCESS_INSTANCE", "CREATE_BATCH_OPERATION_MIGRATE_PROCESS_INSTANCE",
      "CREATE_BATCH_OPERATION_MODIFY_PROCESS_INSTANCE", "CREATE_BATCH_OPERATION_RESOLVE_INCIDENT", "READ", "UPDATE",
    ],
    all: true,
  },
  CLUSTER_VARIABLE: { permissions: CRUD },
  COMPONENT: { permissions: ["ACCESS"] },
  DECISION_DEFINITION: { permissions: ["CREATE_DECISION_INSTANCE", "DELETE_DECISION_INSTANCE", "READ_DECISION_DEFINITION", "READ_DECISION_INSTANCE"] },
  DECISION_REQUIREMENTS_DEFINITION: { permissions: ["READ"] },
  DOCUMENT: { permissions: ["CREATE", "DELETE", "READ"], all: true },
  EXPRESSION: { permissions: ["EVALUATE"], all: true },
  GLOBAL_LISTENER: { permissions: ["CREATE_TASK_LISTENER", "DELETE_TASK_LISTENER", "READ_TASK_LISTENER", "UPDATE_TASK_LISTENER"], all: true },
  GROUP: { permissions: CRUD },
  MAPPING_RULE: { permissions: CRUD },
  MESSAGE: { permissions: ["CREATE", "READ"] },
  PROCESS_DEFINITION: {
    permissions: [
      "CANCEL_PROCESS_INSTANCE", "CLAIM_USER_TASK", "COMPLETE_USER_TASK", "CREATE_PROCESS_INSTANCE", "DELETE_PROCESS_INSTANCE", "MODIFY_PROCESS_INSTANCE",
      "READ_PROCESS_DEFINITION", "READ_PROCESS_INSTANCE", "READ_USER_TASK", "UPDATE_PROCESS_INSTANCE", "UPDATE_USER_TASK",
    ],
  },
  RESOURCE: { permissions: ["CREATE", "DELETE_DRD", "DELETE_FORM", "DELETE_PROCESS", "DELETE_RESOURCE", "READ"] },
  ROLE: { permissions: CRUD },
  SYSTEM: { permissions: ["READ", "READ_JOB_METRIC", "READ_USAGE_METRIC", "UPDATE"], all: true },
  TENANT: { permissions: CRUD },
  USER: { permissions: CRUD },
  USER_TASK: { permissions: ["CLAIM", "COMPLETE", "READ", "UPDATE"], properties: ["assignee", "candidateUsers", "candidateGroups"] },
};

export const RESOURCE_TYPES = Object.keys(RESOURCES);

/** Permissions that a newer server granted, and this table does not know, stay. */
export const permissionsOf = (type: string, given: readonly string[] = []): readonly string[] => [...new Set([...(RESOURCES[type]?.permissions ?? []), ...given])];
