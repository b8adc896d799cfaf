//! Multi-instance bodies, ad-hoc sub-processes, compensation, listeners.

use skep_model::builder::Bpmn;
use skep_model::*;

use crate::support::*;

fn repeated() -> Bpmn {
    around(|p| {
        p.service_task("t", "work")
            .named("Work")
            .input("=i", "j")
            .for_each("=items", "i")
            .collect("=r", "results")
            .until("=done")
    })
    .boundary_duration("b", "t", "PT1H")
    .end("e2")
}

#[test]
fn a_multi_instance_activity_has_a_body_around_it() {
    let process = accepted(repeated());
    let body = element(&process, "t");
    let body_index = process.find("t").expect("t");
    assert_eq!(body.element_type, ElementType::MultiInstanceBody);
    assert_eq!(body.parent, ElementIndex::PROCESS);
    assert_eq!(body.boundary_events, [process.find("b").expect("b")]);
    assert_eq!((body.incoming.len(), body.outgoing.len()), (1, 1));
    assert_eq!((body.inputs.len(), body.event_type()), (0, "UNSPECIFIED"));
    let ElementKind::MultiInstanceBody(multi) = &body.kind else {
        panic!("a body");
    };
    assert!(!multi.sequential);
    expression("items", &multi.input_collection);
    assert_eq!(multi.input_element.as_deref(), Some("i"));
    let output = multi.output.as_ref().expect("an output");
    expression("r", &output.element);
    assert_eq!(&*output.collection, "results");
    assert!(matches!(
        multi.completion_condition,
        Some(TextValue::Expression(_))
    ));

    let inner = process.element(multi.inner);
    assert_eq!(
        (&*inner.id, inner.element_type),
        ("t", ElementType::ServiceTask)
    );
    assert_eq!(
        (inner.parent, inner.name.as_deref()),
        (body_index, Some("Work"))
    );
    assert!(inner.incoming.is_empty() && inner.outgoing.is_empty());
    assert!(inner.boundary_events.is_empty() && inner.inputs.len() == 1);
    assert!(inner.job().is_some());
}

#[test]
fn a_body_and_its_activity_are_pinned_apart() {
    let xml = repeated().xml();
    let process = accepted_xml(&xml);
    let mut order: Vec<_> = process.pinned_elements().collect();
    order[1..].reverse();
    let again = parse_pinned(xml.as_bytes(), &order).expect("compiled");
    assert_eq!(again.pinned_elements().collect::<Vec<_>>(), order);
    let body = element(&again, "t");
    assert_eq!(body.element_type, ElementType::MultiInstanceBody);
    let ElementKind::MultiInstanceBody(multi) = &body.kind else {
        panic!("a body");
    };
    assert_eq!(
        again.element(multi.inner).element_type,
        ElementType::ServiceTask
    );
}

#[test]
fn elements_of_a_multi_instance_scope_belong_to_the_inner_activity() {
    let process = accepted(around(|p| {
        let sub = |sub: Bpmn| sub.start("s2").end("e2");
        p.sub_process("x", sub).for_each("=l", "i").sequential()
    }));
    let ElementKind::MultiInstanceBody(multi) = &element(&process, "x").kind else {
        panic!("a body");
    };
    assert!(multi.sequential);
    assert_eq!(element(&process, "s2").parent, multi.inner);
    assert_eq!(process.element(multi.inner).none_start, process.find("s2"));
}

#[test]
fn multi_instance_markers_are_checked() {
    let with = |content: &str| around(|p| p.service_task("t", "work").content(content));
    let marker = |characteristics: &str, condition: &str| {
        format!(
            "<bpmn:multiInstanceLoopCharacteristics><bpmn:extensionElements>{characteristics}</bpmn:extensionElements>{condition}</bpmn:multiInstanceLoopCharacteristics>"
        )
    };
    let loops = |attributes: &str| format!("<zeebe:loopCharacteristics {attributes}/>");
    refused(
        with(&marker("", "")),
        "t",
        "must have exactly one 'zeebe:loopCharacteristics'",
    );
    refused(
        with(&marker(&loops(""), "")),
        "t",
        "'inputCollection' of 'zeebe:loopCharacteristics' is missing",
    );
    refused(
        with(&marker(&loops("inputCollection='l'"), "")),
        "t",
        "does not start with '='",
    );
    let half = loops("inputCollection='=l' outputCollection='r'");
    refused(
        with(&marker(&half, "")),
        "t",
        "needs the attribute 'outputElement'",
    );
    let half = loops("inputCollection='=l' outputElement='=r'");
    refused(
        with(&marker(&half, "")),
        "t",
        "needs the attribute 'outputCollection'",
    );
    // A constant condition is accepted, and is never true.
    let condition = "<bpmn:completionCondition>true</bpmn:completionCondition>";
    accepted(with(&marker(&loops("inputCollection='=l'"), condition)));
    let gateway = around(|p| p.exclusive("g").content(&marker("", "")));
    refused(
        gateway,
        "g",
        "Only activities can have the multi-instance marker",
    );
}

fn ad_hoc(content: impl FnOnce(Bpmn) -> Bpmn) -> Bpmn {
    Bpmn::process("p").start("s").ad_hoc("x", content)
}

fn ad_hoc_of(process: &Process) -> &AdHocSubProcess {
    match &element(process, "x").kind {
        ElementKind::AdHocSubProcess(ad_hoc) => ad_hoc,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ad_hoc_sub_process_offers_what_no_flow_leads_to() {
    let process = accepted(
        ad_hoc(|a| {
            let a = a
                .service_task("a", "work")
                .task("after")
                .apart()
                .user_task("b");
            let a = a.apart().throw("c").boundary_error("late", "a", None);
            a.event_sub_process("esp", |sub| {
                sub.start_signal("s2", "ring").non_interrupting().end("e2")
            })
        })
        .active_elements("=[\"a\"]")
        .until("=done")
        .attribute("cancelRemainingInstances", "false"),
    );
    let ad_hoc = ad_hoc_of(&process);
    let at = |id: &str| process.find(id).expect(id);
    assert_eq!(ad_hoc.activities, [at("a"), at("b"), at("c")]);
    assert!(!ad_hoc.cancel_remaining_instances && ad_hoc.job.is_none());
    expression(
        "[\"a\"]",
        ad_hoc.active_elements.as_ref().expect("an expression"),
    );
    expression(
        "done",
        ad_hoc.completion_condition.as_ref().expect("a condition"),
    );
    let inner = process.element(ad_hoc.inner_instance);
    assert_eq!(&*inner.id, "x#innerInstance");
    assert_eq!(
        inner.element_type.as_str(),
        "AD_HOC_SUB_PROCESS_INNER_INSTANCE"
    );
    assert_eq!(inner.parent, at("x"));
    for id in ["a", "after", "b", "late", "a-after"] {
        assert_eq!(
            process.element(at(id)).parent,
            ad_hoc.inner_instance,
            "{id}"
        );
    }
    assert_eq!(process.element(at("esp")).parent, at("x"));
    assert_eq!(element(&process, "x").event_sub_processes, [at("esp")]);
}

#[test]
fn an_ad_hoc_sub_process_may_be_run_by_a_worker() {
    let definition = "<zeebe:taskDefinition type='agent'/>";
    let run = || ad_hoc(|a| a.task("a")).extension(definition);
    let process = accepted(run());
    let job = element(&process, "x").job().expect("a job");
    assert_eq!(job.job_type.as_static(), Some("agent"));
    let decides = "which takes over what";
    refused(run().active_elements("=[\"a\"]"), "x", decides);
    refused(run().until("=done"), "x", decides);
    refused(
        run().attribute("cancelRemainingInstances", "true"),
        "x",
        decides,
    );
}

#[test]
fn ad_hoc_sub_processes_are_checked() {
    refused(ad_hoc(|a| a), "x", "must contain at least one activity");
    refused(
        ad_hoc(|a| a.task("a").end("e2")),
        "e2",
        "must not contain start or end events",
    );
    refused(
        ad_hoc(|a| a.start("s2").task("a").apart().task("b")),
        "s2",
        "must not contain start or end events",
    );
    let half = "<zeebe:adHoc outputCollection='r'/>";
    refused(
        ad_hoc(|a| a.task("a")).extension(half),
        "x",
        "needs the attribute 'outputElement'",
    );
    let constant = "<zeebe:adHoc activeElementsCollection='a'/>";
    refused(
        ad_hoc(|a| a.task("a")).extension(constant),
        "x",
        "does not start with '='",
    );
    let interrupting = ad_hoc(|a| {
        a.task("a")
            .event_sub_process("esp", |sub| sub.start_signal("s2", "ring").end("e2"))
    });
    refused(
        interrupting,
        "esp",
        "interrupting event sub-process is not possible inside an ad-hoc",
    );
}

fn compensated() -> Bpmn {
    let p = task().boundary_compensation("b", "t", "undo");
    p.service_task("undo", "undo").for_compensation()
}

#[test]
fn a_compensation_boundary_event_leads_to_its_handler() {
    let process = accepted(compensated());
    let undo = process.find("undo").expect("undo");
    let caught = element(&process, "b").caught();
    assert!(matches!(caught, Some(CatchEvent::Compensation { handler }) if *handler == undo));
    assert!(process.element(undo).is_for_compensation);
    assert_eq!(element(&process, "b").event_type(), "COMPENSATION");
    refused(
        compensated().from("undo").to("e"),
        "undo",
        "must not have sequence flows",
    );
    refused(
        compensated().from("b").to("e"),
        "b",
        "must not have an outgoing sequence flow",
    );
    refused(
        compensated().boundary_error("c", "undo", None).end("e2"),
        "undo",
        "must not have boundary events",
    );
    let alone = task()
        .boundary("b", "t")
        .content("<bpmn:compensateEventDefinition/>");
    refused(alone, "b", "has no association");
    let to_an_event = task().boundary_compensation("b", "t", "e");
    refused(to_an_event, "b", "not an activity of its scope");
}

#[test]
fn a_repeated_handler_is_reached_by_its_body() {
    let bpmn = task()
        .boundary_compensation("b", "t", "undo")
        .service_task("undo", "undo");
    let process = accepted(bpmn.for_compensation().for_each("=l", "i"));
    let undo = element(&process, "undo");
    assert!(undo.is_for_compensation && undo.element_type == ElementType::MultiInstanceBody);
    let CatchEvent::Compensation { handler } = element(&process, "b").caught().expect("caught")
    else {
        panic!("compensation");
    };
    assert_eq!(Some(*handler), process.find("undo"));
}

#[test]
fn compensation_is_thrown_for_a_scope_or_an_activity_of_it() {
    let throwing =
        |activity: Option<&str>| compensated().from("t").throw_compensation("x", activity);
    let thrown = |bpmn: Bpmn| match &element(&accepted(bpmn), "x").kind {
        ElementKind::IntermediateThrowEvent(ThrowEvent::Compensation { activity }) => *activity,
        other => panic!("{other:?}"),
    };
    assert_eq!(thrown(throwing(None)), None);
    assert!(thrown(throwing(Some("t"))).is_some());
    refused(
        throwing(Some("nobody")),
        "x",
        "not an element of this process",
    );
    refused(
        throwing(Some("undo")),
        "x",
        "has no compensation boundary event",
    );
    let sub = around(|p| {
        p.sub_process("sub", |sub| {
            sub.start("s2").service_task("t2", "work").end("e2")
        })
        .throw_compensation("x", "sub")
    });
    accepted(sub.clone());
    let inside = sub.from("sub").throw_compensation("y", "t2");
    refused(inside, "y", "does not lie in the scope of the event");
    let not_waiting = "<bpmn:compensateEventDefinition waitForCompletion='false'/>";
    refused(
        around(|p| p.throw("x").content(not_waiting)),
        "x",
        "always waits",
    );
}

#[test]
fn execution_listeners_run_in_their_order() {
    let process = accepted(
        around(|p| {
            let p = p.service_task("t", "work").listener("start", "a");
            p.listener("end", "a").listener("start", "=b")
        })
        .process_listener("end", "audit"),
    );
    let t = element(&process, "t");
    assert_eq!((t.start_listeners.len(), t.end_listeners.len()), (2, 1));
    assert_eq!(t.start_listeners[0].job_type.as_static(), Some("a"));
    assert_eq!(t.start_listeners[0].retries.as_static(), Some("3"));
    assert_eq!(element(&process, "p").end_listeners.len(), 1);
}

#[test]
fn listeners_of_a_repeated_activity_are_those_of_its_instances() {
    let process = accepted(around(|p| {
        p.service_task("t", "work")
            .listener("start", "a")
            .for_each("=l", "i")
    }));
    let body = element(&process, "t");
    let ElementKind::MultiInstanceBody(multi) = &body.kind else {
        panic!("a body");
    };
    assert!(body.start_listeners.is_empty());
    assert_eq!(process.element(multi.inner).start_listeners.len(), 1);
}

#[test]
fn listeners_are_checked() {
    let with = |attributes: &str| {
        let listener = format!(
            "<zeebe:executionListeners><zeebe:executionListener {attributes}/></zeebe:executionListeners>"
        );
        around(|p| p.service_task("t", "work").extension(&listener))
    };
    refused(
        with("eventType='start' type=''"),
        "t",
        "'type' of 'zeebe:executionListener' is missing",
    );
    refused(with("type='a'"), "t", "has no eventType");
    refused(
        with("eventType='middle' type='a'"),
        "t",
        "'middle' of the listener is not known",
    );
    accepted(with("eventType='start' type='a' retries=''"));
    let twice = around(|p| {
        let p = p.service_task("t", "work").listener("start", "a");
        p.listener("start", "a")
    });
    refused(twice, "t", "two start listeners of the type 'a'");
}

#[test]
fn listeners_need_a_moment_to_run() {
    let start = Bpmn::process("p")
        .start("x")
        .listener("start", "a")
        .end("e");
    refused(
        start,
        "x",
        "Start listeners are not possible on a start event",
    );
    refused(
        around(|p| p.parallel("x").listener("end", "a")),
        "x",
        "End listeners are not possible on a gateway",
    );
    let error = Bpmn::process("p")
        .start("s")
        .end_error("x", "c")
        .listener("end", "a");
    refused(
        error,
        "x",
        "End listeners are not possible on an error end event",
    );
    let boundary = task()
        .boundary_error("x", "t", None)
        .listener("start", "a")
        .end("e2");
    refused(
        boundary,
        "x",
        "Start listeners are not possible on a boundary event",
    );
    let compensation = task()
        .boundary("x", "t")
        .content("<bpmn:compensateEventDefinition/>");
    let compensation = compensation
        .listener("end", "a")
        .drawn("<bpmn:association id='as' sourceRef='x' targetRef='undo'/>");
    let compensation = compensation.apart().task("undo").for_compensation();
    refused(
        compensation,
        "x",
        "not possible on a compensation boundary event",
    );
    accepted(around(|p| p.parallel("x").listener("start", "a")));
    accepted(around(|p| {
        p.throw("x").listener("start", "a").listener("end", "a")
    }));
}

#[test]
fn task_listeners_belong_to_camunda_user_tasks() {
    let job = around(|p| p.user_task_job("t").task_listener("creating", "a"));
    refused(
        job,
        "t",
        "only possible on user tasks with 'zeebe:userTask'",
    );
    let unknown = around(|p| p.user_task("t").task_listener("thinking", "a"));
    refused(unknown, "t", "'thinking' of the listener is not known");
    let nameless = around(|p| p.user_task("t").task_listener("creating", ""));
    refused(nameless, "t", "'type' of 'zeebe:taskListener' is missing");
    // The same type twice is accepted.
    accepted(around(|p| {
        let p = p.user_task("t").task_listener("creating", "a");
        p.task_listener("creating", "a")
    }));
}

#[test]
fn an_inclusive_gateway_chooses_like_an_exclusive_one() {
    let gateway = || {
        let p = Bpmn::process("p")
            .start("s")
            .inclusive("g")
            .when("=a")
            .end("e1");
        p.from("g")
    };
    let process = accepted(gateway().otherwise().end("e2"));
    let ElementKind::InclusiveGateway { default } = element(&process, "g").kind else {
        panic!("a gateway");
    };
    assert_eq!(default, process.find("g-e2"));
    refused(
        gateway().end("e2"),
        "g-e2",
        "leaves the inclusive gateway 'g' without condition",
    );
}
