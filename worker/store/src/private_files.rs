//! Files and folders that we create: only the user of the worker reads them. What was there before keeps its mode.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Creates a folder and those above it where they are missing, for our user alone.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Takes a new file from all users but ours. Some file systems have no modes: there it stays as it is.
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
