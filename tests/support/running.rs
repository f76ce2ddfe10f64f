//! A program that runs until it is told to stop, watched by what it writes to standard error.

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "it serves tests, which end with what it found"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longest wait for a line or an end: bounds a hang, and is never waited for where all is well.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running program; killed when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    /// Starts any program, with its standard input open until it is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
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
            seen: Vec::new(),
        }
    }

    /// Waits for a line that holds this text, and gives it.
    ///
    /// # Panics
    ///
    /// When it does not come; the message holds what came instead.
    pub fn until(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("{text:?} did not come; what came: {:#?}", self.seen),
            }
        }
    }

    /// Waits for so many lines that hold this text.
    ///
    /// # Panics
    ///
    /// When they do not come.
    pub fn until_many(&mut self, text: &str, many: usize) {
        for _ in 0..many {
            self.until(text);
        }
    }

    /// Sends a signal: `TERM`, `STOP`, `CONT`, `KILL`.
    ///
    /// # Panics
    ///
    /// When there is no program `kill`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "SIG{name} to {pid}"
        );
    }

    /// Kills it (SIGKILL), and waits until it is gone.
    ///
    /// # Panics
    ///
    /// When that fails.
    pub fn kill(mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// When it does not end; the message holds what it wrote.
    pub fn ended(mut self) -> (ExitStatus, Duration, Vec<String>) {
        let begun = Instant::now();
        // Its standard error ends with it.
        loop {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(_) => panic!("it did not end; what came: {:#?}", self.seen),
            }
        }
        let status = self.child.wait().expect("it is ours");
        (status, begun.elapsed(), std::mem::take(&mut self.seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
