//! Takes, reads and settles the files of a spool directory. The code blocks, so the source calls it on threads that
//! may.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nightshift_pipeline::port::{Disposition, Message};

use super::claim::{FolderClaim, recover};
use super::deferred::DeferredFiles;
use super::doctor::count_misplaced_files;
use crate::MOST_BYTES;
use crate::message_sizes::BUDGET_BYTES;

/// A spool directory with the files that this process has taken.
#[derive(Debug)]
pub(super) struct SpoolFolder {
    new: PathBuf,
    cur: PathBuf,
    done: PathBuf,
    failed: PathBuf,
    keep: bool,
    claim: FolderClaim,
    /// Names in `new/`, oldest first, from the last listing.
    listed: VecDeque<OsString>,
    /// Files that were taken and read, but not handed over.
    ready: VecDeque<Message>,
    /// Files that were taken and are not settled.
    taken: HashMap<String, ClaimedFile>,
    /// Files that could not be taken or read and are still in `new/`.
    deferred: DeferredFiles,
    /// Files that could not be put back either. They are in the folder of this process, and putting them back is
    /// retried.
    stranded: Vec<PathBuf>,
    /// Function that reads a file.
    pub(super) read_file: fn(&Path) -> io::Result<FileContent>,
    count: u64,
}

#[derive(Debug)]
pub(super) enum FileContent {
    /// The bytes of the file, or their beginning.
    Bytes(Vec<u8>),
    /// A link or device, which is not a message for any process.
    NotRegularFile,
}

#[derive(Debug)]
struct ClaimedFile {
    path: PathBuf,
    /// True if the whole file was read.
    whole: bool,
    /// Memory that the file takes.
    bytes: usize,
}

impl SpoolFolder {
    /// Opens a directory, creates missing folders, and puts back files of processes that are gone.
    pub(super) fn open(dir: &Path, keep: bool) -> io::Result<Self> {
        let [tmp, new, cur, done, failed] =
            ["tmp", "new", "cur", "done", "failed"].map(|name| dir.join(name));
        for path in [&tmp, &new, &cur, &done, &failed] {
            fs::create_dir_all(path)?;
        }
        let claim = FolderClaim::new(&cur)?;
        let mut folder = Self {
            new,
            cur,
            done,
            failed,
            keep,
            claim,
            listed: VecDeque::new(),
            ready: VecDeque::new(),
            taken: HashMap::new(),
            deferred: DeferredFiles::default(),
            stranded: Vec::new(),
            read_file: read_content,
            count: 0,
        };
        folder.recover()?;
        let files = count_misplaced_files(dir);
        if files > 0 {
            tracing::warn!(dir = %dir.display(), files, "files outside new/ are not read; move \
             them there");
        }
        Ok(folder)
    }

    fn recover(&mut self) -> io::Result<()> {
        let new = self.new.clone();
        let found = recover(&self.cur, |path| move_into(path, &new))?;
        if found > 0 {
            tracing::info!(
                files = found,
                "files of a process that is gone were put back"
            );
        }
        Ok(())
    }

    /// Recreates the folder of this process if a clean-up of old folders removed it. Without it no file can be taken.
    fn ensure_claim(&mut self) -> io::Result<()> {
        if !self.claim.folder().is_dir() {
            let new = FolderClaim::new(&self.cur)?;
            std::mem::replace(&mut self.claim, new).end();
        }
        Ok(())
    }

    /// Takes files until this many are ready, there are no more, or the next one does not fit into memory beside the
    /// unsettled ones, in which case it stays in place. A file that cannot be taken does not block the others.
    pub(super) fn claim_files(&mut self, most: usize) -> io::Result<()> {
        let mut is_listed = false;
        while self.ready.len() < most {
            let Some(name) = self.listed.pop_front() else {
                if is_listed {
                    return Ok(());
                }
                is_listed = true;
                self.refresh_listing()?;
                continue;
            };
            if self.deferred.waits(&name) {
                continue;
            }
            if !self.fits(&name) {
                self.listed.push_front(name);
                return Ok(());
            }
            match self.claim_file(&name) {
                Ok(()) => self.deferred.remove(&name),
                Err(error) => self.deferred.defer(name, &error),
            }
        }
        Ok(())
    }

    /// Returns whether there is memory for a file. A single file always fits.
    fn fits(&self, name: &OsStr) -> bool {
        let in_hand: usize = self.taken.values().map(|taken| taken.bytes).sum();
        // A file without metadata is gone or unreadable, which shows when it is taken.
        let facts = fs::symlink_metadata(self.new.join(name));
        let bytes = facts.map_or(0, |facts| facts.len());
        let bytes = usize::try_from(bytes).unwrap_or(MOST_BYTES).min(MOST_BYTES);
        in_hand == 0 || in_hand + bytes <= BUDGET_BYTES
    }

    /// Returns why a file cannot be taken, if there is one.
    pub(super) fn problem(&self) -> Option<String> {
        self.deferred.reason()
    }

    fn refresh_listing(&mut self) -> io::Result<()> {
        self.ensure_claim()?;
        let stranded = std::mem::take(&mut self.stranded);
        for path in stranded {
            // The error is reported when the file cannot be read again.
            if move_into(&path, &self.new).is_err() && fs::symlink_metadata(&path).is_ok() {
                self.stranded.push(path);
            }
        }
        self.recover()?;
        self.listed = list_new(&self.new)?;
        self.deferred.retain_listed(&self.listed);
        Ok(())
    }

    fn claim_file(&mut self, name: &OsStr) -> io::Result<()> {
        let path = self.claim.folder().join(name);
        match fs::rename(self.new.join(name), &path) {
            Ok(()) => self.read_claimed(name, path),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads a file that was taken. A file that cannot be read now is put back, because it may be readable later.
    fn read_claimed(&mut self, name: &OsStr, path: PathBuf) -> io::Result<()> {
        let shown = name.to_string_lossy();
        match (self.read_file)(&path) {
            Ok(FileContent::Bytes(bytes)) => {
                self.count += 1;
                let id = format!("{}/{shown}", self.count);
                let whole = bytes.len() < MOST_BYTES;
                let taken = ClaimedFile {
                    path,
                    whole,
                    bytes: bytes.len(),
                };
                self.taken.insert(id.clone(), taken);
                self.ready.push_back(Message {
                    id,
                    bytes,
                    attributes: BTreeMap::from([("file-name".to_owned(), shown.into_owned())]),
                });
                Ok(())
            }
            Ok(FileContent::NotRegularFile) => {
                tracing::warn!(file = %shown, "not a regular file; moving it to failed/");
                move_into(&path, &self.failed).or_else(|error| self.put_back(path, error))
            }
            Err(error) => self.put_back(path, error),
        }
    }

    /// Puts a file back that cannot be read, and notes why.
    fn put_back(&mut self, path: PathBuf, why: io::Error) -> io::Result<()> {
        if move_into(&path, &self.new).is_err() {
            self.stranded.push(path);
        }
        Err(why)
    }

    /// Returns the files that were taken, oldest first.
    pub(super) fn hand_over(&mut self, most: usize) -> Vec<Message> {
        let count = most.min(self.ready.len());
        self.ready.drain(..count).collect()
    }

    /// Settles files, and returns those for which it failed, with the reason.
    pub(super) fn settle(&mut self, settled: &[(String, Disposition)]) -> Vec<(String, String)> {
        let mut failed = Vec::new();
        for (id, fate) in settled {
            let Some(taken) = self.taken.get_mut(id) else {
                continue;
            };
            // The caller has released the message, regardless of the file.
            taken.bytes = 0;
            let path = &taken.path;
            let moved = match fate {
                Disposition::Nack => move_into(path, &self.new),
                // The store keeps the bytes of an unreadable message, but only the beginning of a huge file.
                Disposition::DeadLetter if self.keep || !taken.whole => {
                    move_into(path, &self.failed)
                }
                Disposition::Ack if self.keep => move_into(path, &self.done),
                Disposition::Ack | Disposition::DeadLetter => fs::remove_file(path),
            };
            match moved {
                Ok(()) => {
                    self.taken.remove(id);
                }
                Err(error) => failed.push((id.clone(), error.to_string())),
            }
        }
        failed
    }

    /// Puts back files that are not settled.
    pub(super) fn close(self) {
        let taken = self.taken.values().map(|taken| &taken.path);
        for path in taken.chain(&self.stranded) {
            if let Err(error) = move_into(path, &self.new) {
                tracing::warn!(%error, "cannot put file back; the next process retries");
            }
        }
        self.claim.end();
    }
}

/// Lists the names in `new/`, oldest first. Hidden files are unfinished work of writers, and folders are not
/// messages.
fn list_new(new: &Path) -> io::Result<VecDeque<OsString>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(new)? {
        let entry = entry?;
        let name = entry.file_name();
        // Another process has taken the file meanwhile.
        let Ok(facts) = entry.metadata() else {
            continue;
        };
        if !facts.is_dir() && !name.as_encoded_bytes().starts_with(b".") {
            found.push((facts.modified()?, name));
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

/// Reads the bytes of a file or their beginning. Links and devices are not followed, because they lead out of the
/// directory.
fn read_content(path: &Path) -> io::Result<FileContent> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(FileContent::NotRegularFile);
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MOST_BYTES as u64)
        .read_to_end(&mut bytes)?;
    Ok(FileContent::Bytes(bytes))
}

/// Moves a file, under another name if its own is taken, because `rename` alone would replace an existing file.
fn move_into(path: &Path, folder: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or(OsStr::new("file"));
    for number in 0..10_000_u32 {
        let mut wanted = name.to_owned();
        if number > 0 {
            wanted.push(format!("~{number}"));
        }
        let target = folder.join(wanted);
        match fs::hard_link(path, &target) {
            Ok(()) => return fs::remove_file(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Not every file system has hard links, and a link itself cannot be hard-linked everywhere.
            Err(_) if fs::symlink_metadata(&target).is_err() => return fs::rename(path, &target),
            Err(_) => {}
        }
    }
    Err(io::Error::other(format!(
        "{} is full of files of this name",
        folder.display()
    )))
}

#[cfg(test)]
mod tests;
