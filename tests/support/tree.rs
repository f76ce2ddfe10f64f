//! Finds the files of the repository.

use std::io;
use std::path::{Path, PathBuf};

#[must_use]
pub fn repository_root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// Returns all files below a folder in a stable order, without hidden folders and build output. A missing folder has
/// none.
pub fn files_below(below: &Path) -> io::Result<Vec<PathBuf>> {
    if !below.is_dir() {
        return Ok(Vec::new());
    }
    let mut entries = std::fs::read_dir(below)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_file() {
            found.push(path);
        } else if !name.starts_with('.') && name != "target" {
            found.extend(files_below(&path)?);
        }
    }
    Ok(found)
}
