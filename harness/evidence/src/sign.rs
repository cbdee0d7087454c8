//! Signing the manifest: an in-toto Statement v1 in a DSSE envelope, ed25519. The audit verifies with code of its
//! own.

use crate::bundle::{BundleError, Problem};
use crate::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, EncodePublicKey as _};
use ed25519_dalek::{Signer as _, SigningKey};
use runproof_records::bundle::{MANIFEST, Run};
use serde_json::json;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

/// Media type of the payload, part of what is signed.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Type of the statement's predicate.
const PREDICATE: &str = "urn:runproof:bundle:1";

/// A key that signs bundles.
pub struct Signer {
    key: SigningKey,
    id: String,
}

impl Signer {
    /// Reads an unencrypted PKCS#8 PEM file.
    ///
    /// # Errors
    /// The file cannot be read or holds no ed25519 key.
    pub fn open(path: &Path) -> Result<Self, BundleError> {
        const DOING: &str = "reading the signing key";
        let text = fs::read_to_string(path).map_err(|e| BundleError::new(path, DOING, Problem::Io(e)))?;
        let key = SigningKey::from_pkcs8_pem(&text)
            .map_err(|e| BundleError::new(path, DOING, Problem::Key(format!("no ed25519 key: {e}"))))?;
        Ok(Self::new(key))
    }

    fn new(key: SigningKey) -> Self {
        let id = digest::of_bytes(key.verifying_key().as_bytes()).hex().to_owned();
        Self { key, id }
    }

    /// Digest of the public key's 32 bytes: a hint which key to check with, never a reason to trust.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The envelope over a manifest, as JSON text.
    pub fn envelope(&self, manifest: &[u8], run: &Run) -> String {
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": MANIFEST, "digest": { "sha256": digest::of_bytes(manifest).hex() } }],
            "predicateType": PREDICATE,
            "predicate": {
                "run": run.id,
                "nonce": run.nonce,
                "commit": run.source.commit,
                "started": run.started.utc,
                "lines": run.end.as_ref().map_or(0, |e| e.lines),
                "head": run.end.as_ref().map_or("", |e| e.head.as_str()),
            },
        });
        let payload = statement.to_string();
        let signature = self.key.sign(&pae(PAYLOAD_TYPE, payload.as_bytes()));
        let envelope = json!({
            "payloadType": PAYLOAD_TYPE,
            "payload": STANDARD.encode(&payload),
            "signatures": [{ "keyid": self.id, "sig": STANDARD.encode(signature.to_bytes()) }],
        });
        format!("{envelope}\n")
    }
}

/// DSSE's pre-authentication encoding: byte lengths in ASCII decimal (DSSE 1.0.2, "Signature Definition").
fn pae(kind: &str, body: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len()).into_bytes();
    out.extend_from_slice(body);
    out
}

/// Makes a key pair: the private half in PKCS#8 PEM, readable by its owner alone, and the public half in SPKI PEM
/// beside it with `.pub` added. Returns the key id.
///
/// # Errors
/// The operating system gives no randomness, or a file exists or cannot be written.
pub fn generate(path: &Path) -> Result<String, BundleError> {
    const DOING: &str = "making a signing key";
    let io = |path: &Path| {
        let path = path.to_owned();
        move |e| BundleError::new(&path, DOING, Problem::Io(e))
    };
    let key_error = |e: &dyn std::fmt::Display| BundleError::new(path, DOING, Problem::Key(e.to_string()));
    let source = Path::new("/dev/urandom");
    let mut secret = [0_u8; 32];
    fs::File::open(source).and_then(|mut f| f.read_exact(&mut secret)).map_err(io(source))?;
    let signer = Signer::new(SigningKey::from_bytes(&secret));
    let private = signer.key.to_pkcs8_pem(LineEnding::LF).map_err(|e| key_error(&e))?;
    let public = signer.key.verifying_key().to_public_key_pem(LineEnding::LF).map_err(|e| key_error(&e))?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    let public_path = std::path::PathBuf::from(format!("{}.pub", path.display()));
    options.open(&public_path).and_then(|mut f| f.write_all(public.as_bytes())).map_err(io(&public_path))?;
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).and_then(|mut f| f.write_all(private.as_bytes())).map_err(io(path))?;
    Ok(signer.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pae_counts_bytes() {
        // The example of the DSSE protocol document.
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }

    #[test]
    fn a_made_key_can_be_opened_and_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        let id = generate(&path).unwrap();
        assert_eq!(Signer::open(&path).unwrap().id(), id);
        assert!(generate(&path).is_err());
        let message = Signer::open(&folder.path().join("key.pem.pub")).err().unwrap().to_string();
        assert!(message.contains("PKCS#8"), "{message}");
    }
}
