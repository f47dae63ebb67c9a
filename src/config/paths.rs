//! Paths of the user's files, by the rules of XDG.

use std::path::PathBuf;

/// Folder of kvtop below the user's config and state folders.
const OWN: &str = "kvtop";

/// Returns the folder of the config file and of themes, by the values of `XDG_CONFIG_HOME` and `HOME`;
/// none without either.
pub fn config(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    base(env, "XDG_CONFIG_HOME", ".config")
}

/// Returns the folder of what kvtop writes, by the values of `XDG_STATE_HOME` and `HOME`; none without
/// either.
pub fn state(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    base(env, "XDG_STATE_HOME", ".local/state")
}

fn base(env: &dyn Fn(&str) -> Option<String>, name: &str, below_home: &str) -> Option<PathBuf> {
    // XDG asks to ignore relative paths.
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(name).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(base.join(OWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_follow_xdg_and_fall_back_to_home() {
        let env = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some("/conf".to_owned()),
            "XDG_STATE_HOME" => Some("relative".to_owned()),
            "HOME" => Some("/home/a".to_owned()),
            _ => None,
        };
        assert_eq!(config(&env), Some(PathBuf::from("/conf/kvtop")));
        assert_eq!(state(&env), Some(PathBuf::from("/home/a/.local/state/kvtop")));
        assert_eq!(config(&|_| None), None);
    }
}
