//! `set` and `shopt`.

use std::rc::Rc;

use crate::quote;
use crate::shell::{Options, Shell};
use crate::stop::{Status, wrong};

fn by_letter(options: &mut Options, letter: char) -> Option<&mut bool> {
    Some(match letter {
        'e' => &mut options.errexit,
        'u' => &mut options.nounset,
        'x' => &mut options.xtrace,
        'f' => &mut options.noglob,
        'C' => &mut options.noclobber,
        'a' => &mut options.allexport,
        _ => return None,
    })
}

fn by_name<'a>(options: &'a mut Options, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "errexit" => &mut options.errexit,
        "nounset" => &mut options.nounset,
        "xtrace" => &mut options.xtrace,
        "noglob" => &mut options.noglob,
        "noclobber" => &mut options.noclobber,
        "allexport" => &mut options.allexport,
        "pipefail" => &mut options.pipefail,
        _ => return None,
    })
}

/// Options that change nothing here: there is no terminal, no history and no job control.
const WITHOUT_EFFECT: &str = "bhkmnptvBEHPT";
const WITHOUT_EFFECT_NAMES: [&str; 9] =
    ["braceexpand", "emacs", "errtrace", "functrace", "hashall", "histexpand", "monitor", "posix", "vi"];

pub async fn set(shell: &mut Shell, arguments: &[String]) -> Status {
    if arguments.is_empty() {
        let lines: String = shell
            .vars
            .names()
            .iter()
            .filter_map(|name| Some(format!("{name}={}\n", quote::traced(&shell.vars.get(name)?))))
            .collect();
        shell.stdout().write(lines.as_bytes()).await?;
        return Ok(0);
    }
    let mut rest = arguments;
    while let Some((flag, after)) = rest.split_first() {
        let on = match flag.chars().next() {
            Some('-') => true,
            Some('+') => false,
            _ => break,
        };
        rest = after;
        if flag == "--" || flag == "-" {
            shell.positional = Rc::new(rest.to_vec());
            return Ok(0);
        }
        for letter in flag.chars().skip(1) {
            if letter == 'o' {
                let Some((name, after)) = rest.split_first() else { return Ok(0) };
                rest = after;
                match by_name(&mut shell.options, name) {
                    Some(option) => *option = on,
                    None if WITHOUT_EFFECT_NAMES.contains(&name.as_str()) => {}
                    None => return wrong(2, format!("{name}: invalid option name")),
                }
            } else if let Some(option) = by_letter(&mut shell.options, letter) {
                *option = on;
            } else if !WITHOUT_EFFECT.contains(letter) {
                return wrong(2, format!("-{letter}: invalid option"));
            }
        }
    }
    if !rest.is_empty() {
        shell.positional = Rc::new(rest.to_vec());
    }
    Ok(0)
}

fn shell_option<'a>(options: &'a mut Options, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "nullglob" => &mut options.nullglob,
        "dotglob" => &mut options.dotglob,
        "globstar" => &mut options.globstar,
        "nocasematch" => &mut options.nocasematch,
        "nocaseglob" => &mut options.nocaseglob,
        "inherit_errexit" => &mut options.inherit_errexit,
        _ => return None,
    })
}

pub async fn shopt(shell: &mut Shell, arguments: &[String]) -> Status {
    let (mut set, mut quiet, mut of_set) = (None, false, false);
    let mut status = 0;
    for argument in arguments {
        match argument.as_str() {
            "-s" => set = Some(true),
            "-u" => set = Some(false),
            "-q" => quiet = true,
            "-o" => of_set = true,
            "-p" => {}
            name => {
                let found = if of_set {
                    by_name(&mut shell.options, name)
                } else {
                    shell_option(&mut shell.options, name)
                };
                match (found, set) {
                    (Some(option), Some(on)) => *option = on,
                    (Some(option), None) => {
                        let on = *option;
                        status |= i32::from(!on);
                        if !quiet {
                            let line = format!("{name}\t{}\n", if on { "on" } else { "off" });
                            shell.stdout().write(line.as_bytes()).await?;
                        }
                    }
                    // Patterns of this kind are always understood; aliases and the rest belong to terminals.
                    (None, _)
                        if ["extglob", "expand_aliases", "checkwinsize", "histappend", "sourcepath"]
                            .contains(&name) => {}
                    (None, _) => {
                        shell.complain(format!("shopt: {name}: invalid shell option name")).await?;
                        status = 1;
                    }
                }
            }
        }
    }
    Ok(status)
}
