//! Permissions: the resource types of authorizations, and the permissions of each.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! permission_types {
    ($($variant:ident $name:literal,)+) => {
        /// An action on a resource that a permission allows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum PermissionType { $($variant),+ }

        impl PermissionType {
            /// As the API names it.
            pub fn name(self) -> &'static str {
                match self { $(PermissionType::$variant => $name),+ }
            }

            pub const ALL: &'static [PermissionType] = &[$(PermissionType::$variant),+];
        }
    };
}

permission_types! {
    Access "ACCESS",
    CancelProcessInstance "CANCEL_PROCESS_INSTANCE",
    Claim "CLAIM",
    ClaimUserTask "CLAIM_USER_TASK",
    Complete "COMPLETE",
    CompleteUserTask "COMPLETE_USER_TASK",
    Create "CREATE",
    CreateBatchCancelProcessInstance "CREATE_BATCH_OPERATION_CANCEL_PROCESS_INSTANCE",
    CreateBatchDeleteDecisionDefinition "CREATE_BATCH_OPERATION_DELETE_DECISION_DEFINITION",
    CreateBatchDeleteDecisionInstance "CREATE_BATCH_OPERATION_DELETE_DECISION_INSTANCE",
    CreateBatchDeleteProcessDefinition "CREATE_BATCH_OPERATION_DELETE_PROCESS_DEFINITION",
    CreateBatchDeleteProcessInstance "CREATE_BATCH_OPERATION_DELETE_PROCESS_INSTANCE",
    CreateBatchMigrateProcessInstance "CREATE_BATCH_OPERATION_MIGRATE_PROCESS_INSTANCE",
    CreateBatchModifyProcessInstance "CREATE_BATCH_OPERATION_MODIFY_PROCESS_INSTANCE",
    CreateBatchResolveIncident "CREATE_BATCH_OPERATION_RESOLVE_INCIDENT",
    CreateBatchSuspendProcessInstance "CREATE_BATCH_OPERATION_SUSPEND_PROCESS_INSTANCE",
    CreateBatchUpdateJob "CREATE_BATCH_OPERATION_UPDATE_JOB",
    CreateDecisionInstance "CREATE_DECISION_INSTANCE",
    CreateProcessInstance "CREATE_PROCESS_INSTANCE",
    CreateTaskListener "CREATE_TASK_LISTENER",
    Delete "DELETE",
    DeleteDecisionInstance "DELETE_DECISION_INSTANCE",
    DeleteDrd "DELETE_DRD",
    DeleteForm "DELETE_FORM",
    DeleteProcess "DELETE_PROCESS",
    DeleteProcessInstance "DELETE_PROCESS_INSTANCE",
    DeleteResource "DELETE_RESOURCE",
    DeleteTaskListener "DELETE_TASK_LISTENER",
    Evaluate "EVALUATE",
    ModifyProcessInstance "MODIFY_PROCESS_INSTANCE",
    Pause "PAUSE",
    Read "READ",
    ReadDecisionDefinition "READ_DECISION_DEFINITION",
    ReadDecisionInstance "READ_DECISION_INSTANCE",
    ReadJobMetric "READ_JOB_METRIC",
    ReadProcessDefinition "READ_PROCESS_DEFINITION",
    ReadProcessInstance "READ_PROCESS_INSTANCE",
    ReadTaskListener "READ_TASK_LISTENER",
    ReadUsageMetric "READ_USAGE_METRIC",
    ReadUserTask "READ_USER_TASK",
    Restore "RESTORE",
    Reveal "REVEAL",
    SuspendProcessInstance "SUSPEND_PROCESS_INSTANCE",
    Update "UPDATE",
    UpdateProcessInstance "UPDATE_PROCESS_INSTANCE",
    UpdateTaskListener "UPDATE_TASK_LISTENER",
    UpdateUserTask "UPDATE_USER_TASK",
}

macro_rules! resource_types {
    ($($variant:ident $name:literal $since:literal { $($permission:ident $($later:literal)?),+ })+) => {
        /// The type of resource that an authorization is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ResourceType { $($variant),+ }

        impl ResourceType {
            pub const ALL: &'static [ResourceType] = &[$(ResourceType::$variant),+];

            /// As the API names it.
            pub const fn name(self) -> &'static str {
                match self { $(ResourceType::$variant => $name),+ }
            }

            /// The minor version of the API (8.x) that brought it; everything older is 8.
            pub fn since(self) -> u8 {
                match self { $(ResourceType::$variant => $since),+ }
            }

            /// The permissions that can be granted on it, with the version of the API that brought each.
            pub const fn permissions(self) -> &'static [(PermissionType, u8)] {
                match self { $(ResourceType::$variant => &[
                    $((PermissionType::$permission, resource_types!(@since $($later)? or $since))),+
                ]),+ }
            }
        }
    };
    (@since or $since:literal) => { $since };
    (@since $later:literal or $since:literal) => { $later };
}

resource_types! {
    AuditLog "AUDIT_LOG" 9 { Read }
    Authorization "AUTHORIZATION" 8 { Create, Delete, Read, Update }
    Backup "BACKUP" 10 { Create, Delete, Read, Restore }
    Batch "BATCH" 8 {
        Create, CreateBatchCancelProcessInstance, CreateBatchDeleteDecisionDefinition, CreateBatchDeleteDecisionInstance,
        CreateBatchDeleteProcessDefinition, CreateBatchDeleteProcessInstance, CreateBatchMigrateProcessInstance,
        CreateBatchModifyProcessInstance, CreateBatchResolveIncident, CreateBatchSuspendProcessInstance 10,
        CreateBatchUpdateJob 10, Read, Update
    }
    ClusterVariable "CLUSTER_VARIABLE" 9 { Create, Delete, Read, Update }
    Component "COMPONENT" 8 { Access }
    DecisionDefinition "DECISION_DEFINITION" 8 {
        CreateDecisionInstance, DeleteDecisionInstance, ReadDecisionDefinition, ReadDecisionInstance
    }
    DecisionRequirementsDefinition "DECISION_REQUIREMENTS_DEFINITION" 8 { Read }
    Document "DOCUMENT" 8 { Create, Delete, Read }
    Exporter "EXPORTER" 10 { Pause }
    Expression "EXPRESSION" 9 { Evaluate }
    GlobalListener "GLOBAL_LISTENER" 9 { CreateTaskListener, DeleteTaskListener, ReadTaskListener, UpdateTaskListener }
    Group "GROUP" 8 { Create, Delete, Read, Update }
    MappingRule "MAPPING_RULE" 8 { Create, Delete, Read, Update }
    Message "MESSAGE" 8 { Create, Read }
    ProcessDefinition "PROCESS_DEFINITION" 8 {
        CancelProcessInstance, ClaimUserTask 9, CompleteUserTask 9, CreateProcessInstance, DeleteProcessInstance,
        ModifyProcessInstance, ReadProcessDefinition, ReadProcessInstance, ReadUserTask, SuspendProcessInstance 10,
        UpdateProcessInstance, UpdateUserTask
    }
    Resource "RESOURCE" 8 { Create, DeleteDrd, DeleteForm, DeleteProcess, DeleteResource, Read }
    Role "ROLE" 8 { Create, Delete, Read, Update }
    Secret "SECRET" 10 { Read, Reveal }
    System "SYSTEM" 8 { Read, ReadJobMetric 9, ReadUsageMetric, Update }
    Tenant "TENANT" 8 { Create, Delete, Read, Update }
    User "USER" 8 { Create, Delete, Read, Update }
    UserTask "USER_TASK" 9 { Claim, Complete, Read, Update }
}

/// They are written by name, so the order of the table does not matter to the log.
macro_rules! written_by_name {
    ($($type:ident $what:literal),+) => {$(
        impl $type {
            /// The one with this name.
            pub fn named(name: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|one| one.name() == name)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.name().serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                let unknown = || D::Error::custom(format_args!("unknown {} '{name}'", $what));
                $type::named(&name).ok_or_else(unknown)
            }
        }
    )+};
}

written_by_name!(PermissionType "permission", ResourceType "resource type");

/// One permission on resources of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    pub on: ResourceType,
    pub to: PermissionType,
}

impl Permission {
    /// Made by [`grants!`](crate::grants) while the program is compiled: a pair that the table does not have ends the build.
    pub const fn of(on: ResourceType, to: PermissionType) -> Permission {
        let mut rest = on.permissions();
        while let [(known, _), others @ ..] = rest {
            if *known as u8 == to as u8 {
                return Permission { on, to };
            }
            rest = others;
        }
        panic!("this permission cannot be granted on this type of resource")
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.on.name(), self.to.name())
    }
}

/// Permissions of which any one is enough, the first tried first: `grants![UserTask: Update, UserTask: Complete]`.
#[macro_export]
macro_rules! grants {
    ($($on:ident: $to:ident),+ $(,)?) => {
        const {
            &[$($crate::permission::Permission::of(
                $crate::permission::ResourceType::$on,
                $crate::permission::PermissionType::$to,
            )),+]
        }
    };
}
