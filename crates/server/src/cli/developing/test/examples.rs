//! Example data that modelers attach to an element: the variables that it sets when completed. An element without example data sets none.

use anyhow::{Context, bail};
use serde_json::Value;
use skep_xml::{Node, ZEEBE, children_of};

use super::value::Variables;
use crate::cli::rest::RestArgs;
use crate::cli::search::word;

const PROPERTY: &str = "camundaModeler:exampleOutputJson";

/// The example data of the element that a job or a user task belongs to.
pub async fn of(rest: &RestArgs, item: &Value) -> anyhow::Result<Variables> {
    let definition = word(item, "processDefinitionKey");
    let path = format!("process-definitions/{definition}/xml");
    let (status, xml) = rest.look(&path).await?;
    if !status.is_success() {
        bail!("the server answered {status} to {path}");
    }
    let xml = std::str::from_utf8(&xml).context("the model is not UTF-8")?;
    let element = word(item, "elementId");
    in_model(xml, &element)
}

fn in_model(xml: &str, id: &str) -> anyhow::Result<Variables> {
    let document =
        skep_xml::parse_stored(xml).map_err(|why| anyhow::anyhow!("the model: {}", why.message))?;
    let element = document
        .descendants()
        .find(|node| node.attribute("id") == Some(id));
    let element = element.with_context(|| format!("the model has no element '{id}'"))?;
    let Some(value) = value(element) else {
        return Ok(Variables::default());
    };
    serde_json::from_str(value)
        .with_context(|| format!("the example data of element '{id}' is not a JSON object"))
}

fn value<'x>(element: Node<'x>) -> Option<&'x str> {
    let extensions = element
        .children()
        .filter(|child| child.tag_name().name() == "extensionElements");
    let properties = extensions.flat_map(|node| children_of(node, ZEEBE, "properties"));
    let mut each = properties.flat_map(|node| children_of(node, ZEEBE, "property"));
    each.find(|property| property.attribute("name") == Some(PROPERTY))?
        .attribute("value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_data_is_a_property_of_the_element() {
        let model = |value: &str| {
            format!(
                "<d xmlns='b' xmlns:zeebe='{ZEEBE}'><task id='a'><extensionElements><zeebe:properties>\
                 <zeebe:property name='other' value='1'/>\
                 <zeebe:property name='{PROPERTY}' value='{value}'/></zeebe:properties></extensionElements></task>\
                 <task id='b'/></d>"
            )
        };
        let found = in_model(&model("{\"total\": 1.50}"), "a").unwrap();
        assert_eq!(serde_json::to_string(&found).unwrap(), r#"{"total":1.50}"#);
        let none = in_model(&model("{}"), "b").unwrap();
        assert_eq!(serde_json::to_string(&none).unwrap(), "{}");
        for (value, id, said) in [
            ("{}", "c", "has no element 'c'"),
            ("[1]", "a", "is not a JSON object"),
        ] {
            let why = in_model(&model(value), id).unwrap_err();
            assert!(why.to_string().contains(said), "{why}");
        }
    }
}
