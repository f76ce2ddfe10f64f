//! Probes whether a folder is writable by creating a file for a moment.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Distinguishes the files of concurrent probes of this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Creates a file in this folder, or in its nearest existing ancestor if the folder is missing, and removes it. The
/// call blocks.
///
/// # Errors
///
/// Returns an error when the file cannot be created.
pub fn check_writable(folder: &Path) -> io::Result<()> {
    let above = folder.ancestors().map(|one| {
        if one.as_os_str().is_empty() {
            Path::new(".")
        } else {
            one
        }
    });
    let Some(there) = above.into_iter().find(|one| one.exists()) else {
        return Ok(());
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let probe = there.join(format!(
        ".nightshift-doctor-{}-{number}",
        std::process::id()
    ));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(&probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_asked_or_the_one_above_it_and_nothing_stays() {
        let dir = std::env::temp_dir().join(format!("nightshift-probe-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        check_writable(&dir).unwrap();
        check_writable(&dir.join("not/there")).unwrap();
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
        std::fs::write(dir.join("file"), "").unwrap();
        assert!(check_writable(&dir.join("file/below")).is_err());
        std::thread::scope(|scope| {
            let side_by_side = [0; 8].map(|_| scope.spawn(|| check_writable(&dir)));
            for one in side_by_side {
                one.join().unwrap().unwrap();
            }
        });
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
