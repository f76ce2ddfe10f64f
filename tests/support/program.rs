//! Finds the program under test. Tests do not build it: `tests/run` does so before, in the same profile. Benchmarks
//! and chaos runs build it first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// There is no program to test.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramNotFound {
    /// The variable does not name a file.
    #[error("NIGHTSHIFT_BIN names {0}, and no file is there")]
    NamedMissing(PathBuf),
    /// The program was not built.
    #[error(
        "{0} is not there; build it with `cargo build -p nightshift-cli`, or name another with NIGHTSHIFT_BIN"
    )]
    NotBuilt(PathBuf),
    /// Cargo could not build the program and printed the reason.
    #[error("the program cannot be built")]
    BuildFailed,
    /// The path of this test is unknown.
    #[error("cannot tell where this test runs from; name the program with NIGHTSHIFT_BIN")]
    UnknownLocation,
}

/// Returns the program `nightshift`: the one that `NIGHTSHIFT_BIN` names, else the one built beside this test.
///
/// # Errors
///
/// Returns an error that says how to get a program.
pub fn program_path() -> Result<PathBuf, ProgramNotFound> {
    let test = std::env::current_exe().map_err(|_| ProgramNotFound::UnknownLocation)?;
    find_program(named_program(), &test)
}

/// Returns the program, building it first unless `NIGHTSHIFT_BIN` names one. The profile is that of the caller, which
/// is a program of the workspace.
///
/// # Errors
///
/// Returns an error that says how to get a program.
pub fn build_program() -> Result<PathBuf, ProgramNotFound> {
    let named = named_program();
    if named.is_none() {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "-p", "nightshift-cli"])
            .args((!cfg!(debug_assertions)).then_some("--release"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(ProgramNotFound::BuildFailed);
        }
    }
    // The program is beside this one, or one folder above a test.
    let own = std::env::current_exe().map_err(|_| ProgramNotFound::UnknownLocation)?;
    find_program(named, &own.join("caller"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which program to test"
)]
fn named_program() -> Option<OsString> {
    std::env::var_os("NIGHTSHIFT_BIN")
}

/// Finds the program by Cargo's layout: `target/<profile>/deps/<test>` and `target/<profile>/nightshift`.
fn find_program(named: Option<OsString>, test: &Path) -> Result<PathBuf, ProgramNotFound> {
    if let Some(named) = named {
        let path = PathBuf::from(named);
        return path
            .is_file()
            .then_some(path.clone())
            .ok_or(ProgramNotFound::NamedMissing(path));
    }
    let profile = test
        .parent()
        .and_then(Path::parent)
        .ok_or(ProgramNotFound::UnknownLocation)?;
    let path = profile.join(format!("nightshift{}", std::env::consts::EXE_SUFFIX));
    path.is_file()
        .then_some(path.clone())
        .ok_or(ProgramNotFound::NotBuilt(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_beside_test_is_found_and_named_one_has_priority() {
        let target = tempfile::tempdir().unwrap();
        let test = target.path().join("debug/deps/it-0123");
        let built = target.path().join("debug/nightshift");
        std::fs::create_dir_all(test.parent().unwrap()).unwrap();
        assert_eq!(
            find_program(None, &test),
            Err(ProgramNotFound::NotBuilt(built.clone()))
        );

        std::fs::write(&built, "").unwrap();
        assert_eq!(find_program(None, &test), Ok(built));

        let other = target.path().join("other");
        let named = Some(other.clone().into_os_string());
        assert_eq!(
            find_program(named.clone(), &test),
            Err(ProgramNotFound::NamedMissing(other.clone()))
        );
        std::fs::write(&other, "").unwrap();
        assert_eq!(find_program(named, &test), Ok(other));
    }
}
