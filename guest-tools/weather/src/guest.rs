//! The component's side: two requests, and their answers as one report.

use client::{Request, Url, send};

use crate::forecast::{self, sky};
use crate::place::{self, Place};

mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "weather", generate_all });
}

use bindings::toolcell::tool::context;
use bindings::wasi::config::store;
use bindings::{Day, Now, Report};

const PLACES: &str = "https://geocoding-api.open-meteo.com";
const FORECASTS: &str = "https://api.open-meteo.com";

/// Much more than either service answers.
const MAX_BYTES: usize = 256 << 10;

struct Component;

bindings::export!(Component with_types_in bindings);

impl bindings::Guest for Component {
    fn weather(city: Option<String>, days: Option<u8>) -> Result<Report, String> {
        let city = city.filter(|city| !city.trim().is_empty()).or_else(|| setting("city"));
        let city = city.ok_or("say which place: `city` is missing, and none is set for this session")?;
        let found = get(&service("places_url", PLACES), &place::query(&city))?;
        let place = place::choose(&city, &found)?;
        let days = days.unwrap_or(3).clamp(1, 14);
        report(&place, &get(&service("forecast_url", FORECASTS), &forecast::query(&place, days))?)
    }
}

fn report(place: &Place, answer: &[u8]) -> Result<Report, String> {
    let forecast = forecast::parse(answer)?;
    let current = &forecast.current;
    Ok(Report {
        place: place.words(),
        now: Now {
            time: current.time.clone(),
            sky: sky(current.weather_code).to_owned(),
            temperature_c: current.temperature_2m,
            feels_like_c: current.apparent_temperature,
            humidity_percent: current.relative_humidity_2m,
            precipitation_mm: current.precipitation,
            wind_kmh: current.wind_speed_10m,
        },
        days: forecast
            .daily
            .days()
            .map(|day| Day {
                date: day.date.to_owned(),
                sky: day.sky.to_owned(),
                high_c: day.high,
                low_c: day.low,
                rain_percent: day.rain,
            })
            .collect(),
    })
}

/// What the session says, or the operator.
fn setting(name: &str) -> Option<String> {
    let of_session = context::metadata(name).filter(|value| !value.trim().is_empty());
    of_session.or_else(|| store::get(name).ok().flatten())
}

/// Where a service is: the operator alone may put another one in its place.
fn service(name: &str, usual: &str) -> String {
    store::get(name).ok().flatten().unwrap_or_else(|| usual.to_owned())
}

fn get(origin: &str, target: &str) -> Result<Vec<u8>, String> {
    let url = Url::parse(&format!("{}{target}", origin.trim_end_matches('/')))?;
    let request = Request { method: "GET", url: &url, headers: &[], body: None, max_bytes: MAX_BYTES };
    let response = send(&request)?;
    match response.status {
        200 => Ok(response.body),
        429 => Err("the weather service has had too many questions; try again later".to_owned()),
        500.. => {
            Err(format!("the weather service answered with status {}; try again later", response.status))
        }
        status => Err(refused(status, &response.body)),
    }
}

/// What the service has against the question, where it says so.
fn refused(status: u16, body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Answer {
        reason: String,
    }
    match serde_json::from_slice::<Answer>(body) {
        Ok(Answer { reason }) => {
            let reason: String = reason.chars().take(200).collect();
            format!("the weather service refused the question, with status {status}: {reason}")
        }
        Err(_) => format!("the weather service refused the question, with status {status}"),
    }
}
