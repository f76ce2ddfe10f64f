//! Tests the reports of a source about a file that cannot be read.

use std::path::Path;
use std::{fs, io};

use super::folder::Head;
use super::*;

#[tokio::test(start_paused = true)]
async fn one_file_that_cannot_be_read_is_told_in_readiness_until_it_can() {
    let root = tempfile::tempdir().unwrap();
    let config = Config {
        name: "files".to_owned(),
        dir: root.path().to_owned(),
        ..toml::from_str("name = 'files'\ndir = 'spool'").unwrap()
    };
    let spool = Spool::open(config).await.unwrap();
    let reading = {
        let mut held = locked(&spool.folder);
        let folder = held.as_mut().unwrap();
        let none: fn(&Path) -> io::Result<Head> =
            |_| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        std::mem::replace(&mut folder.reading, none)
    };
    fs::write(root.path().join("new/a"), "a").unwrap();
    let error = spool.receive(1).await.unwrap_err();
    assert!(error.cause.to_string().starts_with("new/a: "), "{error:?}");
    assert!(spool.ready().unwrap_err().starts_with("new/a: "));
    locked(&spool.folder).as_mut().unwrap().reading = reading;
    let came = spool.receive(1).await.unwrap().unwrap();
    assert_eq!(came[0].bytes, b"a");
    assert_eq!(spool.ready(), Ok(()));
}
