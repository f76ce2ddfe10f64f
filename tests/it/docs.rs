//! Tests the documents: links resolve, commands parse, and blocks that can be run are run.

mod blocks;
mod commands;
mod journal;
mod links;
mod numbers;
mod page;
mod settings;

use std::path::Path;

use nightshift_tests::{files_below, repository_root};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A document with its path from the root.
struct Document {
    path: String,
    text: String,
}

/// A block of code: fenced or indented.
struct CodeBlock {
    /// The first word after the fence; empty without one.
    language: String,
    /// The file that a reader makes of the block, as in ```` ```toml file=playbooks/mine.toml ````.
    file: Option<String>,
    text: String,
}

/// Returns every document that people read. Prompts are for models and are left out.
fn documents() -> Vec<Document> {
    let all = files_below(repository_root()).unwrap();
    let paths = all
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "md"));
    let paths = paths.map(|path| {
        path.strip_prefix(repository_root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    });
    let read = |path: String| Document {
        text: text(Path::new(&path)),
        path,
    };
    let is_read = |path: &String| !path.contains("/prompts/");
    paths.filter(is_read).map(read).collect()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(repository_root().join(path)).unwrap()
}

impl CodeBlock {
    fn from_kind(kind: &CodeBlockKind<'_>) -> Self {
        let said = match kind {
            CodeBlockKind::Fenced(said) => said,
            CodeBlockKind::Indented => "",
        };
        let mut words = said.split_whitespace();
        let language = words.next().unwrap_or_default().to_owned();
        let file = words.find_map(|word| word.strip_prefix("file="));
        Self {
            language,
            file: file.map(str::to_owned),
            text: String::new(),
        }
    }
}

impl Document {
    /// Returns the code blocks of the document, in order.
    fn blocks(&self) -> Vec<CodeBlock> {
        let mut blocks: Vec<CodeBlock> = Vec::new();
        let mut is_inside = false;
        for event in Parser::new(&self.text) {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    blocks.push(CodeBlock::from_kind(&kind));
                    is_inside = true;
                }
                Event::End(TagEnd::CodeBlock) => is_inside = false,
                Event::Text(text) if is_inside => blocks.last_mut().unwrap().text.push_str(&text),
                _ => {}
            }
        }
        blocks
    }

    /// Returns the inline code of the document.
    fn mentions(&self) -> Vec<String> {
        let code = |event| match event {
            Event::Code(code) => Some(code.to_string()),
            _ => None,
        };
        Parser::new(&self.text).filter_map(code).collect()
    }
}
