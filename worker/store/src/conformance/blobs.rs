//! Tests large messages outside of the database: they are read back whole, and no blob is left behind.

use std::path::{Path, PathBuf};

use nightshift_engine::error_chain::format_error_chain;
use nightshift_pipeline::maintenance::{Purge, RetentionClass};
use tempfile::TempDir;

use super::*;
use crate::{BlobOptions, BlobStore};

on_both_stores! {
    a_large_message_is_kept_outside_and_comes_back_whole
    alerts_of_one_message_share_its_blob
    alerts_of_one_message_share_its_blob_however_many_they_are
    the_blob_of_a_message_that_is_gone_is_swept_at_once
    a_blob_whose_message_never_came_is_swept_after_an_hour
    a_blob_that_may_not_be_removed_keeps_no_other
    blobs_are_swept_whatever_else_cannot_be
    a_message_whose_blob_cannot_be_written_stays_in_the_database
    what_was_held_up_for_long_refers_to_no_blob
    parts_of_a_split_batch_keep_their_own_messages
    a_blob_that_is_not_there_is_told
    no_blob_is_forgotten_where_its_folder_is_not_there
}

const LEAST: usize = 1000;

fn blobs(folder: &Path) -> BlobStore {
    let url = format!("file:{}", folder.join("a/b").display());
    BlobStore::open(&BlobOptions {
        least_bytes: LEAST,
        ..BlobOptions::new(url)
    })
    .unwrap()
}

/// Returns a store with its blobs in this folder.
async fn with_blobs(fixture: &Fixture, folder: &Path) -> Arc<dyn Store> {
    let options = StoreOptions {
        blobs: Some(blobs(folder)),
        ..options()
    };
    fixture.another(options).await
}

fn files(folder: &TempDir) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.path().join("a/b/raw")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

async fn accept(store: &Arc<dyn Store>, bytes: &[u8]) -> Vec<AcceptedAlert> {
    store.accept(arrivals(bytes).into()).await.unwrap()
}

async fn loose(fixture: &Fixture) -> i64 {
    fixture.count("SELECT count(*) FROM orphaned_blobs").await
}

async fn sizes(fixture: &Fixture) -> Vec<Vec<String>> {
    fixture
        .texts("SELECT size_bytes, length(bytes), blob IS NULL FROM raw_messages ORDER BY id")
        .await
}

fn nonsense(length: usize) -> Vec<u8> {
    b"nonsense ".iter().copied().cycle().take(length).collect()
}

async fn a_large_message_is_kept_outside_and_comes_back_whole(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let large = nonsense(LEAST);
    for bytes in [&large[..], &large[1..]] {
        let letter = accept(&store, bytes).await[0].dead_letter.unwrap();
        let (letter, kept) = store.dead_letter(letter).await.unwrap().unwrap();
        assert_eq!(kept, bytes);
        assert_eq!(letter.size_bytes, bytes.len() as u64);
    }
    assert_eq!(files(&folder).len(), 1);
    assert_eq!(loose(&fixture).await, 0);
    let rows = sizes(&fixture).await;
    assert_eq!(rows[0][..2], ["1000", "0"]);
    assert_eq!(rows[1][..2], ["999", "999"]);
}

async fn alerts_of_one_message_share_its_blob(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let miner = String::from_utf8_lossy(MINER);
    let list = format!(
        "[{miner}, {}]",
        miner.replace("\"name\": \"", "\"name\": \"x")
    );
    assert_eq!(accept(&store, list.as_bytes()).await.len(), 2);
    assert_eq!(files(&folder).len(), 1);
    assert_eq!(sizes(&fixture).await.len(), 1);
    // Two messages with the same content each have their own blob.
    accept(&store, MINER).await;
    assert_eq!(files(&folder).len(), 2);
    assert_eq!(loose(&fixture).await, 0);
}

async fn alerts_of_one_message_share_its_blob_however_many_they_are(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let alert = arrivals(MINER).remove(0);
    let many = (0..600).map(|number| {
        let mut alert = alert.clone();
        Arc::make_mut(&mut alert.alert).key.id = format!("finding {number}");
        alert
    });
    store.accept(many.collect()).await.unwrap();
    assert_eq!(sizes(&fixture).await.len(), 1);
    assert_eq!((files(&folder).len(), loose(&fixture).await), (1, 0));
}

async fn the_blob_of_a_message_that_is_gone_is_swept_at_once(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    accept(&store, MINER).await;
    accept(&store, &nonsense(LEAST)).await;
    assert_eq!(store.sweep().await.unwrap(), 0);
    assert_eq!(files(&folder).len(), 2);
    let removed = store
        .expire(RetentionClass::DeadLetters, at(86_400), 9)
        .await;
    assert_eq!(removed.unwrap(), 1);
    assert_eq!(store.sweep().await.unwrap(), 1);
    assert_eq!(files(&folder).len(), 1);
    let everything = Purge {
        account: None,
        before: Some(at(86_400)),
    };
    while let Some(claimed) = store.claim(Lane::Any, 1).await.unwrap().pop() {
        conclude(&store, &claimed).await;
    }
    assert!(store.purge(&everything, 100).await.unwrap() > 0);
    assert_eq!(store.sweep().await.unwrap(), 1);
    assert_eq!(store.sweep().await.unwrap(), 0);
    assert!(files(&folder).is_empty());
    assert_eq!(loose(&fixture).await, 0);
}

/// Returns the SQL value of a time so many minutes ago.
fn age(fixture: &Fixture, minutes: u32) -> String {
    if fixture.is_sqlite() {
        format!("unixepoch() - {}", minutes * 60)
    } else {
        format!("now() - interval '{minutes} minutes'")
    }
}

async fn a_blob_whose_message_never_came_is_swept_after_an_hour(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let raw = folder.path().join("a/b/raw");
    std::fs::create_dir_all(&raw).unwrap();
    for (name, minutes) in [("old", 61), ("young", 59), ("never-written", 61)] {
        if name != "never-written" {
            std::fs::write(raw.join(name), "bytes").unwrap();
        }
        let since = age(&fixture, minutes);
        let note =
            format!("INSERT INTO orphaned_blobs (key, since) VALUES ('raw/{name}', {since})");
        fixture.execute(&note).await;
    }
    assert_eq!(store.sweep().await.unwrap(), 2);
    assert_eq!(files(&folder), [raw.join("young")]);
    assert_eq!(loose(&fixture).await, 1);
    assert_eq!(fixture.store.sweep().await.unwrap(), 0, "it has no blobs");
}

async fn a_blob_that_may_not_be_removed_keeps_no_other(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    // A folder cannot be removed as a file.
    let held = folder.path().join("a/b/raw/held");
    std::fs::create_dir_all(&held).unwrap();
    let old = [age(&fixture, 90), age(&fixture, 61)];
    for (name, since) in ["held", "free"].iter().zip(old) {
        let note =
            format!("INSERT INTO orphaned_blobs (key, since) VALUES ('raw/{name}', {since})");
        fixture.execute(&note).await;
    }
    std::fs::write(folder.path().join("a/b/raw/free"), "bytes").unwrap();
    let failed = store.sweep().await.unwrap_err();
    assert!(
        format_error_chain(&failed).contains("remove blobs"),
        "{failed}"
    );
    assert_eq!(files(&folder), [held]);
    assert_eq!(loose(&fixture).await, 1);
}

async fn blobs_are_swept_whatever_else_cannot_be(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    accept(&store, &nonsense(LEAST)).await;
    fixture
        .execute("INSERT INTO spending (day, case_id, urgent, usd) VALUES ('2026-01-02', 'a', 1 = 1, 0.5)")
        .await;
    fixture.execute(if fixture.is_sqlite() {
        "CREATE TRIGGER poison BEFORE DELETE ON spending BEGIN SELECT raise(ABORT, 'this is poison'); END"
    } else {
        "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this is poison'; END $$; \
         CREATE TRIGGER poison BEFORE DELETE ON spending FOR EACH ROW EXECUTE FUNCTION poison()"
    })
    .await;
    let removed = store
        .expire(RetentionClass::DeadLetters, at(86_400), 9)
        .await;
    assert_eq!(removed.unwrap(), 1);
    assert_eq!(store.sweep().await.unwrap(), 1);
    assert_eq!((files(&folder).len(), loose(&fixture).await), (0, 0));
    let failed = store.sweep().await.unwrap_err();
    assert!(format_error_chain(&failed).contains("poison"), "{failed}");
}

async fn a_message_whose_blob_cannot_be_written_stays_in_the_database(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "a file where a folder should be").unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let large = nonsense(LEAST);
    let letter = accept(&store, &large).await[0].dead_letter.unwrap();
    let (_, kept) = store.dead_letter(letter).await.unwrap().unwrap();
    assert_eq!(kept, large);
    assert_eq!(sizes(&fixture).await[0][..2], ["1000", "1000"]);
    assert_eq!(loose(&fixture).await, 1, "it may have been written in part");
}

async fn what_was_held_up_for_long_refers_to_no_blob(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let late = age(&fixture, 31);
    let (hold, go_on) = if fixture.is_sqlite() {
        (
            format!(
                "CREATE TRIGGER late AFTER INSERT ON orphaned_blobs BEGIN UPDATE orphaned_blobs SET since = {late}; END"
            ),
            "DROP TRIGGER late",
        )
    } else {
        (
            format!("ALTER TABLE orphaned_blobs ALTER since SET DEFAULT {late}"),
            "ALTER TABLE orphaned_blobs ALTER since SET DEFAULT clock_timestamp()",
        )
    };
    fixture.execute(&hold).await;
    let refused = store.accept(arrivals(MINER).into()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Database { .. }), "{refused}");
    assert!(
        format_error_chain(&refused).contains("orphan"),
        "{refused:?}"
    );
    assert_eq!(fixture.count("SELECT count(*) FROM cases").await, 0);
    fixture.execute(go_on).await;
    assert_eq!(accept(&store, MINER).await[0].admission, Admission::New);
    assert_eq!(files(&folder).len(), 2);
    assert_eq!(loose(&fixture).await, 1);
}

async fn parts_of_a_split_batch_keep_their_own_messages(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    fixture.execute(if fixture.is_sqlite() {
        "CREATE TRIGGER poison BEFORE INSERT ON cases WHEN new.title = 'poison' BEGIN SELECT raise(ABORT, 'no'); END"
    } else {
        "ALTER TABLE cases ADD CHECK (title <> 'poison')"
    })
    .await;
    let mut batch = arrivals(MINER);
    batch.extend(batch.clone());
    Arc::make_mut(&mut batch[0].alert).title = "poison".into();
    Arc::make_mut(&mut batch[1].alert).key.id = "another".into();
    let accepted = store.accept(batch.into()).await.unwrap();
    let letter = accepted[0].dead_letter.unwrap();
    let (_, kept) = store.dead_letter(letter).await.unwrap().unwrap();
    assert_eq!(kept, MINER);
    assert!(sizes(&fixture).await.iter().all(|row| row[0] == row[1]));
    assert_eq!(loose(&fixture).await, 1, "the one of the whole batch");
}

async fn a_blob_that_is_not_there_is_told(fixture: Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let store = with_blobs(&fixture, folder.path()).await;
    let letter = accept(&store, &nonsense(LEAST)).await[0]
        .dead_letter
        .unwrap();
    let nowhere = fixture.store.dead_letter(letter).await.unwrap_err();
    let nowhere = format_error_chain(&nowhere);
    assert!(nowhere.contains("say in [blobs] url"), "{nowhere}");
    std::fs::remove_file(&files(&folder)[0]).unwrap();
    let gone = store.dead_letter(letter).await.unwrap_err();
    let gone = format_error_chain(&gone);
    assert!(gone.contains("failed to read a blob"), "{gone}");
}

async fn no_blob_is_forgotten_where_its_folder_is_not_there(fixture: Fixture) {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = with_blobs(&fixture, folder.path()).await;
    accept(&store, &nonsense(LEAST)).await;
    let removed = store
        .expire(RetentionClass::DeadLetters, at(86_400), 9)
        .await;
    assert_eq!(removed.unwrap(), 1);
    let elsewhere = with_blobs(&fixture, other.path()).await;
    let failed = elsewhere.sweep().await.unwrap_err();
    assert!(
        format_error_chain(&failed).contains("is not there"),
        "{failed}"
    );
    assert_eq!(store.sweep().await.unwrap(), 1, "where it is");
    assert_eq!((files(&folder).len(), loose(&fixture).await), (0, 0));
}
