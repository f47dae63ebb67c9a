use serde_json::json;

use super::*;

fn redacted(mut value: Value) -> Value {
    redact(&mut value);
    value
}

#[test]
fn variables_with_secrets_lose_their_values() {
    for name in
        ["HF_TOKEN", "NATS_AUTH_PASSWORD", "apiKey", "AWS_SECRET_ACCESS_KEY", "NATS_AUTH_NKEY"]
    {
        let value = redacted(json!([{ "name": name, "value": "PLANTED" }]));
        assert_eq!(value, json!([{ "name": name, "value": REDACTED }]), "{name}");
    }
}

#[test]
fn settings_that_sound_like_secrets_stay() {
    let settings = json!([
        { "name": "TOKENIZERS_PARALLELISM", "value": "false" },
        { "name": "MAX_NUM_TOKENS", "value": "8192" },
        { "name": "NATS_SERVER", "value": "nats://nats:4222" },
        { "name": "HF_TOKEN", "valueFrom": { "secretKeyRef": { "name": "hf-token-secret", "key": "HF_TOKEN" } } },
        { "configMap": { "items": [{ "key": "agg.yaml", "path": "agg.yaml" }] } },
        { "envFromSecret": "hf-token-secret", "kv_cache_config": { "tokens_per_block": 32 } },
        ["--kv-block-size", "16", "--max-num-tokens", "8192", "--tokenizer", "x/y"],
    ]);

    assert_eq!(redacted(settings.clone()), settings);
}

#[test]
fn addresses_of_nats_keep_a_mark_where_a_login_was() {
    let rows = [
        ("nats://u:PLANTED@nats:4222", "nats://(redacted)@nats:4222"),
        ("nats://a:4222, nats://u:PLANTED@b:4222", "nats://a:4222, nats://(redacted)@b:4222"),
        ("nats://a:4222,u:PLANTED@b:4222", "nats://a:4222,(redacted)@b:4222"),
        ("u:PLANTED@b:4222,nats://a:4222", "(redacted)@b:4222,nats://a:4222"),
        ("nats://u:PLAN,TED@b:4222", "nats://(redacted)@b:4222"),
        ("u:PLANTED@nats:4222", "(redacted)@nats:4222"),
        ("nats:4222", "nats:4222"),
    ];
    for (given, expected) in rows {
        let value = redacted(json!([{ "name": "NATS_SERVER", "value": given }]));
        assert_eq!(value[0]["value"], expected);
    }
}

#[test]
fn texts_lose_secrets_and_nothing_else() {
    let rows = [
        ("nats://u:PLANTED@nats:4222", "nats://nats:4222"),
        ("nats://u:a/PLANTED@nats:4222/x", "nats://nats:4222/x"),
        ("nats://PLANTED@a:4222,nats://u:PLANTED@b:4222", "nats://a:4222,nats://b:4222"),
        ("https://h/p?token=PLANTED&x=1", "https://h/p?token=(redacted)&x=1"),
        ("docker-pullable://nvcr.io/x@sha256:12", "docker-pullable://nvcr.io/x@sha256:12"),
        (
            "python3 -m x --api-key PLANTED --port 8000",
            "python3 -m x --api-key (redacted) --port 8000",
        ),
        ("python3 -m x --api-key=PLANTED -v", "python3 -m x --api-key=(redacted) -v"),
        (
            "export HF_TOKEN=PLANTED; run --block-size 32",
            "export HF_TOKEN=(redacted); run --block-size 32",
        ),
        ("HF_TOKEN=PLANTED && run --x 1", "HF_TOKEN=(redacted) && run --x 1"),
        ("export HF_TOKEN=PLANTED&& run --x 1", "export HF_TOKEN=(redacted)&& run --x 1"),
        ("export HF_TOKEN='PLANTED x'; run", "export HF_TOKEN=(redacted); run"),
        ("login --api-key PLANTED; run --x 1", "login --api-key (redacted); run --x 1"),
        ("login --api-key PLANTED| run --x 1", "login --api-key (redacted)| run --x 1"),
        ("HF_TOKEN=PLANTED;run --x 1", "HF_TOKEN=(redacted) --x 1"),
        ("sh -c 'HF_TOKEN=\"PLANTED x\" run'", "sh -c 'HF_TOKEN=(redacted) run'"),
        ("don't --api-key PLANTED --x 1", "don't --api-key (redacted) --x 1"),
        ("args: [\"--api-key\", \"PLANTED\"]", "args: [\"--api-key\", (redacted)"),
        ("- --api-key\n- PLANTED\n- --x\n", "- --api-key\n- (redacted)\n- --x\n"),
        ("curl -H 'Authorization: Bearer PLANTED' x", "curl -H 'Authorization: (redacted)' x"),
        ("login hf_PLANTEDabcdefghij", "login (redacted)"),
        ("a: 1\npassword: PLANTED\nb: 2\n", "a: 1\npassword: (redacted)\nb: 2\n"),
        (
            "x:\n  token: |\n    PLANTED\n    PLANTED\n  y: 1\n",
            "x:\n  token: |\n    (redacted)\n    (redacted)\n  y: 1\n",
        ),
        ("--x '{\"api_key\":\"PLANTED\",\"a\":1}'", "--x '{\"api_key\":\"(redacted)\",\"a\":1}'"),
        (
            "kv_cache_config:\n  tokens_per_block: 32\n",
            "kv_cache_config:\n  tokens_per_block: 32\n",
        ),
        (
            "--override '{\"kv_cache_config\": {\"tokens_per_block\": 16}}'",
            "--override '{\"kv_cache_config\": {\"tokens_per_block\": 16}}'",
        ),
    ];
    for (text, expected) in rows {
        let clean = scrub(text, Depth::OUTERMOST).unwrap_or_else(|| text.to_owned());
        assert_eq!(clean, expected, "{text}");
    }
}

#[test]
fn a_flag_and_its_value_may_be_two_arguments() {
    let args = json!(["--api-key", "PLANTED", "--nats-token", "--port", "8000"]);

    assert_eq!(redacted(args), json!(["--api-key", REDACTED, "--nats-token", "--port", "8000"]));
}

#[test]
fn keys_of_a_config_map_are_variables() {
    let data = json!({ "HF_TOKEN": "PLANTED", "tls.key": "-----BEGIN PRIVATE KEY-----\nPLANTED" });

    let text = redacted(data).to_string();

    assert!(!text.contains("PLANTED"), "{text}");
}

/// Texts that are hard to scan, `length` bytes of each.
fn worst_cases(length: usize) -> Vec<String> {
    let parts = [
        "a='",
        "a=\"",
        "'\"",
        "\"'",
        "'",
        "a=",
        "a: ",
        "{\"a\":",
        "[",
        "{",
        "\\\"",
        "\\",
        "://",
        "a://@",
        "a://b?c=d&",
        "prompt",
        "prompt\"",
        "prompt=",
        "prompt: 1 ",
        "token: ",
        "token: 1,",
        "--token ",
        "hf_",
        "SU",
        ":",
        "::",
        "-",
        " ",
        "\n",
        "\n ",
        "token:\n ",
        "Bearer ",
        "ü='",
        "token: Some(\"",
        "a: A ",
    ];
    let mut texts: Vec<String> =
        parts.iter().map(|part| part.repeat(length.div_ceil(part.len()))).collect();
    // Each level is a text in quotes that holds the next one, with as many escapes as that takes.
    let mut nested = "x".to_owned();
    while nested.len() < length {
        nested = serde_json::json!({ "a": nested }).to_string();
    }
    texts.push(nested);
    texts.push("{\"a\":".repeat(100) + &"1".repeat(length) + &"}".repeat(100));
    texts
}

/// Stacks of threads have 2 MB unless told otherwise; a quarter of that must do.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn quotes_within_quotes_do_not_overflow_the_stack() {
    on_a_small_stack(|| {
        for text in worst_cases(64 << 10) {
            drop(redacted_line(&text));
            drop(redacted(json!({ "args": [text] })));
        }
    });
}

#[test]
fn a_text_that_is_nested_too_deeply_is_taken_out_whole() {
    let mut nested = "PLANTED".to_owned();
    for _ in 0..12 {
        nested = json!({ "a": nested }).to_string();
    }
    let clean = redacted(json!(nested)).to_string();

    assert!(clean.contains(REDACTED) && !clean.contains("PLANTED"), "{clean}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "compares how long two calls take")]
fn time_grows_no_faster_than_the_text() {
    use std::time::{Duration, Instant};
    let took = |text: &str| {
        let once = || {
            let started = Instant::now();
            drop(redacted_line(text));
            started.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let (short, long) = (worst_cases(8 << 10), worst_cases(128 << 10));
    for (short, long) in short.iter().zip(&long) {
        let limit = took(short).max(Duration::from_micros(200)) * 100;
        let start: String = short.chars().take(20).collect();
        // Sixteen times the text: 256 times the time, were it quadratic.
        assert!(took(long) < limit, "`{start}` took {:?}, above {limit:?}", took(long));
    }
}
