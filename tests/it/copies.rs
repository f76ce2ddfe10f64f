//! What static programs copy and compare memory with, in C (decision 0024): compiled as for them, run in a program of its own.

use std::path::Path;
use std::process::Command;

use nightshift_tests::root;

/// The output of a program that ended well.
fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{complaint}");
    said
}

fn compile(source: &Path, object: &Path, options: &[&str]) {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-c"]);
    ran(compiler.args(options).arg(source).arg("-o").arg(object));
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn copies_of_static_programs_are_as_plain_loops_would_make_them() {
    let here = tempfile::tempdir().unwrap();
    let [copies, check, program] =
        ["copies.o", "check.o", "check"].map(|name| here.path().join(name));
    let freestanding = ["-ffreestanding", "-fno-builtin"];
    compile(
        &root().join("worker/memory/copies/copies.c"),
        &copies,
        &freestanding,
    );
    compile(&root().join("tests/it/copies/check.c"), &check, &[]);
    // So that the check itself keeps the system's.
    let mut rename = Command::new("objcopy");
    for name in ["memcpy", "memmove", "memcmp", "bcmp"] {
        rename.arg(format!("--redefine-sym={name}=ours_{name}"));
    }
    ran(rename.arg(&copies));
    ran(Command::new("cc")
        .args([&check, &copies])
        .arg("-o")
        .arg(&program));
    assert!(ran(&mut Command::new(&program)).ends_with(" lengths\n"));
}
