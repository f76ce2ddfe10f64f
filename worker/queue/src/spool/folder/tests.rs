//! Tests the folder without a source.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[test]
fn files_of_unlocked_folder_are_returned_and_replace_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut first = SpoolFolder::open(root.path(), false).unwrap();
    fs::write(root.path().join("new/a"), "old").unwrap();
    first.claim_files(10).unwrap();
    fs::write(root.path().join("new/a"), "fresh").unwrap();
    // Simulates the death of the process: the lock is released, nothing is put back.
    drop(first);
    let mut second = SpoolFolder::open(root.path(), false).unwrap();
    second.claim_files(10).unwrap();
    let mut bodies: Vec<Vec<u8>> = second
        .hand_over(10)
        .into_iter()
        .map(|one| one.bytes)
        .collect();
    bodies.sort();
    assert_eq!(bodies, [b"fresh".to_vec(), b"old".to_vec()]);
}

#[test]
fn a_folder_without_a_lock_file_is_nobody_s() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("cur/123-gone")).unwrap();
    fs::write(root.path().join("cur/123-gone/a"), "a").unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    folder.claim_files(1).unwrap();
    assert_eq!(folder.hand_over(1)[0].bytes, b"a");
    let left: Vec<_> = fs::read_dir(root.path().join("cur")).unwrap().collect();
    assert_eq!(left.len(), 2, "our own folder and its lock: {left:?}");
}

#[test]
fn a_folder_that_is_closed_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    fs::write(root.path().join("new/a"), "a").unwrap();
    folder.claim_files(1).unwrap();
    folder.close();
    assert_eq!(fs::read_dir(root.path().join("cur")).unwrap().count(), 0);
    assert_eq!(fs::read(root.path().join("new/a")).unwrap(), b"a");
}

#[test]
fn our_folder_is_made_again_when_it_was_cleared_away() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    fs::remove_dir(folder.claim.folder()).unwrap();
    fs::write(root.path().join("new/a"), "a").unwrap();
    folder.claim_files(1).unwrap();
    assert_eq!(folder.hand_over(1)[0].bytes, b"a");
    let left: Vec<_> = fs::read_dir(root.path().join("cur")).unwrap().collect();
    assert_eq!(left.len(), 2, "our own folder and its lock: {left:?}");
}

#[test]
fn a_file_that_cannot_be_taken_is_told_and_holds_up_no_other() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    // A directory takes the place of the file, and no file can replace it.
    fs::create_dir(folder.claim.folder().join("a")).unwrap();
    fs::write(root.path().join("new/a"), "a").unwrap();
    fs::write(root.path().join("new/b"), "b").unwrap();
    folder.claim_files(10).unwrap();
    assert_eq!(folder.hand_over(10)[0].bytes, b"b");
    let why = folder.problem().unwrap();
    assert!(why.starts_with("new/a: "), "{why}");
}

/// Reads nothing while the file system is unavailable.
fn while_there(path: &Path) -> io::Result<FileContent> {
    let root = path.ancestors().nth(3).unwrap();
    if root.join("away").exists() && !path.ends_with("other") {
        return Err(io::Error::from(io::ErrorKind::StaleNetworkFileHandle));
    }
    read_content(path)
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_read_now_is_kept_told_and_read_later() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    folder.read_file = while_there;
    fs::write(root.path().join("away"), "").unwrap();
    fs::write(root.path().join("new/alert"), "critical").unwrap();
    fs::write(root.path().join("new/other"), "other").unwrap();
    folder.claim_files(10).unwrap();
    assert_eq!(folder.hand_over(10)[0].bytes, b"other");
    let why = folder.problem().unwrap();
    assert!(why.starts_with("new/alert: "), "{why}");
    assert_eq!(
        fs::read(root.path().join("new/alert")).unwrap(),
        b"critical"
    );
    let failed = fs::read_dir(root.path().join("failed")).unwrap().count();
    assert_eq!(failed, 0, "nothing is wrong with the message");

    fs::remove_file(root.path().join("away")).unwrap();
    folder.claim_files(10).unwrap();
    assert!(folder.hand_over(10).is_empty(), "not at once");
    assert!(folder.problem().is_some(), "and that is told meanwhile");
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    folder.claim_files(10).unwrap();
    assert_eq!(folder.hand_over(10)[0].bytes, b"critical");
    assert_eq!(folder.problem(), None);
}

#[test]
fn a_file_that_cannot_be_put_back_either_is_put_back_later() {
    /// Removes the folder during the read.
    fn meanwhile(path: &Path) -> io::Result<FileContent> {
        let root = path.ancestors().nth(3).unwrap();
        fs::rename(root.join("new"), root.join("moved"))?;
        Err(io::Error::other("no luck"))
    }
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    folder.read_file = meanwhile;
    fs::write(root.path().join("new/alert"), "critical").unwrap();
    folder.claim_files(1).unwrap();
    assert!(folder.problem().unwrap().starts_with("new/alert: no luck"));
    fs::rename(root.path().join("moved"), root.path().join("new")).unwrap();
    folder.read_file = read_content;
    folder.claim_files(1).unwrap();
    assert_eq!(
        fs::read(root.path().join("new/alert")).unwrap(),
        b"critical"
    );
}

#[test]
fn a_file_that_is_gone_is_no_trouble_any_more() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    folder.read_file = |_| Err(io::Error::other("no luck"));
    fs::write(root.path().join("new/a"), "a").unwrap();
    folder.claim_files(1).unwrap();
    assert!(folder.problem().is_some());
    fs::remove_file(root.path().join("new/a")).unwrap();
    folder.claim_files(1).unwrap();
    assert_eq!(folder.problem(), None);
}

#[test]
fn misplaced_files_are_reported_once_at_the_start() {
    let root = tempfile::tempdir().unwrap();
    let warnings = || {
        let told = WarningCounter::default();
        let opened = tracing::subscriber::with_default(told.clone(), || {
            SpoolFolder::open(root.path(), false)
        });
        opened.unwrap().claim_files(1).unwrap();
        told.0.load(Ordering::Relaxed)
    };
    assert_eq!(warnings(), 0);
    fs::write(root.path().join("one.json"), "{}").unwrap();
    fs::write(root.path().join("two.json"), "{}").unwrap();
    assert_eq!(warnings(), 1);
}

#[test]
fn a17_files_take_no_more_memory_than_there_is_for_them() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = SpoolFolder::open(root.path(), false).unwrap();
    // Sparse files: 16 MiB are read of each, and three fit.
    for name in ["a", "b", "c", "d", "e"] {
        let file = File::create(root.path().join("new").join(name)).unwrap();
        file.set_len(20 << 20).unwrap();
    }
    folder.claim_files(160).unwrap();
    let came = folder.hand_over(160);
    assert_eq!(came.len(), 3);
    let left = || fs::read_dir(root.path().join("new")).unwrap().count();
    folder.claim_files(160).unwrap();
    assert!(folder.hand_over(160).is_empty(), "they are in memory still");
    assert_eq!(left(), 2, "what does not fit stays where it is");
    // A file that cannot be settled does not count as memory either.
    fs::remove_file(&folder.taken[&came[0].id].path).unwrap();
    let settled: Vec<_> = came[..2]
        .iter()
        .map(|one| (one.id.clone(), Disposition::Ack))
        .collect();
    assert_eq!(folder.settle(&settled).len(), 1);
    folder.claim_files(160).unwrap();
    assert_eq!(folder.hand_over(160).len(), 2);
    assert_eq!(left(), 0);
}

/// Counts warnings.
#[derive(Clone, Default)]
struct WarningCounter(Arc<AtomicUsize>);

impl tracing::Subscriber for WarningCounter {
    fn enabled(&self, of: &tracing::Metadata<'_>) -> bool {
        *of.level() == tracing::Level::WARN
    }

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
