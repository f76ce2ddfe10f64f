//! Secrets of the configuration: `env:NAME`, `file:PATH`, or the value itself.
//!
//! What is referred to is read when it is used, so that a changed file counts at the next request (F33). Nothing here
//! has a Debug or Display that shows a secret, and no error holds one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

/// Gives the secret as it is now, or says in words why there is none.
pub(crate) type Secret = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// The secret that this text refers to; relative paths are taken from `base`.
pub(crate) fn secret(reference: &str, base: &Path) -> Secret {
    if let Some(name) = reference.strip_prefix("env:") {
        let name = name.trim().to_owned();
        Arc::new(move || {
            super::environment::variable(&name)
                .map(SecretString::from)
                .ok_or_else(|| format!("the environment variable {name} is not set"))
        })
    } else if let Some(path) = reference.strip_prefix("file:") {
        let path = base.join(PathBuf::from(path.trim()));
        Arc::new(move || read(&path))
    } else {
        let value = reference.to_owned();
        Arc::new(move || Ok(SecretString::from(value.clone())))
    }
}

fn read(path: &Path) -> Result<SecretString, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("{} is empty", path.display()));
    }
    Ok(SecretString::from(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn f33_a_changed_file_counts_at_the_next_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "one\n").unwrap();
        let secret = secret("file:key", dir.path());
        assert_eq!(secret().unwrap().expose_secret(), "one");
        std::fs::write(&path, "two\n").unwrap();
        assert_eq!(secret().unwrap().expose_secret(), "two");
        std::fs::write(&path, "\n").unwrap();
        assert!(secret().unwrap_err().ends_with("key is empty"));
    }

    #[test]
    fn what_is_missing_is_named_and_a_value_is_itself() {
        let base = Path::new("/nowhere");
        let missing = secret("env:NIGHTSHIFT_NO_SUCH_VARIABLE", base)().unwrap_err();
        assert_eq!(
            missing,
            "the environment variable NIGHTSHIFT_NO_SUCH_VARIABLE is not set"
        );
        assert_eq!(secret("sk-1", base)().unwrap().expose_secret(), "sk-1");
    }
}
