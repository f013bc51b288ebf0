//! The forecast for a place, as the service gives it.

use serde::Deserialize;

use crate::place::Place;

/// The weather now and of the coming days.
#[derive(Debug, Deserialize)]
pub struct Forecast {
    /// Now.
    pub current: Current,
    /// A list for each value, with an entry a day.
    pub daily: Daily,
}

/// The values of now.
#[derive(Debug, Deserialize)]
pub struct Current {
    /// The time there.
    pub time: String,
    /// Degrees Celsius.
    pub temperature_2m: f64,
    /// Degrees Celsius.
    pub apparent_temperature: f64,
    /// Percent.
    pub relative_humidity_2m: f64,
    /// Millimetres.
    pub precipitation: f64,
    /// A number for the sky.
    pub weather_code: u8,
    /// Kilometres per hour.
    pub wind_speed_10m: f64,
}

/// The values of days; what is not known is none.
#[derive(Debug, Deserialize)]
pub struct Daily {
    /// Dates.
    pub time: Vec<String>,
    /// Numbers for the sky.
    pub weather_code: Vec<Option<u8>>,
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
                sky: sky(self.weather_code.get(index).copied().flatten().unwrap_or(u8::MAX)),
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

/// The words of the World Meteorological Organization's numbers, as the service uses them.
#[must_use]
pub fn sky(code: u8) -> &'static str {
    match code {
        0 => "clear",
        1 => "mainly clear",
        2 => "partly cloudy",
        3 => "overcast",
        45 | 48 => "fog",
        51 | 53 | 55 => "drizzle",
        56 | 57 => "freezing drizzle",
        61 => "light rain",
        63 => "rain",
        65 => "heavy rain",
        66 | 67 => "freezing rain",
        71 => "light snow",
        73 => "snow",
        75 => "heavy snow",
        77 => "snow grains",
        80 | 81 => "rain showers",
        82 => "violent rain showers",
        85 | 86 => "snow showers",
        95 => "thunderstorm",
        96 | 99 => "thunderstorm with hail",
        _ => "unknown",
    }
}
