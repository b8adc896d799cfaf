//! What went wrong with identity and permissions in other engines of this API, each as a test.

use skep_engine::RemoteCommand;
use skep_model::builder::Bpmn;
use skep_protocol::command::*;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::permission::{PermissionType as P, ResourceType};
use skep_protocol::value::*;
use skep_protocol::{Document, RejectionType};
use skep_testkit::rig::*;

use super::authorization::{
    allowed, asking, create, deploy, forbidden, grant, is, on_process, process,
};
use super::identity::{authorization, member, new, send, user};

fn broadcast() -> Command {
    Command::BroadcastSignal(BroadcastSignal {
        signal_name: "go".into(),
        variables: Document::new(),
    })
}

/// Rows of identity on each partition.
fn rows(rig: &Rig) -> Vec<usize> {
    let partitions = rig.partitions.iter();
    partitions
        .map(|partition| partition.engine.state.identity.table.len())
        .collect()
}

/// After the check had come to each partition, each of them started an instance.
#[test]
fn a_signal_of_a_client_starts_one_instance_in_the_whole_cluster() {
    let mut rig = asking(3);
    let model = Bpmn::process("starts")
        .start_signal("s", "go")
        .service_task("t", "work")
        .end("e");
    deploy(&mut rig, model);
    forbidden(&mut rig, is("anna"), broadcast());
    assert_eq!(rig.open_instances().len(), 0);
    on_process(&mut rig, "anna", "starts", &[P::CreateProcessInstance]);
    for partition in 1..=3 {
        rig.claims = is("anna");
        let request = rig.send_to(partition, broadcast());
        assert!(rig.answer(request).unwrap().is_ok());
        assert_eq!(rig.open_instances().len(), partition as usize);
    }
}

/// Commands between partitions come again as long as they are not acknowledged.
#[test]
fn identity_commands_that_arrive_twice_count_once() {
    let commands = || {
        [
            IdentityCommand::CreateUser(user("anna")),
            IdentityCommand::CreateRole(new("clerk")),
            IdentityCommand::AddToRole(member("clerk", EntityType::User, "anna")),
            IdentityCommand::CreateAuthorization(authorization(
                (OwnerType::Role, "clerk"),
                ResourceType::ProcessDefinition,
                ResourceMatcher::Any,
                &[P::CreateProcessInstance],
            )),
            IdentityCommand::DeleteUser {
                username: "anna".into(),
            },
        ]
    };
    let [once, twice] = [Fate::Arrives, Fate::Twice].map(|fate| {
        let mut rig = Rig::with_partitions(3);
        rig.fate = Box::new(move |_| fate);
        for command in commands() {
            send(&mut rig, command).unwrap();
        }
        assert_eq!(rig.engine(1).state.distributions.table.len(), 0);
        let events = rig.seen.iter().filter(|record| record.is_event());
        let elsewhere = events.filter(|record| record.partition != 1);
        let identity = elsewhere
            .filter(|record| ["USER", "ROLE", "AUTHORIZATION"].contains(&record.value_type));
        let mut events: Vec<_> = identity
            .map(|record| (record.partition, record.value_type, record.intent))
            .collect();
        events.sort_unstable();
        (rows(&rig), events)
    });
    assert!(!once.1.is_empty());
    assert_eq!(once, twice);
}

/// A distribution counted as finished once the first of several partitions had acknowledged it.
#[test]
fn an_identity_command_is_answered_when_the_last_partition_has_it() {
    let mut rig = Rig::with_partitions(3);
    let mut lost = false;
    rig.fate = Box::new(move |command| match command {
        RemoteCommand::Distribute { .. } if !std::mem::replace(&mut lost, true) => Fate::Lost,
        _ => Fate::Arrives,
    });
    let create = IdentityCommand::CreateRole(new("clerk"));
    let request = rig.send_async(Command::Identity(create));
    let known = rows(&rig);
    assert_eq!(known.iter().sum::<usize>(), 2, "one is missing: {known:?}");
    assert!(rig.answer(request).is_none());
    rig.advance(10_000);
    assert_eq!(rows(&rig), [1, 1, 1]);
    assert!(rig.answer(request).unwrap().is_ok());
}

/// The deletion of the default tenant failed with all claims of the caller in its answer.
#[test]
fn no_refusal_and_no_event_shows_the_claims_of_a_token() {
    const HIDDEN: &str = "hidden-claim";
    let mut rig = asking(1);
    deploy(&mut rig, process("order"));
    grant(&mut rig, "anna", ResourceType::Tenant, "*", &[P::Delete]);
    let principal = Principal {
        id: "anna".into(),
        token: format!(r#"{{"department":"{HIDDEN}"}}"#).into(),
        ..Principal::default()
    };
    let anna = Claims::User(principal.into());
    let from = rig.seen.len();
    let refused = forbidden(&mut rig, anna.clone(), create("order"));
    assert!(!refused.contains(HIDDEN), "{refused}");
    rig.claims = anna.clone();
    for id in ["<default>", "nothing"] {
        let delete = IdentityCommand::DeleteTenant { id: id.into() };
        let refused = send(&mut rig, delete).unwrap_err();
        assert!(!refused.reason.contains(HIDDEN), "{refused:?}");
    }
    on_process(&mut rig, "anna", "order", &[P::CreateProcessInstance]);
    allowed(&mut rig, anna, create("order"));
    let caused = rig.seen[from..].iter();
    for record in caused.filter(|record| record.json["recordType"] != "COMMAND") {
        let text = record.json.to_string();
        assert!(!text.contains(HIDDEN), "{text}");
    }
}

/// Whoever may read everything about identity, and even create roles and users, cannot use that for more.
#[test]
fn nobody_gives_rights_to_themselves_without_the_right_to_give_them() {
    let mut rig = asking(1);
    for command in [
        IdentityCommand::CreateRole(new("boss")),
        IdentityCommand::CreateGroup(new("staff")),
        IdentityCommand::CreateTenant(new("acme")),
    ] {
        send(&mut rig, command).unwrap();
    }
    for on in [
        ResourceType::User,
        ResourceType::Role,
        ResourceType::Group,
        ResourceType::Tenant,
    ] {
        grant(&mut rig, "anna", on, "*", &[P::Read, P::Create]);
    }
    grant(
        &mut rig,
        "anna",
        ResourceType::Authorization,
        "*",
        &[P::Read],
    );
    let own = |on, permission| {
        authorization(
            (OwnerType::User, "anna"),
            on,
            ResourceMatcher::Any,
            &[permission],
        )
    };
    let update = UpdateUser {
        username: "bert".into(),
        name: None,
        email: None,
        password: PasswordHash::new("$argon2id$mine"),
    };
    for command in [
        IdentityCommand::AddToRole(member("boss", EntityType::User, "anna")),
        IdentityCommand::AddToGroup(member("staff", EntityType::User, "anna")),
        IdentityCommand::AddToTenant(member("acme", EntityType::User, "anna")),
        IdentityCommand::CreateAuthorization(own(
            ResourceType::ProcessDefinition,
            P::CreateProcessInstance,
        )),
        IdentityCommand::CreateAuthorization(own(ResourceType::Authorization, P::Create)),
        // Another's password would be another's rights.
        IdentityCommand::UpdateUser(update),
    ] {
        forbidden(&mut rig, is("anna"), Command::Identity(command));
    }
    // Creating a role that exists is refused, so its creator does not become its owner.
    rig.claims = is("anna");
    let again = send(&mut rig, IdentityCommand::CreateRole(new("boss"))).unwrap_err();
    assert_eq!(again.kind, RejectionType::AlreadyExists);
}
