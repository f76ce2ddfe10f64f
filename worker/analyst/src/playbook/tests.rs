//! Tests over whole playbooks; those of one file stand there.

mod alerts;
mod crypto_mining;
mod drive;
mod shipped;
