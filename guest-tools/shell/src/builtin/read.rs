//! `read` and `mapfile`.

use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, wrong};
use crate::stream::Handle;
use crate::util::options::Spelling;

#[derive(Default)]
struct Request {
    raw: bool,
    array: Option<String>,
    delimiter: Option<u8>,
    count: Option<usize>,
    fd: u32,
    names: Vec<String>,
}

fn request(arguments: &[String]) -> Result<Request, Stop> {
    let mut request = Request { delimiter: Some(b'\n'), ..Request::default() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(letters) =
            argument.strip_prefix('-').filter(|letters| !letters.is_empty() && request.names.is_empty())
        else {
            request.names.push(argument.clone());
            continue;
        };
        for (index, letter) in letters.char_indices() {
            let mut value = || match letters.get(index + 1..).filter(|inline| !inline.is_empty()) {
                Some(inline) => inline.to_owned(),
                None => rest.next().cloned().unwrap_or_default(),
            };
            match letter {
                'r' => request.raw = true,
                's' | 'e' | '-' => {}
                'a' => {
                    request.array = Some(value());
                    break;
                }
                'd' => {
                    request.delimiter = Some(value().bytes().next().unwrap_or(0));
                    break;
                }
                'n' | 'N' => {
                    let Ok(count) = value().parse() else { return fail("invalid number") };
                    request.count = Some(count);
                    if letter == 'N' {
                        request.delimiter = None;
                    }
                    break;
                }
                'u' => {
                    let text = value();
                    let Ok(fd) = text.parse() else {
                        return fail(format!("{text}: invalid file descriptor specification"));
                    };
                    request.fd = fd;
                    break;
                }
                // There is no terminal to ask at, nor to wait for.
                'p' | 't' | 'i' => {
                    value();
                    break;
                }
                _ => return wrong(2, format!("-{letter}: invalid option")),
            }
        }
    }
    Ok(request)
}

/// The next line, and whether its end was there.
async fn line(handle: &Handle, request: &Request) -> Result<(Vec<u8>, bool), Stop> {
    let mut text = Vec::new();
    if let Some(count) = request.count {
        let mut ended = false;
        while String::from_utf8_lossy(&text).chars().count() < count && handle.fill().await? {
            let byte = handle.with(|bytes| (1, bytes.first().copied()));
            let Some(byte) = byte else { break };
            if Some(byte) == request.delimiter {
                ended = true;
                break;
            }
            text.push(byte);
        }
        let full = ended || String::from_utf8_lossy(&text).chars().count() >= count;
        return Ok((text, full));
    }
    let delimiter = request.delimiter.unwrap_or(b'\n');
    loop {
        handle.until(delimiter, &mut text).await?;
        if text.last() != Some(&delimiter) {
            return Ok((text, false));
        }
        text.pop();
        let escaped = text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        if request.raw || !escaped {
            return Ok((text, true));
        }
        text.pop();
    }
}

pub async fn read(shell: &mut Shell, arguments: &[String]) -> Status {
    let request = request(arguments)?;
    let Some(handle) = shell.fds.find(request.fd) else {
        return fail(format!("{}: invalid file descriptor: Bad file descriptor", request.fd));
    };
    let (bytes, complete) = line(&handle, &request).await?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let letters = letters(&text, request.raw);
    let ifs = shell.ifs();
    let stored = match &request.array {
        Some(name) => {
            let fields = fields(&letters, &ifs, usize::MAX);
            shell.vars.set_list(name, fields)
        }
        None if request.names.is_empty() => {
            shell.vars.set("REPLY", letters.iter().map(|(letter, _)| *letter).collect())
        }
        None => {
            let mut fields = fields(&letters, &ifs, request.names.len()).into_iter();
            let mut result = Ok(());
            for name in &request.names {
                result = result.and(shell.vars.set(name, fields.next().unwrap_or_default()));
            }
            result
        }
    };
    match stored {
        Ok(()) => Ok(i32::from(!complete)),
        Err(message) => fail(message),
    }
}

/// Letters, and whether a backslash protects each from being a separator.
fn letters(text: &str, raw: bool) -> Vec<(char, bool)> {
    let mut letters = Vec::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter == '\\' && !raw {
            letters.extend(rest.next().map(|escaped| (escaped, true)));
        } else {
            letters.push((letter, false));
        }
    }
    letters
}

/// At most `most` fields; the last has everything that is left.
fn fields(letters: &[(char, bool)], ifs: &str, most: usize) -> Vec<String> {
    let blank =
        |(letter, safe): &(char, bool)| !safe && ifs.contains(*letter) && matches!(letter, ' ' | '\t' | '\n');
    let sign = |(letter, safe): &(char, bool)| {
        !safe && ifs.contains(*letter) && !matches!(letter, ' ' | '\t' | '\n')
    };
    let mut fields = Vec::new();
    let mut at = 0;
    let skip = |mut at: usize| {
        while letters.get(at).is_some_and(blank) {
            at += 1;
        }
        at
    };
    let text = |from: usize, to: usize| {
        letters.get(from..to).unwrap_or_default().iter().map(|(letter, _)| *letter).collect::<String>()
    };
    at = skip(at);
    while at < letters.len() {
        let end = (at..letters.len())
            .find(|index| letters.get(*index).is_some_and(|one| blank(one) || sign(one)))
            .unwrap_or(letters.len());
        let mut next = skip(end);
        if letters.get(next).is_some_and(sign) {
            next = skip(next + 1);
        }
        if fields.len() + 1 == most && next < letters.len() {
            let mut last = letters.len();
            while last > at && letters.get(last - 1).is_some_and(blank) {
                last -= 1;
            }
            fields.push(text(at, last));
            return fields;
        }
        fields.push(text(at, end));
        at = next;
    }
    fields
}

const MAPFILE: Spelling = Spelling::new("td:n:O:s:u:", &[]).status(2);

pub async fn mapfile(shell: &mut Shell, arguments: &[String]) -> Status {
    let options = MAPFILE.read(arguments)?;
    let number = |letter| match options.value(letter).map(str::parse::<usize>) {
        Some(Ok(number)) => Ok(Some(number)),
        Some(Err(_)) => fail(format!("{}: invalid number", options.value(letter).unwrap_or_default())),
        None => Ok(None),
    };
    let name = options.operands.first().map_or("MAPFILE", String::as_str);
    let delimiter = options.value('d').map_or(b'\n', |text| text.bytes().next().unwrap_or(0));
    let (skip, most) = (number('s')?.unwrap_or(0), number('n')?.filter(|most| *most > 0));
    let fd = number('u')?.and_then(|fd| u32::try_from(fd).ok()).unwrap_or(0);
    let Some(handle) = shell.fds.find(fd) else {
        return fail(format!("{fd}: invalid file descriptor: Bad file descriptor"));
    };
    let mut items = Vec::new();
    let mut text = Vec::new();
    while items.len() < most.unwrap_or(usize::MAX).saturating_add(skip) {
        text.clear();
        if !handle.until(delimiter, &mut text).await? {
            break;
        }
        if options.has('t') && text.last() == Some(&delimiter) {
            text.pop();
        }
        items.push(String::from_utf8_lossy(&text).into_owned());
    }
    let mut items = items.into_iter().skip(skip);
    let stored = match number('O')? {
        None => shell.vars.set_list(name, items),
        Some(first) => items
            .try_fold(first, |index, item| {
                shell.vars.set_element(name, &index.to_string(), item).map(|()| index.saturating_add(1))
            })
            .map(|_| ()),
    };
    match stored {
        Ok(()) => Ok(0),
        Err(message) => fail(message),
    }
}
