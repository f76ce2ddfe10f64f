//! Compiles the copies for the one target whose own are slow.

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells by the environment what it builds for"
)]
fn main() {
    const SOURCE: &str = "copies/copies.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_ENV", "musl") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        cc::Build::new()
            .file(SOURCE)
            .std("c11")
            .opt_level(2)
            .flag("-ffreestanding")
            // A loop in the source of `memcpy` shall not be read as a call of `memcpy`.
            .flag("-fno-builtin")
            .flag_if_supported("-fno-tree-loop-distribute-patterns")
            .warnings(true)
            .extra_warnings(true)
            .warnings_into_errors(true)
            .compile("copies");
    }
}
