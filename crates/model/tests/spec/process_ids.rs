//! A process id must have the form required by the API, so that the process can be started by it.

use crate::support::*;
use skep_model::builder::Bpmn;

#[test]
fn letters_digits_and_some_marks_are_taken() {
    for id in ["p", "_1", "Order-2.b_c", "Bestellung_größer", "注文"] {
        accepted(Bpmn::process(id).start("s"));
    }
}

#[test]
fn other_ids_are_refused_by_name() {
    for id in [" ", "a b", "1abc", "a$b", "a:b", "-x", ".x", "a\u{a0}"] {
        let said = format!("The process id '{id}' is not valid");
        refused(Bpmn::process(id).start("s"), id, &said);
    }
}
