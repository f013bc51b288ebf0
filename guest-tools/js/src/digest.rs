//! Digests and chance, which a program would compute too slowly or not at all.

use boa_engine::object::builtins::{AlignedVec, JsArrayBuffer, JsUint8Array};
use boa_engine::{Context, JsArgs as _, JsNativeError, JsResult, JsValue};
use sha2::Digest as _;

use crate::fs::data;
use crate::native::Native;

pub(crate) const FUNCTIONS: &[Native] = &[("digest", 2, digest), ("random", 1, random)];

/// Random bytes of one call, as the web has it too: who wants more has no use for them at once.
const MOST: u32 = 65_536;

fn bytes(bytes: &[u8], context: &mut Context) -> JsResult<JsValue> {
    let buffer = JsArrayBuffer::from_byte_block(AlignedVec::from_slice(0, bytes), context)?;
    Ok(JsUint8Array::from_array_buffer(buffer, context)?.into())
}

fn digest(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let kind = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    let given = data(arguments.get_or_undefined(1), context)?;
    let digest = match kind.as_str() {
        "md5" => md5::Md5::digest(&given).to_vec(),
        "sha1" => sha1::Sha1::digest(&given).to_vec(),
        "sha256" => sha2::Sha256::digest(&given).to_vec(),
        "sha384" => sha2::Sha384::digest(&given).to_vec(),
        "sha512" => sha2::Sha512::digest(&given).to_vec(),
        _ => return Err(JsNativeError::error().with_message("no such digest").into()),
    };
    bytes(&digest, context)
}

fn random(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let length = arguments.get_or_undefined(0).to_u32(context)?;
    if length > MOST {
        let words = format!("crypto: at most {MOST} random bytes are given at once");
        return Err(JsNativeError::range().with_message(words).into());
    }
    let mut drawn = vec![0; usize::try_from(length).unwrap_or_default()];
    let failed = |error| JsNativeError::error().with_message(format!("crypto: no randomness: {error}"));
    getrandom::fill(&mut drawn).map_err(failed)?;
    bytes(&drawn, context)
}
