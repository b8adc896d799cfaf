//! The size of a directory, which every node has in its memory.

use skep_identity::{Directory, Entry, Limits};
use skep_protocol::Key;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{
    AuthorizationValue, EntityType, Member, OwnerType, ParentValue, ResourceMatcher,
};

const LARGE: Limits = Limits {
    entities: 9,
    memberships: 9,
    authorizations: 9,
    bytes: 9_999,
};

fn role() -> Entry {
    Entry::Role(ParentValue {
        key: Key(1),
        id: "clerk".into(),
        name: "Clerk".into(),
        description: "".into(),
        member: None,
    })
}

fn member() -> Entry {
    Entry::RoleMember {
        parent: "clerk".into(),
        member: Member::new(EntityType::User, "anna"),
    }
}

fn authorization() -> Entry {
    Entry::Authorization(AuthorizationValue {
        authorization_key: Key(3),
        owner_type: OwnerType::Role,
        owner_id: "clerk".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher: ResourceMatcher::Any,
        permissions: vec![PermissionType::CreateProcessInstance],
    })
}

#[test]
fn an_entry_beyond_a_limit_is_told_from_one_that_fits() {
    let mut directory = Directory::default();
    let entries = [role(), member(), authorization()];
    for (key, entry) in (1..).zip(&entries) {
        assert_eq!(directory.exceeds(&LARGE, entry), None, "{entry:?}");
        directory.add(Key(key), entry);
    }
    let one = |change: fn(&mut Limits)| {
        let mut limits = LARGE;
        change(&mut limits);
        limits
    };
    let limits = [
        (one(|it| it.entities = 1), "groups, roles"),
        (one(|it| it.memberships = 1), "memberships"),
        (one(|it| it.authorizations = 1), "authorizations"),
    ];
    for (at, (limits, named)) in limits.iter().enumerate() {
        for (of, entry) in entries.iter().enumerate() {
            let why = directory.exceeds(limits, entry);
            assert_eq!(why.is_some(), at == of, "{entry:?}: {why:?}");
            assert!(why.is_none_or(|why| why.contains(named)), "{entry:?}");
        }
    }
    let few_bytes = one(|it| it.bytes = 1);
    for entry in &entries {
        let why = directory.exceeds(&few_bytes, entry);
        assert!(why.is_some_and(|why| why.contains("bytes")), "{entry:?}");
    }
}
