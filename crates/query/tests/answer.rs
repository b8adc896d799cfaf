//! Members of JSON answers, and members that are left out.

use skep_query::answer::{page, row};
use skep_query::entities::{CLUSTER_VARIABLE, PREVIEW, VARIABLE};
use skep_query::{ResultPage, Row, Search, Value};

#[test]
fn only_values_in_lists_say_whether_they_are_cut() {
    let long = "x".repeat(PREVIEW + 1);
    for entity in [&VARIABLE, &CLUSTER_VARIABLE] {
        let values = entity.fields.iter().map(|field| match field.name {
            "value" => Value::text(&long),
            "isTruncated" => Value::from(true),
            _ => Value::Null,
        });
        let one: Row = values.collect();
        let alone = row(entity, &one);
        assert!(alone.contains(&long), "{alone}");
        assert!(!alone.contains("isTruncated"), "{alone}");
        let found = ResultPage {
            rows: vec![one],
            total: 1,
            more: false,
        };
        let listed = page(&Search::all(entity, Vec::new(), 1), &found);
        assert!(!listed.contains(&long), "{listed}");
        assert!(listed.contains(r#""isTruncated":true"#), "{listed}");
    }
}
