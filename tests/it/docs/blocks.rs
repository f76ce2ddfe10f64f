//! Runs the ```console blocks of the pages and compares their output with the page. Shell blocks (```sh) are not run
//! and are listed here with the reason. Every block names its language.

use std::collections::BTreeSet;

use nightshift_tests::program_path;

use super::links::first_pages;
use super::{documents, page};

/// The languages of blocks. `sh` is not run, `console` is.
const LANGUAGES: [&str; 9] = [
    "console", "csv", "json", "python", "rust", "sh", "sql", "text", "toml",
];

/// Page, start of the block, and the reason why the block is not run.
const NOT_RUN: [(&str, &str, &str); 25] = [
    (
        "CONTRIBUTING.md",
        "cargo build",
        "it builds and runs the tests, this one among them",
    ),
    (
        "README.md",
        "cargo demo --once",
        "it builds; tests/it/demo.rs runs the demo",
    ),
    ("README.md", "ANTHROPIC_API_KEY=", "it needs a key"),
    ("README.md", "docker compose", "it needs Docker"),
    (
        "README.md",
        "sudo apt-get update",
        "it installs packages; tests/it/deploy/trial.rs runs deploy/trial",
    ),
    (
        "deploy/README.md",
        "sudo apt-get update",
        "it installs packages; tests/it/deploy/trial.rs runs deploy/trial",
    ),
    (
        "deploy/README.md",
        "rustup target add",
        "it installs packages and builds; the release workflow builds the same",
    ),
    ("README.md", "./tests/run", "it is what runs this"),
    (
        "README.md",
        "nightshift run finding.json",
        "the finding is the reader's",
    ),
    ("deploy/README.md", "docker compose", "it needs Docker"),
    (
        "deploy/README.md",
        "nightshift doctor",
        "what it says depends on the machine",
    ),
    (
        "deploy/demo/README.md",
        "cp -r deploy/demo /tmp/night",
        "docs/user.md runs the same elsewhere",
    ),
    (
        "docs/performance.md",
        "rustup target add",
        "it installs packages and builds; the release workflow builds the same",
    ),
    (
        "docs/database.md",
        "createdb nightshift",
        "it needs PostgreSQL",
    ),
    (
        "docs/destinations.md",
        "nightshift cases ack",
        "docs/user.md runs them",
    ),
    (
        "docs/guarantees.md",
        "grep -rnE",
        "it searches the sources; tests/it/docs/numbers.rs does, too",
    ),
    (
        "docs/kubernetes.md",
        "kubectl create namespace",
        "it needs a cluster",
    ),
    (
        "docs/operations.md",
        "nightshift doctor",
        "what it says depends on the machine",
    ),
    (
        "docs/performance.md",
        "cargo run --release",
        "it takes nine minutes",
    ),
    (
        "docs/commands.md",
        "function nightshift",
        "it needs the unit; tests/it/deploy/kept.rs compares it with that",
    ),
    ("docs/runbook.md", "curl -s", "it needs a cluster"),
    ("docs/sources.md", "rabbitmqctl", "it needs RabbitMQ"),
    (
        "docs/http.md",
        "curl -fsS",
        "it needs a worker with a certificate; tests/it/worker/posted.rs posts",
    ),
    (
        "docs/sources.md",
        "aws sqs start-message-move-task",
        "it needs an account at AWS",
    ),
    (
        "docs/http.md",
        "gcloud pubsub",
        "it needs an account at Google Cloud",
    ),
];

#[test]
fn console_blocks_say_what_the_pages_say() {
    let program = program_path().unwrap();
    let mut ran = 0;
    let mut wrong = Vec::new();
    for document in documents() {
        match page::run(&document, &program) {
            Ok(commands) => ran += commands,
            Err(what) => wrong.push(format!("{}: {what}", document.path)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 30, "{ran} commands: the search is broken");
}

#[test]
fn the_page_of_everybody_has_something_that_is_run() {
    let begins = first_pages();
    assert!(begins.len() > 4, "{begins:?}: the search is broken");
    let has_some = |path: &String| {
        let documents = documents();
        let page = documents.iter().find(|document| document.path == *path);
        let mut blocks = page.unwrap().blocks().into_iter();
        blocks.any(|block| block.language == "console")
    };
    let without: Vec<&String> = begins.iter().filter(|path| !has_some(path)).collect();
    assert_eq!(without, Vec::<&String>::new());
}

#[test]
fn what_is_for_a_shell_is_run_or_says_why_not() {
    let mut left: Vec<(&str, &str)> = NOT_RUN
        .iter()
        .map(|(page, begins, _)| (*page, *begins))
        .collect();
    let mut unlisted = Vec::new();
    for document in documents() {
        for block in document.blocks() {
            if block.language != "sh" {
                continue;
            }
            let found = left.iter().position(|(page, begins)| {
                *page == document.path && block.text.starts_with(begins)
            });
            match found {
                Some(at) => drop(left.remove(at)),
                None => unlisted.push(format!(
                    "{}: {}",
                    document.path,
                    block.text.lines().next().unwrap_or_default()
                )),
            }
        }
    }
    assert_eq!(
        unlisted,
        Vec::<String>::new(),
        "make them console blocks, or list them with a reason"
    );
    assert_eq!(left, [], "what is listed is no longer there");
}

#[test]
fn every_block_says_its_language() {
    let mut wrong = BTreeSet::new();
    for document in documents() {
        for block in document.blocks() {
            if !LANGUAGES.contains(&block.language.as_str()) {
                let begins = block.text.lines().next().unwrap_or_default();
                wrong.insert(format!("{}: {:?}: {begins}", document.path, block.language));
            }
        }
    }
    assert_eq!(
        wrong,
        BTreeSet::new(),
        "put it between fences, as {LANGUAGES:?}"
    );
}
