//! Identity entities: users, groups, roles, tenants, mapping rules, authorizations and memberships.
//!
//! All of them are created by the first partition.

use skep_protocol::permission::ResourceType;

use crate::entity::{Entity, Field, Kind, Leaves, Ops, same};

/// Common properties of the identity entities.
const TABLE: Entity = Entity {
    title: "",
    table: "",
    fields: &[],
    related: &[],
    items: &[],
    indices: &[],
    everywhere: true,
    leaves: Leaves::When("isDeleted"),
};

/// Users without passwords: the hashes are stored only in the state of the first partition.
pub static USER: Entity = Entity {
    title: "User",
    table: "identity_user",
    fields: &[
        Field::new("userKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("username", Kind::Text, Ops::TEXT).sortable(),
        Field::new("name", Kind::Text, Ops::TEXT).sortable(),
        Field::new("email", Kind::Text, Ops::TEXT).sortable(),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    indices: &[&["username"]],
    ..TABLE
};

pub static GROUP: Entity = Entity {
    title: "Group",
    table: "identity_group",
    fields: &[
        Field::new("groupKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("groupId", Kind::Text, Ops::TEXT).sortable(),
        Field::new("name", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("description", Kind::Text, Ops::NONE),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    indices: &[&["groupId"]],
    ..TABLE
};

pub static ROLE: Entity = Entity {
    title: "Role",
    table: "identity_role",
    fields: &[
        Field::new("roleKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("roleId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("name", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("description", Kind::Text, Ops::NONE),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    indices: &[&["roleId"]],
    ..TABLE
};

pub static TENANT: Entity = Entity {
    title: "Tenant",
    table: "identity_tenant",
    fields: &[
        // The API sorts by the key under this name.
        Field::new("key", Kind::Key, Ops::NONE).sortable().hidden(),
        Field::new("tenantId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("name", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("description", Kind::Text, Ops::NONE),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    indices: &[&["tenantId"]],
    ..TABLE
};

pub static MAPPING_RULE: Entity = Entity {
    title: "Mapping Rule",
    table: "identity_mapping_rule",
    fields: &[
        Field::new("mappingRuleKey", Kind::Key, Ops::NONE).hidden(),
        Field::new("mappingRuleId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("claimName", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("claimValue", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("name", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    indices: &[&["mappingRuleId"]],
    ..TABLE
};

const OWNER_TYPES: &[&str] = &[
    "USER",
    "CLIENT",
    "ROLE",
    "GROUP",
    "MAPPING_RULE",
    "UNSPECIFIED",
];

const RESOURCE_TYPES: &[&str] = &{
    let mut names = [""; ResourceType::ALL.len()];
    let (mut places, mut types): (&mut [&str], _) = (&mut names, ResourceType::ALL);
    while let ([place, left @ ..], [one, others @ ..]) = (places, types) {
        *place = one.name();
        (places, types) = (left, others);
    }
    names
};

pub static AUTHORIZATION: Entity = Entity {
    title: "Authorization",
    table: "identity_authorization",
    fields: &[
        Field::new("authorizationKey", Kind::Key, Ops::NONE),
        Field::new("ownerId", Kind::Text, Ops::PLAIN).sortable(),
        Field::new("ownerType", Kind::Enum(OWNER_TYPES), Ops::PLAIN).sortable(),
        Field::new("resourceType", Kind::Enum(RESOURCE_TYPES), Ops::PLAIN).sortable(),
        Field::new("resourceId", Kind::Text, Ops::NONE).sortable(),
        Field::new("resourcePropertyName", Kind::Text, Ops::NONE).sortable(),
        Field::new("permissionTypes", Kind::Json, Ops::NONE),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ],
    indices: &[&["ownerId"]],
    ..TABLE
};

/// A member of a group, role or tenant. One of the columns between `parentId` and `isDeleted` identifies it.
pub static MEMBER: Entity = members("Member", &const { columns("") });

/// Members that are users, clients or groups. The rows are those of [`MEMBER`].
pub static MEMBER_USER: Entity = members("User", &const { columns("username") });
pub static MEMBER_CLIENT: Entity = members("Client", &const { columns("clientId") });
pub static MEMBER_GROUP: Entity = members("Group", &const { columns("groupId") });

const fn members(title: &'static str, fields: &'static [Field]) -> Entity {
    Entity {
        title,
        table: "identity_member",
        fields,
        indices: &[
            &["parentType", "parentId"],
            &["username"],
            &["clientId"],
            &["groupId"],
            &["roleId"],
            &["mappingRuleId"],
        ],
        ..TABLE
    }
}

/// The columns of [`MEMBER`]. Of those that identify the member, answers contain only `shown`.
const fn columns(shown: &str) -> [Field; 9] {
    [
        // Derived from the other columns, as a unique ID.
        Field::new("id", Kind::Text, Ops::NONE).hidden(),
        Field::new("parentType", Kind::Text, Ops::NONE).hidden(),
        Field::new("parentId", Kind::Text, Ops::NONE).hidden(),
        member("username", shown),
        member("clientId", shown),
        member("groupId", shown),
        member("roleId", shown),
        member("mappingRuleId", shown),
        Field::new("isDeleted", Kind::Bool, Ops::NONE).hidden(),
    ]
}

const fn member(name: &'static str, shown: &str) -> Field {
    let field = Field::new(name, Kind::Text, Ops::NONE).sparse();
    if same(name, shown) {
        field.sortable()
    } else {
        field.hidden()
    }
}
