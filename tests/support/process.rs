//! Runs the program in a sandbox: a folder of its own, with only the environment that a test sets.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{ProgramNotFound, RunningProgram, program_path};

/// A folder to run the program in, which is removed with the test.
#[derive(Debug)]
pub struct Sandbox {
    folder: tempfile::TempDir,
    program: PathBuf,
    env: Vec<(String, String)>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Exit code; `None` when a signal ended the program.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no program.
    #[error(transparent)]
    ProgramNotFound(#[from] ProgramNotFound),
    /// The system could not start the program or lost it.
    #[error("the program could not be run")]
    Io(#[from] std::io::Error),
}

impl Sandbox {
    /// Creates an empty folder.
    pub fn new() -> Result<Self, RunError> {
        Ok(Self {
            program: program_path()?,
            folder: tempfile::tempdir()?,
            env: Vec::new(),
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file into the folder and returns its path.
    pub fn write_file(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf, RunError> {
        let path = self.path().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Sets an environment variable for all further runs.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Result<ProgramOutput, RunError> {
        let output = self.command(arguments).output()?;
        Ok(ProgramOutput {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs the program to its end with this standard input.
    pub fn run_with_input(
        &self,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<ProgramOutput, RunError> {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // The program may end before it has read everything.
            drop(stdin.write_all(input));
        }
        let output = child.wait_with_output()?;
        Ok(ProgramOutput {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Starts the program, which runs until it is stopped.
    pub fn start(&self, arguments: &[&str]) -> Result<RunningProgram, RunError> {
        let mut command = self.command(arguments);
        Ok(RunningProgram::new(command.stdout(Stdio::null()).spawn()?))
    }

    /// Starts the program and kills it (SIGKILL) once it has written this many lines to standard error or has ended.
    /// Returns the number of lines.
    pub fn kill_after_lines(&self, arguments: &[&str], lines: usize) -> Result<usize, RunError> {
        let mut child = self.command(arguments).spawn()?;
        let seen = child.stderr.take().map_or(0, |stderr| {
            BufReader::new(stderr).lines().take(lines).count()
        });
        kill_and_wait(&mut child)?;
        Ok(seen)
    }
}

fn kill_and_wait(child: &mut Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait()?;
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}
