//! What stands in ```console blocks is run, all blocks of a page in one folder, and says what the page says it does. Blocks
//! for a shell (```sh) that are not run are listed here with the reason.

use std::path::{Path, PathBuf};
use std::process::Command;

use nightshift_tests::{files, program, root};

use super::{Document, documents};

/// Pages, how a block of theirs begins, and why it is not run.
const NOT_RUN: [(&str, &str, &str); 22] = [
    (
        "README.md",
        "cargo run --release -- demo --once",
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
        "the cases are the reader's",
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
        "docs/runbook.md",
        "function nightshift",
        "it needs the unit; tests/it/deploy/kept.rs compares it with that",
    ),
    ("docs/runbook.md", "curl -s", "it needs a cluster"),
    (
        "docs/sources.md",
        "aws sqs start-message-move-task",
        "it needs an account at AWS",
    ),
    (
        "docs/sources.md",
        "gcloud pubsub",
        "it needs an account at Google Cloud",
    ),
    (
        "docs/user.md",
        "nightshift cases ack",
        "the cases are the reader's",
    ),
];

/// A command and what it should write to standard output.
struct Step {
    command: String,
    says: Vec<String>,
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                says: Vec::new(),
            }),
            (None, Some(step)) => step.says.push(line.trim_end().to_owned()),
            (None, None) => panic!("a console block begins with `$ `: {line}"),
        }
    }
    steps
}

/// Whether these lines are what was wanted, in which `...` stands for any lines.
fn fits(wanted: &[String], lines: &[String]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return lines.is_empty();
    };
    if first == "..." {
        return (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..]));
    }
    lines.first() == Some(first) && fits(rest, &lines[1..])
}

/// A folder as the repository is to somebody who tries things: the sample alerts with their registers, and nothing else.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files(&root().join("deploy/demo")).unwrap() {
        let to = folder.path().join(file.strip_prefix(root()).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&file, to).unwrap();
    }
    folder
}

fn has(program: &str) -> bool {
    ["/usr/bin", "/bin", "/usr/local/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

fn run(step: &Step, folder: &Path, program: &Path) -> Result<(), String> {
    let programs = PathBuf::from(program)
        .parent()
        .unwrap()
        .display()
        .to_string();
    let ran = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &step.command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"))
        .env("HOME", folder)
        .env("LANG", "C.UTF-8")
        .output()
        .unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<String> = out.lines().map(|line| line.trim_end().to_owned()).collect();
    if !ran.status.success() {
        return Err(format!(
            "$ {}\n{}",
            step.command,
            String::from_utf8_lossy(&ran.stderr)
        ));
    }
    if !step.says.is_empty() && !fits(&step.says, &lines) {
        return Err(format!(
            "$ {}\nshould say\n{}\nand says\n{out}",
            step.command,
            step.says.join("\n")
        ));
    }
    Ok(())
}

fn page(document: &Document, program: &Path) -> (usize, Vec<String>) {
    let blocks = document.blocks();
    let console = blocks.iter().filter(|block| block.language == "console");
    let steps: Vec<Step> = console.flat_map(|block| steps(&block.text)).collect();
    let folder = folder();
    let mut wrong = Vec::new();
    for step in &steps {
        if step.command.contains("jq ") && !has("jq") {
            eprintln!("not run, for want of jq: {}", step.command);
            continue;
        }
        if let Err(what) = run(step, folder.path(), program) {
            wrong.push(format!("{}: {what}", document.path));
        }
    }
    (steps.len(), wrong)
}

#[test]
fn console_blocks_say_what_the_pages_say() {
    let program = program().unwrap();
    let mut ran = 0;
    let mut wrong = Vec::new();
    for document in documents() {
        let (steps, failed) = page(&document, &program);
        ran += steps;
        wrong.extend(failed);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 10, "{ran} commands: the search is broken");
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
            if !["sh", "bash", "shell"].contains(&block.language.as_str()) {
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
fn dots_stand_for_any_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n...\nc"), &lines("a\nb\nb\nc")));
    assert!(fits(&lines("a\n..."), &lines("a")));
    assert!(!fits(&lines("a\n...\nd"), &lines("a\nb")));
    assert!(!fits(&lines("a"), &lines("a\nb")));
}
