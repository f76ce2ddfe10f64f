//! The workers: started, killed, started again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

use crate::Options;
use crate::publish::QUEUE;
use crate::servers::{Broker, Database};

/// Seconds of a lease, as shipped.
const LEASE_SECS: u64 = 30;

/// All workers.
pub(crate) struct Fleet {
    program: PathBuf,
    folder: PathBuf,
    workers: Vec<Child>,
    /// When workers were killed.
    pub(crate) kills: Vec<SystemTime>,
}

impl Fleet {
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        database: &Database,
        broker: &Broker,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let config = format!(
            "[store]\nurl = \"{}\"\n[worker]\nmax_cases = {}\nlease_secs = {LEASE_SECS}\n\
             [limits]\nstorm_cases = 1000000\n\
             [[source]]\nname = \"mq\"\nkind = \"rabbitmq\"\nurl = \"{}\"\nqueue = \"{QUEUE}\"\ndeclare = true\n\
             [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n\
             [[route]]\ndestinations = [\"files\"]\n",
            database.url(),
            options.max_cases,
            broker.url(),
        );
        std::fs::write(folder.join("nightshift.toml"), config)?;
        let mut fleet = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            workers: Vec::new(),
            kills: Vec::new(),
        };
        for _ in 0..options.workers {
            let worker = fleet.worker()?;
            fleet.workers.push(worker);
        }
        Ok(fleet)
    }

    fn worker(&self) -> anyhow::Result<Child> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("worker.log"))?;
        Ok(Command::new(&self.program)
            .args(["worker", "--only", "intake,triage,delivery"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?)
    }

    /// Kills one of them, whatever it does.
    #[expect(
        clippy::disallowed_methods,
        reason = "compared with what the workers' clocks wrote"
    )]
    pub(crate) fn kill_one(&mut self) -> anyhow::Result<()> {
        if let Some(worker) = fastrand::choice(self.workers.iter_mut()) {
            worker.kill()?;
            worker.wait()?;
            self.kills.push(SystemTime::now());
        }
        Ok(())
    }

    /// Starts those again that have ended.
    pub(crate) fn revive(&mut self) -> anyhow::Result<()> {
        for at in 0..self.workers.len() {
            let has_ended = match self.workers.get_mut(at) {
                Some(worker) => worker.try_wait()?.is_some(),
                None => false,
            };
            if has_ended {
                let new = self.worker()?;
                if let Some(worker) = self.workers.get_mut(at) {
                    *worker = new;
                }
            }
        }
        Ok(())
    }

    /// The reports that stand at the destination, by the names of their files.
    pub(crate) fn reports(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.folder.join("reports")) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".json"))
            .collect()
    }

    /// Ends all of them.
    pub(crate) async fn stop(&mut self) {
        for worker in &mut self.workers {
            drop(worker.kill());
            drop(worker.wait());
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            drop(worker.kill());
            drop(worker.wait());
        }
    }
}
