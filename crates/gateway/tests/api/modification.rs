//! Modifications of process instances: both transports send the same command.

use skep_proto::gateway_protocol as pb;
use skep_protocol::command::ModifyProcessInstance;
use skep_protocol::value::*;
use skep_protocol::{Command, Key};
use tonic::Code;

use crate::fake::{KEY, Running, start};
use crate::grpc::client;
use crate::http::post;
use pb::modify_process_instance_request as wire;

fn path() -> String {
    format!("/v2/process-instances/{KEY}/modification")
}

/// The broker's last command, and its operation reference.
fn asked(gateway: &Running) -> (ModifyProcessInstance, Option<u64>) {
    let request = gateway.broker.last();
    match request.command {
        Command::ModifyProcessInstance(command) => (command, request.operation_reference),
        other => panic!("an instance is modified: {other:?}"),
    }
}

fn variables(scope: &str, name: &str) -> Vec<VariableInstruction> {
    vec![VariableInstruction {
        element_id: scope.into(),
        variables: vec![(name.into(), "1.50".into())],
    }]
}

#[tokio::test]
async fn every_instruction_reaches_the_broker_over_rest() {
    let gateway = start().await;
    let body = r#"{
        "operationReference": 7,
        "activateInstructions": [
            {"elementId": "a", "ancestorElementInstanceKey": "12",
             "variableInstructions": [{"variables": {"x": 1.50}, "scopeId": "s"}]},
            {"elementId": "b"}
        ],
        "terminateInstructions": [{"elementInstanceKey": "13"}, {"elementId": "c"}],
        "moveInstructions": [
            {"sourceElementInstruction": {"sourceType": "byId", "sourceElementId": "d"}, "targetElementId": "e",
             "variableInstructions": [{"variables": {"y": 1.50}}]},
            {"sourceElementInstruction": {"sourceType": "byKey", "sourceElementInstanceKey": "14"}, "targetElementId": "e",
             "ancestorScopeInstruction": {"ancestorScopeType": "direct", "ancestorElementInstanceKey": "15"}},
            {"sourceElementInstruction": {"sourceType": "BYKEY", "sourceElementInstanceKey": "14"}, "targetElementId": "e",
             "ancestorScopeInstruction": {"ancestorScopeType": "inferred"}},
            {"sourceElementInstruction": {"sourceType": "byKey", "sourceElementInstanceKey": "14"}, "targetElementId": "e",
             "ancestorScopeInstruction": {"ancestorScopeType": "sourceParent"}}
        ]
    }"#;
    assert_eq!(post(gateway.rest, &path(), body).await.status, 204);
    let (command, reference) = asked(&gateway);
    assert_eq!(reference, Some(7));
    check(&command, Key::NONE);
}

#[tokio::test]
async fn every_instruction_reaches_the_broker_over_grpc() {
    let gateway = start().await;
    let texts = |scope: &str, name: &str| {
        vec![wire::VariableInstruction {
            variables: format!(r#"{{"{name}": 1.50}}"#),
            scope_id: scope.into(),
        }]
    };
    let moved = |key: i64| wire::MoveInstruction {
        source_element_instance_key: key,
        target_element_id: "e".into(),
        ..Default::default()
    };
    let request = pb::ModifyProcessInstanceRequest {
        process_instance_key: KEY.0,
        operation_reference: Some(7),
        activate_instructions: vec![
            wire::ActivateInstruction {
                element_id: "a".into(),
                ancestor_element_instance_key: 12,
                variable_instructions: texts("s", "x"),
            },
            wire::ActivateInstruction {
                element_id: "b".into(),
                ..Default::default()
            },
        ],
        terminate_instructions: vec![
            wire::TerminateInstruction {
                element_instance_key: 13,
                ..Default::default()
            },
            wire::TerminateInstruction {
                element_id: "c".into(),
                ..Default::default()
            },
        ],
        move_instructions: vec![
            wire::MoveInstruction {
                source_element_id: "d".into(),
                variable_instructions: texts("", "y"),
                ..moved(0)
            },
            wire::MoveInstruction {
                ancestor_element_instance_key: 15,
                ..moved(14)
            },
            wire::MoveInstruction {
                infer_ancestor_scope_from_source_hierarchy: true,
                ..moved(14)
            },
            wire::MoveInstruction {
                ancestor_element_instance_key: -1,
                use_source_parent_key_as_ancestor_scope_key: true,
                ..moved(14)
            },
        ],
    };
    let mut client = client(&gateway).await;
    client.modify_process_instance(request).await.unwrap();
    let (command, reference) = asked(&gateway);
    assert_eq!(reference, Some(7));
    check(&command, Key(0));
}

/// `unsaid`: the key that stands for an omitted ancestor.
fn check(command: &ModifyProcessInstance, unsaid: Key) {
    assert_eq!(command.process_instance_key, KEY);
    let activate = [
        ActivateInstruction {
            element_id: "a".into(),
            ancestor_scope_key: Key(12),
            variable_instructions: variables("s", "x"),
            ancestor_scope_keys: Vec::new(),
        },
        ActivateInstruction {
            element_id: "b".into(),
            ancestor_scope_key: unsaid,
            ..ActivateInstruction::default()
        },
    ];
    assert_eq!(command.activate_instructions, activate);
    assert!(!command.activate_instructions[1].has_ancestor());
    let terminate = [
        TerminateInstruction {
            element_instance_key: Key(13),
            element_id: "".into(),
        },
        TerminateInstruction {
            element_instance_key: Key::NONE,
            element_id: "c".into(),
        },
    ];
    assert_eq!(command.terminate_instructions, terminate);
    let by_key = |ancestor| MoveInstruction {
        source_element_instance_key: Key(14),
        target_element_id: "e".into(),
        ancestor,
        ..MoveInstruction::default()
    };
    let moves = [
        MoveInstruction {
            source_element_id: "d".into(),
            target_element_id: "e".into(),
            variable_instructions: variables("", "y"),
            ..MoveInstruction::default()
        },
        by_key(MoveAncestor::Key(Key(15))),
        by_key(MoveAncestor::Inferred),
        by_key(MoveAncestor::SourceParent),
    ];
    assert_eq!(command.move_instructions, moves);
}

#[tokio::test]
async fn invalid_instructions_are_refused_over_rest() {
    let gateway = start().await;
    let by_id = r#"{"sourceType": "byId", "sourceElementId": "a"}"#;
    let of_move = |source: &str, ancestor: &str| {
        format!(
            r#"{{"moveInstructions": [{{"sourceElementInstruction": {source}, "targetElementId": "e",
                "ancestorScopeInstruction": {ancestor}}}]}}"#
        )
    };
    let cases = [
        ("".to_string(), "missing"),
        (
            r#"{"activateInstructions": [{}]}"#.into(),
            "activateInstructions.elementId",
        ),
        (
            r#"{"activateInstructions": [{"elementId": "a", "variableInstructions": [{}]}]}"#
                .into(),
            "activateInstructions.variableInstructions.variables",
        ),
        (
            r#"{"terminateInstructions": [{}]}"#.into(),
            "Neither 'terminateInstructions.elementInstanceKey'",
        ),
        (
            r#"{"terminateInstructions": [{"elementId": "a", "elementInstanceKey": "1"}]}"#.into(),
            "Both 'terminateInstructions.elementInstanceKey'",
        ),
        (
            r#"{"moveInstructions": [{"targetElementId": "e"}]}"#.into(),
            "moveInstructions.sourceElementInstruction",
        ),
        (
            of_move(r#"{"sourceType": "x"}"#, "null"),
            "'byId' or 'byKey'",
        ),
        (
            of_move(r#"{"sourceType": "byKey", "sourceElementId": "a"}"#, "null"),
            "is not allowed with",
        ),
        (
            of_move(by_id, r#"{"ancestorScopeType": "direct"}"#),
            "ancestorElementInstanceKey' is missing",
        ),
        (
            of_move(
                by_id,
                r#"{"ancestorScopeType": "inferred", "ancestorElementInstanceKey": "1"}"#,
            ),
            "is not allowed with",
        ),
        (
            of_move(by_id, r#"{"ancestorScopeType": "x"}"#),
            "'direct', 'inferred' or 'sourceParent'",
        ),
    ];
    for (body, expected) in cases {
        let answer = post(gateway.rest, &path(), &body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text.contains(expected), "{body}: {}", answer.text);
    }
}

#[tokio::test]
async fn invalid_instructions_are_refused_over_grpc() {
    let gateway = start().await;
    let mut client = client(&gateway).await;
    let moved = wire::MoveInstruction {
        source_element_id: "a".into(),
        target_element_id: "e".into(),
        ..Default::default()
    };
    let of_move = |instruction| pb::ModifyProcessInstanceRequest {
        move_instructions: vec![instruction],
        ..Default::default()
    };
    let cases = [
        (
            pb::ModifyProcessInstanceRequest {
                activate_instructions: vec![wire::ActivateInstruction::default()],
                ..Default::default()
            },
            "activateInstructions.elementId",
        ),
        (
            pb::ModifyProcessInstanceRequest {
                terminate_instructions: vec![wire::TerminateInstruction::default()],
                ..Default::default()
            },
            "Neither 'terminateInstructions.elementInstanceKey'",
        ),
        (
            of_move(wire::MoveInstruction {
                source_element_instance_key: 1,
                ..moved.clone()
            }),
            "Both 'moveInstructions.sourceElementInstanceKey'",
        ),
        (
            of_move(wire::MoveInstruction {
                target_element_id: String::new(),
                ..moved.clone()
            }),
            "moveInstructions.targetElementId",
        ),
        (
            of_move(wire::MoveInstruction {
                ancestor_element_instance_key: 1,
                infer_ancestor_scope_from_source_hierarchy: true,
                ..moved
            }),
            "More than one of",
        ),
    ];
    for (request, expected) in cases {
        let refusal = client.modify_process_instance(request).await.unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidArgument);
        assert!(refusal.message().contains(expected), "{refusal}");
    }
}
