//! Runs the suite on a directory, and tests that apply to directories only.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_pipeline::port::{Disposition, Publish, Source};
use secrecy::SecretString;

use super::broker::Broker;
use super::suite::suite;
use super::{ack, numbered, receive, settled, texts};
use crate::{SecretResolver, SourceConfig, connect, publisher};

suite!(SpoolBroker::new);

/// A directory that ends with its test.
struct SpoolBroker {
    root: tempfile::TempDir,
    keep: bool,
}

impl SpoolBroker {
    async fn new() -> Option<Self> {
        Some(Self::keeping(false))
    }

    fn keeping(keep: bool) -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { root, keep }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("spool").join(name)
    }

    /// Returns the files of a folder and its subfolders, without locks.
    fn files(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(name)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().into_string().unwrap();
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if !name.ends_with(".lock") {
                    found.push(name);
                }
            }
        }
        found.sort();
        found
    }

    fn config(&self) -> SourceConfig {
        let dir = self.root.path().join("spool");
        let text = format!(
            "kind = 'spool'\nname = 'files'\ndir = '{}'\nkeep = {}",
            dir.display(),
            self.keep
        );
        toml::from_str(&text).unwrap()
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        for folder in ["tmp", "new"] {
            fs::create_dir_all(self.path(folder)).unwrap();
        }
        fs::write(self.path("tmp").join(name), bytes).unwrap();
        fs::rename(self.path("tmp").join(name), self.path("new").join(name)).unwrap();
    }
}

fn no_secrets() -> SecretResolver {
    Arc::new(|text: &str| Ok(SecretString::from(text.to_owned())))
}

#[async_trait]
impl Broker for SpoolBroker {
    async fn publish(&self, bodies: Vec<Vec<u8>>, _attributes: &[(&str, &str)]) {
        for body in bodies {
            self.put(&format!("{}.json", uuid::Uuid::new_v4()), &body);
        }
    }

    async fn source(&self) -> Arc<dyn Source> {
        connect(&self.config(), no_secrets()).await.unwrap()
    }

    async fn publisher(&self) -> Option<Arc<dyn Publish>> {
        Some(publisher(&self.config(), no_secrets()).await.unwrap())
    }

    async fn left(&self) -> usize {
        self.files("new").len() + self.files("cur").len()
    }

    fn has_attributes(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn settled_files_are_removed_or_kept_and_unreadable_set_apart() {
    for keep in [false, true] {
        let directory = SpoolBroker::keeping(keep);
        directory.put("good.json", b"{}");
        directory.put("bad.json", b"no alert");
        let source = directory.source().await;
        let came = receive(&*source, 2).await;
        let mut settlement = settled(&came, Disposition::Ack);
        let bad = came
            .iter()
            .position(|message| message.bytes == b"no alert")
            .unwrap();
        settlement[bad].disposition = Disposition::DeadLetter;
        assert_eq!(source.settle(&settlement).await, []);
        assert_eq!(directory.left().await, 0);
        let kept = (directory.files("done"), directory.files("failed"));
        let wanted: (&[&str], &[&str]) = if keep {
            (&["good.json"], &["bad.json"])
        } else {
            (&[], &[])
        };
        assert_eq!((kept.0, kept.1), (owned(wanted.0), owned(wanted.1)));
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test]
async fn files_come_oldest_first_and_taken_names_replace_nothing() {
    let directory = SpoolBroker::keeping(true);
    let source = directory.source().await;
    for round in ["first", "second"] {
        directory.put("alert.json", round.as_bytes());
        let came = receive(&*source, 1).await;
        ack(&*source, &came).await;
    }
    assert_eq!(directory.files("done"), ["alert.json", "alert.json~1"]);
    let second = fs::read(directory.path("done").join("alert.json~1")).unwrap();
    assert_eq!(second, b"second");

    let minutes = |minutes: u64| {
        let at =
            std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + 60 * minutes);
        fs::FileTimes::new().set_modified(at)
    };
    for (name, at) in [("a", 3), ("b", 1), ("c", 2), ("d", 1)] {
        fs::write(directory.path("tmp").join(name), name).unwrap();
        let file = fs::File::options()
            .write(true)
            .open(directory.path("tmp").join(name))
            .unwrap();
        file.set_times(minutes(at)).unwrap();
        fs::rename(
            directory.path("tmp").join(name),
            directory.path("new").join(name),
        )
        .unwrap();
    }
    let came = receive(&*source, 4).await;
    let order: Vec<&[u8]> = came
        .iter()
        .map(|message| message.bytes.as_slice())
        .collect();
    assert_eq!(order, [b"b", b"d", b"c", b"a"]);
}

#[tokio::test]
async fn a_huge_file_comes_as_its_head_and_is_never_thrown_away() {
    let directory = SpoolBroker::keeping(false);
    fs::create_dir_all(directory.path("new")).unwrap();
    let file = fs::File::create(directory.path("new").join("huge")).unwrap();
    file.set_len(1 << 34).unwrap();
    let source = directory.source().await;
    let came = receive(&*source, 1).await;
    assert_eq!(came[0].bytes.len(), 16 * 1024 * 1024 + 1);
    source
        .settle(&settled(&came, Disposition::DeadLetter))
        .await;
    assert_eq!(directory.files("failed"), ["huge"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_is_not_followed_and_work_in_progress_is_left_alone() {
    let directory = SpoolBroker::keeping(false);
    fs::create_dir_all(directory.path("new").join("folder")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", directory.path("new").join("link")).unwrap();
    directory.put(".hidden", b"half");
    directory.put("plain", b"whole");
    let source = directory.source().await;
    assert_eq!(texts(&receive(&*source, 1).await), ["whole"]);
    assert_eq!(directory.files("failed"), ["link"]);
    assert_eq!(directory.files("new"), [".hidden"]);
    assert!(fs::symlink_metadata("/etc/passwd").unwrap().is_file());
}

#[tokio::test]
async fn what_another_process_holds_is_left_to_it_as_long_as_it_lives() {
    let directory = SpoolBroker::keeping(false);
    let first = directory.source().await;
    directory.publish(numbered(0..3), &[]).await;
    let came = receive(&*first, 3).await;
    let second = directory.source().await;
    directory.put("fresh", b"fresh");
    assert_eq!(texts(&receive(&*second, 1).await), ["fresh"]);
    assert_eq!(directory.files("cur").len(), 4);
    drop(first);
    assert_eq!(texts(&receive(&*second, 3).await), texts(&came));
}

#[tokio::test]
async fn a_directory_that_goes_away_is_told_and_used_again() {
    let directory = SpoolBroker::keeping(false);
    let source = directory.source().await;
    let (spool, away) = (
        directory.root.path().join("spool"),
        directory.root.path().join("away"),
    );
    fs::rename(&spool, &away).unwrap();
    assert!(source.receive(1).await.is_err());
    assert!(source.ready().is_err());
    fs::rename(&away, &spool).unwrap();
    directory.put("back", b"back");
    assert_eq!(texts(&receive(&*source, 1).await), ["back"]);
    assert_eq!(source.ready(), Ok(()));
}
