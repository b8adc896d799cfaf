//! No input makes the parser panic, and accepted models yield consistent graphs.

use std::collections::HashSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use skep_model::builder::{Bpmn, random};
use skep_model::timer_value::{Cycle, parse_date, parse_duration};
use skep_model::{ElementIndex, ElementKind, ElementType, Options, Process, parse, parse_pinned};

use crate::not_supported::samples;
use crate::support::around;

static CORPUS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let built = [
        Bpmn::process("p")
            .start("s")
            .service_task("t", "work")
            .retries("=3")
            .header("k", "v")
            .end("e"),
        Bpmn::process("p")
            .start("s")
            .exclusive("g")
            .when("=a > 1")
            .end("x")
            .from("g")
            .otherwise()
            .end_error("y", "code"),
        around(|p| {
            p.sub_process("sub", |sub| {
                sub.start("s2")
                    .catch_message("m", "n", "=k")
                    .end_terminate("e2")
            })
        })
        .boundary_cycle("c", "sub", "R3/2026-10-01T12:00:00Z/PT1H")
        .end("e3"),
        around(|p| {
            p.call_activity("c", "=id")
                .bind_to_tag("v1")
                .input("=a.b", "c.d")
                .output("=e", "f")
        })
        .boundary_error("b", "c", None),
        around(|p| {
            p.receive_task("r", "m", "=k")
                .catch_date("d", "2026-10-01T12:00:00Z")
                .parallel("g")
        }),
    ];
    let models = ["order.bpmn", "plain.bpmn"].map(|name| {
        let path = format!("{}/tests/models/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read(path).expect("the model is readable")
    });
    built
        .into_iter()
        .chain(samples())
        .map(|bpmn| bpmn.xml().into_bytes())
        .chain(models)
        .collect()
});

/// Fragments with a meaning for the parser.
const FRAGMENTS: [&str; 28] = [
    "<bpmn:task id=\"x\"/>",
    "<bpmn:subProcess id=\"x\">",
    "</bpmn:subProcess>",
    "</bpmn:process>",
    "id=\"s\"",
    "id=\"\"",
    "sourceRef=\"p\"",
    "targetRef=\"s\"",
    "attachedToRef=\"b\"",
    "default=\"s-g\"",
    "=",
    "=(",
    "P1D",
    "R/PT0S",
    "\"",
    "<",
    ">",
    "/",
    "&lt;",
    "&#0;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?x?>",
    "xmlns:bpmn=\"\"",
    "\u{0}",
    "ä",
];

#[derive(Clone, Debug)]
enum Mutation {
    Replace {
        at: prop::sample::Index,
        byte: u8,
    },
    Remove {
        at: prop::sample::Index,
        length: usize,
    },
    Copy {
        from: prop::sample::Index,
        length: usize,
        to: prop::sample::Index,
    },
    Insert {
        at: prop::sample::Index,
        fragment: prop::sample::Index,
    },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace { at, byte }),
        (at(), 1..200usize).prop_map(|(at, length)| Mutation::Remove { at, length }),
        (at(), 1..400usize, at()).prop_map(|(from, length, to)| Mutation::Copy {
            from,
            length,
            to
        }),
        (at(), at()).prop_map(|(at, fragment)| Mutation::Insert { at, fragment }),
    ]
}

fn apply(xml: &mut Vec<u8>, mutation: &Mutation) {
    let length_of = |xml: &Vec<u8>| xml.len().max(1);
    match mutation {
        Mutation::Replace { at, byte } => {
            let at = at.index(length_of(xml));
            xml[at] = *byte;
        }
        Mutation::Remove { at, length } => {
            let at = at.index(length_of(xml));
            let end = (at + length).min(xml.len());
            xml.drain(at..end);
        }
        Mutation::Copy { from, length, to } => {
            let from = from.index(length_of(xml));
            let piece = xml[from..(from + length).min(xml.len())].to_vec();
            let to = to.index(length_of(xml));
            xml.splice(to..to, piece);
        }
        Mutation::Insert { at, fragment } => {
            let at = at.index(length_of(xml));
            xml.splice(at..at, FRAGMENTS[fragment.index(FRAGMENTS.len())].bytes());
        }
    }
}

/// Asserts that every index points to an element, and that related elements refer to each other.
fn assert_sound(process: &Process) {
    let names: HashSet<_> = process.pinned_elements().collect();
    assert_eq!(names.len(), process.elements.len(), "names are unique");
    assert_eq!(process.elements[0].element_type, ElementType::Process);
    assert!(!process.start_events.is_empty());
    for (position, element) in process.elements.iter().enumerate() {
        let this = ElementIndex(position as u32);
        let parent = process.element(element.parent);
        match &parent.kind {
            ElementKind::Process
            | ElementKind::SubProcess
            | ElementKind::EventSubProcess { .. }
            | ElementKind::AdHocSubProcessInnerInstance => {}
            ElementKind::AdHocSubProcess(_) => assert!(matches!(
                element.kind,
                ElementKind::AdHocSubProcessInnerInstance | ElementKind::EventSubProcess { .. }
            )),
            ElementKind::MultiInstanceBody(body) => assert_eq!(body.inner, this),
            other => panic!("{other:?} contains '{}'", element.id),
        }
        match &element.kind {
            ElementKind::SequenceFlow(flow) => {
                assert!(process.element(flow.source).outgoing.contains(&this));
                assert!(process.element(flow.target).incoming.contains(&this));
                assert_eq!(process.element(flow.source).parent, element.parent);
            }
            ElementKind::BoundaryEvent(boundary) => {
                assert!(
                    process
                        .element(boundary.attached_to)
                        .boundary_events
                        .contains(&this)
                );
            }
            ElementKind::SubProcess => assert!(element.none_start.is_some()),
            ElementKind::EventSubProcess { start } => {
                assert_eq!(process.element(*start).parent, this);
                assert!(parent.event_sub_processes.contains(&this));
            }
            ElementKind::AdHocSubProcess(ad_hoc) => {
                assert_eq!(process.element(ad_hoc.inner_instance).parent, this);
                assert!(!ad_hoc.activities.is_empty());
            }
            ElementKind::MultiInstanceBody(body) => {
                assert_eq!(process.element(body.inner).parent, this);
            }
            _ => {}
        }
        for flow in element.incoming.iter().chain(&element.outgoing) {
            assert_eq!(
                process.element(*flow).element_type,
                ElementType::SequenceFlow
            );
        }
    }
}

fn check(xml: &[u8]) {
    match parse("fuzz.bpmn", xml, &Options::default()) {
        Ok(resource) => {
            for process in &resource.processes {
                assert_sound(process);
                let elements: Vec<_> = process.pinned_elements().collect();
                let pinned =
                    parse_pinned(xml, &elements).expect("what was deployed can be recompiled");
                assert_eq!(pinned.pinned_elements().collect::<Vec<_>>(), elements);
            }
        }
        Err(invalid) => assert!(!invalid.findings.is_empty() && !invalid.to_string().is_empty()),
    }
}

#[test]
fn the_corpus_is_accepted() {
    for xml in CORPUS.iter() {
        check(xml);
        let result = parse("corpus.bpmn", xml, &Options::default());
        assert!(
            result.is_ok(),
            "{}\n{}",
            result.expect_err("refused"),
            String::from_utf8_lossy(xml)
        );
    }
}

#[test]
fn random_processes_are_valid_and_the_same_for_the_same_seed() {
    let mut kinds = HashSet::new();
    let mut processes = 0;
    skep_sim::each(150, |seed| {
        processes += 1;
        let xml = random("p", seed, 40).xml();
        assert_eq!(xml, random("p", seed, 40).xml());
        let resource = parse("random.bpmn", xml.as_bytes(), &Options::default())
            .unwrap_or_else(|invalid| panic!("{seed}: {invalid}\n{xml}"));
        assert_sound(&resource.processes[0]);
        kinds.extend(
            resource.processes[0]
                .elements
                .iter()
                .map(|element| element.element_type),
        );
        check(xml.as_bytes());
    });
    // A single seed is used only to reproduce a failure.
    assert!(
        kinds.len() >= 19 || processes == 1,
        "every type of element occurs: {kinds:?}"
    );
}

/// Scope and flows of each element, by ids.
fn joined(process: &Process) -> Vec<(String, String, Vec<String>, Vec<String>)> {
    let id = |index: &ElementIndex| process.element(*index).id.to_string();
    let ids = |list: &[ElementIndex]| list.iter().map(id).collect();
    let mut all: Vec<_> = process
        .elements
        .iter()
        .map(|e| {
            (
                e.id.to_string(),
                id(&e.parent),
                ids(&e.incoming),
                ids(&e.outgoing),
            )
        })
        .collect();
    all.sort();
    all
}

#[test]
fn it_does_not_matter_where_flows_are_written() {
    let compiled = |xml: &str| {
        let resource = parse("random.bpmn", xml.as_bytes(), &Options::default());
        let mut resource = resource.unwrap_or_else(|invalid| panic!("{invalid}\n{xml}"));
        resource.processes.remove(0)
    };
    skep_sim::each(50, |seed| {
        let xml = random("p", seed, 40).xml();
        let is_flow = |line: &&str| line.trim_start().starts_with("<bpmn:sequenceFlow");
        let (flows, others): (Vec<&str>, Vec<&str>) = xml.lines().partition(is_flow);
        let end = format!("{}</bpmn:process>", flows.concat());
        let moved = others.join("\n").replace("</bpmn:process>", &end);
        assert!(!flows.is_empty() && moved != xml);
        let moved = compiled(&moved);
        assert_sound(&moved);
        assert_eq!(joined(&moved), joined(&compiled(&xml)), "{seed}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn mutated_models_are_accepted_soundly_or_refused(
        seed in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(mutation(), 1..6),
    ) {
        let mut xml = CORPUS[seed.index(CORPUS.len())].clone();
        for mutation in &mutations {
            if xml.is_empty() {
                break;
            }
            apply(&mut xml, mutation);
        }
        check(&xml);
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
        prop_assert!(parse("fuzz.bpmn", &bytes, &Options::default()).is_err());
    }

    #[test]
    fn timer_values_never_panic(text in "[-+PTRYMWDHS0-9./:Z@a-z *?#,]{0,24}", now in any::<i64>()) {
        let _ = parse_date(&text);
        if let Ok(duration) = parse_duration(&text) {
            duration.add_to(now);
        }
        if let Ok(cycle) = Cycle::parse(&text) {
            cycle.first(now);
            cycle.next(now, now);
        }
    }

    #[test]
    fn cycles_always_move_on(
        start in 0i64..4_000_000_000_000,
        months in 0i64..30,
        days in 0i64..400,
        millis in 1i64..100_000_000,
        now in 0i64..4_000_000_000_000,
        late in 0i64..100_000_000_000,
    ) {
        let date = jiff::Timestamp::from_millisecond(start).expect("in the calendar");
        let text = format!("R/{date}/P{months}M{days}DT{}.{:03}S", millis / 1000, millis % 1000);
        let cycle = Cycle::parse(&text).expect("a cycle");
        let first = cycle.first(now).expect("within the calendar");
        prop_assert_eq!(first, now.max(start));
        let on_time = cycle.next(first, first).expect("within the calendar");
        prop_assert!(on_time > first);
        // However late it fires, it catches up at once.
        let late = cycle.next(first, on_time + late).expect("within the calendar");
        prop_assert!(late >= on_time && cycle.next(late, late) > Some(late));
    }
}
