//! `deploy/build`, run as it stands, with compilers that only write down what they were told.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use nightshift_tests::{Place, root};

/// What it builds writes down how it was run, and leaves counts where the flags of its compiler say.
const CARGO: &str = r#"#!/bin/bash
echo "cargo $* with$RUSTFLAGS" >>"$TOLD"
dist=$CARGO_TARGET_DIR/some-target/dist
mkdir -p "$dist"
for name in nightshift nightshift-bench; do
    cat >"$dist/$name" <<END
#!/bin/bash
echo "$name \$*" >>"$TOLD"
mkdir -p "${RUSTFLAGS#*=}" && echo counts >"${RUSTFLAGS#*=}/$name.profraw"
END
    chmod +x "$dist/$name"
done
"#;
const RUSTC: &str = "#!/bin/bash\necho 'LLVM version: 22.1.2'\n";
const PROFDATA: &str =
    "#!/bin/bash\necho \"llvm-profdata $*\" >>\"$TOLD\"\ncat \"${@:4}\" >\"$3\"\n";

/// Runs the script with these programs first on the path; what it printed, and what they were told.
fn built(programs: &[(&str, &str)]) -> (Output, String) {
    let place = Place::new().unwrap();
    for (name, script) in programs {
        let file = place.file(&format!("bin/{name}"), script).unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
    }
    let bin = place.path().join("bin");
    let told = place.path().join("told");
    let ran = Command::new(root().join("deploy/build"))
        .arg("some-target")
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("CARGO_TARGET_DIR", place.path().join("target"))
        .env(
            "NIGHTSHIFT_TEST_POSTGRES",
            "postgres://nobody@127.0.0.1:1/none",
        )
        .env("TOLD", &told)
        .output()
        .unwrap();
    let told = read(&told).replace(&place.path().display().to_string(), "…");
    (ran, told)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn what_is_published_is_built_by_what_was_counted() {
    let (ran, told) = built(&[
        ("cargo", CARGO),
        ("rustc", RUSTC),
        ("llvm-profdata-22", PROFDATA),
    ]);
    assert!(ran.status.success(), "{ran:?}");
    let build = "cargo build --profile dist --locked --target some-target --package nightshift-cli \
                 --package nightshift-bench with";
    let counts = "…/target/profile";
    // The hash of what was merged: two lines of counts.
    let profile = format!("{counts}/afe92dcdfffef4e8.profdata");
    let steps = [
        format!("{build} -Cprofile-generate={counts}/raw"),
        "nightshift demo --once --quiet".to_owned(),
        "nightshift-bench parse engine cases".to_owned(),
        "nightshift-bench twelve-calls 300 10".to_owned(),
        format!(
            "llvm-profdata merge --output {counts}/merged {counts}/raw/nightshift-bench.profraw \
             {counts}/raw/nightshift.profraw"
        ),
        format!("{build} -Cprofile-use={profile}"),
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), steps);
    let said = String::from_utf8(ran.stdout).unwrap();
    let last = said.lines().last().unwrap();
    assert!(
        last.ends_with("/target/some-target/dist/nightshift, and nightshift-bench beside it"),
        "{said}"
    );
}

#[test]
fn counts_that_nobody_can_read_are_told_before_anything_is_built() {
    let (ran, told) = built(&[
        ("cargo", CARGO),
        ("rustc", RUSTC.replace("22", "99").as_str()),
    ]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert_eq!(told, "");
    let said = String::from_utf8(ran.stderr).unwrap();
    let words = "deploy/build: there is no llvm-profdata of LLVM 99; try: rustup component add llvm-tools\n";
    assert_eq!(said, words);
}
