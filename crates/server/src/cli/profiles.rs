//! Profiles: named servers in a file of the user, so that `--profile prod` stands for an address, a login and more.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Command;

use super::Usage;
use crate::config::source;

/// Flags that a profile may set, for every command that has them. Passwords and secrets stay in the environment or in files.
const FLAGS: [&str; 9] = [
    "address",
    "auth",
    "ca-certificate",
    "management",
    "password-file",
    "tenant",
    "timeout",
    "transport",
    "user",
];
/// Flags whose values are files, relative to the file of the profiles.
const FILES: [&str; 2] = ["ca-certificate", "password-file"];
/// Commands for which these flags mean something else: how a server listens, or that tests run on a shared server.
const SERVERS: [&str; 4] = ["serve", "config", "dev", "test"];

static ADDRESS: OnceLock<&'static str> = OnceLock::new();

/// The address given by the profile.
pub fn address() -> Option<&'static str> {
    ADDRESS.get().copied()
}

/// The commands with the values of the chosen profile as defaults of their flags: flags and variables win over it.
///
/// # Errors
/// There is no such profile, or a file that cannot be read or says something unknown.
pub fn applied(command: Command) -> Result<Command, Usage> {
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    let wanted = named(arguments).or_else(|| variable("SKEP_PROFILE"));
    let Some(file) = file(variable) else {
        return match wanted {
            None => Ok(command),
            Some(_) => Err(Usage(
                "the directory of profiles is unknown: neither XDG_CONFIG_HOME nor HOME is set"
                    .into(),
            )),
        };
    };
    if wanted.is_none() && !file.exists() {
        return Ok(command);
    }
    let profile = read(&file, wanted.as_deref())?;
    if let Some((_, address)) = profile.iter().find(|(flag, _)| *flag == "address") {
        ADDRESS.get_or_init(|| address);
    }
    Ok(with_defaults(command, &profile))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The profile named on the command line. It is needed before the command line is parsed.
fn named(mut arguments: impl Iterator<Item = String>) -> Option<String> {
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--profile") {
            Some("") => return arguments.next(),
            Some(rest) if rest.starts_with('=') => {
                return rest.strip_prefix('=').map(str::to_string);
            }
            _ if argument == "--" => return None,
            _ => {}
        }
    }
    None
}

/// `profiles.yaml` in the user's directory for configuration (XDG base directories).
fn file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(variable("HOME")?).join(".config"));
    let directory = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(home)?;
    Some(directory.join("skep/profiles.yaml"))
}

type Profile = Vec<(&'static str, &'static str)>;

/// Reads a profile of the file; without a name, the default one, if the file names it.
fn read(file: &Path, wanted: Option<&str>) -> Result<Profile, Usage> {
    let documents = source::file(file).map_err(Usage)?;
    let given: Vec<_> = documents.into_iter().flatten().collect();
    let default = given.iter().find(|given| given.name == "default");
    let name = match (wanted, default) {
        (Some(wanted), _) => wanted.to_string(),
        (None, Some(default)) => default.text.clone(),
        (None, None) => return Ok(Vec::new()),
    };
    let mut profile = Profile::new();
    let mut names: Vec<&str> = Vec::new();
    for given in &given {
        let Some((of, flag)) = given
            .name
            .strip_prefix("profiles.")
            .and_then(|name| name.rsplit_once('.'))
        else {
            match given.name.as_str() {
                "default" => continue,
                other => {
                    return Err(Usage(format!(
                        "{}: '{other}' is unknown; there are 'default' and 'profiles'",
                        given.source
                    )));
                }
            }
        };
        if !names.contains(&of) {
            names.push(of);
        }
        let Some(flag) = FLAGS.into_iter().find(|known| *known == flag) else {
            return Err(Usage(format!(
                "{}: a profile has no '{flag}'; it may have {}",
                given.source,
                FLAGS.join(", ")
            )));
        };
        if of == name {
            let text = match (FILES.contains(&flag), file.parent()) {
                (true, Some(beside)) => beside.join(&given.text).display().to_string(),
                _ => given.text.clone(),
            };
            // Defaults of flags must live as long as the program.
            profile.push((flag, text.leak()));
        }
    }
    if profile.is_empty() && !names.contains(&name.as_str()) {
        let known = if names.is_empty() {
            "none".to_string()
        } else {
            names.join(", ")
        };
        return Err(Usage(format!(
            "there is no profile '{name}' in {}; there are: {known}",
            file.display()
        )));
    }
    Ok(profile)
}

fn with_defaults(command: Command, profile: &[(&str, &'static str)]) -> Command {
    let mut command = command.mut_args(|arg| {
        let value = profile
            .iter()
            .find(|(flag, _)| arg.get_long() == Some(*flag));
        match value {
            Some((_, value)) => arg.default_value(*value),
            None => arg,
        }
    });
    let names: Vec<String> = command
        .get_subcommands()
        .map(|inner| inner.get_name().to_string())
        .filter(|name| !SERVERS.contains(&name.as_str()))
        .collect();
    for name in names {
        command = command.mut_subcommand(name, |inner| with_defaults(inner, profile));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_names_a_profile() {
        for (line, name) in [
            ("skep jobs --profile prod", Some("prod")),
            ("skep --profile=prod jobs", Some("prod")),
            ("skep jobs --profiles", None),
            ("skep start -- --profile prod", None),
            ("skep jobs", None),
        ] {
            let arguments = line.split_whitespace().map(str::to_string);
            assert_eq!(named(arguments).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn profiles_are_in_the_users_directory() {
        let of = |given: &[(&str, &str)]| {
            let given: Vec<(String, String)> = given
                .iter()
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .collect();
            file(move |name| {
                given
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| value.clone())
            })
        };
        assert_eq!(
            of(&[("HOME", "/h")]),
            Some("/h/.config/skep/profiles.yaml".into())
        );
        let both = of(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]);
        assert_eq!(both, Some("/x/skep/profiles.yaml".into()));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_profile_is_read_and_unknown_settings_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("profiles.yaml");
        let written = |text: &str| std::fs::write(&file, text).unwrap();
        written(
            "default: test\nprofiles:\n  test:\n    address: http://t:1\n  prod:\n    address: https://a,https://b\n    password-file: secret\n",
        );
        assert_eq!(read(&file, None).unwrap(), [("address", "http://t:1")]);
        let secret = directory.path().join("secret").display().to_string();
        assert_eq!(
            read(&file, Some("prod")).unwrap(),
            [
                ("address", "https://a,https://b"),
                ("password-file", secret.as_str())
            ]
        );
        let why = read(&file, Some("none")).unwrap_err().to_string();
        assert!(
            why.contains("no profile 'none'") && why.contains("test, prod"),
            "{why}"
        );
        written("profiles:\n  prod:\n    password: hush\n");
        let why = read(&file, Some("prod")).unwrap_err().to_string();
        assert!(
            why.contains("line 3") && why.contains("no 'password'"),
            "{why}"
        );
        // Without a default and without a given name, the file has no effect.
        assert!(read(&file, None).unwrap().is_empty());
    }
}
