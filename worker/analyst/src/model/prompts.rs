//! Loads the prompts: Markdown files, compiled in, each of which a profile may replace by a file of a directory.
//!
//! They are minijinja templates, compiled once and strict: an unknown name is an error, not an empty text. Every
//! template is rendered with sample values when it is loaded, so that a wrong one stops the start and not a case.
//! External text is never part of a template; it reaches prompts only in data blocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};
use sha2::{Digest, Sha256};

/// Maximum number of steps of one template.
const FUEL: u64 = 200_000;

/// Maximum size of a prompt file in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

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

/// All files: id, name, and compiled-in text.
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

    /// Returns sample values, with the names that the file may use.
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

pub struct Prompts {
    environment: Environment<'static>,
    hash: String,
}

impl std::fmt::Debug for Prompts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompts").field("hash", &self.hash).finish()
    }
}

/// Reason why the prompts of a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read prompts from {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("prompt file {} is larger than 256 KiB", path.display())]
    TooLarge { path: PathBuf },
    /// A Markdown file's name is not that of a prompt, so the file would change nothing.
    #[error("{} is not a prompt file; the names are {known}; did you mean {nearest}?", path.display())]
    Unknown {
        path: PathBuf,
        /// Names of all prompts.
        known: String,
        /// Name with the most similar spelling.
        nearest: &'static str,
    },
    #[error("{file}:{line}: {problem}")]
    Wrong {
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// The problem, and the names that may be used.
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
    /// Returns the compiled-in prompts. The tests of this crate check that all of them are valid.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        Arc::clone(&COMPILED_IN)
    }

    /// Loads the compiled-in prompts, replaced by those of a directory.
    ///
    /// # Errors
    ///
    /// Returns an error when the directory cannot be read, or a file in it is not a valid prompt.
    pub fn load(dir: Option<&Path>) -> Result<Arc<Self>, PromptError> {
        let Some(dir) = dir else {
            return Ok(Self::shipped());
        };
        let mut sources: BTreeMap<Prompt, (String, String)> = SHIPPED
            .iter()
            .map(|(prompt, file, text)| (*prompt, ((*file).to_owned(), (*text).to_owned())))
            .collect();
        for path in markdown_files(dir)? {
            let prompt = prompt_for_file(&path)?;
            sources.insert(
                prompt,
                (path.display().to_string(), read_prompt_file(&path)?),
            );
        }
        Ok(Arc::new(Self::compile(&sources)?))
    }

    /// Returns the hash of the text of all files.
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
                .map_err(|error| template_error(file, *prompt, &error))?;
            environment
                .get_template(prompt.file())
                .and_then(|template| template.render(prompt.sample()))
                .map_err(|error| template_error(file, *prompt, &error))?;
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

    /// Renders the prompt with these values.
    ///
    /// # Errors
    ///
    /// Returns a description of the error when the template cannot be rendered. A replaced file may fail with values
    /// of a case though it accepted the sample values.
    pub(super) fn render(&self, prompt: Prompt, values: Value) -> Result<String, String> {
        self.environment
            .get_template(prompt.file())
            .and_then(|template| template.render(values))
            .map(|text| text.trim().to_owned() + "\n")
            .map_err(|error| format!("prompt {}: {error}", prompt.file()))
    }
}

/// Returns the default syntax, but removes the line end after a block tag.
fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true);
    syntax.build().unwrap_or_default()
}

fn template_error(file: &str, prompt: Prompt, error: &minijinja::Error) -> PromptError {
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

/// Returns the Markdown files of a directory, except a README.
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

fn prompt_for_file(path: &Path) -> Result<Prompt, PromptError> {
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

fn read_prompt_file(path: &Path) -> Result<String, PromptError> {
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
