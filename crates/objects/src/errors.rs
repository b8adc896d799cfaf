//! Readable errors of services.

/// An error of the service in one line of at most 500 characters.
pub fn one_line(error: &object_store::Error) -> String {
    let text = error.to_string();
    // Most services answer with an XML document.
    let text = match text.find("<?xml").or_else(|| text.find("<Error>")) {
        Some(begin) => {
            let (before, document) = text.split_at(begin);
            let of = |name: &str| {
                let (_, rest) = document.split_once(&format!("<{name}>"))?;
                rest.split_once(&format!("</{name}>")).map(|(it, _)| it)
            };
            // Azure appends the request ID and the time on separate lines.
            let message = of("Message").and_then(|it| it.lines().next());
            match (of("Code"), message) {
                (Some(code), Some(message)) => format!("{before}{code}: {message}"),
                (Some(code), None) => format!("{before}{code}"),
                _ => text,
            }
        }
        None => text,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(answer: &str) -> String {
        one_line(&object_store::Error::Generic {
            store: "S",
            source: format!("status 404: {answer}").into(),
        })
    }

    #[test]
    fn an_error_document_is_shown_as_its_code_and_message() {
        let azure = "<?xml version=\"1.0\"?>\n<Error>\n<Code>ContainerNotFound</Code>\n<Message>It does not exist.\nRequestId:1\nTime:2</Message></Error>";
        let expected = "Generic S error: status 404: ContainerNotFound: It does not exist.";
        assert_eq!(shown(azure), expected);
        let short = "<Error><Code>NoSuchKey</Code></Error>";
        assert_eq!(shown(short), "Generic S error: status 404: NoSuchKey");
        assert_eq!(
            shown("no\n  document"),
            "Generic S error: status 404: no document"
        );
        assert_eq!(shown("<Error>"), "Generic S error: status 404: <Error>");
        assert_eq!(shown(&"x".repeat(600)).chars().count(), 500);
    }
}
