//! A few clients with long evaluations, or with requests that start very many instances, do not block others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use skep_client::Resource;

use super::probe;
use super::support::Server;

/// Clients of each kind.
const CLIENTS: usize = 30;
/// Number of creations by the honest client.
const CREATIONS: usize = 60;
/// Number of processes that one request starts.
const STARTED: usize = 60;

const DECISION: &str = r#"<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="rules" name="rules" namespace="n">
    <decision id="long" name="long"><variable name="long"/>
    <literalExpression><text>count(for i in 1..n return i)</text></literalExpression></decision>
</definitions>"#;

/// Path and body of each kind of request.
const REQUESTS: [(&str, &str); 3] = [
    (
        "/v2/expression/evaluation",
        r#"{"expression":"=count(for i in 1..100000000 return i)"}"#,
    ),
    (
        "/v2/decision-definitions/evaluation",
        r#"{"decisionDefinitionId":"long","variables":{"n":100000000}}"#,
    ),
    ("/v2/conditionals/evaluation", r#"{"variables":{"x":1}}"#),
];

fn conditional_starts() -> String {
    let mut xml = r#"<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="x">"#.to_string();
    for n in 0..STARTED {
        write!(
            xml,
            r#"<bpmn:process id="c{n}" isExecutable="true"><bpmn:startEvent id="s{n}"><bpmn:conditionalEventDefinition id="d{n}">
               <bpmn:condition>=x = 1</bpmn:condition></bpmn:conditionalEventDefinition></bpmn:startEvent></bpmn:process>"#
        )
        .unwrap();
    }
    xml + "</bpmn:definitions>"
}

pub async fn deploy(server: &Server) {
    let client = server.client();
    probe::deploy(&client).await;
    let files = [
        ("starts.bpmn", conditional_starts()),
        ("long.dmn", DECISION.to_string()),
    ];
    for (name, content) in files {
        let resource = Resource {
            name: name.into(),
            content: content.into(),
        };
        client.deploy(&[resource], None).await.unwrap();
    }
}

/// Number of answers by kind of request and status.
type Answers = Mutex<BTreeMap<(&'static str, u16), usize>>;

/// An honest client creates instances while the others request as much as they can. Every creation is carried out.
pub fn nobody_is_refused(server: &Server) {
    let (done, answers) = (AtomicBool::new(false), Answers::default());
    std::thread::scope(|scope| {
        for client in 0..CLIENTS * REQUESTS.len() {
            let (path, body) = REQUESTS[client % REQUESTS.len()];
            let (done, answers) = (&done, &answers);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    if let Some((status, _)) = server.ask(server.rest, "POST", path, body) {
                        *answers.lock().unwrap().entry((path, status)).or_default() += 1;
                    }
                }
            });
        }
        let body = r#"{"processDefinitionId":"probe"}"#;
        let created = (0..CREATIONS).map(|_| {
            let answer = server.ask(server.rest, "POST", "/v2/process-instances", body);
            let served = || answers.lock().unwrap().values().sum::<usize>();
            // The others are active.
            while served() == 0 {
                std::thread::yield_now();
            }
            answer
        });
        let refused: Vec<_> = created
            .filter(|answer| !matches!(answer, Some((200, _))))
            .collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(refused, [], "of {CREATIONS} creations");
    });
    let answers = answers.into_inner().unwrap();
    println!("{answers:?}");
    for (path, _) in REQUESTS {
        let statuses = answers.keys().filter(|(of, _)| *of == path);
        let mut served = statuses.filter(|(_, status)| [200, 400].contains(status));
        assert!(
            served.next().is_some(),
            "{path} is never served: {answers:?}"
        );
    }
}
