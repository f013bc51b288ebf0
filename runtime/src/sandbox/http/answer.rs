//! What a guest is told of HTTP, as a recording has it: headers in their order, and codes.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use wasmtime_wasi_http::p2::bindings::http::types::{
    DnsErrorPayload, ErrorCode, FieldSizePayload, TlsAlertReceivedPayload,
};

use crate::recording::{Contents, Taped};

impl Taped for HeaderMap {
    fn to_tape(&self, _: &mut Contents) -> Value {
        let written = |value: &HeaderValue| match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => json!(text),
            Err(_) => json!(value.as_bytes()),
        };
        self.iter().map(|(name, value)| json!([name.as_str(), written(value)])).collect()
    }

    fn from_tape(value: &Value, _: &Contents) -> Option<Self> {
        let mut headers = Self::new();
        for header in value.as_array()? {
            let [name, value] = header.as_array()?.as_slice() else { return None };
            let value = match value.as_str() {
                Some(text) => HeaderValue::from_bytes(text.as_bytes()).ok()?,
                None => HeaderValue::from_bytes(&bytes(value)?).ok()?,
            };
            headers.try_append(HeaderName::from_bytes(name.as_str()?.as_bytes()).ok()?, value).ok()?;
        }
        Some(headers)
    }
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    value.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
}

/// The codes: those that say it all, and those that say more.
macro_rules! taped_codes {
    ([$($plain:ident)*] [$($more:ident)*]) => {
        impl Taped for ErrorCode {
            fn to_tape(&self, contents: &mut Contents) -> Value {
                match self {
                    $(Self::$plain => stringify!($plain).into(),)*
                    $(Self::$more(more) => json!({ stringify!($more): more.to_tape(contents) }),)*
                }
            }

            fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
                if let Some(name) = value.as_str() {
                    return match name {
                        $(stringify!($plain) => Some(Self::$plain),)*
                        _ => None,
                    };
                }
                let (name, more) = value.as_object()?.iter().next()?;
                match name.as_str() {
                    $(stringify!($more) => Taped::from_tape(more, contents).map(Self::$more),)*
                    _ => None,
                }
            }
        }

        /// One of each, as `more` makes them.
        #[cfg(test)]
        fn every_code() -> Vec<ErrorCode> {
            vec![$(ErrorCode::$plain,)* $(ErrorCode::$more(tests::Sample::sample()),)*]
        }
    };
}

taped_codes! {
    [
        DnsTimeout DestinationNotFound DestinationUnavailable DestinationIpProhibited DestinationIpUnroutable
        ConnectionRefused ConnectionTerminated ConnectionTimeout ConnectionReadTimeout ConnectionWriteTimeout
        ConnectionLimitReached TlsProtocolError TlsCertificateError HttpRequestDenied HttpRequestLengthRequired
        HttpRequestMethodInvalid HttpRequestUriInvalid HttpRequestUriTooLong HttpResponseIncomplete
        HttpResponseTimeout HttpUpgradeFailed HttpProtocolError LoopDetected ConfigurationError
    ]
    [
        DnsError TlsAlertReceived HttpRequestBodySize HttpRequestHeaderSectionSize HttpRequestHeaderSize
        HttpRequestTrailerSectionSize HttpRequestTrailerSize HttpResponseHeaderSectionSize HttpResponseHeaderSize
        HttpResponseBodySize HttpResponseTrailerSectionSize HttpResponseTrailerSize HttpResponseTransferCoding
        HttpResponseContentCoding InternalError
    ]
}

impl Taped for DnsErrorPayload {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        (self.rcode.clone(), self.info_code).to_tape(contents)
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (rcode, info_code) = Taped::from_tape(value, contents)?;
        Some(Self { rcode, info_code })
    }
}

impl Taped for TlsAlertReceivedPayload {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        (self.alert_id.map(u16::from), self.alert_message.clone()).to_tape(contents)
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (alert_id, alert_message): (Option<u16>, _) = Taped::from_tape(value, contents)?;
        Some(Self { alert_id: alert_id.map(u8::try_from).transpose().ok()?, alert_message })
    }
}

impl Taped for FieldSizePayload {
    fn to_tape(&self, contents: &mut Contents) -> Value {
        (self.field_name.clone(), self.field_size).to_tape(contents)
    }

    fn from_tape(value: &Value, contents: &Contents) -> Option<Self> {
        let (field_name, field_size) = Taped::from_tape(value, contents)?;
        Some(Self { field_name, field_size })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test may panic")]

    use super::*;

    /// A value that is not the empty one.
    pub(super) trait Sample {
        fn sample() -> Self;
    }

    impl<T: Sample> Sample for Option<T> {
        fn sample() -> Self {
            Some(T::sample())
        }
    }

    impl Sample for String {
        fn sample() -> Self {
            "words".to_owned()
        }
    }

    impl Sample for u64 {
        fn sample() -> Self {
            Self::MAX
        }
    }

    impl Sample for u32 {
        fn sample() -> Self {
            Self::MAX
        }
    }

    impl Sample for DnsErrorPayload {
        fn sample() -> Self {
            Self { rcode: Sample::sample(), info_code: Some(u16::MAX) }
        }
    }

    impl Sample for TlsAlertReceivedPayload {
        fn sample() -> Self {
            Self { alert_id: Some(u8::MAX), alert_message: None }
        }
    }

    impl Sample for FieldSizePayload {
        fn sample() -> Self {
            Self { field_name: Sample::sample(), field_size: None }
        }
    }

    fn again<T: Taped>(value: &T) -> T {
        let mut contents = Contents::default();
        let taped = value.to_tape(&mut contents);
        T::from_tape(&taped, &contents).unwrap()
    }

    #[test]
    fn every_code_comes_back_as_it_was() {
        for code in every_code() {
            assert_eq!(format!("{:?}", again(&code)), format!("{code:?}"));
        }
        let wrong = [
            json!("None"),
            json!({ "DnsError": 1 }),
            json!({}),
            json!({ "TlsAlertReceived": [[256], null] }),
        ];
        for value in wrong {
            assert!(ErrorCode::from_tape(&value, &Contents::default()).is_none(), "{value}");
        }
    }

    #[test]
    fn headers_come_back_in_their_order_and_damaged_ones_do_not() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("b", &b"1"[..]), ("a", b"\xff\x80"), ("b", b"2"), ("c", "é".as_bytes())] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        let pairs = |headers: &HeaderMap| -> Vec<(String, Vec<u8>)> {
            headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
        };
        assert_eq!(pairs(&again(&headers)), pairs(&headers));
        for value in
            [json!([["a b", "1"]]), json!([["a", "1\n"]]), json!([["a", [256]]]), json!([["a"]]), json!({})]
        {
            assert!(HeaderMap::from_tape(&value, &Contents::default()).is_none(), "{value}");
        }
    }
}
