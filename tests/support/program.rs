//! Finds the program under test. Tests do not build it: `tests/run` does before them, in the same profile. What measures or
//! disturbs it builds it first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// There is no program to test.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// The variable names something else.
    #[error("NIGHTSHIFT_BIN names {0}, and no file is there")]
    Named(PathBuf),
    /// It was not built.
    #[error(
        "{0} is not there; build it with `cargo build -p nightshift-cli`, or name another with NIGHTSHIFT_BIN"
    )]
    NotBuilt(PathBuf),
    /// Cargo could not build it; it has said why.
    #[error("the program cannot be built")]
    Unbuildable,
    /// The system does not tell where this test runs from.
    #[error("cannot tell where this test runs from; name the program with NIGHTSHIFT_BIN")]
    Nowhere,
}

/// The program `nightshift`: the one that `NIGHTSHIFT_BIN` names, else the one that was built beside this test.
///
/// # Errors
///
/// When there is none; the text says how to get one.
pub fn program() -> Result<PathBuf, NoProgram> {
    let test = std::env::current_exe().map_err(|_| NoProgram::Nowhere)?;
    find(named(), &test)
}

/// The same, but built now where none is named, in the profile of the caller, which is a program of the workspace.
///
/// # Errors
///
/// When there is none; the text says how to get one.
pub fn built() -> Result<PathBuf, NoProgram> {
    let named = named();
    if named.is_none() {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "-p", "nightshift-cli"])
            .args((!cfg!(debug_assertions)).then_some("--release"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(NoProgram::Unbuildable);
        }
    }
    // Beside it, where a test stands one folder below.
    let own = std::env::current_exe().map_err(|_| NoProgram::Nowhere)?;
    find(named, &own.join("caller"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which program to test"
)]
fn named() -> Option<OsString> {
    std::env::var_os("NIGHTSHIFT_BIN")
}

/// Cargo lays `target/<profile>/deps/<test>` and `target/<profile>/nightshift`.
fn find(named: Option<OsString>, test: &Path) -> Result<PathBuf, NoProgram> {
    if let Some(named) = named {
        let path = PathBuf::from(named);
        return path
            .is_file()
            .then_some(path.clone())
            .ok_or(NoProgram::Named(path));
    }
    let profile = test
        .parent()
        .and_then(Path::parent)
        .ok_or(NoProgram::Nowhere)?;
    let path = profile.join(format!("nightshift{}", std::env::consts::EXE_SUFFIX));
    path.is_file()
        .then_some(path.clone())
        .ok_or(NoProgram::NotBuilt(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_beside_the_test_is_found_and_a_named_one_goes_first() {
        let target = tempfile::tempdir().unwrap();
        let test = target.path().join("debug/deps/it-0123");
        let built = target.path().join("debug/nightshift");
        std::fs::create_dir_all(test.parent().unwrap()).unwrap();
        assert_eq!(find(None, &test), Err(NoProgram::NotBuilt(built.clone())));

        std::fs::write(&built, "").unwrap();
        assert_eq!(find(None, &test), Ok(built));

        let other = target.path().join("other");
        let named = Some(other.clone().into_os_string());
        assert_eq!(
            find(named.clone(), &test),
            Err(NoProgram::Named(other.clone()))
        );
        std::fs::write(&other, "").unwrap();
        assert_eq!(find(named, &test), Ok(other));
    }
}
