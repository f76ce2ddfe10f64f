//! Parses every `nightshift …` of a document with the program itself. A wrong command exits with 2. A right one exits
//! with 64, because the configuration is missing, so no command does anything.

use std::collections::BTreeMap;

use nightshift_tests::Sandbox;
use regex::Regex;

use super::documents;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct DocumentedCommand {
    arguments: Vec<String>,
    /// True if the command is in a block to be pasted. An inline mention may leave out arguments.
    is_whole: bool,
}

/// Splits a shell line into simple commands of words, without comments.
fn words(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut is_word, mut quote) = (String::new(), false, None);
    for one in line.chars() {
        match (quote, one) {
            (Some(end), one) if one == end => quote = None,
            (Some(_), one) => word.push(one),
            (None, '\'' | '"') => (quote, is_word) = (Some(one), true),
            (None, '#') if !is_word => break,
            (None, ' ' | '|' | '&' | ';' | '(' | ')' | '>') => {
                if is_word {
                    commands.last_mut().unwrap().push(std::mem::take(&mut word));
                    is_word = false;
                }
                if one != ' ' {
                    commands.push(Vec::new());
                }
            }
            (None, one) => {
                word.push(one);
                is_word = true;
            }
        }
    }
    if is_word {
        commands.last_mut().unwrap().push(word);
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// Returns the words after `nightshift`, or after a command that runs it.
fn arguments(words: &[String]) -> Option<Vec<String>> {
    let is_setting = |word: &&String| word.contains('=') && !word.starts_with('-');
    let words: Vec<&String> = words.iter().skip_while(is_setting).collect();
    let cargo = ["cargo", "run", "--release", "--"];
    let starts = |with: &[&str]| {
        words.len() >= with.len() && words.iter().zip(with).all(|(one, two)| *one == two)
    };
    let at = if starts(&["nightshift"]) || starts(&["cargo", "demo"]) {
        1
    } else if starts(&cargo) {
        cargo.len()
    } else {
        // kubectl exec … -- nightshift
        2 + words
            .windows(2)
            .position(|two| two[0] == "--" && two[1] == "nightshift")?
    };
    Some(words[at..].iter().map(|word| (*word).clone()).collect())
}

/// Expands a mention into all its alternatives, and into one variant per option: `list|show`, `[--once] [--port
/// 8080]`, `N`.
fn spelt_out(mention: &str) -> Vec<Vec<String>> {
    let option = Regex::new(r"\[([^\]]*)\]").unwrap();
    let bare = option.replace_all(mention, "").into_owned();
    let with = option
        .captures_iter(mention)
        .map(|one| format!("{bare} {}", &one[1]));
    std::iter::once(bare.clone())
        .chain(with)
        .flat_map(|one| alternatives(&one))
        .collect()
}

fn alternatives(mention: &str) -> Vec<Vec<String>> {
    // Quoted text may contain anything.
    if mention.contains('\'') {
        return words(mention)
            .iter()
            .filter_map(|one| arguments(one))
            .collect();
    }
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for word in mention
        .split_whitespace()
        .skip(1)
        .filter(|word| !word.contains('…'))
    {
        let forms: Vec<&str> = match word {
            "N" => vec!["1"],
            "DATE" => vec!["2026-01-01"],
            word => word.split('|').collect(),
        };
        let longer = |begun: &Vec<String>| -> Vec<Vec<String>> {
            let with = |form: &&str| [begun.clone(), vec![(*form).to_owned()]].concat();
            forms.iter().map(with).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Returns every command with its first place.
fn commands() -> BTreeMap<DocumentedCommand, String> {
    let substitution = Regex::new(r"\$\(([^)]*)\)").unwrap();
    let mut found = BTreeMap::new();
    for document in documents() {
        let path = document.path.clone();
        let mut add = |arguments: Vec<String>, is_whole| {
            found
                .entry(DocumentedCommand {
                    arguments,
                    is_whole,
                })
                .or_insert_with(|| path.clone());
        };
        for block in document.blocks() {
            let lines = block.text.replace("\\\n", " ");
            let lines = lines
                .lines()
                .filter_map(|line| match block.language.as_str() {
                    "sh" => Some(line.to_owned()),
                    "console" => line.strip_prefix("$ ").map(str::to_owned),
                    _ => None,
                });
            for line in lines {
                // A command substitution contains a command, too.
                let inner = substitution
                    .captures_iter(&line)
                    .flat_map(|one| words(&one[1]));
                let all = words(&line).into_iter().chain(inner);
                all.filter_map(|one| arguments(&one))
                    .for_each(|one| add(one, true));
            }
        }
        for mention in document.mentions() {
            if mention.starts_with("nightshift ") {
                spelt_out(&mention)
                    .into_iter()
                    .for_each(|one| add(one, false));
            }
        }
    }
    found
}

#[test]
fn every_command_of_the_documents_is_one() {
    let place = Sandbox::new().unwrap();
    let commands = commands();
    let mut wrong = Vec::new();
    for (command, path) in &commands {
        let nowhere = ["--config", "no-such-file.toml"];
        let arguments = nowhere
            .into_iter()
            .chain(command.arguments.iter().map(String::as_str));
        let ran = place.run(&arguments.collect::<Vec<_>>()).unwrap();
        let lacks = ["required arguments were not provided", "<COMMAND>"];
        let is_short = !command.is_whole
            && ran.code == Some(2)
            && lacks.iter().any(|one| ran.stderr.contains(one));
        let is_help = ran.code == Some(0) && command.arguments.iter().any(|one| one == "--help");
        if ran.code != Some(64) && !is_short && !is_help {
            let said = ran.stderr.lines().next().unwrap_or_default();
            wrong.push(format!(
                "{path}: nightshift {}: {said}",
                command.arguments.join(" ")
            ));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(
        commands.len() > 60,
        "{} commands: the search is broken",
        commands.len()
    );
}

#[test]
fn commands_are_found_in_lines_of_a_shell() {
    let of = |line: &str| -> Vec<Vec<String>> {
        words(line)
            .iter()
            .filter_map(|one| arguments(one))
            .collect()
    };
    assert_eq!(
        of("KEY=… nightshift run 'a b' --quiet | jq .x   # nightshift"),
        [["run", "a b", "--quiet"]]
    );
    assert_eq!(
        of("kubectl exec x -- nightshift doctor && cargo run --release -- demo"),
        [["doctor"], ["demo"]]
    );
    assert_eq!(of("cargo demo --once"), [["demo", "--once"]]);
    assert_eq!(
        of("kubectl create namespace nightshift"),
        Vec::<Vec<String>>::new()
    );
    let listed = [["mutes", "list"], ["mutes", "add"]];
    assert_eq!(spelt_out("nightshift mutes list|add"), listed);
    let with = [
        vec!["demo"],
        vec!["demo", "--once"],
        vec!["demo", "--port", "8080"],
    ];
    assert_eq!(spelt_out("nightshift demo [--once] [--port 8080]"), with);
    let call = spelt_out("nightshift tools call x '{\"a\": 1}'");
    assert_eq!(call, [["tools", "call", "x", "{\"a\": 1}"]]);
}
