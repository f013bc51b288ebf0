//! The tools that the protocol's conformance suite calls.

use std::thread::sleep;
use std::time::Duration;

mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "conformance", generate_all });
}

use bindings::exports::toolcell::guests::suite::Guest;
use bindings::toolcell::tool::events::{self, Level};
use bindings::toolcell::tool::types::{Binary, Content, Media, Output};

struct Conformance;

bindings::export!(Conformance with_types_in bindings);

/// One red pixel.
const PNG: &[u8] = b"\
    \x89PNG\x0d\x0a\x1a\x0a\
    \0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\xdac\xf8\xcf\xc0\0\0\x03\x01\x01\0\xf7\x03AC\
    \0\0\0\0IEND\xaeB`\x82";

/// No samples.
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";

fn image() -> Content {
    Content::Image(Media { data: PNG.to_vec(), mime_type: "image/png".to_owned() })
}

fn resource(uri: &str, mime_type: &str, content: &str) -> Content {
    Content::Blob(Binary {
        data: content.as_bytes().to_vec(),
        mime_type: mime_type.to_owned(),
        uri: Some(uri.to_owned()),
    })
}

fn only(content: Vec<Content>) -> Output {
    Output { content, structured: None }
}

fn pause() {
    sleep(Duration::from_millis(50));
}

impl Guest for Conformance {
    fn test_simple_text() -> String {
        "This is a simple text response for testing.".to_owned()
    }

    fn test_image_content() -> Output {
        only(vec![image()])
    }

    fn test_audio_content() -> Output {
        only(vec![Content::Audio(Media { data: WAV.to_vec(), mime_type: "audio/wav".to_owned() })])
    }

    fn test_embedded_resource() -> Output {
        only(vec![resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )])
    }

    fn test_multiple_content_types() -> Output {
        only(vec![
            Content::Text("Multiple content types test:".to_owned()),
            image(),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ])
    }

    fn test_tool_with_logging() -> String {
        events::log(Level::Info, "Tool execution started");
        pause();
        events::log(Level::Info, "Tool processing data");
        pause();
        events::log(Level::Info, "Tool execution completed");
        "It has logged.".to_owned()
    }

    fn test_tool_with_progress() -> String {
        events::progress(0, Some(100), None);
        pause();
        events::progress(50, Some(100), None);
        pause();
        events::progress(100, Some(100), None);
        "It has come to its end.".to_owned()
    }

    fn test_error_handling() -> Result<String, String> {
        Err("This tool intentionally returns an error for testing".to_owned())
    }

    fn test_elicitation(message: String) -> String {
        format!("User response: they let it say {message}")
    }

    fn test_streaming_elicitation() -> String {
        "They let it run.".to_owned()
    }

    fn test_input_required_result_elicitation() -> String {
        Self::test_streaming_elicitation()
    }

    fn test_input_required_result_tampered_state() -> String {
        Self::test_streaming_elicitation()
    }

    fn test_logging_tool() -> String {
        events::log(Level::Info, "words for whoever wants them");
        "It has logged.".to_owned()
    }
}
