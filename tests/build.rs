//! Tells the tests at compile time whether the model providers' SDKs are there: tests that need them are ignored where
//! they are not, and so are counted as skipped and not as passed.

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn main() {
    println!("cargo::rerun-if-env-changed=NIGHTSHIFT_TEST_SDK_PYTHON");
    println!("cargo::rustc-check-cfg=cfg(has_sdks)");
    if std::env::var_os("NIGHTSHIFT_TEST_SDK_PYTHON").is_some_and(|python| !python.is_empty()) {
        println!("cargo::rustc-cfg=has_sdks");
    }
}
