//! The facts about a command that all code needs, from the one row in which it is declared.

use crate::intent::ValueType;
use crate::key::Key;
use crate::tenant::TenantId;

/// The record as which a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub key: Key,
    pub value_type: ValueType,
    pub intent: u8,
}

impl Head {
    pub fn name(&self) -> RecordName {
        RecordName(self.value_type, self.intent)
    }
}

/// Value type and intent, as metrics and spans name a request: `JOB#COMPLETE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordName(pub ValueType, pub u8);

impl std::fmt::Display for RecordName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.0.name(), self.0.intent_name(self.1))
    }
}

/// The existing entity that a command changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The command creates an entity, or reads.
    Nothing,
    ProcessInstance(Key),
    ElementInstance(Key),
    Job(Key),
    Incident(Key),
    UserTask(Key),
    BatchOperation(Key),
    /// A process or decision instance that has ended.
    Ended(Key),
}

/// The owner of the entity that a command makes or is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'c> {
    /// It belongs to the cluster.
    Cluster,
    /// It would belong to the tenant that the request names.
    New,
    /// It would belong to this tenant, or to the cluster.
    NewOf(Option<&'c TenantId>),
    /// It belongs to this tenant, or to the cluster.
    Of(Option<&'c TenantId>),
    /// The tenant of the entity that the command is about.
    Its,
    /// The tenant of the resource with this key.
    Resource(Key),
    /// It shows the data of the tenant that the request names.
    Shown,
    /// It is about many entities, each with an owner: those that the caller may not access are skipped.
    Each,
}

/// Which partition carries a command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At<'c> {
    /// The partition that made the key.
    Key(Key),
    /// The one that keeps messages with this correlation key.
    Correlation(&'c str),
    /// Any partition, in turn.
    Turn,
    /// The first one. The engine takes the command to the others.
    First,
    /// The first one as well, if there is secondary storage to look for items.
    Home,
    /// This partition.
    Given(u32),
}

/// Treatment of a command when there is no room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It brings new work into the system, and is refused.
    New,
    /// A single one may bring very much work: few are in progress at a time, however many clients send them.
    NewMany,
    /// It evaluates something. The client determines how long that takes, so it has slots of its own.
    Evaluating,
    /// It hands work to workers: it is not refused because of a full disk, but because of too many requests.
    Polling,
    /// It finishes work in the system, or stops a source of work, and is never refused for lack of room.
    Finishing,
    /// Likewise; and it is carried out even if its instance is banned.
    Ending,
}

impl Class {
    pub fn is_finishing(self) -> bool {
        matches!(self, Class::Finishing | Class::Ending)
    }
}

/// The entity under which the audit log has a command, and the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    /// It is not in the audit log.
    None,
    Entry {
        category: AuditCategory,
        entity: &'static str,
        operation: &'static str,
    },
}

impl Audit {
    pub(super) const fn resources(entity: &'static str, operation: &'static str) -> Audit {
        let category = AuditCategory::DeployedResources;
        Audit::Entry {
            category,
            entity,
            operation,
        }
    }

    /// Of users and their permissions.
    pub(super) const fn admin(entity: &'static str, operation: &'static str) -> Audit {
        let category = AuditCategory::Admin;
        Audit::Entry {
            category,
            entity,
            operation,
        }
    }

    pub(super) const fn tasks(operation: &'static str) -> Audit {
        Audit::Entry {
            category: AuditCategory::UserTasks,
            entity: "USER_TASK",
            operation,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditCategory {
    Admin,
    DeployedResources,
    UserTasks,
}

impl AuditCategory {
    pub fn name(self) -> &'static str {
        match self {
            AuditCategory::Admin => "ADMIN",
            AuditCategory::DeployedResources => "DEPLOYED_RESOURCES",
            AuditCategory::UserTasks => "USER_TASKS",
        }
    }
}

/// Facts common to all commands of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The variant.
    pub name: &'static str,
    /// The records that may represent it.
    pub records: &'static [RecordName],
    pub class: Class,
    pub audit: Audit,
}

/// Declares commands, one row each: the data of the command, and its facts, which may use that data. `record` is the value
/// type, the intents (the first one whose condition holds applies), and the key. A row that lacks a fact does not compile; a
/// name in brackets passes all of them on to a family with a table of its own.
macro_rules! commands {
    ($(#[$about:meta])* pub enum $name:ident {$(
        $(#[$doc:meta])*
        $variant:ident $(($bind:ident: $type:ty))? $({
            $($(#[$field_doc:meta])* $field:ident: $field_type:ty),+ $(,)?
        })? => $(($family:ident))? $({
            record: $value_type:ident { $($intents:ident::$intent:ident $(if $condition:expr)?),+ } $key:expr,
            about: $thing:expr,
            whose: $whose:expr,
            at: $at:expr,
            class: $class:ident,
            needs: $needs:expr,
            audit: $audit:expr,
            weight: $weight:expr,
        })?
    )+}) => {
        $(#[$about])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum $name {$(
            $(#[$doc])* $variant $(($type))? $({ $($(#[$field_doc])* $field: $field_type),+ })?,
        )+}

        #[allow(unused_variables)]
        impl $name {
            /// The facts of each row except those of families.
            pub const ROWS: &'static [Row] = &[$($(Row {
                name: stringify!($variant),
                records: &[$(RecordName(ValueType::$value_type, $intents::$intent as u8)),+],
                class: Class::$class,
                audit: $audit,
            },)?)+];

            /// The record that represents it.
            pub fn record(&self) -> Head {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.record())?
                    $(Head {
                        key: $key,
                        value_type: ValueType::$value_type,
                        intent: commands!(@intent $($intents::$intent $(if $condition)?),+),
                    })?
                })+}
            }

            /// The entity that the command is about.
            pub fn about(&self) -> About {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.about())? $($thing)?
                })+}
            }

            /// The owner of the entity that the command makes or is about.
            pub fn whose(&self) -> Whose<'_> {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.whose())? $($whose)?
                })+}
            }

            /// Which partition carries it out.
            pub fn at(&self) -> At<'_> {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.at())? $($at)?
                })+}
            }

            /// Treatment of the command when there is no room.
            pub fn class(&self) -> Class {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.class())? $(Class::$class)?
                })+}
            }

            /// The permission that its caller needs.
            pub fn needs(&self) -> Need<'_> {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.needs())? $($needs)?
                })+}
            }

            /// Approximate number of bytes that it takes beside itself.
            pub fn weight(&self) -> usize {
                match self {$($name::$variant $(($bind))? $({ $($field),+ })? => {
                    $($family.weight())? $($weight)?
                })+}
            }
        }
    };
    (@intent $intents:ident::$intent:ident) => { $intents::$intent as u8 };
    (@intent $intents:ident::$intent:ident if $condition:expr, $($rest:tt)+) => {
        if $condition { $intents::$intent as u8 } else { commands!(@intent $($rest)+) }
    };
}

pub(super) use commands;
