//! Tests over whole playbooks; those of one file stand there.

pub(super) mod alerts;
mod another;
mod attack_sequence;
mod brute_force;
mod checks;
mod cleared;
mod command_and_control;
mod credential_exfiltration;
mod crypto_mining;
pub(super) mod drive;
mod endpoint;
mod explained;
mod hostile;
mod iam_discovery;
mod iam_privilege_escalation;
mod impossible_travel;
mod kubernetes_access;
mod machine;
mod outward_abuse;
mod recon;
mod runtime_malware;
mod s3_exposure;
mod set;
mod shipped;
mod unreadable;
mod ways;
mod written;
