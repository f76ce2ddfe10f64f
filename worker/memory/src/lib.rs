//! Memory of programs that are linked statically with musl, whose own ways are slow: a program that names this crate allocates
//! with jemalloc (`docs/decisions/0015-an-allocator-for-static-programs.md`) and on x86-64 copies and compares with
//! `copies/copies.c` (`docs/decisions/0024-copies-of-static-programs.md`). Linked with anything else, the crate is empty.

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
