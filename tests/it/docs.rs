//! The documents: links lead somewhere, commands are those of the program, and what can be run is run.

mod blocks;
mod commands;
mod links;

use std::path::Path;

use nightshift_tests::{files, root};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A document: its path from the root, and its text.
struct Document {
    path: String,
    text: String,
}

/// Code between fences.
struct Block {
    language: String,
    text: String,
}

/// Every document that people read. Prompts are for models, and the changelog tells of what was.
fn documents() -> Vec<Document> {
    let all = files(root()).unwrap();
    let paths = all
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "md"));
    let paths = paths.map(|path| {
        path.strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    });
    let read = |path: String| Document {
        text: text(Path::new(&path)),
        path,
    };
    let is_read = |path: &String| !path.contains("/prompts/") && path != "CHANGELOG.md";
    paths.filter(is_read).map(read).collect()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

impl Document {
    /// What stands between its fences, in order.
    fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut is_inside = false;
        for event in Parser::new(&self.text) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    blocks.push(Block {
                        language: language.to_string(),
                        text: String::new(),
                    });
                    is_inside = true;
                }
                Event::End(TagEnd::CodeBlock) => is_inside = false,
                Event::Text(text) if is_inside => blocks.last_mut().unwrap().text.push_str(&text),
                _ => {}
            }
        }
        blocks
    }

    /// Code within its lines.
    fn mentions(&self) -> Vec<String> {
        let code = |event| match event {
            Event::Code(code) => Some(code.to_string()),
            _ => None,
        };
        Parser::new(&self.text).filter_map(code).collect()
    }
}
