//! Checks whether the system has certificate authorities. Without any, no TLS connection is possible.

use std::sync::Arc;

use nightshift_engine::checkup::Checkup;

/// Checks the system's authorities. `is_needed` says whether anything configured uses TLS.
pub(super) fn roots(is_needed: bool) -> Checkup {
    let mut checkup = Checkup::default();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    match rustls_platform_verifier::Verifier::new(provider) {
        Ok(_) => checkup.saw("this system knows authorities"),
        Err(error) => {
            let what = format!("this system knows no authority: {error}");
            let why = "no certificate can be checked: what speaks TLS (models, destinations, clouds) cannot be called";
            let mend = "install the package ca-certificates, or set SSL_CERT_FILE to a PEM file of authorities";
            if is_needed {
                checkup.error("tls.no_roots", what, why, mend);
            } else {
                checkup.warning("tls.no_roots", what, why, mend);
            }
        }
    }
    checkup
}
