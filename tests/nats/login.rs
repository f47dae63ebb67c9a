//! Logins of every kind, and what a failure says.

use super::*;
use crate::support::nats_server::{Folder, NatsServer};
use kvtop::source::nats::{Secret, Tls};

/// Attaches and expects an answer from the server.
async fn expect_login(options: &NatsOptions) {
    let mut attached = Attached::to(options);
    attached.until_live().await;
    attached.end().await;
}

async fn expect_note(options: &NatsOptions, text: &str) {
    let mut attached = Attached::to(options);
    attached.until_note(text).await;
    let note = attached.notes.iter().find(|note| note.why.contains(text)).unwrap();
    assert_eq!(note.state, SourceState::Down);
    assert!(note.retry_ms.is_some());
    for note in &attached.notes {
        assert!(!note.why.contains("s3cret"), "{}", note.why);
    }
    attached.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_logs_in_and_a_wrong_password_is_said_without_showing_it() {
    let server = NatsServer::start(&["--user", "alice", "--pass", "s3cret"], "");
    let folder = Folder::new();
    let mut options = NatsOptions {
        user: Some("alice".to_owned()),
        password_file: Some(folder.write("password", "s3cret\n")),
        ..at(&server.url())
    };
    expect_login(&options).await;
    expect_login(&at(&format!("nats://alice:s3cret@{}", server.host()))).await;

    options.password_file = Some(folder.write("wrong", "s3cretly-wrong"));
    expect_note(&options, "refused the user and password").await;
    expect_note(&at(&server.url()), "Dynamo's default is user/user").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_logs_in() {
    let server = NatsServer::start(&["--auth", "s3cret"], "");
    let with = |token: &str| NatsOptions {
        token: Some(Secret::new(token.to_owned())),
        ..at(&server.url())
    };
    expect_login(&with("s3cret")).await;
    expect_note(&with("s3cretly-wrong"), "refused the token").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_nkey_logs_in_from_a_file_and_from_a_seed() {
    // A throw-away pair, made for this test.
    let pair = nkeys::KeyPair::new_user();
    let seed = pair.seed().unwrap();
    let config = format!("authorization {{ users: [ {{ nkey: {} }} ] }}", pair.public_key());
    let server = NatsServer::start(&[], &config);
    let folder = Folder::new();
    let file = folder.write("user.nk", &format!("# seed\n{seed}\n"));
    for nkey in [seed, file.display().to_string()] {
        let options = NatsOptions { nkey: Some(Secret::new(nkey)), ..at(&server.url()) };
        expect_login(&options).await;
    }
    let other = nkeys::KeyPair::new_user().seed().unwrap();
    let options = NatsOptions { nkey: Some(Secret::new(other)), ..at(&server.url()) };
    expect_note(&options, "refused the nkey").await;
}

/// Makes an authority and a certificate for 127.0.0.1, with the `openssl` command.
fn certificates(folder: &Folder) {
    let script = r"
set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca \
  -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem
for name in server client; do
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
  printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' > $name.ext
  openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.pem
done
";
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(folder.path())
        .output()
        .expect("this test needs sh and openssl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_needs_the_authority_and_the_client_certificate() {
    let folder = Folder::new();
    certificates(&folder);
    let file = |name: &str| folder.path().join(name);
    let config = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}",
        file("server.pem"),
        file("server.key"),
        file("ca.pem")
    );
    let server = NatsServer::start(&[], &config);
    let client =
        Tls { cert: Some(file("client.pem")), key: Some(file("client.key")), ..Tls::default() };
    let with = |tls: Tls| NatsOptions { tls, ..at(&server.url()) };

    expect_login(&with(Tls { ca: Some(file("ca.pem")), ..client.clone() })).await;
    expect_login(&with(Tls { insecure: true, ..client.clone() })).await;

    expect_note(&with(client), "--nats-tls-ca").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_leads_nowhere_is_explained() {
    // Bound and released, so that nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    expect_note(&at(&format!("127.0.0.1:{port}")), "nothing listens at").await;
    expect_note(&at("nats://no-such-host.invalid:4222"), "does not resolve").await;
}

/// Returns a signed JWT of `claims`, as `nsc` makes them.
fn jwt(signer: &nkeys::KeyPair, subject: &nkeys::KeyPair, nats: &serde_json::Value) -> String {
    use base64::Engine as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let claims = serde_json::json!({
        "jti": "test", "iat": 1, "name": "test",
        "iss": signer.public_key(), "sub": subject.public_key(), "nats": nats,
    });
    let header = encode(br#"{"typ":"JWT","alg":"ed25519-nkey"}"#);
    let text = format!("{header}.{}", encode(claims.to_string().as_bytes()));
    let signature = signer.sign(text.as_bytes()).unwrap();
    format!("{text}.{}", encode(&signature))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credentials_file_logs_in() {
    let (operator, account) = (nkeys::KeyPair::new_operator(), nkeys::KeyPair::new_account());
    let user = nkeys::KeyPair::new_user();
    let operator_claims = serde_json::json!({"type": "operator", "version": 2});
    let account_claims = serde_json::json!({"type": "account", "version": 2, "limits": {
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1,
    }});
    let user_claims =
        serde_json::json!({"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1});
    let config = format!(
        "operator: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {} }}\n",
        jwt(&operator, &operator, &operator_claims),
        account.public_key(),
        jwt(&operator, &account, &account_claims),
    );
    let server = NatsServer::start(&[], &config);
    let creds = |seed: &str| {
        format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n",
            jwt(&account, &user, &user_claims)
        )
    };
    let folder = Folder::new();
    let file = folder.write("user.creds", &creds(&user.seed().unwrap()));
    let mut options = NatsOptions { creds: Some(file), ..at(&server.url()) };
    expect_login(&options).await;

    let other = nkeys::KeyPair::new_user().seed().unwrap();
    options.creds = Some(folder.write("other.creds", &creds(&other)));
    expect_note(&options, "refused the credentials file").await;
}
