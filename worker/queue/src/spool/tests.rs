//! Tests the reports of a source about a file that cannot be read.

use std::path::Path;
use std::{fs, io};

use super::folder::FileContent;
use super::*;

#[tokio::test(start_paused = true)]
async fn unreadable_file_is_reported_in_readiness_until_readable() {
    let root = tempfile::tempdir().unwrap();
    let config = SpoolConfig {
        name: "files".to_owned(),
        dir: root.path().to_owned(),
        ..toml::from_str("name = 'files'\ndir = 'spool'").unwrap()
    };
    let spool = SpoolSource::open(config).await.unwrap();
    let reading = {
        let mut held = lock_folder(&spool.folder);
        let folder = held.as_mut().unwrap();
        let none: fn(&Path) -> io::Result<FileContent> =
            |_| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        std::mem::replace(&mut folder.read_file, none)
    };
    fs::write(root.path().join("new/a"), "a").unwrap();
    let error = spool.receive(1).await.unwrap_err();
    assert!(error.cause.to_string().starts_with("new/a: "), "{error:?}");
    assert!(spool.ready().unwrap_err().starts_with("new/a: "));
    lock_folder(&spool.folder).as_mut().unwrap().read_file = reading;
    let came = spool.receive(1).await.unwrap().unwrap();
    assert_eq!(came[0].bytes, b"a");
    assert_eq!(spool.ready(), Ok(()));
}
