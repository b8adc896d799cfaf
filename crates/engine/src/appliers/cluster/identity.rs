//! USER, GROUP, ROLE, TENANT, MAPPING_RULE and AUTHORIZATION events. An entity without a key in the event is looked up by
//! its id.

use skep_identity::{Entry, Parent};
use skep_protocol::intent::{
    AuthorizationIntent, GroupIntent, IdentitySetupIntent, MappingRuleIntent, RoleIntent,
    TenantIntent, UserIntent,
};
use skep_protocol::record::{DecodeError, Record};
use skep_protocol::value::{
    AuthorizationValue, GroupValue, IdentitySetupValue, MappingRuleValue, ParentType, ParentValue,
    RoleValue, TenantValue, UserValue,
};
use skep_protocol::{Key, ValueType};

use crate::appliers::{Apply, go};
use crate::state::State;

pub(in crate::appliers) fn apply(
    state: &mut State,
    record: &Record<'_>,
) -> Result<(), DecodeError> {
    match record.value_type {
        ValueType::User => go::<UserValue>(state, record),
        ValueType::Group => go::<GroupValue>(state, record),
        ValueType::Role => go::<RoleValue>(state, record),
        ValueType::Tenant => go::<TenantValue>(state, record),
        ValueType::MappingRule => go::<MappingRuleValue>(state, record),
        ValueType::Authorization => go::<AuthorizationValue>(state, record),
        ValueType::IdentitySetup => go::<IdentitySetupValue>(state, record),
        // The others have their own appliers.
        _ => Ok(()),
    }
}

impl Apply<UserValue> for State {
    fn apply(&mut self, _key: Key, intent: UserIntent, value: &UserValue, _timestamp: i64) {
        match intent {
            UserIntent::Created | UserIntent::Updated => {
                self.identity
                    .set(value.user_key, Entry::User(value.clone()));
            }
            UserIntent::Deleted => self.identity.remove(value.user_key),
            UserIntent::Create
            | UserIntent::Update
            | UserIntent::Delete
            | UserIntent::CreateInitialAdmin
            | UserIntent::InitialAdminCreated => {}
        }
    }
}

macro_rules! parents {
    ($($value:ident, $intent:ident, $kind:ident;)+) => {$(
        impl Apply<$value> for State {
            fn apply(&mut self, _key: Key, intent: $intent, value: &$value, _timestamp: i64) {
                let kind = ParentType::$kind;
                match intent {
                    $intent::Created | $intent::Updated => set_parent(self, kind, &value.0),
                    $intent::Deleted => self.identity.remove(value.0.key),
                    $intent::EntityAdded => add_member(self, kind, &value.0),
                    $intent::EntityRemoved => remove_member(self, kind, &value.0),
                    $intent::Create
                    | $intent::Update
                    | $intent::Delete
                    | $intent::AddEntity
                    | $intent::RemoveEntity => {}
                }
            }
        }
    )+};
}

parents! {
    GroupValue, GroupIntent, Group;
    RoleValue, RoleIntent, Role;
    TenantValue, TenantIntent, Tenant;
}

fn set_parent(state: &mut State, kind: ParentType, value: &ParentValue) {
    state
        .identity
        .set(value.key, Entry::parent(kind, value.clone()));
}

fn add_member(state: &mut State, kind: ParentType, value: &ParentValue) {
    let Some(member) = value.member.clone() else {
        return;
    };
    let parent = Parent::new(kind, &value.id);
    if state
        .identity
        .directory
        .membership(&parent, &member)
        .is_none()
    {
        let row = state.identity.directory.next_membership();
        debug_assert!(
            state.identity.table.get(row).is_none(),
            "each membership has a row of its own"
        );
        state.identity.set(row, Entry::membership(&parent, member));
    }
}

fn remove_member(state: &mut State, kind: ParentType, value: &ParentValue) {
    let Some(member) = &value.member else {
        return;
    };
    let parent = Parent::new(kind, &value.id);
    if let Some(row) = state.identity.directory.membership(&parent, member) {
        state.identity.remove(row);
    }
}

impl Apply<MappingRuleValue> for State {
    fn apply(
        &mut self,
        _key: Key,
        intent: MappingRuleIntent,
        value: &MappingRuleValue,
        _timestamp: i64,
    ) {
        let known = self.identity.directory.rule(&value.mapping_rule_id);
        let known = known.map(|rule| rule.mapping_rule_key);
        match intent {
            MappingRuleIntent::Created => {
                let rule = Entry::MappingRule(value.clone());
                self.identity.set(value.mapping_rule_key, rule);
            }
            MappingRuleIntent::Updated => {
                if let Some(key) = known {
                    let rule = MappingRuleValue {
                        mapping_rule_key: key,
                        ..value.clone()
                    };
                    self.identity.set(key, Entry::MappingRule(rule));
                }
            }
            MappingRuleIntent::Deleted => {
                if let Some(key) = known {
                    self.identity.remove(key);
                }
            }
            MappingRuleIntent::Create | MappingRuleIntent::Update | MappingRuleIntent::Delete => {}
        }
    }
}

impl Apply<AuthorizationValue> for State {
    fn apply(
        &mut self,
        _key: Key,
        intent: AuthorizationIntent,
        value: &AuthorizationValue,
        _timestamp: i64,
    ) {
        let key = value.authorization_key;
        match intent {
            AuthorizationIntent::Created | AuthorizationIntent::Updated => {
                self.identity.set(key, Entry::Authorization(value.clone()));
            }
            AuthorizationIntent::Deleted => self.identity.remove(key),
            AuthorizationIntent::Create
            | AuthorizationIntent::Update
            | AuthorizationIntent::Delete => {}
        }
    }
}

impl Apply<IdentitySetupValue> for State {
    fn apply(
        &mut self,
        _key: Key,
        _intent: IdentitySetupIntent,
        _value: &IdentitySetupValue,
        _timestamp: i64,
    ) {
    }
}
