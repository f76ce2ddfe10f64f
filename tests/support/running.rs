//! Runs a program until it is stopped, and watches its standard error.

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "it serves tests, which end with what it found"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest wait for a line or the end. It only bounds a hang.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A running program, which is killed when dropped.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    lines: Receiver<String>,
    seen_lines: Vec<String>,
}

impl RunningProgram {
    /// Starts a program, with its standard input open until dropped.
    pub fn start(command: &mut Command) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        Ok(Self::new(command.spawn()?))
    }

    pub(crate) fn new(mut child: Child) -> Self {
        let (sender, lines) = channel();
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Self {
            child,
            lines,
            seen_lines: Vec::new(),
        }
    }

    /// Waits for a line that contains this text and returns the line.
    ///
    /// # Panics
    ///
    /// Panics with the lines so far when the line does not come.
    pub fn wait_for_line(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let left = WAIT_TIMEOUT.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen_lines.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("{text:?} did not come; what came: {:#?}", self.seen_lines),
            }
        }
    }

    /// Waits for `many` lines that contain this text.
    ///
    /// # Panics
    ///
    /// Panics when they do not come.
    pub fn wait_for_lines(&mut self, text: &str, many: usize) {
        for _ in 0..many {
            self.wait_for_line(text);
        }
    }

    /// Sends a signal: `TERM`, `STOP`, `CONT`, `KILL`.
    ///
    /// # Panics
    ///
    /// Panics when there is no program `kill`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "SIG{name} to {pid}"
        );
    }

    /// Kills the program (SIGKILL) and waits for its end.
    ///
    /// # Panics
    ///
    /// Panics when that fails.
    pub fn kill(mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    ///
    /// Panics with the program's output when it does not end.
    pub fn wait_for_exit(mut self) -> (ExitStatus, Duration, Vec<String>) {
        let begun = Instant::now();
        // Standard error ends with the program.
        loop {
            let left = WAIT_TIMEOUT.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen_lines.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(_) => panic!("it did not end; what came: {:#?}", self.seen_lines),
            }
        }
        let status = self.child.wait().expect("it is ours");
        (
            status,
            begun.elapsed(),
            std::mem::take(&mut self.seen_lines),
        )
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
