//! Follows a page as a reader does: runs its commands from top to bottom in one shell. The folder holds what a reader
//! has of the repository, and only the program and common tools are available.

use std::path::{Path, PathBuf};
use std::process::Command;

use nightshift_tests::{files_below, repository_root};

use super::Document;

/// A step of a reader.
#[derive(Debug, PartialEq, Eq)]
enum PageStep {
    /// Runs a command with its expected standard output; empty when the page shows none.
    Run { command: String, says: Vec<String> },
    /// Writes a block to a file.
    Write { file: String, text: String },
}

fn steps(document: &Document) -> Vec<PageStep> {
    let mut steps = Vec::new();
    for block in document.blocks() {
        if let Some(file) = block.file {
            steps.push(PageStep::Write {
                file,
                text: block.text,
            });
        } else if block.language == "console" {
            steps.extend(commands(&block.text));
        }
    }
    steps
}

fn commands(block: &str) -> Vec<PageStep> {
    let mut steps: Vec<PageStep> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(PageStep::Run {
                command: command.to_owned(),
                says: Vec::new(),
            }),
            (None, Some(PageStep::Run { says, .. })) => says.push(line.trim_end().to_owned()),
            _ => panic!("a console block begins with `$ `: {line}"),
        }
    }
    steps
}

impl PageStep {
    /// Returns the shell code of the step; its output goes to files of that name.
    fn script(&self, kept: &str) -> String {
        match self {
            Self::Run { command, .. } => {
                format!("{{ {command}\n}} >{kept}.out 2>{kept}.err || exit 1\n")
            }
            Self::Write { file, text } => {
                format!(
                    "cat >{file} 2>{kept}.err <<'THE END OF IT' || exit 1\n{text}THE END OF IT\n: >{kept}.out\n"
                )
            }
        }
    }
}

/// Returns whether the lines match; `...` in `wanted` matches any lines.
fn fits(wanted: &[String], lines: &[String]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return lines.is_empty();
    };
    if first == "..." {
        return (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..]));
    }
    lines.first() == Some(first) && fits(rest, &lines[1..])
}

/// Creates a folder with the sample alerts, their registers and the script that runs the tests.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let demo = files_below(&repository_root().join("deploy/demo")).unwrap();
    for file in demo
        .into_iter()
        .chain([repository_root().join("tests/run")])
    {
        let to = folder
            .path()
            .join(file.strip_prefix(repository_root()).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&file, to).unwrap();
    }
    folder
}

fn shell(script: &str, folder: &Path, program: &Path) -> bool {
    let programs = PathBuf::from(program.parent().unwrap());
    let programs = programs.display();
    let ran = Command::new("bash")
        .args(["-uo", "pipefail", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin"))
        .env("HOME", folder)
        .env("USER", "ana")
        .env("LANG", "C.UTF-8")
        .status();
    ran.unwrap().success()
}

/// Runs the commands of a page and returns their number.
///
/// # Errors
///
/// Returns the first command that fails, or whose output differs from the page.
pub(super) fn run(document: &Document, program: &Path) -> Result<usize, String> {
    let steps = steps(document);
    let (folder, kept) = (folder(), tempfile::tempdir().unwrap());
    let kept = |at: usize| kept.path().join(at.to_string()).display().to_string();
    let scripts = steps.iter().enumerate();
    let script: String = scripts.map(|(at, step)| step.script(&kept(at))).collect();
    let is_whole = shell(&script, folder.path(), program);
    let read = |at: usize, end: &str| std::fs::read_to_string(format!("{}.{end}", kept(at)));
    for (at, step) in steps.iter().enumerate() {
        let out = read(at, "out").unwrap_or_default();
        if !is_whole && read(at + 1, "err").is_err() {
            return Err(format!(
                "{step:?}\n{out}{}",
                read(at, "err").unwrap_or_default()
            ));
        }
        let PageStep::Run { command, says } = step else {
            continue;
        };
        let lines: Vec<String> = out.lines().map(|line| line.trim_end().to_owned()).collect();
        if !says.is_empty() && !fits(says, &lines) {
            let says = says.join("\n");
            return Err(format!("$ {command}\nshould say\n{says}\nand says\n{out}"));
        }
    }
    let is_command = |step: &&PageStep| matches!(step, PageStep::Run { .. });
    Ok(steps.iter().filter(is_command).count())
}

#[test]
fn a_page_is_followed_in_one_shell() {
    let text = "```console\n$ mkdir a && cd a\n$ x=1\n```\n\n```toml file=b.toml\ny = '$x'\n```\n\n```console\n$ cat b.toml; echo $x\ny = '$x'\n...\n```\n";
    let of = |text: &str| Document {
        path: "a.md".to_owned(),
        text: text.to_owned(),
    };
    let nowhere = Path::new("/nowhere/nightshift");
    assert_eq!(run(&of(text), nowhere), Ok(3));
    let other = text.replace("echo $x\ny", "echo $x\nz");
    let said = run(&of(&other), nowhere).unwrap_err();
    assert!(said.contains("should say\nz"), "{said}");
    let broken = text.replace("x=1", "no-such-command");
    let said = run(&of(&broken), nowhere).unwrap_err();
    assert!(said.contains("not found"), "{said}");
}

#[test]
fn dots_stand_for_any_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n...\nc"), &lines("a\nb\nb\nc")));
    assert!(fits(&lines("a\n..."), &lines("a")));
    assert!(!fits(&lines("a\n...\nd"), &lines("a\nb")));
    assert!(!fits(&lines("a"), &lines("a\nb")));
}
