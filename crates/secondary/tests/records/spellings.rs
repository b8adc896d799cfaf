//! Variables are found by the meaning of their values, independently of the spelling in the variable and in the search.

use skep_protocol::document::in_one_form;
use skep_query::entities::{PROCESS_INSTANCE, VARIABLE};

use skep_model::builder::Bpmn;
use skep_testkit::rig::Rig;
use skep_testkit::stores::{follow, rig};

/// Texts with the same meaning.
const SAME: [&[&str]; 4] = [
    &[
        r#""Jürgen""#,
        r#""J\u00fcrgen""#,
        r#""J\u00FCrgen""#,
        r#""\u004a\u00fcrgen""#,
    ],
    &[r#""a/b""#, r#""a\/b""#, r#""a\u002fb""#],
    &[r#""😀\n""#, r#""\ud83d\ude00\u000a""#],
    &[
        r#"{"name":"Jürgen","n":1.50}"#,
        "{ \"name\" : \"J\\u00fcrgen\",\n \"n\" : 1.50 }",
    ],
];

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

#[test]
fn a_variable_is_found_by_every_spelling_of_its_value() {
    let (mut rig, store) = rig(super::BACKEND);
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("t", "job")
            .end("e"),
    );
    let mut created = Vec::new();
    for (at, texts) in SAME.iter().enumerate() {
        for text in *texts {
            created.push((at, rig.create("p", &format!("{{\"v\":{text}}}"))));
        }
    }
    follow(&mut rig, &store);
    for (at, texts) in SAME.iter().enumerate() {
        let meant: Vec<_> = created.iter().filter(|(of, _)| *of == at).collect();
        let patterns: Vec<String> = match at {
            0 => vec!["\"*ürgen*".into(), "\"J?rgen\"".into()],
            1 => vec!["*a/b*".into()],
            2 => vec!["\"😀*".into()],
            _ => vec!["*Jürgen*1.50}".into()],
        };
        let equal = texts.iter().map(|text| quoted(text));
        let like = patterns
            .iter()
            .map(|p| format!(r#"{{"$like": {}}}"#, quoted(p)));
        for condition in equal.chain(like) {
            let rows = store.find(&VARIABLE, &format!(r#"{{"value": {condition}}}"#));
            assert_eq!(rows.len(), meant.len(), "{condition}: {rows:?}");
            for row in &rows {
                assert_eq!(row["value"], *in_one_form(texts[0]), "{condition}");
            }
            let filter = format!(r#"{{"variables": [{{"name": "v", "value": {condition}}}]}}"#);
            assert_eq!(
                store.find(&PROCESS_INSTANCE, &filter).len(),
                meant.len(),
                "{condition}"
            );
        }
        let others = format!(
            r#"{{"name": "v", "value": {{"$neq": {}}}}}"#,
            quoted(texts[0])
        );
        let rows = store.find(&VARIABLE, &others);
        assert_eq!(rows.len(), created.len() - meant.len(), "{others}");
    }
}

#[test]
fn records_show_the_one_form() {
    let mut rig = Rig::new();
    rig.deploy(
        Bpmn::process("p")
            .start("s")
            .service_task("t", "job")
            .end("e"),
    );
    rig.create("p", "{ \"v\" : [ \"J\\u00fcrgen\" , 1.50 ] }");
    let record = rig.events("VARIABLE").next().expect("a variable");
    assert_eq!(record.text("value"), r#"["Jürgen",1.50]"#);
}
