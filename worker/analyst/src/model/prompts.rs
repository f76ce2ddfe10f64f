//! The prompts: Markdown files, compiled in, each of which a profile may replace by a file of a directory.
//!
//! They are templates (minijinja, strict: an unknown name is an error and never an empty text), compiled once. Every
//! template is rendered once with made-up values when it is loaded, so that a wrong one stops the start and not a case.
//! Text from outside is never part of a template; it reaches prompts in data blocks only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};
use sha2::{Digest, Sha256};

/// Steps that one template may take.
const FUEL: u64 = 200_000;

/// Largest prompt file in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// A prompt file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Prompt {
    Role,
    Policies,
    Environment,
    Tools,
    Plan,
    Turn,
    TurnNext,
    Decide,
    Reflect,
    Conclude,
    Repair,
    Shorter,
}

/// All files: which, name, text that is compiled in.
const SHIPPED: [(Prompt, &str, &str); 12] = [
    (
        Prompt::Role,
        "role.md",
        include_str!("../../prompts/role.md"),
    ),
    (
        Prompt::Policies,
        "policies.md",
        include_str!("../../prompts/policies.md"),
    ),
    (
        Prompt::Environment,
        "environment.md",
        include_str!("../../prompts/environment.md"),
    ),
    (
        Prompt::Tools,
        "tools.md",
        include_str!("../../prompts/tools.md"),
    ),
    (
        Prompt::Plan,
        "plan.md",
        include_str!("../../prompts/plan.md"),
    ),
    (
        Prompt::Turn,
        "turn.md",
        include_str!("../../prompts/turn.md"),
    ),
    (
        Prompt::TurnNext,
        "turn_next.md",
        include_str!("../../prompts/turn_next.md"),
    ),
    (
        Prompt::Decide,
        "decide.md",
        include_str!("../../prompts/decide.md"),
    ),
    (
        Prompt::Reflect,
        "reflect.md",
        include_str!("../../prompts/reflect.md"),
    ),
    (
        Prompt::Conclude,
        "conclude.md",
        include_str!("../../prompts/conclude.md"),
    ),
    (
        Prompt::Repair,
        "repair.md",
        include_str!("../../prompts/repair.md"),
    ),
    (
        Prompt::Shorter,
        "shorter.md",
        include_str!("../../prompts/shorter.md"),
    ),
];

impl Prompt {
    fn file(self) -> &'static str {
        SHIPPED
            .iter()
            .find(|(prompt, ..)| *prompt == self)
            .map_or("", |(_, file, _)| file)
    }

    /// Values as a case gives them: the names that the file may use.
    fn sample(self) -> Value {
        let left = "12 model calls";
        match self {
            Self::Role | Self::Shorter => context! {},
            Self::Policies => context! { language => "English" },
            Self::Environment => {
                context! { environment => "e", data_sources => "d", instructions => "i" }
            }
            Self::Tools => context! {
                tools => vec![context! { name => "n", arguments => "a: ip", description => "d", more => "m" }]
            },
            Self::Plan => {
                context! { strategy => "auto", most_steps => 10, has_hints => true, left }
            }
            Self::Turn => context! { tools => true },
            Self::TurnNext => context! { step => "s1", turn => 2, turns => 8, last => false },
            Self::Decide | Self::Reflect => context! { steps_left => 3, left },
            Self::Conclude => context! { stopped_by => "usd", has_problems => true },
            Self::Repair => context! { problems => vec!["/steps: is missing"] },
        }
    }
}

/// The prompts of a profile.
pub struct Prompts {
    environment: Environment<'static>,
    hash: String,
}

impl std::fmt::Debug for Prompts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompts").field("hash", &self.hash).finish()
    }
}

/// Why the prompts of a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read prompts from {}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is too large for a prompt.
    #[error("{} is larger than 256 KiB and can be no prompt", path.display())]
    TooLarge {
        /// Which one.
        path: PathBuf,
    },
    /// A Markdown file whose name is none of a prompt's, so that it would change nothing.
    #[error("{} is no prompt: the names are {known}; is {nearest} meant?", path.display())]
    Unknown {
        /// Which one.
        path: PathBuf,
        /// The names that there are.
        known: String,
        /// The one that is spelled most like it.
        nearest: &'static str,
    },
    /// A template is wrong.
    #[error("{file}:{line}: {problem}")]
    Wrong {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, and which names may be used.
        problem: String,
    },
}

static COMPILED_IN: LazyLock<Arc<Prompts>> = LazyLock::new(|| {
    let sources = SHIPPED
        .iter()
        .map(|(prompt, file, text)| (*prompt, ((*file).to_owned(), (*text).to_owned())))
        .collect();
    Arc::new(Prompts::compile(&sources).unwrap_or_else(|_| Prompts {
        environment: Environment::new(),
        hash: String::new(),
    }))
});

impl Prompts {
    /// The prompts that are compiled in. The tests of this crate hold that all of them are right.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        Arc::clone(&COMPILED_IN)
    }

    /// The prompts that are compiled in, with those of a directory in their place.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read, or a file in it is no prompt or a wrong one.
    pub fn load(dir: Option<&Path>) -> Result<Arc<Self>, PromptError> {
        let Some(dir) = dir else {
            return Ok(Self::shipped());
        };
        let mut sources: BTreeMap<Prompt, (String, String)> = SHIPPED
            .iter()
            .map(|(prompt, file, text)| (*prompt, ((*file).to_owned(), (*text).to_owned())))
            .collect();
        for path in markdown_files(dir)? {
            let prompt = of_name(&path)?;
            sources.insert(prompt, (path.display().to_string(), read(&path)?));
        }
        Ok(Arc::new(Self::compile(&sources)?))
    }

    /// Hash over the text of all files.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    fn compile(sources: &BTreeMap<Prompt, (String, String)>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_syntax(syntax());
        let mut digest = Sha256::new();
        for (prompt, (file, text)) in sources {
            environment
                .add_template_owned(prompt.file(), text.clone())
                .map_err(|error| wrong(file, *prompt, &error))?;
            environment
                .get_template(prompt.file())
                .and_then(|template| template.render(prompt.sample()))
                .map_err(|error| wrong(file, *prompt, &error))?;
            digest.update(prompt.file().as_bytes());
            digest.update([0]);
            digest.update(text.as_bytes());
            digest.update([0]);
        }
        Ok(Self {
            environment,
            hash: super::hex(&digest.finalize(), 16),
        })
    }

    /// The prompt with these values.
    ///
    /// # Errors
    ///
    /// When the template cannot be rendered with them, in words: a replaced file may do with values of a case what it
    /// did not do with made-up ones.
    pub(super) fn render(&self, prompt: Prompt, values: Value) -> Result<String, String> {
        self.environment
            .get_template(prompt.file())
            .and_then(|template| template.render(values))
            .map(|text| text.trim().to_owned() + "\n")
            .map_err(|error| format!("prompt {}: {error}", prompt.file()))
    }
}

/// As usual, but that the line end after a block tag goes.
fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true);
    syntax.build().unwrap_or_default()
}

fn wrong(file: &str, prompt: Prompt, error: &minijinja::Error) -> PromptError {
    let mut problem = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    if error.kind() == ErrorKind::UndefinedError {
        let mut names: Vec<String> = prompt
            .sample()
            .try_iter()
            .map(|keys| keys.map(|key| key.to_string()).collect())
            .unwrap_or_default();
        names.sort();
        let names = if names.is_empty() {
            "no names".to_owned()
        } else {
            names.join(", ")
        };
        problem.push_str("; this prompt knows ");
        problem.push_str(&names);
    }
    PromptError::Wrong {
        file: file.to_owned(),
        line: error.line().unwrap_or(1),
        problem,
    }
}

/// The Markdown files of a directory, but for a README.
fn markdown_files(dir: &Path) -> Result<Vec<PathBuf>, PromptError> {
    let unreadable = |source| PromptError::Unreadable {
        path: dir.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let is_readme = path
            .file_stem()
            .is_some_and(|stem| stem.eq_ignore_ascii_case("readme"));
        if is_markdown && !is_readme {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn of_name(path: &Path) -> Result<Prompt, PromptError> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let found = SHIPPED.iter().find(|(_, file, _)| *file == name);
    found.map(|(prompt, ..)| *prompt).ok_or_else(|| {
        let nearest = SHIPPED
            .iter()
            .map(|(_, file, _)| *file)
            .min_by_key(|file| strsim::damerau_levenshtein(file, &name))
            .unwrap_or_default();
        let known: Vec<&str> = SHIPPED.iter().map(|(_, file, _)| *file).collect();
        PromptError::Unknown {
            path: path.to_owned(),
            known: known.join(", "),
            nearest,
        }
    })
}

fn read(path: &Path) -> Result<String, PromptError> {
    let unreadable = |source| PromptError::Unreadable {
        path: path.to_owned(),
        source,
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_FILE_BYTES {
        return Err(PromptError::TooLarge {
            path: path.to_owned(),
        });
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

#[cfg(test)]
mod tests;
