//! The calendar.

pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A moment in the parts of a calendar, in UTC.
#[derive(Clone, Copy)]
pub struct Moment {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

impl Moment {
    pub fn new(seconds: i64) -> Self {
        let shifted = seconds.div_euclid(86_400) + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let index = (5 * of_year + 2) / 153;
        let month = if index < 10 { index + 3 } else { index - 9 };
        let clock = seconds.rem_euclid(86_400);
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * index + 2) / 5 + 1,
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
        }
    }

    /// Parts out of their bounds go over into the next.
    pub fn seconds(self) -> i64 {
        let year = self.year + (self.month - 1).div_euclid(12);
        let month = (self.month - 1).rem_euclid(12) + 1;
        days(year, month, 1) * 86_400
            + (self.day - 1) * 86_400
            + self.hour * 3600
            + self.minute * 60
            + self.second
    }

    pub fn weekday(self) -> i64 {
        (days(self.year, self.month, self.day) + 4).rem_euclid(7)
    }

    pub fn of_year(self) -> i64 {
        days(self.year, self.month, self.day) - days(self.year, 1, 1) + 1
    }

    /// Year and number of the week by ISO 8601.
    pub fn week(self) -> (i64, i64) {
        let weekday = (self.weekday() + 6).rem_euclid(7);
        let thursday = Self::new((days(self.year, self.month, self.day) - weekday + 3) * 86_400);
        (thursday.year, (thursday.of_year() - 1) / 7 + 1)
    }
}

/// Days since 1970 of a date of the Gregorian calendar, by Howard Hinnant's counting in eras of 400 years.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
