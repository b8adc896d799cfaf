//! Which rows are whose.

use skep_identity::{Directory, Entry};
use skep_protocol::Key;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::{AuthorizationValue, OwnerType, ResourceMatcher};

use super::*;

#[test]
fn every_entity_has_a_read_permission_and_the_columns_for_it() {
    for entity in entities::ALL {
        assert!(of(entity).is_some(), "{} is shown to nobody", entity.table);
        assert!(owned(entity).is_some(), "{} is nobody's", entity.table);
        let has_tenant = entity.index_of(TENANT).is_some();
        let is_a_tenant = std::ptr::eq(entity, &entities::TENANT);
        let by_tenant = matches!(owned(entity), Some(Owned::By(_)));
        assert_eq!(by_tenant, has_tenant && !is_a_tenant, "{}", entity.table);
        for column in columns(entity) {
            assert!(
                entity.index_of(column).is_some(),
                "{}.{column}",
                entity.table
            );
        }
    }
}

fn member_of(tenants: &[&str]) -> Sight {
    Sight {
        grants: None,
        tenancy: Tenancy::Of(tenants.iter().map(|id| TenantId::new(id)).collect()),
    }
}

fn narrowed(entity: &'static Entity, sight: &Sight) -> (Narrowed, Search) {
    let mut search = Search::all(entity, Vec::new(), 1);
    let narrowed = narrow(&mut search, sight).unwrap();
    (narrowed, search)
}

#[test]
fn a_search_finds_the_rows_of_the_callers_tenants_and_those_without_one() {
    let theirs = || Op::In(vec![Value::text("<default>"), Value::text("acme")]);
    let entity = &entities::AUDIT_LOG;
    let (part, search) = narrowed(entity, &member_of(&["<default>", "acme"]));
    assert!(matches!(part, Narrowed::Part));
    let is = |op| vec![condition(entity, TENANT, op).unwrap()];
    let any = vec![is(Op::Exists(false)), is(theirs())];
    assert_eq!(search.filter, [Condition::Any(any)]);
    // Every row of this one has a tenant.
    let entity = &entities::PROCESS_INSTANCE;
    let (part, search) = narrowed(entity, &member_of(&["<default>", "acme"]));
    assert!(matches!(part, Narrowed::Part));
    assert_eq!(
        search.filter,
        [condition(entity, TENANT, theirs()).unwrap()]
    );
}

#[test]
fn callers_without_tenants_see_what_belongs_to_the_cluster() {
    for entity in entities::ALL {
        let (narrowed, search) = narrowed(entity, &member_of(&[]));
        match owned(entity) {
            Some(Owned::By(column)) if has_always(entity, column) => {
                assert!(matches!(narrowed, Narrowed::Nothing), "{}", entity.table);
            }
            Some(Owned::By(column)) => {
                let is_absent = condition(entity, column, Op::Exists(false));
                let any = vec![is_absent.into_iter().collect()];
                assert_eq!(search.filter, [Condition::Any(any)], "{}", entity.table);
            }
            Some(Owned::AsInstance(_)) => assert!(matches!(narrowed, Narrowed::Nothing)),
            Some(Owned::ByNobody) => assert!(matches!(narrowed, Narrowed::Whole)),
            None => panic!("{}", entity.table),
        }
    }
}

/// A caller with each of these permissions on each of these resources.
pub fn granted(permissions: &[Permission], on: &[ResourceMatcher]) -> Sight {
    let mut directory = Directory::default();
    let pairs = permissions
        .iter()
        .flat_map(|p| on.iter().map(move |on| (p, on)));
    for (number, (permission, on)) in (1..).zip(pairs) {
        let authorization = Entry::Authorization(AuthorizationValue {
            authorization_key: Key(number),
            owner_type: OwnerType::User,
            owner_id: "anna".into(),
            resource_type: permission.on,
            matcher: on.clone(),
            permissions: vec![permission.to],
        });
        directory.add(Key(number), &authorization);
    }
    let anna = Principal {
        id: "anna".into(),
        ..Principal::default()
    };
    let grants = Grants::of(&directory, &Claims::User(anna.into()));
    Sight {
        grants: grants.map(Arc::new),
        tenancy: Tenancy::All,
    }
}

#[test]
fn a_search_that_names_processes_is_narrowed_to_those_granted_without_a_second_list() {
    let entity = &entities::PROCESS_INSTANCE;
    let of = |op| condition(entity, "processDefinitionId", op).unwrap();
    let texts = |ids: &[&str]| Op::In(ids.iter().map(|id| Value::text(id)).collect());
    let is = |id| Op::Eq(Value::text(id));
    let processes = ["order", "invoice"].map(|id| ResourceMatcher::Id(id.into()));
    let sight = granted(grants![ProcessDefinition: ReadProcessInstance], &processes);
    for (asked, left) in [
        (is("order"), Some(is("order"))),
        (is("payment"), None),
        (texts(&["payment", "order"]), Some(texts(&["order"]))),
        (texts(&["payment", "refund"]), None),
    ] {
        let mut search = Search::all(entity, vec![of(asked.clone())], 1);
        match narrow(&mut search, &sight).unwrap() {
            Narrowed::Part => assert_eq!(Some(search.filter), left.map(|op| vec![of(op)])),
            Narrowed::Nothing => assert_eq!(left, None, "{asked:?}"),
            Narrowed::Whole => panic!("{asked:?} is not narrowed"),
        }
    }
    // Any other condition says nothing about which processes there are.
    for op in [Op::Like("or*".into()), Op::Neq(Value::text("order"))] {
        let mut search = Search::all(entity, vec![of(op)], 1);
        narrow(&mut search, &sight).unwrap();
        let granted = Condition::Any(vec![vec![of(texts(&["invoice", "order"]))]]);
        assert_eq!(search.filter.get(1), Some(&granted));
    }
    // Alternatives are narrowed as a whole.
    let mut search = Search::all(entity, Vec::new(), 1);
    search.any_of = vec![vec![of(is("payment"))], vec![of(is("order"))]];
    narrow(&mut search, &sight).unwrap();
    assert_eq!(search.filter.len(), 1);
}

#[test]
fn an_unknown_entity_is_hidden_from_every_checked_caller() {
    static UNKNOWN: Entity = Entity {
        title: "Unknown",
        table: "unknown",
        fields: &[],
        related: &[],
        items: &[],
        indices: &[],
        everywhere: false,
        leaves: crate::entity::Leaves::Never,
    };
    assert!(matches!(
        narrowed(&UNKNOWN, &member_of(&["acme"])).0,
        Narrowed::Nothing
    ));
    assert!(member_of(&["acme"]).is_foreign(&UNKNOWN, &[]));
    assert!(matches!(
        narrowed(&UNKNOWN, &Sight::whole()).0,
        Narrowed::Whole
    ));
}

#[test]
fn a_row_of_another_tenant_is_foreign_and_one_without_is_not() {
    let entity = &entities::AUDIT_LOG;
    let at = const { entities::AUDIT_LOG.column(TENANT) };
    let mut row = vec![Value::Null; entity.fields.len()];
    let sight = member_of(&["acme"]);
    assert!(!sight.is_foreign(entity, &row));
    for (tenant, is_foreign) in [("acme", false), ("globex", true), ("<default>", true)] {
        if let Some(place) = row.get_mut(at) {
            *place = Value::text(tenant);
        }
        assert_eq!(sight.is_foreign(entity, &row), is_foreign, "{tenant}");
        assert!(!Sight::whole().is_foreign(entity, &row));
    }
}
