//! Tests over whole playbooks; those of one file stand there.

mod alerts;
mod checks;
mod command_and_control;
mod credential_exfiltration;
mod crypto_mining;
mod drive;
mod hostile;
mod iam_discovery;
mod impossible_travel;
mod recon;
mod set;
mod shipped;
mod unreadable;
