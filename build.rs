//! Links the program at a fixed address on Linux with glibc. Its tens of thousands of relocations are then made once,
//! here, and not at every start: `lease claude-hook` and `mutex` start before every edit and every short command
//! (`cargo bench -- processes` shows what a start costs). The price is that the program's own code has no random
//! address; its heap, stack and libraries have.

#[allow(
    clippy::disallowed_methods,
    reason = "cargo tells a build script its target by the environment"
)]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_OS") == "linux" && target("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
