//! What tells that the configuration is to be read again: SIGHUP, and files that have changed.
//!
//! Files are looked at every few seconds, by what they hold: a mounted ConfigMap changes by a link that is turned, and no
//! watcher of the kernel sees that on every file system.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::config::Loaded;

/// Between two looks at the files.
const EVERY: Duration = Duration::from_secs(3);
/// Until what could not be taken up, for another reason than its own, is tried again.
const AGAIN: Duration = Duration::from_secs(15);
/// Most files that are looked at; more are read again by SIGHUP alone.
const MOST_FILES: usize = 2_000;
/// Folders within folders.
const MOST_DEPTH: usize = 4;

/// Waits for a change.
pub(super) struct Changes {
    paths: Vec<PathBuf>,
    seen: u64,
    looks: Interval,
    /// What is to be told and was not yet: whoever waits may be called away in between.
    owed: Option<&'static str>,
    /// When what could not be taken up is tried again.
    again_at: Option<Instant>,
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Changes {
    /// Changes of what this configuration was read from.
    pub(super) fn of(loaded: &Loaded) -> Self {
        let mut looks = interval(EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let paths = loaded.files();
        Self {
            seen: fingerprint(&paths),
            paths,
            looks,
            owed: None,
            again_at: None,
            #[cfg(unix)]
            hang_up: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    /// From now on, changes of what this configuration was read from.
    pub(super) fn watch(&mut self, loaded: &Loaded) {
        let paths = loaded.files();
        if paths != self.paths {
            self.seen = fingerprint(&paths);
            self.paths = paths;
        }
    }

    /// Says in a while that there is something to be read, though nothing changes.
    pub(super) fn try_again(&mut self) {
        self.again_at = Some(Instant::now() + AGAIN);
    }

    /// Waits until it is time to look; whether a signal said so.
    async fn wait(&mut self) -> bool {
        #[cfg(unix)]
        if let Some(hang_up) = &mut self.hang_up {
            return tokio::select! {
                biased;
                Some(()) = hang_up.recv() => true,
                _ = self.looks.tick() => false,
            };
        }
        self.looks.tick().await;
        false
    }

    /// Waits for the next change, and says what it was.
    pub(super) async fn next(&mut self) -> &'static str {
        loop {
            if self.wait().await {
                self.owed = Some("SIGHUP");
            } else if self.again_at.is_some_and(|at| Instant::now() >= at) {
                self.owed = Some("it could not be taken up before");
            }
            let paths = self.paths.clone();
            let look = tokio::task::spawn_blocking(move || fingerprint(&paths));
            let now = look.await.unwrap_or(self.seen);
            let before = std::mem::replace(&mut self.seen, now);
            let changed = (before != now).then_some("a file has changed");
            if let Some(why) = self.owed.take().or(changed) {
                self.again_at = None;
                return why;
            }
        }
    }
}

/// What the files hold.
fn fingerprint(paths: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = MOST_FILES;
    for path in paths {
        add(path, MOST_DEPTH, &mut left, &mut hasher);
    }
    hasher.finish()
}

fn add(path: &Path, depth: usize, left: &mut usize, hasher: &mut DefaultHasher) {
    if *left == 0 {
        return;
    }
    path.hash(hasher);
    if path.is_dir() {
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        inside.sort();
        for one in inside {
            add(&one, depth, left, hasher);
        }
        return;
    }
    *left -= 1;
    match std::fs::read(path) {
        Ok(bytes) => bytes.hash(hasher),
        Err(error) => error.kind().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_hold_counts_and_not_when_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let (file, inside) = (dir.path().join("a.toml"), dir.path().join("sub/b.toml"));
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(&file, "a").unwrap();
        let paths = [dir.path().to_owned(), dir.path().join("missing")];
        let first = fingerprint(&paths);
        std::fs::write(&file, "a").unwrap();
        assert_eq!(fingerprint(&paths), first);
        std::fs::write(&inside, "b").unwrap();
        let second = fingerprint(&paths);
        assert_ne!(second, first, "a new file");
        std::fs::remove_file(&inside).unwrap();
        assert_eq!(fingerprint(&paths), first);
        std::fs::write(&file, "c").unwrap();
        assert_ne!(fingerprint(&paths), first, "another text");
    }
}
