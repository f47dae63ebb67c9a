//! Precedence, one row per place that may name a server or a login.

use std::collections::HashMap;
use std::io;

use super::*;

/// An environment and files, both made up.
#[derive(Default)]
struct Place {
    env: HashMap<String, String>,
    files: HashMap<PathBuf, String>,
}

impl Place {
    fn with(pairs: &[(&str, &str)]) -> Self {
        let mut place = Self::default();
        for (name, text) in pairs {
            if name.starts_with('/') {
                place.files.insert(PathBuf::from(name), (*text).to_owned());
            } else {
                place.env.insert((*name).to_owned(), (*text).to_owned());
            }
        }
        place
    }

    fn resolve(&self, options: &NatsOptions) -> Result<Resolved, NatsConfigError> {
        let env = |name: &str| self.env.get(name).cloned();
        let read = |path: &Path| {
            self.files.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        resolve(options, &env, &read)
    }
}

fn with_url(url: &str) -> NatsOptions {
    NatsOptions { url: Some(url.to_owned()), ..NatsOptions::default() }
}

/// An environment, the login in it, and how it is named.
type Row<'a> = (&'a [(&'a str, &'a str)], Credential, &'a str);

const SELECTED: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", "/xdg"),
    ("/xdg/nats/context.txt", "lab\n"),
    ("/xdg/nats/context/lab.json", r#"{"url":"nats://ctx:1","user":"ctx","password":"p"}"#),
];

const LADDER: &[(&[(&str, &str)], &str)] = &[
    (SELECTED, "nats://ctx:1"),
    (&[("NATS_SERVER", "nats://dynamo:2")], "nats://dynamo:2"),
    (&[("NATS_URL", "natscli:3")], "nats://natscli:3"),
    (&[("KVTOP_NATS_URL", "tls://kvtop:4")], "tls://kvtop:4"),
];

#[test]
fn each_place_overrides_the_ones_before_it() {
    let mut pairs = Vec::new();
    for (more, expected) in LADDER {
        pairs.extend_from_slice(more);

        let resolved = Place::with(&pairs).resolve(&NatsOptions::default()).unwrap();

        assert_eq!(resolved.servers[0].as_str(), *expected);
    }
    let resolved = Place::with(&pairs).resolve(&with_url("flag:5")).unwrap();
    assert_eq!(resolved.servers[0].as_str(), "nats://flag:5");
    assert_eq!(resolved.provenance, "address from the command line, no credentials");
}

#[test]
fn credentials_are_found_apart_from_the_address_and_named() {
    let user = |user: &str, password: &str| Credential::User {
        user: user.to_owned(),
        password: Secret::new(password.to_owned()),
    };
    let seed = format!("SU{}", "A".repeat(56));
    let table: [Row<'_>; 8] = [
        (
            &[("NATS_AUTH_USERNAME", "u"), ("NATS_AUTH_PASSWORD", "p")],
            user("u", "p"),
            "user and password from Dynamo's NATS_SERVER and NATS_AUTH_*",
        ),
        (
            &[("NATS_AUTH_TOKEN", "t"), ("NATS_USER", "u"), ("NATS_PASSWORD", "p")],
            user("u", "p"),
            "user and password from NATS_URL and its kin",
        ),
        (
            &[("NATS_TOKEN", "n"), ("KVTOP_NATS_TOKEN", "k")],
            Credential::Token(Secret::new("k".to_owned())),
            "token from KVTOP_NATS_*",
        ),
        (
            &[("KVTOP_NATS_CREDS", "/c"), ("/c", "jwt\n"), ("NATS_NKEY", "x")],
            Credential::Creds(Secret::new("jwt".to_owned())),
            "credentials file from KVTOP_NATS_*",
        ),
        (
            &[("NATS_NKEY", "/n"), ("/n", &format!("# mine\n{seed}\n"))],
            Credential::Nkey(Secret::new(seed.clone())),
            "nkey from NATS_URL and its kin",
        ),
        (
            &[("KVTOP_NATS_USER", "u"), ("KVTOP_NATS_PASSWORD_FILE", "/p"), ("/p", "a b \n")],
            user("u", "a b "),
            "user and password from KVTOP_NATS_*",
        ),
        (
            &[("KVTOP_NATS_URL", "nats://u:p%40q@h:1")],
            user("u", "p@q"),
            "user and password from the address in KVTOP_NATS_*",
        ),
        (
            &[("KVTOP_NATS_CONTEXT", "lab"), SELECTED[0], SELECTED[2], ("NATS_TOKEN", "t")],
            user("ctx", "p"),
            "user and password from NATS context `lab`",
        ),
    ];
    for (pairs, credential, provenance) in table {
        let mut pairs = pairs.to_vec();
        if !pairs.iter().any(|(name, _)| matches!(*name, "KVTOP_NATS_URL" | "KVTOP_NATS_CONTEXT")) {
            pairs.push(("NATS_SERVER", "h:1"));
        }

        let resolved = Place::with(&pairs).resolve(&NatsOptions::default()).unwrap();

        assert_eq!(resolved.credential, credential, "{pairs:?}");
        assert!(resolved.provenance.ends_with(provenance), "{} {pairs:?}", resolved.provenance);
    }
}

#[test]
fn the_selected_context_gives_no_login_to_another_server() {
    let resolved = Place::with(SELECTED).resolve(&with_url("elsewhere:4222")).unwrap();

    assert_eq!(resolved.credential, Credential::None);
}

#[test]
fn what_is_wrong_is_named_and_no_secret_is_shown() {
    let user = NatsOptions { user: Some("u".to_owned()), ..with_url("h:1") };
    let cert =
        NatsOptions { tls: Tls { cert: Some("/c".into()), ..Tls::default() }, ..with_url("h:1") };
    let context = |name: &str| NatsOptions { context: Some(name.to_owned()), ..with_url("h:1") };
    let table = [
        (NatsOptions::default(), "no NATS server is named"),
        (with_url("ftp://s3cret@h"), "`ftp://<redacted>@h` from the command line"),
        (user, "user `u` from the command line has no password"),
        (cert, "needs both a certificate and a key"),
        (context("../../etc/passwd"), "is not the name of a NATS context"),
        (context("gone"), "could not read `/xdg/nats/context/gone.json`"),
    ];
    for (options, expected) in table {
        let error = Place::with(&[("XDG_CONFIG_HOME", "/xdg")]).resolve(&options).unwrap_err();

        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    let place = Place::with(&[("KVTOP_NATS_URL", "nats://u:s3cret@h:1"), ("NATS_TOKEN", "s3cret")]);
    let resolved = place.resolve(&NatsOptions::default()).unwrap();
    assert!(!format!("{resolved:?}").contains("s3cret"), "{resolved:?}");
}

#[test]
fn tls_settings_are_found_apart_and_pairs_stay_together() {
    let pairs = [
        ("NATS_SERVER", "tls://h:1"),
        ("NATS_TLS_CA_CERT_PATH", "/ca"),
        ("NATS_TLS_CLIENT_CERT_PATH", "/dynamo.pem"),
        ("NATS_TLS_CLIENT_KEY_PATH", "/dynamo.key"),
        ("KVTOP_NATS_TLS_CERT", "/mine.pem"),
        ("KVTOP_NATS_TLS_KEY", "/mine.key"),
        ("NATS_TLS_INSECURE", "true"),
    ];

    let resolved = Place::with(&pairs).resolve(&NatsOptions::default()).unwrap();

    let expected = Tls {
        ca: Some("/ca".into()),
        cert: Some("/mine.pem".into()),
        key: Some("/mine.key".into()),
        insecure: true,
        name: None,
    };
    assert_eq!(resolved.tls, expected);
}
