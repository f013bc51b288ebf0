//! `set` and `shopt`.

use std::rc::Rc;

use crate::quote;
use crate::shell::{Options, Shell};
use crate::stop::{Status, Stop, wrong};

fn by_letter(options: &mut Options, letter: char) -> Option<&mut bool> {
    Some(match letter {
        'e' => &mut options.errexit,
        'u' => &mut options.nounset,
        'x' => &mut options.xtrace,
        'f' => &mut options.noglob,
        'C' => &mut options.noclobber,
        'a' => &mut options.allexport,
        'n' => &mut options.noexec,
        'E' => &mut options.errtrace,
        'T' => &mut options.functrace,
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
        "noexec" => &mut options.noexec,
        "errtrace" => &mut options.errtrace,
        "functrace" => &mut options.functrace,
        _ => return None,
    })
}

/// Options that change nothing here: there is no terminal, no history and no job control.
const WITHOUT_EFFECT: &str = "bhmpvBHP";
const WITHOUT_EFFECT_NAMES: [&str; 10] = [
    "braceexpand",
    "emacs",
    "hashall",
    "histexpand",
    "history",
    "monitor",
    "physical",
    "posix",
    "verbose",
    "vi",
];

/// Switches the option of a letter.
pub fn switch(options: &mut Options, letter: char, on: bool) -> Result<(), Stop> {
    match by_letter(options, letter) {
        Some(option) => *option = on,
        None if WITHOUT_EFFECT.contains(letter) => {}
        None => return wrong(2, format!("-{letter}: invalid option")),
    }
    Ok(())
}

/// Switches the option of a name.
pub fn switch_named(options: &mut Options, name: &str, on: bool) -> Result<(), Stop> {
    match by_name(options, name) {
        Some(option) => *option = on,
        None if WITHOUT_EFFECT_NAMES.contains(&name) => {}
        None => return wrong(2, format!("{name}: invalid option name")),
    }
    Ok(())
}

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
    if let [flag] = arguments {
        if flag == "-o" || flag == "+o" {
            let names = [
                "allexport",
                "errexit",
                "errtrace",
                "functrace",
                "noclobber",
                "noexec",
                "noglob",
                "nounset",
                "pipefail",
                "xtrace",
            ];
            let mut options = shell.options;
            let lines: String = names
                .iter()
                .map(|name| {
                    let on = by_name(&mut options, name).is_some_and(|option| *option);
                    format!("{name:<15}\t{}\n", if on { "on" } else { "off" })
                })
                .collect();
            shell.stdout().write(lines.as_bytes()).await?;
            return Ok(0);
        }
    }
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
                switch_named(&mut shell.options, name, on)?;
            } else {
                switch(&mut shell.options, letter, on)?;
            }
        }
    }
    if !rest.is_empty() {
        shell.positional = Rc::new(rest.to_vec());
    }
    Ok(0)
}

pub fn shell_option<'a>(options: &'a mut Options, name: &str) -> Option<&'a mut bool> {
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
