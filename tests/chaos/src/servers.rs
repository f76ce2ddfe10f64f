//! Runs the database and the broker by the scripts of the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use nightshift_tests::repository_root;

/// A server in a separate folder, stopped on drop.
struct Server {
    script: &'static str,
    dir: PathBuf,
}

impl Server {
    fn run_verb(&self, verb: &str) -> anyhow::Result<String> {
        self.run_verb_with(verb, &[])
    }

    fn run_verb_with(&self, verb: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(repository_root().join(self.script))
            .arg(verb)
            .arg(&self.dir)
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{} {verb} failed", self.script);
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.run_verb("stop") {
            eprintln!("{}: {error}", self.script);
        }
    }
}

/// A PostgreSQL server.
pub(crate) struct Database {
    server: Server,
    url: String,
}

impl Database {
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        // The user postgres must be able to reach its own folder.
        #[cfg(unix)]
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let server = Server {
            script: "tests/postgres",
            dir: folder.join("postgres"),
        };
        let url = server
            .run_verb("start")
            .context("PostgreSQL does not start")?;
        Ok(Self { server, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn kill_and_start(&self) -> anyhow::Result<()> {
        self.server.run_verb("kill")?;
        self.server.run_verb("start").map(drop)
    }
}

/// A RabbitMQ server.
pub(crate) struct Broker {
    server: Server,
    url: String,
}

impl Broker {
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        let server = Server {
            script: "tests/rabbitmq",
            dir: folder.join("rabbitmq"),
        };
        let url = server
            .run_verb("start")
            .context("RabbitMQ does not start")?;
        Ok(Self { server, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Runs `rabbitmqctl`.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> anyhow::Result<()> {
        self.server.run_verb_with("ctl", arguments).map(drop)
    }

    pub(crate) fn kill_and_start(&self) -> anyhow::Result<()> {
        self.server.run_verb("kill")?;
        self.server.run_verb("start").map(drop)
    }
}
