//! Finding a place by its name.

use serde::{Deserialize, Deserializer};

/// A place that was found.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Its country.
    #[serde(default, deserialize_with = "or_nothing")]
    pub country: String,
    /// Its region.
    #[serde(default, deserialize_with = "or_nothing")]
    pub admin1: String,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default, deserialize_with = "or_nothing")]
    results: Vec<Place>,
}

/// What is `null` is not there.
fn or_nothing<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

impl Place {
    /// Name, region and country.
    #[must_use]
    pub fn words(&self) -> String {
        let parts = [&self.name, &self.admin1, &self.country];
        let mut words: Vec<&str> = Vec::new();
        for part in parts {
            if !part.is_empty() && !words.contains(&part.as_str()) {
                words.push(part);
            }
        }
        words.join(", ")
    }
}

/// The query that finds places of the name before the first comma.
#[must_use]
pub fn query(city: &str) -> String {
    let name = city.split(',').next().unwrap_or(city).trim();
    let encoded: String = name.bytes().map(encoded).collect();
    format!("/v1/search?name={encoded}&count=10&language=en&format=json")
}

fn encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    }
}

/// The place that is meant: the first whose region or country has what stands after the comma.
///
/// # Errors
/// When there is none.
pub fn choose(city: &str, answer: &[u8]) -> Result<Place, String> {
    let found: Found = serde_json::from_slice(answer)
        .map_err(|_| "the service that finds places gave an answer that cannot be read".to_owned())?;
    let wanted: Vec<String> = city.split(',').skip(1).map(|part| part.trim().to_lowercase()).collect();
    let is_meant = |place: &&Place| {
        let around = format!("{} {}", place.admin1, place.country).to_lowercase();
        wanted.iter().all(|part| around.contains(part.as_str()))
    };
    let choice = found.results.iter().find(is_meant).cloned();
    choice.ok_or_else(|| match found.results.as_slice() {
        [] => format!("no place is named `{city}`; check the spelling, or name a larger place near by"),
        others => {
            let others: Vec<String> = others.iter().take(5).map(Place::words).collect();
            format!("no place `{city}` is known; these are: {}", others.join("; "))
        }
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "the answers are right")]

    use super::*;

    const ANSWER: &[u8] = br#"{"results":[
        {"id":1,"name":"Springfield","latitude":37.2,"longitude":-93.3,"country":"United States","admin1":"Missouri"},
        {"id":2,"name":"Springfield","latitude":39.8,"longitude":-89.6,"country":"United States","admin1":"Illinois"}]}"#;

    #[test]
    fn the_place_that_is_meant_is_chosen() {
        for (city, region) in [("Springfield", "Missouri"), ("Springfield, illinois", "Illinois")] {
            assert_eq!(choose(city, ANSWER).unwrap().admin1, region);
        }
        let error = choose("Springfield, Norway", ANSWER).unwrap_err();
        assert!(error.contains("Springfield, Missouri, United States; Springfield, Illinois"), "{error}");
        assert!(
            choose("Nowhere", b"{\"generationtime_ms\":0.5}")
                .unwrap_err()
                .contains("no place is named `Nowhere`")
        );
        assert!(choose("Nowhere", b"{\"results\":null}").unwrap_err().contains("no place is named"));
        let bare = br#"{"results":[{"name":"A","latitude":1,"longitude":2,"country":null}]}"#;
        assert_eq!(choose("A", bare).unwrap().words(), "A");
        assert!(choose("x", b"<html>").is_err());
        assert_eq!(
            query(" S\u{e3}o Paulo , Brazil"),
            "/v1/search?name=S%C3%A3o%20Paulo&count=10&language=en&format=json"
        );
    }
}
