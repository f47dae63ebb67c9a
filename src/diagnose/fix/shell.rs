//! Words of a shell: names come from outside, and commands are meant to be pasted.

/// Returns `text` as one word of a shell.
pub(super) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns true for what Kubernetes allows as the name of an object. Nothing else is put into a command: a
/// name that begins with a dash would be read as a flag.
pub(super) fn is_name(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends =
        bytes.first().is_some_and(|it| inside(*it)) && bytes.last().is_some_and(|it| inside(*it));
    ends && bytes.len() <= 253 && bytes.iter().all(|it| inside(*it) || b"-.".contains(it))
}
