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
        let clean = scrub(text).unwrap_or_else(|| text.to_owned());
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
