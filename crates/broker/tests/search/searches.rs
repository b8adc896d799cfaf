//! Everything that happened can be searched: on every partition, immediately, exactly once, and also after a restart.

use std::time::Duration;

use super::{open, with_one_task};
use crate::asking::{find, texts};
use crate::support::{Rig, create};
use skep_protocol::command::{Command, FailJob};
use skep_protocol::{Key, Response};
use skep_query::entities::{
    ELEMENT_INSTANCE, INCIDENT, JOB, PROCESS_DEFINITION, PROCESS_INSTANCE, USER_TASK, VARIABLE,
};
use skep_query::{
    Answer, Consistency, Query, QueryError, Storage, Value, search,
};

async fn with_business_id(rig: &Rig, id: &str) -> Key {
    let Command::CreateProcessInstance(mut command) = create("one-task", "{}", None) else {
        unreachable!("a creation");
    };
    command.business_id = Some(id.to_string());
    match rig.send(Command::CreateProcessInstance(command)).await {
        Ok(Response::ProcessInstanceCreated(created)) => created.process_instance_key,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_acknowledged_instance_is_found_at_once() {
    let rig = with_one_task(3).await;
    for n in 0..30 {
        let key = rig
            .create("one-task", &format!(r#"{{"n": {n}}}"#))
            .await
            .unwrap();
        let found = find(
            &rig,
            &PROCESS_INSTANCE,
            &format!(r#"{{"filter": {{"processInstanceKey": "{key}"}}}}"#),
        )
        .await;
        assert_eq!(found.total, 1, "instance {n}");
        assert_eq!(texts(&PROCESS_INSTANCE, &found, "state"), ["\"ACTIVE\""]);
    }
    let found = find(&rig, &PROCESS_INSTANCE, r#"{"page": {"limit": 10}}"#).await;
    assert_eq!((found.rows.len(), found.total, found.more), (10, 30, false));
    // Definitions are on every partition, and found once.
    let found = find(&rig, &PROCESS_DEFINITION, "").await;
    assert_eq!(
        texts(&PROCESS_DEFINITION, &found, "processDefinitionId"),
        ["\"one-task\""]
    );
}

#[tokio::test]
async fn rows_follow_the_life_of_an_instance() {
    let rig = with_one_task(1).await;
    let key = rig
        .create("one-task", r#"{"a": {"b": [1, 2]}}"#)
        .await
        .unwrap();
    let jobs = rig.activate(1, Duration::ZERO).await;
    let of_instance = format!(r#"{{"filter": {{"processInstanceKey": "{key}"}}}}"#);
    let job = find(&rig, &JOB, &of_instance).await;
    assert_eq!(texts(&JOB, &job, "state"), ["\"CREATED\""]);
    assert_eq!(
        texts(&JOB, &job, "jobKey"),
        [format!("\"{}\"", jobs[0].key)]
    );
    rig.send(Command::FailJob(FailJob {
        job_key: jobs[0].key,
        retries: 0,
        retry_back_off: 0,
        error_message: "out of paper".into(),
        variables: Default::default(),
    }))
    .await
    .unwrap();
    let incident = find(&rig, &INCIDENT, &of_instance).await;
    assert_eq!(
        texts(&INCIDENT, &incident, "errorMessage"),
        ["\"out of paper\""]
    );
    assert_eq!(texts(&INCIDENT, &incident, "state"), ["\"ACTIVE\""]);
    let marked = find(
        &rig,
        &PROCESS_INSTANCE,
        r#"{"filter": {"hasIncident": true, "errorMessage": {"$like": "*paper"}}}"#,
    )
    .await;
    assert_eq!(marked.total, 1);
    rig.send(Command::CancelProcessInstance {
        process_instance_key: key,
    })
    .await
    .unwrap();
    let instance = find(&rig, &PROCESS_INSTANCE, &of_instance).await;
    assert_eq!(
        texts(&PROCESS_INSTANCE, &instance, "state"),
        ["\"TERMINATED\""]
    );
    assert_eq!(
        texts(&PROCESS_INSTANCE, &instance, "hasIncident"),
        ["false"]
    );
    let incident = find(&rig, &INCIDENT, &of_instance).await;
    assert_eq!(texts(&INCIDENT, &incident, "state"), ["\"RESOLVED\""]);
}

#[tokio::test]
async fn elements_and_variables_are_found_by_what_they_are() {
    let rig = with_one_task(1).await;
    let key = rig
        .create("one-task", r#"{"a": {"b": [1, 2]}}"#)
        .await
        .unwrap();
    let of_instance = format!(r#"{{"filter": {{"processInstanceKey": "{key}"}}}}"#);
    let elements = find(&rig, &ELEMENT_INSTANCE, &of_instance).await;
    assert_eq!(
        texts(&ELEMENT_INSTANCE, &elements, "elementId"),
        ["\"start\"", "\"task\""]
    );
    assert_eq!(
        texts(&ELEMENT_INSTANCE, &elements, "state"),
        ["\"COMPLETED\"", "\"ACTIVE\""]
    );
    let variables = find(&rig, &VARIABLE, &of_instance).await;
    assert_eq!(
        texts(&VARIABLE, &variables, "value"),
        [r#""{\"b\":[1,2]}""#]
    );
    let by_value = r#"{"filter": {"variables": [{"name": "a", "value": "{\"b\":[1,2]}"}]}}"#;
    assert_eq!(find(&rig, &PROCESS_INSTANCE, by_value).await.total, 1);
    let other_value = r#"{"filter": {"variables": [{"name": "a", "value": "1"}]}}"#;
    assert_eq!(find(&rig, &PROCESS_INSTANCE, other_value).await.total, 0);
}

#[tokio::test]
async fn pages_by_cursor_go_over_all_partitions_and_back() {
    let rig = with_one_task(3).await;
    let mut keys = Vec::new();
    for n in 0..25 {
        // Three values, so that cursors lie between equal ones.
        let tag = format!("v{}", n % 3);
        keys.push((tag.clone(), with_business_id(&rig, &tag).await));
    }
    keys.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let expected: Vec<String> = keys.iter().map(|(_, key)| format!("\"{key}\"")).collect();
    let sort = r#""sort": [{"field": "businessId", "order": "DESC"}]"#;
    let (mut seen, mut after, mut pages) = (Vec::new(), String::new(), Vec::new());
    loop {
        let body = format!(r#"{{{sort}, "page": {{"limit": 7{after}}}}}"#);
        let query = search(&PROCESS_INSTANCE, &body).unwrap();
        let found = find(&rig, &PROCESS_INSTANCE, &body).await;
        let Some(last) = found.rows.last() else {
            break;
        };
        let cursor = skep_query::merge::cursor_of(&query, last).encode(query.entity);
        after = format!(r#", "after": "{cursor}""#);
        seen.extend(texts(&PROCESS_INSTANCE, &found, "processInstanceKey"));
        pages.push(found);
    }
    assert_eq!(seen, expected);
    let query = search(&PROCESS_INSTANCE, &format!("{{{sort}}}")).unwrap();
    let cursor = skep_query::merge::cursor_of(&query, &pages[2].rows[0]).encode(query.entity);
    let body = format!(r#"{{{sort}, "page": {{"limit": 7, "before": "{cursor}"}}}}"#);
    assert_eq!(
        find(&rig, &PROCESS_INSTANCE, &body).await.rows,
        pages[1].rows
    );
}

#[tokio::test]
async fn a_restart_continues_where_the_file_ends() {
    let mut rig = with_one_task(1).await;
    for round in 1..=3 {
        for _ in 0..10 {
            rig.create("one-task", "{}").await.unwrap();
        }
        let storage = rig.broker.config().secondary_storage.clone();
        rig = rig
            .restart(|config| config.secondary_storage = storage)
            .await;
        let found = find(&rig, &PROCESS_INSTANCE, "").await;
        assert_eq!(found.total, round * 10);
        assert_eq!(find(&rig, &ELEMENT_INSTANCE, "").await.total, round * 20);
    }
}

#[tokio::test]
async fn a_key_of_an_unknown_partition_finds_nothing() {
    let rig = open(1).await;
    for key in [Key(-1), Key(0), Key::new(77, 1), Key(i64::MAX)] {
        let query = Query::Get {
            entity: &VARIABLE,
            key,
        };
        let answer = rig.broker.query(query, Consistency::ReadYourWrites).await;
        assert_eq!(answer, Ok((Answer::Row(None), 0)), "{key}");
    }
    assert_eq!(Value::Null, Value::default());
}

#[tokio::test]
async fn user_tasks_are_found_by_candidates_and_variables() {
    let rig = open(1).await;
    let process = include_str!("../../../../tests/processes/valid/search-user-task.bpmn");
    let resource = skep_protocol::command::Resource {
        name: "review.bpmn".into(),
        content: process.as_bytes().into(),
    };
    let deploy = skep_protocol::command::Deploy {
        resources: vec![resource],
    };
    rig.send(Command::Deploy(deploy)).await.unwrap();
    let key = rig.create("review", r#"{"amount": 5}"#).await.unwrap();
    let found = find(
        &rig,
        &USER_TASK,
        r#"{"filter": {"candidateGroup": "managers", "state": "CREATED"}}"#,
    )
    .await;
    assert_eq!(
        texts(&USER_TASK, &found, "processInstanceKey"),
        [format!("\"{key}\"")]
    );
    assert_eq!(
        texts(&USER_TASK, &found, "candidateGroups"),
        [r#"["managers","clerks"]"#]
    );
    assert_eq!(
        texts(&USER_TASK, &found, "dueDate"),
        ["\"2026-12-24T17:00:00.000Z\""]
    );
    assert_eq!(texts(&USER_TASK, &found, "priority"), ["70"]);
    for (filter, expected) in [
        (
            r#""processInstanceVariables": [{"name": "amount", "value": "5"}]"#,
            1,
        ),
        (
            r#""processInstanceVariables": [{"name": "amount", "value": "6"}]"#,
            0,
        ),
        (r#""localVariables": [{"name": "amount", "value": "5"}]"#, 0),
        (r#""candidateGroup": {"$like": "cler*"}"#, 1),
        (r#""candidateUser": "ada""#, 0),
        (r#""assignee": {"$exists": false}"#, 1),
    ] {
        let body = format!(r#"{{"filter": {{{filter}}}}}"#);
        assert_eq!(
            find(&rig, &USER_TASK, &body).await.total,
            expected,
            "{filter}"
        );
    }
    rig.send(Command::CancelProcessInstance {
        process_instance_key: key,
    })
    .await
    .unwrap();
    let found = find(&rig, &USER_TASK, "").await;
    assert_eq!(texts(&USER_TASK, &found, "state"), ["\"CANCELED\""]);
}

#[tokio::test]
async fn a_page_of_large_values_is_bounded() {
    let rig = with_one_task(1).await;
    let large = format!(r#"{{"large": "{}"}}"#, "x".repeat(3 << 20));
    for _ in 0..25 {
        rig.create("one-task", &large).await.unwrap();
    }
    // Storing this much may take longer than a search waits.
    let listed = search(&VARIABLE, "").unwrap();
    let found = loop {
        let query = Query::Search(listed.clone());
        match rig.broker.query(query, Consistency::ReadYourWrites).await {
            Ok((Answer::Page(found), 0)) => break found,
            Ok((_, behind)) => assert!(behind > 0),
            Err(error) => panic!("{error}"),
        }
    };
    // Previews are small.
    assert_eq!(found.rows.len(), 25);
    let value = VARIABLE.index_of("value").unwrap();
    assert!(
        found
            .rows
            .iter()
            .all(|row| row[value].as_text().unwrap().len() < 9_000)
    );
    let mut whole = search(&VARIABLE, "").unwrap();
    whole.whole_texts = true;
    let ask = |search: &skep_query::Search| {
        let query = Query::Search(search.clone());
        rig.broker.query(query, Consistency::Eventual)
    };
    let answer = ask(&whole).await;
    assert_eq!(answer, Err(QueryError::TooLarge { mebibytes: 64 }));
    whole.page.limit = 5;
    let answer = ask(&whole).await;
    assert!(matches!(answer, Ok((Answer::Page(found), _)) if found.rows.len() == 5));
}

#[tokio::test]
async fn a_pattern_has_a_maximum_length() {
    let rig = with_one_task(1).await;
    let filter = |sign: &str, count: usize| {
        let pattern = sign.repeat(count);
        format!(r#"{{"filter": {{"value": {{"$like": "{pattern}"}}}}}}"#)
    };
    for (sign, most) in [("a", 8_000), (r#"\""#, 8_000), ("\u{fc}", 4_000), ("[", 8_000)] {
        assert!(find(&rig, &VARIABLE, &filter(sign, most)).await.rows.is_empty());
        let refused = skep_query::search(&VARIABLE, &filter(sign, most + 1));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("At most 8000 can be looked for"), "{refused}");
    }
}
