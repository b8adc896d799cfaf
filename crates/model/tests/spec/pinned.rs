//! Recompiling a deployed process under the indices that its record pins.

use skep_model::builder::Bpmn;
use skep_model::{ElementIndex, ElementKind, ElementType, parse_pinned};
use skep_testkit::scenario::Scenario;

use crate::support::*;

fn bpmn() -> Bpmn {
    Bpmn::process("p")
        .start("s")
        .exclusive("g")
        .when("=a")
        .sub_process("sub", |sub| {
            sub.start("s2").service_task("t", "work").end("e2")
        })
        .end("e")
        .from("g")
        .otherwise()
        .end("e3")
        .boundary_error("b", "sub", "x")
        .end("e4")
}

#[test]
fn indices_follow_the_document() {
    let process = accepted(bpmn());
    assert_eq!(
        process.element_ids().collect::<Vec<_>>(),
        [
            "p", "s", "g", "sub", "s2", "t", "e2", "s2-t", "t-e2", "e", "e3", "b", "e4", "s-g",
            "g-sub", "sub-e", "g-e3", "b-e4"
        ]
    );
}

#[test]
fn the_given_order_is_kept_and_all_references_follow() {
    let xml = bpmn().xml();
    let mut order: Vec<_> = accepted_xml(&xml).pinned_elements().collect();
    order[1..].reverse();
    let process = parse_pinned(xml.as_bytes(), &order).expect("compiled");
    assert_eq!(process.pinned_elements().collect::<Vec<_>>(), order);
    let at = |id: &str| process.find(id).expect(id);
    assert_eq!(process.none_start_event(), Some(at("s")));
    assert_eq!(process.element(at("t")).parent, at("sub"));
    assert_eq!(process.element(at("sub")).boundary_events, [at("b")]);
    assert_eq!(process.element(at("sub")).none_start, Some(at("s2")));
    // The order of flows is the reverse of the document order, whatever their indices.
    assert_eq!(process.element(at("g")).outgoing, [at("g-e3"), at("g-sub")]);
    let ElementKind::SequenceFlow(flow) = &process.element(at("g-e3")).kind else {
        panic!("a flow")
    };
    assert_eq!((flow.source, flow.target), (at("g"), at("e3")));
}

#[test]
fn one_process_of_several_in_the_file_is_found() {
    let b = Bpmn::process("b").start("s").end("e");
    let order = b.pin(&["b", "e", "s", "s-e"]);
    let xml = Bpmn::file([Bpmn::process("a").start("s"), b]);
    let process = parse_pinned(xml.as_bytes(), &order).expect("compiled");
    assert_eq!(&*process.id, "b");
    assert_eq!(process.find("e"), Some(ElementIndex(1)));
}

#[test]
fn the_elements_must_be_exactly_the_recorded_ones() {
    let bpmn = Bpmn::process("p").start("s").end("e");
    let xml = bpmn.clone().xml();
    for wrong in [
        &["p", "s", "e"][..],
        &["p", "s", "e", "s-e", "more"],
        &["p", "s", "e", "other"],
        &["p", "s", "e", "e"],
        &["q"],
        &[],
    ] {
        assert!(
            parse_pinned(xml.as_bytes(), &bpmn.pin(wrong)).is_err(),
            "{wrong:?}"
        );
    }
    let mut wrong = bpmn.pin(&["p", "s", "e", "s-e"]);
    wrong[2].element_type = ElementType::StartEvent;
    assert!(parse_pinned(xml.as_bytes(), &wrong).is_err(), "{wrong:?}");
}

#[test]
fn rules_that_guard_deployments_are_not_asked_again() {
    // Deployment refuses this model, which lacks conditions. An earlier release may have accepted it.
    let bpmn = Bpmn::process("p").start("s").exclusive("g").end("e1");
    let bpmn = bpmn.from("g").end("e2");
    let xml = bpmn.clone().xml();
    assert!(parse(&xml).is_err());
    let order = bpmn.pin(&["p", "s", "g", "e1", "e2", "s-g", "g-e1", "g-e2"]);
    assert!(parse_pinned(xml.as_bytes(), &order).is_ok());
}

/// Unreadable elements are marked with the reason, and so are elements that depend on them: nothing continues as if they were not meant.
#[test]
fn elements_that_cannot_be_read_are_unusable() {
    let long = vec!["a"; 201].join(".");
    let bpmn = Bpmn::process("p")
        .start("s")
        .exclusive("g")
        .when("=(")
        .service_task("t", "work")
        .input("=1", &long)
        .end("e")
        .from("g")
        .otherwise()
        .service_task("u", "work")
        .end("e2")
        .boundary_duration("b", "u", "never")
        .end("e3");
    let xml = bpmn.clone().xml();
    assert!(parse(&xml).is_err());
    let order = [
        "p", "s", "g", "t", "e", "u", "e2", "b", "e3", "s-g", "g-t", "t-e", "g-u", "u-e2", "b-e3",
    ];
    let process = parse_pinned(xml.as_bytes(), &bpmn.pin(&order)).expect("compiled");
    let unusable = process.unusable_elements();
    let unusable: Vec<_> = unusable.map(|(e, why)| (&*e.id, &**why)).collect();
    let expected = [
        ("g", "its 'g-t' is not usable"),
        ("t", "has 201 names"),
        ("u", "its 'b' is not usable"),
        ("b", "never"),
        ("g-t", "not a valid FEEL expression"),
    ];
    assert_eq!(unusable.len(), expected.len(), "{unusable:?}");
    for ((id, why), (expected_id, said)) in unusable.iter().zip(expected) {
        assert!(*id == expected_id && why.contains(said), "{id}: {why}");
    }
    assert_eq!(process.none_start_event(), process.find("s"));
}

/// The model compiled for checks is kept: it must equal the one that recovery compiles from the record.
#[test]
fn a_stored_model_compiles_to_the_same_as_its_deployment() {
    let mut compared = 0;
    let scenarios = Scenario::all();
    let models = scenarios.iter().flat_map(|it| it.parts_of_kind(".bpmn"));
    for xml in models {
        let Ok(resource) =
            skep_model::parse("a.bpmn", xml.as_bytes(), &skep_model::Options::default())
        else {
            continue;
        };
        for process in resource.processes {
            let elements: Vec<_> = process.pinned_elements().collect();
            let again = parse_pinned(xml.as_bytes(), &elements).expect("compiled");
            let whole = |process: &skep_model::Process| {
                let found: Vec<_> = process.element_ids().map(|id| process.find(id)).collect();
                let (elements, calls) = (&process.elements, &process.call_activities);
                let (tag, starts) = (&process.version_tag, &process.start_events);
                format!(
                    "{} {tag:?} {starts:?} {calls:?} {found:?} {elements:#?}",
                    process.id
                )
            };
            assert_eq!(whole(&process), whole(&again));
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}
