//! Reads the text of a register, list or log, from a file or embedded in the program.
//!
//! A file is read again when its modification time or length changes, so that a register can be corrected without a
//! restart. Reading and checking a file block, so callers run them off the runtime. A check counts as fresh for one
//! second, since a case asks many times in a row.

use std::borrow::Cow;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Largest register or list that is read, in bytes: 64 MiB.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The time for which a file counts as unchanged after a check.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// The origin of a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "PathBuf")]
#[schemars(with = "PathBuf")]
pub enum ContentSource {
    /// A file; for logs also a folder or a glob.
    Path(PathBuf),
    /// Embedded text.
    Text {
        /// Name in answers, e.g. `demo/assets.csv`; the extension selects the format.
        name: Cow<'static, str>,
        text: Cow<'static, str>,
    },
}

impl From<PathBuf> for ContentSource {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl Serialize for ContentSource {
    /// Serializes a path as a text, and embedded text as its name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl ContentSource {
    /// Creates content from text that is compiled into the program.
    #[must_use]
    pub const fn embedded(name: &'static str, text: &'static str) -> Self {
        Self::Text {
            name: Cow::Borrowed(name),
            text: Cow::Borrowed(text),
        }
    }

    /// Returns the name in answers and reports.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Text { name, .. } => name.clone().into_owned(),
        }
    }

    pub(crate) fn resolve_path(&mut self, base: &Path) {
        if let Self::Path(path) = self
            && path.is_relative()
        {
            *path = base.join(&*path);
        }
    }

    /// Returns the file extension in lower case.
    pub(crate) fn extension(&self) -> String {
        Path::new(&self.name())
            .extension()
            .map(|ending| ending.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default()
    }

    fn stamp(&self) -> Result<FileStamp, String> {
        let Self::Path(path) = self else {
            return Ok(FileStamp::default());
        };
        let metadata = fs::metadata(path).map_err(|error| read_error(path, &error))?;
        if !metadata.is_file() {
            return Err(format!("{} is no file", path.display()));
        }
        Ok(FileStamp {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
        })
    }

    fn read_text(&self) -> Result<String, String> {
        match self {
            Self::Text { text, .. } => Ok(text.clone().into_owned()),
            Self::Path(path) => read_file(path),
        }
    }
}

pub(crate) fn read_error(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

fn read_file(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| read_error(path, &error))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| read_error(path, &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!(
            "{} is larger than {} MiB: split it",
            path.display(),
            MAX_BYTES / (1024 * 1024)
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        format!(
            "{} is not UTF-8 (byte {}): save it as UTF-8",
            path.display(),
            error.utf8_error().valid_up_to()
        )
    })?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map_or(text.clone(), str::to_owned))
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// A value parsed from content, and parsed again when the content changes.
#[derive(Debug)]
pub(crate) struct CachedContent<T> {
    content: ContentSource,
    parse: fn(&ContentSource, &str) -> Result<T, String>,
    entry: Mutex<Option<CacheEntry<T>>>,
}

#[derive(Debug)]
struct CacheEntry<T> {
    stamp: FileStamp,
    /// The time when the file was last found unchanged.
    checked_at: Instant,
    value: Arc<T>,
}

impl<T> CachedContent<T> {
    pub(crate) const fn new(
        content: ContentSource,
        parse: fn(&ContentSource, &str) -> Result<T, String>,
    ) -> Self {
        Self {
            content,
            parse,
            entry: Mutex::new(None),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.content.name()
    }

    /// Returns the current value. The call blocks.
    ///
    /// # Errors
    ///
    /// Returns the reason why the content cannot be read.
    pub(crate) fn get(&self) -> Result<Arc<T>, String> {
        let stamp = self.content.stamp()?;
        let mut made = self.entry.lock();
        let looked = Instant::now();
        if let Some(made) = made.as_mut().filter(|made| made.stamp == stamp) {
            made.checked_at = looked;
            return Ok(Arc::clone(&made.value));
        }
        let value = Arc::new((self.parse)(&self.content, &self.content.read_text()?)?);
        *made = Some(CacheEntry {
            stamp,
            checked_at: looked,
            value: Arc::clone(&value),
        });
        Ok(value)
    }

    /// Returns the value if the file was checked within the last second. The call does not block and returns `None`
    /// when there was no check or another thread is reading.
    pub(crate) fn get_fresh(&self) -> Option<Arc<T>> {
        let made = self.entry.try_lock()?;
        let made = made.as_ref()?;
        let is_fresh = matches!(self.content, ContentSource::Text { .. })
            || made.checked_at.elapsed() < FRESH_FOR;
        is_fresh.then(|| Arc::clone(&made.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_read_again_and_a_missing_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        let cached = CachedContent::new(ContentSource::Path(path.clone()), |_, text| {
            Ok(text.to_owned())
        });
        let error = cached.get().unwrap_err();
        assert!(cached.get_fresh().is_none(), "it never was there");
        assert!(
            error.starts_with("cannot read ") && error.contains("list.txt"),
            "{error}"
        );
        fs::write(&path, "\u{feff}one").unwrap();
        assert_eq!(*cached.get().unwrap(), "one");
        fs::write(&path, "three").unwrap();
        assert_eq!(*cached.get().unwrap(), "three");
        assert_eq!(*cached.get_fresh().unwrap(), "three");
        fs::write(&path, b"\xff\xfe").unwrap();
        assert!(cached.get().unwrap_err().contains("not UTF-8"));
    }

    #[test]
    fn file_checked_a_second_ago_is_stale_but_embedded_text_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        fs::write(&path, "one").unwrap();
        let file = CachedContent::new(ContentSource::Path(path), |_, text| Ok(text.to_owned()));
        let text = CachedContent::new(ContentSource::embedded("a", "two"), |_, text| {
            Ok(text.to_owned())
        });
        for cached in [&file, &text] {
            assert!(cached.get_fresh().is_none(), "nobody looked");
            cached.get().unwrap();
            cached.entry.lock().as_mut().unwrap().checked_at -= FRESH_FOR;
        }
        assert!(file.get_fresh().is_none());
        assert_eq!(*text.get_fresh().unwrap(), "two");
        file.get().unwrap();
        assert_eq!(*file.get_fresh().unwrap(), "one");
        let _read_by_somebody = file.entry.lock();
        assert!(file.get_fresh().is_none(), "it is not waited for");
    }
}
