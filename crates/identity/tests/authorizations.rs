//! The authorization of an owner on the same resources, which each creation looks for.

use std::collections::BTreeMap;

use skep_identity::{Directory, Entry};
use skep_protocol::Key;
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};

/// Each of 36 different ones.
fn authorization(number: usize) -> AuthorizationValue {
    let owner_types = [OwnerType::User, OwnerType::Role];
    let resource_types = [ResourceType::ProcessDefinition, ResourceType::UserTask];
    let matchers = [
        ResourceMatcher::Any,
        ResourceMatcher::Id("assignee".into()),
        ResourceMatcher::Property("assignee".into()),
    ];
    let owners = ["anna", "bert", "clerk"];
    AuthorizationValue {
        authorization_key: Key::NONE,
        owner_type: owner_types[number % 2],
        resource_type: resource_types[number / 2 % 2],
        matcher: matchers[number / 4 % 3].clone(),
        owner_id: owners[number / 12 % 3].into(),
        permissions: vec![PermissionType::Read],
    }
}

#[test]
fn an_authorization_on_the_same_resources_is_found_while_it_is_there() {
    let mut directory = Directory::default();
    let mut there: BTreeMap<usize, Key> = BTreeMap::new();
    for step in 0..2_000_i64 {
        let number = usize::try_from(step * step * 7 + step / 36).unwrap() % 36;
        let value = authorization(number);
        match there.remove(&number) {
            Some(key) => directory.remove(key, &Entry::Authorization(value)),
            None => {
                directory.add(Key(step), &Entry::Authorization(value));
                there.insert(number, Key(step));
            }
        }
        for number in 0..36 {
            let found = directory.authorization_like(&authorization(number));
            assert_eq!(found, there.get(&number).copied(), "{step}: {number}");
        }
    }
    assert!((1..36).contains(&there.len()), "{there:?}");
}

/// Earlier builds permitted two on the same resources.
#[test]
fn of_two_on_the_same_resources_one_may_go() {
    let entry = Entry::Authorization(authorization(0));
    for first in [1, 2] {
        let mut directory = Directory::default();
        directory.add(Key(1), &entry);
        directory.add(Key(2), &entry);
        directory.remove(Key(first), &entry);
        let anna = "anna".into();
        let left = directory.authorizations_of(OwnerType::User, &anna).count();
        assert_eq!(left, 1);
        directory.remove(Key(3 - first), &entry);
        assert_eq!(directory.authorization_like(&authorization(0)), None);
    }
}
