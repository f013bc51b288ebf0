//! The forecast for a place, as the service gives it.

use serde::Deserialize;

use crate::place::Place;

/// The weather now and of the coming days.
#[derive(Debug, Deserialize)]
pub struct Forecast {
    /// Now.
    pub current: Current,
    /// A list for each value, with an entry a day.
    #[serde(default)]
    pub daily: Daily,
}

/// The values of now; what is not known is none.
#[derive(Debug, Deserialize)]
pub struct Current {
    /// The time there.
    pub time: String,
    /// Degrees Celsius.
    pub temperature_2m: f64,
    /// Degrees Celsius.
    pub apparent_temperature: Option<f64>,
    /// Percent.
    pub relative_humidity_2m: Option<f64>,
    /// Millimetres.
    pub precipitation: Option<f64>,
    /// A number for the sky.
    pub weather_code: Option<f64>,
    /// Kilometres per hour.
    pub wind_speed_10m: Option<f64>,
}

/// The values of days; what is not known is none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Daily {
    /// Dates.
    pub time: Vec<String>,
    /// Numbers for the sky.
    pub weather_code: Vec<Option<f64>>,
    /// Degrees Celsius.
    pub temperature_2m_max: Vec<Option<f64>>,
    /// Degrees Celsius.
    pub temperature_2m_min: Vec<Option<f64>>,
    /// Percent.
    pub precipitation_probability_max: Vec<Option<f64>>,
}

/// One day.
#[derive(Debug, PartialEq)]
pub struct Day<'a> {
    /// Its date.
    pub date: &'a str,
    /// In words.
    pub sky: &'static str,
    /// Degrees Celsius.
    pub high: f64,
    /// Degrees Celsius.
    pub low: f64,
    /// Percent, where it is known.
    pub rain: Option<f64>,
}

impl Daily {
    /// The days of which temperatures are known.
    pub fn days(&self) -> impl Iterator<Item = Day<'_>> {
        self.time.iter().enumerate().filter_map(|(index, date)| {
            let value = |list: &[Option<f64>]| list.get(index).copied().flatten();
            Some(Day {
                date,
                sky: sky(value(&self.weather_code)),
                high: value(&self.temperature_2m_max)?,
                low: value(&self.temperature_2m_min)?,
                rain: value(&self.precipitation_probability_max),
            })
        })
    }
}

/// The query for a place and so many days.
#[must_use]
pub fn query(place: &Place, days: u8) -> String {
    format!(
        "/v1/forecast?latitude={}&longitude={}&current=temperature_2m,apparent_temperature,relative_humidity_2m,\
         precipitation,weather_code,wind_speed_10m&daily=weather_code,temperature_2m_max,temperature_2m_min,\
         precipitation_probability_max&timezone=auto&forecast_days={days}",
        place.latitude, place.longitude
    )
}

/// Reads the service's answer.
///
/// # Errors
/// When it is another one than announced.
pub fn parse(answer: &[u8]) -> Result<Forecast, String> {
    serde_json::from_slice(answer)
        .map_err(|_| "the weather service gave an answer that cannot be read".to_owned())
}

/// What the sky is called by which numbers.
const SKIES: [(&[u8], &str); 20] = [
    (&[0], "clear"),
    (&[1], "mainly clear"),
    (&[2], "partly cloudy"),
    (&[3], "overcast"),
    (&[45, 48], "fog"),
    (&[51, 53, 55], "drizzle"),
    (&[56, 57], "freezing drizzle"),
    (&[61], "light rain"),
    (&[63], "rain"),
    (&[65], "heavy rain"),
    (&[66, 67], "freezing rain"),
    (&[71], "light snow"),
    (&[73], "snow"),
    (&[75], "heavy snow"),
    (&[77], "snow grains"),
    (&[80, 81], "rain showers"),
    (&[82], "violent rain showers"),
    (&[85, 86], "snow showers"),
    (&[95], "thunderstorm"),
    (&[96, 99], "thunderstorm with hail"),
];

/// The words of the World Meteorological Organization's numbers, as the service uses them: some services write them as
/// `3.0`.
#[must_use]
pub fn sky(code: Option<f64>) -> &'static str {
    let is_it = |number: &u8| code.is_some_and(|code| (f64::from(*number) - code).abs() < 0.5);
    SKIES.iter().find(|(numbers, _)| numbers.iter().any(is_it)).map_or("unknown", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "the answers are right")]

    use super::*;

    #[test]
    fn what_a_service_leaves_out_is_not_known() {
        let whole = br#"{"current": {"time": "2026-03-01T14:00", "temperature_2m": 1, "weather_code": 3.0},
            "daily": {"time": ["2026-03-01"], "temperature_2m_max": [2], "temperature_2m_min": [null], "more": 1}}"#;
        let forecast = parse(whole).unwrap();
        assert_eq!((sky(forecast.current.weather_code), forecast.current.wind_speed_10m), ("overcast", None));
        assert_eq!(forecast.daily.days().count(), 0);
        let bare =
            br#"{"current": {"time": "2026-03-01T14:00", "temperature_2m": -1.5, "weather_code": null}}"#;
        assert_eq!(sky(parse(bare).unwrap().current.weather_code), "unknown");
        assert!(parse(b"{}").is_err());
    }
}
