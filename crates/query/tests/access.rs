//! Searches of callers with very many permissions on single resources.

use std::sync::Arc;

use skep_identity::{Directory, Entry, Grants, Tenancy};
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType, ResourceType};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};
use skep_protocol::{Key, TenantId};
use skep_query::access::{MAX_IDS, Narrowed, Sight, TooManyGrants, narrow};
use skep_query::entities::PROCESS_INSTANCE;
use skep_query::{ActiveInstances, Condition, Groups, Measure, Op, Search, Value};

/// Adds an authorization to read instances.
fn grant(directory: &mut Directory, key: i64, matcher: ResourceMatcher) {
    let authorization = AuthorizationValue {
        authorization_key: Key(key),
        owner_type: OwnerType::User,
        owner_id: "anna".into(),
        resource_type: ResourceType::ProcessDefinition,
        matcher,
        permissions: vec![PermissionType::ReadProcessInstance],
    };
    directory.add(Key(key), &Entry::Authorization(authorization));
}

fn sight(directory: &Directory, tenancy: Tenancy) -> Sight {
    let anna = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    let grants = Grants::of(directory, &Claims::User(anna.into()));
    Sight {
        grants: grants.map(Arc::new),
        tenancy,
    }
}

/// A search of all instances, as it is narrowed for the caller.
fn narrowed(directory: &Directory) -> Result<(Narrowed, Search), TooManyGrants> {
    let mut search = Search::all(&PROCESS_INSTANCE, Vec::new(), 10);
    let narrowed = narrow(&mut search, &sight(directory, Tenancy::All))?;
    Ok((narrowed, search))
}

#[test]
fn counts_by_definition_answer_callers_who_may_see_some_processes_of_some_tenants() {
    let mut directory = Directory::default();
    grant(&mut directory, 1, ResourceMatcher::Id("order".into()));
    let tenancy = Tenancy::Of([TenantId::new("acme")].into());
    let is_active = Condition::Field {
        field: PROCESS_INSTANCE.column("state"),
        op: Op::Eq(Value::text("ACTIVE")),
    };
    let id = PROCESS_INSTANCE.column("processDefinitionId");
    let mut groups = Groups {
        search: Search::all(&PROCESS_INSTANCE, vec![is_active], 0),
        by: vec![id],
        span: None,
        measures: vec![Measure::Rows],
    };
    let how = narrow(&mut groups.search, &sight(&directory, tenancy)).unwrap();
    assert!(matches!(how, Narrowed::Part), "{how:?}");
    let asked = ActiveInstances::of(&groups).expect("the question of counts");
    let is = |field, value| Condition::Field {
        field,
        op: Op::In(vec![Value::text(value)]),
    };
    let of_tenant = is(PROCESS_INSTANCE.column("tenantId"), "acme");
    let granted = Condition::Any(vec![vec![is(id, "order")]]);
    assert_eq!(asked.filter, [of_tenant, granted]);
}

#[test]
fn a_caller_with_more_grants_than_a_search_can_name_learns_which_one_to_ask_for() {
    let mut directory = Directory::default();
    let count = i64::try_from(MAX_IDS).unwrap();
    for key in 1..=count {
        let id = format!("process-{key}");
        grant(&mut directory, key, ResourceMatcher::Id(id.into()));
    }
    let (how, search) = narrowed(&directory).unwrap();
    assert!(matches!(how, Narrowed::Part), "{how:?}");
    let [Condition::Any(alternatives)] = &*search.filter else {
        panic!("one condition");
    };
    let [only] = &**alternatives else {
        panic!("one alternative");
    };
    assert!(matches!(&**only, [Condition::Field { op: Op::In(ids), .. }] if ids.len() == MAX_IDS));
    let one_more = ResourceMatcher::Id("one-more".into());
    grant(&mut directory, count + 1, one_more);
    let refused = narrowed(&directory).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("5001 single resources"), "{refused}");
    assert!(refused.contains("Grant it on '*'"), "{refused}");
    grant(&mut directory, count + 2, ResourceMatcher::Any);
    let (how, search) = narrowed(&directory).unwrap();
    assert!(
        matches!(how, Narrowed::Whole) && search.filter.is_empty(),
        "{how:?}"
    );
}
