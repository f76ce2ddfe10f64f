//! Watches for reasons to read the configuration again: SIGHUP and changed files.
//!
//! Files are polled by content every few seconds. A mounted ConfigMap changes by a symbolic link, which kernel watchers
//! miss on some file systems. A change counts when two polls in a row agree, so a file that is being written is not
//! read half.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::config::LoadedConfig;

/// The time between two polls of the files.
const EVERY: Duration = Duration::from_secs(3);
/// The time until a configuration that failed for a temporary reason is tried again.
const AGAIN: Duration = Duration::from_secs(15);
/// The time until an invalid configuration is read again without a change of a watched file. A secret that it names may
/// appear later, for example when a Secret is mounted after the ConfigMap.
const WRONG_AGAIN: Duration = Duration::from_secs(60);
/// The maximum number of files that are watched. Changes of others need SIGHUP.
const MAX_FILES: usize = 2_000;
/// The greatest depth of nested folders.
const MAX_DEPTH: usize = 4;

/// The files of a configuration with a hash of each one's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigFingerprint(Vec<(PathBuf, u64)>);

impl ConfigFingerprint {
    /// Takes the fingerprint of a configuration that was just loaded. The file itself counts as it was read, and all
    /// else is read later, so edits in between count as changes.
    pub(super) fn from_loaded(loaded: &LoadedConfig) -> Self {
        let mut seen = Self::now(loaded.watched_files());
        // A pipe is empty after it was read and does not change.
        let is_pipe = |file: &PathBuf| file.exists() && !file.is_file();
        let file = loaded.file.as_ref().filter(|file| !is_pipe(file));
        if let (Some(file), Some(text)) = (file, &loaded.text) {
            let held = hash_of(|hasher| add_file(file, Ok(text.as_bytes()), hasher));
            let mut all = seen.0.iter_mut();
            if let Some(one) = all.find(|(path, _)| path == file) {
                one.1 = held;
            }
        }
        seen
    }

    /// Takes the fingerprint of the current contents.
    fn now(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut left = MAX_FILES;
        let look = |path: PathBuf| {
            let held = hash_of(|hasher| add(&path, MAX_DEPTH, &mut left, hasher));
            (path, held)
        };
        Self(paths.into_iter().map(look).collect())
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.0.iter().map(|(path, _)| path.clone()).collect()
    }
}

/// The reason why the configuration is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReloadTrigger {
    /// A person sent SIGHUP.
    Signal,
    /// The contents of a file changed.
    Files,
    /// The cause of an earlier failure may have ended.
    Retry,
}

impl ReloadTrigger {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Signal => "SIGHUP",
            Self::Files => "a file has changed",
            Self::Retry => "it could not be taken up before",
        }
    }
}

/// Waits for changes of the configuration.
pub(super) struct ConfigWatcher {
    seen: ConfigFingerprint,
    /// The result of the last poll.
    last: ConfigFingerprint,
    looks: Interval,
    /// True if a signal is pending. The caller may drop the wait in between.
    is_signalled: bool,
    /// The time at which a failed configuration is tried again.
    again_at: Option<Instant>,
    /// The reason given for that retry.
    again_why: ReloadTrigger,
    /// The last reported error, or `None` if the configuration was accepted or the failure is temporary.
    wrong: Option<String>,
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl ConfigWatcher {
    /// Watches for changes after this fingerprint. From here on SIGHUP does not end the process.
    pub(super) fn new(seen: ConfigFingerprint) -> Self {
        let mut looks = interval(EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            last: seen.clone(),
            seen,
            looks,
            is_signalled: false,
            again_at: None,
            again_why: ReloadTrigger::Retry,
            wrong: None,
            #[cfg(unix)]
            hang_up: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    /// Sets the fingerprint of the configuration being loaded as the base of further changes.
    pub(super) fn watch(&mut self, seen: ConfigFingerprint) {
        self.seen = seen;
    }

    /// Schedules a retry without a change. A retry of a signal still counts as a signal.
    pub(super) fn try_again(&mut self, why: ReloadTrigger) {
        self.again_why = match why {
            ReloadTrigger::Signal => ReloadTrigger::Signal,
            _ => ReloadTrigger::Retry,
        };
        self.again_at = Some(Instant::now() + AGAIN);
        self.wrong = None;
    }

    /// Schedules a later retry of an invalid configuration and returns whether the error is new. An unchanged error
    /// of a silent retry is not new. A signal applied to the old files, so the retry does not count as one.
    pub(super) fn note_invalid(&mut self, why: ReloadTrigger, words: &str) -> bool {
        let is_known = self.is_quiet(why) && self.wrong.as_deref() == Some(words);
        self.again_why = ReloadTrigger::Retry;
        self.again_at = Some(Instant::now() + WRONG_AGAIN);
        self.wrong = Some(words.to_owned());
        !is_known
    }

    /// Returns whether this retry is not logged, because it only repeats an invalid configuration every minute.
    pub(super) fn is_quiet(&self, why: ReloadTrigger) -> bool {
        why == ReloadTrigger::Retry && self.wrong.is_some()
    }

    /// Clears the last error.
    pub(super) fn note_applied(&mut self) {
        self.wrong = None;
    }

    /// Waits until the next poll and returns whether a signal arrived.
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

    /// Waits for the next change and returns its reason.
    pub(super) async fn next(&mut self) -> ReloadTrigger {
        loop {
            self.is_signalled |= self.wait().await;
            let paths = self.seen.paths();
            let look = tokio::task::spawn_blocking(move || ConfigFingerprint::now(paths));
            let now = look.await.unwrap_or_else(|_| self.seen.clone());
            let is_still = now == self.last;
            self.last = now;
            let is_due = self.again_at.is_some_and(|at| Instant::now() >= at);
            let why = if std::mem::take(&mut self.is_signalled) {
                ReloadTrigger::Signal
            } else if is_still && self.last != self.seen {
                match (self.again_at, self.again_why) {
                    // A pending signal covers this change too.
                    (Some(_), ReloadTrigger::Signal) => ReloadTrigger::Signal,
                    _ => ReloadTrigger::Files,
                }
            } else if is_still && is_due {
                self.again_why
            } else {
                continue;
            };
            self.seen = self.last.clone();
            self.again_at = None;
            return why;
        }
    }
}

fn hash_of(add: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(&mut hasher);
    hasher.finish()
}

fn add(path: &Path, depth: usize, left: &mut usize, hasher: &mut DefaultHasher) {
    if *left == 0 {
        return;
    }
    if path.is_dir() {
        path.hash(hasher);
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
    let bytes = std::fs::read(path);
    add_file(path, bytes.as_deref(), hasher);
}

fn add_file(path: &Path, bytes: Result<&[u8], &std::io::Error>, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    match bytes {
        Ok(bytes) => bytes.hash(hasher),
        Err(error) => error.kind().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn what_files_hold_counts_and_not_when_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let (file, inside) = (dir.path().join("a.toml"), dir.path().join("sub/b.toml"));
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(&file, "a").unwrap();
        let paths = [dir.path().to_owned(), dir.path().join("missing")];
        let look = || ConfigFingerprint::now(paths.clone());
        let first = look();
        std::fs::write(&file, "a").unwrap();
        assert_eq!(look(), first);
        std::fs::write(&inside, "b").unwrap();
        let second = look();
        assert_ne!(second, first, "a new file");
        std::fs::remove_file(&inside).unwrap();
        assert_eq!(look(), first);
        std::fs::write(&file, "c").unwrap();
        assert_ne!(look(), first, "another text");
    }

    /// Loads a configuration with this folder of playbooks.
    fn loaded(dir: &Path, playbooks: &str) -> LoadedConfig {
        let file = dir.join("nightshift.toml");
        let text = format!("[playbooks]\ndir = \"{playbooks}\"\n");
        std::fs::write(&file, text).unwrap();
        load(Some(&file)).unwrap()
    }

    async fn change_told(changes: &mut ConfigWatcher) -> Option<ReloadTrigger> {
        tokio::time::timeout(EVERY * 3, changes.next()).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_edited_between_loading_and_looking_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let read = loaded(dir.path(), "books");
        let mut same = ConfigWatcher::new(ConfigFingerprint::from_loaded(&read));
        assert_eq!(change_told(&mut same).await, None);
        loaded(dir.path(), "others");
        let mut edited = ConfigWatcher::new(ConfigFingerprint::from_loaded(&read));
        let told = Some(ReloadTrigger::Files);
        assert_eq!(change_told(&mut edited).await, told);
        assert_eq!(change_told(&mut edited).await, None, "it is told once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_still_being_written_is_not_told_of_yet() {
        let dir = tempfile::tempdir().unwrap();
        let mut changes =
            ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded(dir.path(), "books")));
        assert_eq!(change_told(&mut changes).await, None);
        for part in ["a", "ab", "abc"] {
            loaded(dir.path(), part);
            let look = tokio::time::timeout(EVERY, changes.next()).await;
            assert_eq!(look.ok(), None, "{part}");
        }
        assert_eq!(change_told(&mut changes).await, Some(ReloadTrigger::Files));
        assert_eq!(change_told(&mut changes).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn edit_while_another_file_list_is_loaded_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("others")).unwrap();
        let mut changes =
            ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded(dir.path(), "books")));
        let seen = ConfigFingerprint::from_loaded(&loaded(dir.path(), "others"));
        // The parts are built after the playbooks were read.
        std::fs::write(dir.path().join("others/new.toml"), "new").unwrap();
        changes.watch(seen);
        let told = Some(ReloadTrigger::Files);
        assert_eq!(change_told(&mut changes).await, told);
        assert_eq!(change_told(&mut changes).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_signal_meant_is_still_meant_when_it_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut changes =
            ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded(dir.path(), "books")));
        for (why, then) in [
            (ReloadTrigger::Signal, ReloadTrigger::Signal),
            (ReloadTrigger::Files, ReloadTrigger::Retry),
            (ReloadTrigger::Retry, ReloadTrigger::Retry),
        ] {
            changes.try_again(why);
            assert_eq!(changes.next().await, then, "{why:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn faulty_file_is_reread_each_minute_and_news_are_logged() {
        let dir = tempfile::tempdir().unwrap();
        let mut changes =
            ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded(dir.path(), "books")));
        let (gone, other) = ("there is no token", "there is no key");
        assert!(
            !changes.is_quiet(ReloadTrigger::Retry),
            "nothing is wrong yet"
        );
        // The rows are, in order, a signal, a retry, another error, a signal, and a changed file.
        for (why, words, is_news) in [
            (ReloadTrigger::Signal, gone, true),
            (ReloadTrigger::Retry, gone, false),
            (ReloadTrigger::Retry, gone, false),
            (ReloadTrigger::Retry, other, true),
            (ReloadTrigger::Signal, other, true),
            (ReloadTrigger::Files, other, true),
        ] {
            assert_eq!(changes.note_invalid(why, words), is_news, "{why:?} {words}");
            let begun = Instant::now();
            assert_eq!(
                changes.next().await,
                ReloadTrigger::Retry,
                "{why:?} {words}"
            );
            let waited = begun.elapsed();
            assert!((WRONG_AGAIN..WRONG_AGAIN + EVERY * 2).contains(&waited));
            assert!(
                changes.is_quiet(ReloadTrigger::Retry) && !changes.is_quiet(ReloadTrigger::Files)
            );
        }
        changes.note_applied();
        assert!(
            changes.note_invalid(ReloadTrigger::Retry, other),
            "it was well between"
        );
        changes.try_again(ReloadTrigger::Retry);
        assert!(
            changes.note_invalid(ReloadTrigger::Retry, other),
            "it was something else"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_mended_is_read_at_once_and_as_no_signal_meant_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut changes =
            ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded(dir.path(), "books")));
        assert!(changes.note_invalid(ReloadTrigger::Signal, "there is no token"));
        loaded(dir.path(), "others");
        assert_eq!(change_told(&mut changes).await, Some(ReloadTrigger::Files));
        let minutes = tokio::time::timeout(WRONG_AGAIN * 3, changes.next()).await;
        assert_eq!(minutes.ok(), None, "it is tried again where it is wrong");
    }

    #[tokio::test(start_paused = true)]
    async fn signal_request_survives_a_file_change_before_the_retry() {
        let dir = tempfile::tempdir().unwrap();
        let mut changes =
            ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded(dir.path(), "books")));
        changes.try_again(ReloadTrigger::Signal);
        loaded(dir.path(), "others");
        assert_eq!(changes.next().await, ReloadTrigger::Signal);
        assert_eq!(change_told(&mut changes).await, None, "it is told once");
    }
}
