//! What only shows without a source around it.

use super::*;

#[test]
fn files_of_a_folder_that_nobody_has_locked_are_put_back_and_replace_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut first = Folder::open(root.path(), false).unwrap();
    fs::write(root.path().join("new/a"), "old").unwrap();
    first.take(10).unwrap();
    fs::write(root.path().join("new/a"), "fresh").unwrap();
    // As if the process had died: the lock goes, nothing is put back.
    drop(first);
    let mut second = Folder::open(root.path(), false).unwrap();
    second.take(10).unwrap();
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
    let mut folder = Folder::open(root.path(), false).unwrap();
    folder.take(1).unwrap();
    assert_eq!(folder.hand_over(1)[0].bytes, b"a");
    let left: Vec<_> = fs::read_dir(root.path().join("cur")).unwrap().collect();
    assert_eq!(left.len(), 2, "our own folder and its lock: {left:?}");
}

#[test]
fn a_folder_that_is_closed_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(root.path(), false).unwrap();
    fs::write(root.path().join("new/a"), "a").unwrap();
    folder.take(1).unwrap();
    folder.close();
    assert_eq!(fs::read_dir(root.path().join("cur")).unwrap().count(), 0);
    assert_eq!(fs::read(root.path().join("new/a")).unwrap(), b"a");
}

#[test]
fn our_folder_is_made_again_when_it_was_cleared_away() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(root.path(), false).unwrap();
    fs::remove_dir(folder.claim.folder()).unwrap();
    fs::write(root.path().join("new/a"), "a").unwrap();
    folder.take(1).unwrap();
    assert_eq!(folder.hand_over(1)[0].bytes, b"a");
    let left: Vec<_> = fs::read_dir(root.path().join("cur")).unwrap().collect();
    assert_eq!(left.len(), 2, "our own folder and its lock: {left:?}");
}

#[test]
fn a_file_that_cannot_be_taken_is_told_and_holds_up_no_other() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(root.path(), false).unwrap();
    // Its place is taken by what no file can replace.
    fs::create_dir(folder.claim.folder().join("a")).unwrap();
    fs::write(root.path().join("new/a"), "a").unwrap();
    fs::write(root.path().join("new/b"), "b").unwrap();
    folder.take(10).unwrap();
    assert_eq!(folder.hand_over(10)[0].bytes, b"b");
    let why = folder.take(10).unwrap_err().to_string();
    assert!(why.starts_with("new/a: "), "{why}");
}
