//! Manages the folder of this process below `cur/`, and those of processes that are gone.
//!
//! Beside each folder is a file that its process holds a lock on. The lock ends with the process in any case, and works
//! between containers of a host, where process ids are not comparable. The id in the name is for people.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of this process, owned for the lifetime of this value.
#[derive(Debug)]
pub(super) struct FolderClaim {
    folder: PathBuf,
    lock_file: PathBuf,
    _lock: File,
}

impl FolderClaim {
    /// Creates a new folder below `cur`.
    pub(super) fn new(cur: &Path) -> io::Result<Self> {
        let name = format!("{}-{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let folder = cur.join(&name);
        let lock_file = cur.join(format!("{name}.lock"));
        let lock = File::create_new(&lock_file)?;
        lock.lock()?;
        // The folder is created after the lock. A folder whose lock is free belongs to no process.
        fs::create_dir(&folder)?;
        Ok(Self {
            folder,
            lock_file,
            _lock: lock,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Releases the folder. The next process that checks puts remaining files back.
    pub(super) fn end(self) {
        let removed = fs::remove_dir(&self.folder);
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if removed.is_ok() || removed.is_err_and(|error| is_gone(&error)) {
            let _ = fs::remove_file(&self.lock_file);
        }
    }
}

/// Calls `put_back` with each file of processes that are gone, and removes their folders.
pub(super) fn recover(
    cur: &Path,
    mut put_back: impl FnMut(&Path) -> io::Result<()>,
) -> io::Result<usize> {
    let mut found = 0;
    for entry in fs::read_dir(cur)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let folder = entry.path();
        let lock_file = folder.with_extension("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_file)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for file in files {
            put_back(&file?.path())?;
            found += 1;
        }
        fs::remove_dir(&folder)?;
        fs::remove_file(&lock_file)?;
    }
    Ok(found)
}
