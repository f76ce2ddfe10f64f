//! Records what a model answered, and answers from the record: a conversation can be had again without a model.
//!
//! A cassette is a folder with a file of JSON lines per model, each the hash of a request and its answer. The hash covers
//! all that the model sees, and neither the deadline nor the urgency. Keys never come here; alert data does, so a
//! cassette is kept as carefully as a case. Failures are not recorded.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use nightshift_analyst::chat::{
    Asked, ChatAnswer, ChatError, ChatMessage, ChatModel, ChatRequest, ChatTraits, Failure,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A cassette that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file.
    #[error("cassette {}: cannot be read or written", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line of it.
    #[error("cassette {}: line {line} is no recorded answer: remove it, or record again", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// A model whose answers are written down.
pub struct Recorder {
    inner: Arc<dyn ChatModel>,
    path: PathBuf,
    file: Mutex<File>,
}

impl Recorder {
    /// Writes the answers of `inner` down, after those that the folder holds.
    ///
    /// # Errors
    ///
    /// When the folder or its file cannot be made.
    pub fn new(inner: Arc<dyn ChatModel>, folder: &Path) -> Result<Self, CassetteError> {
        let path = file_of(folder, &inner.traits().name);
        let open = || {
            fs::create_dir_all(folder)?;
            OpenOptions::new().create(true).append(true).open(&path)
        };
        match open() {
            Ok(file) => Ok(Self {
                inner,
                path,
                file: Mutex::new(file),
            }),
            Err(source) => Err(CassetteError::File { path, source }),
        }
    }

    fn write(&self, request: &ChatRequest, answer: &ChatAnswer) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line {
            request: hash(request)?,
            asked: request.asked,
            answer: answer.clone(),
        })?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)
    }
}

#[async_trait]
impl ChatModel for Recorder {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let answer = self.inner.chat(request).await?;
        match self.write(request, &answer) {
            Ok(()) => Ok(answer),
            // A record with holes would show only when it is played; and the answer is paid for.
            Err(error) => Err(ChatError {
                usage: answer.usage,
                usd: answer.usd,
                requests: answer.requests,
                ..ChatError::new(
                    answer.model,
                    Failure::BadRequest,
                    format!("cannot write cassette {}: {error}", self.path.display()),
                )
            }),
        }
    }
}

/// A model that is nothing but what was recorded of one.
pub struct Player {
    traits: ChatTraits,
    path: PathBuf,
    answers: Mutex<HashMap<String, VecDeque<ChatAnswer>>>,
}

impl Player {
    /// Answers as the model of these traits did when it was recorded.
    ///
    /// # Errors
    ///
    /// When there is no such record, or it cannot be read.
    pub fn new(traits: ChatTraits, folder: &Path) -> Result<Self, CassetteError> {
        let path = file_of(folder, &traits.name);
        let answers = Mutex::new(read(&path)?);
        Ok(Self {
            traits,
            path,
            answers,
        })
    }

    fn miss(&self, request: &ChatRequest, hash: &str) -> ChatError {
        let what = format!(
            "no answer to this `{}` request ({hash}) is recorded in {}: its prompt has changed since, so record it again",
            request.asked.as_str(),
            self.path.display()
        );
        ChatError {
            requests: 0,
            ..ChatError::new(&self.traits.name, Failure::BadRequest, what)
        }
    }
}

#[async_trait]
impl ChatModel for Player {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let hash = hash(request).map_err(|error| {
            ChatError::new(&self.traits.name, Failure::BadRequest, error.to_string())
        })?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(recorded) = answers.get_mut(&hash) else {
            return Err(self.miss(request, &hash));
        };
        // In the order of recording; the last one stays.
        let answer = if recorded.len() > 1 {
            recorded.pop_front()
        } else {
            recorded.front().cloned()
        };
        answer.ok_or_else(|| self.miss(request, &hash))
    }
}

/// One line of a cassette.
#[derive(Serialize, Deserialize)]
struct Line {
    request: String,
    asked: Asked,
    answer: ChatAnswer,
}

fn read(path: &Path) -> Result<HashMap<String, VecDeque<ChatAnswer>>, CassetteError> {
    let at = |source| CassetteError::File {
        path: path.to_owned(),
        source,
    };
    let file = BufReader::new(File::open(path).map_err(at)?);
    let mut answers: HashMap<String, VecDeque<ChatAnswer>> = HashMap::new();
    for (index, text) in file.lines().enumerate() {
        let line: Line =
            serde_json::from_str(&text.map_err(at)?).map_err(|source| CassetteError::Line {
                path: path.to_owned(),
                line: index + 1,
                source,
            })?;
        answers
            .entry(line.request)
            .or_default()
            .push_back(line.answer);
    }
    Ok(answers)
}

/// The file of one model: its name, with what is no letter, digit, `.` or `-` as `_`.
fn file_of(folder: &Path, model: &str) -> PathBuf {
    let name: String = model
        .chars()
        .map(|one| match one {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => one,
            _ => '_',
        })
        .collect();
    folder.join(format!("{name}.jsonl"))
}

/// All of a request that the model sees.
#[derive(Serialize)]
struct Seen<'a> {
    asked: Asked,
    system: &'a str,
    messages: &'a [ChatMessage],
    tools: Vec<(&'a str, &'a str, &'a Value)>,
    may_call: bool,
    output: Option<(&'a str, &'a Value)>,
    max_output_tokens: u32,
}

/// SHA-256 over what the model sees, in hex.
fn hash(request: &ChatRequest) -> Result<String, serde_json::Error> {
    let tools = request.tools.iter();
    let seen = Seen {
        asked: request.asked,
        system: &request.system,
        messages: &request.messages,
        tools: tools
            .map(|tool| (tool.name.as_str(), tool.description.as_str(), &*tool.schema))
            .collect(),
        may_call: request.may_call,
        output: request
            .output
            .as_ref()
            .map(|output| (output.name.as_str(), output.schema.as_ref())),
        max_output_tokens: request.max_output_tokens,
    };
    Ok(hex::encode(Sha256::digest(serde_json::to_vec(&seen)?)))
}

#[cfg(test)]
mod tests;
