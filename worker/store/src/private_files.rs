//! Creates files and folders that only the user of the worker can read. Existing ones keep their mode.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Creates a folder and its missing parents, for our user alone.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Restricts a new file to our user. Some file systems have no modes; there the file stays unchanged.
pub(crate) fn restrict(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let ours = std::fs::Permissions::from_mode(0o600);
        if let Err(error) = std::fs::set_permissions(path, ours) {
            tracing::warn!(path = %path.display(), %error, "cannot restrict a new file to this user");
        }
    }
}
