//! Renders blocks as their reader sees them: bold between stars, commands after `$`, two fields in a row, buttons in
//! brackets.

use serde_json::Value;

fn span(span: &Value) -> String {
    let text = span["text"].as_str().or(span["fallback"].as_str());
    let text = text.unwrap_or_default();
    match span["style"]["bold"] == true {
        true => format!("*{text}*"),
        false => text.to_owned(),
    }
}

fn spans(element: &Value) -> String {
    let spans = element["elements"].as_array().into_iter().flatten();
    spans.map(span).collect()
}

fn rich(element: &Value) -> String {
    match element["type"].as_str().unwrap() {
        "rich_text_section" => spans(element) + "\n",
        "rich_text_preformatted" => format!("    $ {}\n", spans(element)),
        _ => {
            let indent = "  ".repeat(usize::try_from(element["indent"].as_u64().unwrap()).unwrap());
            let bullets = element["elements"].as_array().unwrap().iter();
            bullets
                .map(|one| format!("{indent}• {}\n", spans(one)))
                .collect()
        }
    }
}

fn block(block: &Value) -> String {
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.map(|one| one["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    match block["type"].as_str().unwrap() {
        "header" => format!("# {}\n", block["text"]["text"].as_str().unwrap()),
        "section" => {
            let fields = texts(&block["fields"]);
            let rows = fields.chunks(2).map(|pair| pair.join(" | ") + "\n");
            rows.collect()
        }
        "context" => format!("({})\n", texts(&block["elements"]).join(")\n(")),
        "actions" => {
            let buttons = block["elements"].as_array().unwrap().iter();
            buttons
                .map(|one| {
                    let label = one["text"]["text"].as_str().unwrap();
                    match one["url"].as_str() {
                        Some(url) => format!("[{label} → {url}] "),
                        None => format!("[{label}] "),
                    }
                })
                .collect::<String>()
                + "\n"
        }
        _ => {
            let elements = block["elements"].as_array().unwrap().iter();
            elements.map(rich).collect()
        }
    }
}

pub(super) fn seen(blocks: &[Value]) -> String {
    let all: Vec<String> = blocks.iter().map(block).collect();
    all.join("\n")
}
