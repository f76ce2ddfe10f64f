//! Reads secrets of the configuration: `env:NAME`, `file:PATH`, or the value itself.
//!
//! Surrounding white space is ignored, because files and variables often end in a newline. A reference is resolved at
//! each use, so a changed file applies to the next request (F33). Nothing here has a `Debug` or `Display` that shows a
//! secret, and no error contains one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nightshift_engine::key::{KeyLocation, KeyRef, KeySource};
use secrecy::SecretString;

/// Returns the secret at this place. Relative paths start from `base`.
pub(crate) fn secret_reader(place: KeyLocation<'_>, base: &Path) -> KeySource {
    match place {
        KeyLocation::Env(name) => {
            let name = name.to_owned();
            Arc::new(move || of_variable(&name, super::environment::variable(&name)))
        }
        KeyLocation::File(path) => {
            let path = base.join(path);
            Arc::new(move || read_secret_file(&path))
        }
        KeyLocation::Value(value) => Arc::new(move || Ok(value.clone())),
    }
}

/// Returns the file of a reference, if it names one. Relative paths start from `base`.
pub(crate) fn secret_file(reference: &str, base: &Path) -> Option<PathBuf> {
    match KeyRef::from(reference).location() {
        KeyLocation::File(path) => Some(base.join(path)),
        KeyLocation::Env(_) | KeyLocation::Value(_) => None,
    }
}

fn of_variable(name: &str, text: Option<String>) -> Result<SecretString, String> {
    let text = text.unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("the environment variable {name} is not set"));
    }
    Ok(SecretString::from(text.to_owned()))
}

fn read_secret_file(path: &Path) -> Result<SecretString, String> {
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

    fn secret(reference: &str, base: &Path) -> KeySource {
        secret_reader(KeyRef::from(reference).location(), base)
    }

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
    fn the_end_of_a_line_is_no_part_of_a_variable_either() {
        let of = |text: &str| of_variable("KEY", Some(text.to_owned()));
        assert_eq!(of(" sk-1\n").unwrap().expose_secret(), "sk-1");
        let nothing = of(" \n").unwrap_err();
        assert_eq!(nothing, "the environment variable KEY is not set");
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
