//! Checks whether the system has certificate authorities. Without any, no TLS connection is possible.

use std::sync::Arc;

use nightshift_engine::doctor::HealthReport;

/// Checks the system's authorities. `is_needed` says whether anything configured uses TLS.
pub(super) fn check_root_certificates(is_needed: bool) -> HealthReport {
    let mut checkup = HealthReport::default();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    match rustls_platform_verifier::Verifier::new(provider) {
        Ok(_) => checkup.add_observation("this system knows authorities"),
        Err(error) => {
            let what = format!("this system knows no authority: {error}");
            let why = "no certificate can be checked: what speaks TLS (models, destinations, clouds) cannot be called";
            let mend = "install the package ca-certificates, or set SSL_CERT_FILE to a PEM file of authorities";
            if is_needed {
                checkup.add_error("tls.no_roots", what, why, mend);
            } else {
                checkup.add_warning("tls.no_roots", what, why, mend);
            }
        }
    }
    checkup
}
