//! The compiled descriptor has exactly the messages, fields, numbers, types and labels
//! of the published protocol, listed in `wire_facts.tsv`.

use std::collections::BTreeSet;

use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

const PACKAGE: &str = ".gateway_protocol.";

fn descriptor() -> FileDescriptorProto {
    let set = FileDescriptorSet::decode(skep_proto::FILE_DESCRIPTOR_SET).expect("decodes");
    let [file] = set.file.try_into().expect("one file");
    file
}

fn row(cells: [&str; 6]) -> String {
    cells.join("\t")
}

fn type_name(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Int32 => "int32".into(),
        Type::Int64 => "int64".into(),
        Type::Uint64 => "uint64".into(),
        Type::Bool => "bool".into(),
        Type::String => "string".into(),
        Type::Bytes => "bytes".into(),
        Type::Message | Type::Enum => field.type_name().trim_start_matches(PACKAGE).into(),
        other => format!("{other:?}"),
    }
}

fn label(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    if field.label() == Label::Repeated {
        "repeated".into()
    } else if field.proto3_optional() {
        "optional".into()
    } else if let Some(index) = field.oneof_index {
        let index = usize::try_from(index).expect("an index");
        format!("oneof {}", message.oneof_decl[index].name())
    } else {
        "-".into()
    }
}

fn enum_rows(rows: &mut BTreeSet<String>, name: &str, definition: &EnumDescriptorProto) {
    for value in &definition.value {
        let number = value.number().to_string();
        rows.insert(row(["enum", name, value.name(), &number, "-", "-"]));
    }
}

fn message_rows(rows: &mut BTreeSet<String>, name: &str, message: &DescriptorProto) {
    let count = message.field.len().to_string();
    rows.insert(row(["message", name, "-", &count, "-", "-"]));
    for field in &message.field {
        let number = field.number().to_string();
        let (kind, label) = (type_name(field), label(message, field));
        rows.insert(row(["field", name, field.name(), &number, &kind, &label]));
    }
    for nested in &message.nested_type {
        message_rows(rows, &format!("{name}.{}", nested.name()), nested);
    }
    for definition in &message.enum_type {
        enum_rows(rows, &format!("{name}.{}", definition.name()), definition);
    }
}

#[test]
fn the_descriptor_is_the_published_protocol() {
    let file = descriptor();
    assert_eq!(file.package(), "gateway_protocol");
    let mut actual = BTreeSet::new();
    for service in &file.service {
        for method in &service.method {
            assert!(!method.client_streaming(), "{}", method.name());
            actual.insert(row([
                "rpc",
                service.name(),
                method.name(),
                method.input_type().trim_start_matches(PACKAGE),
                method.output_type().trim_start_matches(PACKAGE),
                if method.server_streaming() {
                    "server"
                } else {
                    "-"
                },
            ]));
        }
    }
    for message in &file.message_type {
        message_rows(&mut actual, message.name(), message);
    }
    for definition in &file.enum_type {
        enum_rows(&mut actual, definition.name(), definition);
    }
    let expected: BTreeSet<String> = include_str!("wire_facts.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = expected.difference(&actual).collect();
    let extra: Vec<_> = actual.difference(&expected).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing: {missing:#?}\nextra: {extra:#?}"
    );
    assert_eq!(file.service[0].method.len(), 22);
}
