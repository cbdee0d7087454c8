//! The signature over the manifest: an in-toto Statement in a DSSE envelope. The verified bytes are the ones that
//! are parsed.

use super::Sink;
use crate::load::{Loaded, sha256};
use crate::{Options, Signed};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ed25519_dalek::Signature;
use runproof_records::bundle::{MANIFEST, SIGNATURE};
use serde_json::Value;

pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What is signed: type and body with their lengths in bytes (DSSE 1.0.2).
pub(crate) fn pae(body: &[u8]) -> Vec<u8> {
    [format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), body.len()).as_bytes(), body].concat()
}

/// Verifies the envelope, when there is one.
pub(crate) fn signature(loaded: &Loaded, options: &Options, sink: &mut Sink) -> Signed {
    let sink = sink.named("signature");
    let Some(envelope) = &loaded.envelope else { return Signed::Unsigned };
    match verify(envelope, loaded.manifest.as_deref().unwrap_or_default(), options) {
        Ok(Some(key)) => Signed::By(key),
        Ok(None) if options.trusted.is_empty() => Signed::Unverified,
        Ok(None) => {
            sink.at(SIGNATURE, None, "no signature by a trusted key".into());
            Signed::Unverified
        }
        Err(why) => {
            sink.at(SIGNATURE, None, why);
            Signed::Unverified
        }
    }
}

fn verify(envelope: &[u8], manifest: &[u8], options: &Options) -> Result<Option<String>, String> {
    let envelope: Value = serde_json::from_slice(envelope).map_err(|e| format!("no JSON: {e}"))?;
    if envelope.get("payloadType").and_then(Value::as_str) != Some(PAYLOAD_TYPE) {
        return Err(format!("payload type is not {PAYLOAD_TYPE}"));
    }
    let payload = bytes(envelope.get("payload"))?;
    let signed = pae(&payload);
    let mut by = None;
    for entry in envelope.get("signatures").and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
        let signature =
            Signature::from_slice(&bytes(entry.get("sig"))?).map_err(|e| format!("no signature: {e}"))?;
        // The key id is a hint by whoever made the envelope: every trusted key is tried.
        let key = options.trusted.iter().find(|k| k.verify_strict(&signed, &signature).is_ok());
        by = by.or(key.map(|k| sha256(k.as_bytes()).hex().to_owned()));
    }
    let statement: Value =
        serde_json::from_slice(&payload).map_err(|e| format!("the payload is no JSON: {e}"))?;
    if statement.get("_type").and_then(Value::as_str) != Some("https://in-toto.io/Statement/v1") {
        return Err("the payload is no in-toto Statement v1".into());
    }
    let subjects = statement.get("subject").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let digest = sha256(manifest);
    let about = |s: &Value| {
        s.get("name").and_then(Value::as_str) == Some(MANIFEST)
            && s.pointer("/digest/sha256").and_then(Value::as_str) == Some(digest.hex())
    };
    match subjects {
        [one] if about(one) => Ok(by),
        _ => Err(format!("what was signed is not this manifest ({digest})")),
    }
}

/// Either base64 alphabet, as DSSE asks of a verifier.
fn bytes(value: Option<&Value>) -> Result<Vec<u8>, String> {
    let text = value.and_then(Value::as_str).ok_or("payload or signature is missing")?;
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).map_err(|e| format!("no base64: {e}"))
}
