//! How servers prove who they are: by Mozilla's roots, and those that an operator adds.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// Larger than any bundle of roots.
const MAX_FILE: u64 = 4 << 20;

/// TLS 1.2 and 1.3 for HTTP/1.1, trusting the web's roots and those in the PEM file `roots`.
///
/// # Errors
/// Says what is wrong with the file.
pub(crate) fn client_config(roots: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = roots {
        add_file(&mut store, path)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(store)
        .with_no_client_auth();
    // HTTP/2 stays out until its empty and endless frames are shown to be bounded.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn add_file(store: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let shown = path.display();
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("cannot read {shown}: {}", error.kind()))?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Err(format!("{shown} is no file with certificates"));
    }
    let pem = std::fs::read(path).map_err(|error| format!("cannot read {shown}: {}", error.kind()))?;
    let mut count = 0_usize;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| format!("{shown} is no PEM file: {error}"))?;
        store.add(certificate).map_err(|error| format!("{shown} has a certificate that is none: {error}"))?;
        count += 1;
    }
    if count == 0 {
        return Err(format!("{shown} has no certificate; it must begin with `-----BEGIN CERTIFICATE-----`"));
    }
    Ok(())
}
