//! Tables of what is seen and what is then wanted.

use super::*;
use crate::domain::{
    Component, ConfigMapUse, ConfigSource, EngineFile, EngineSocket, NatsAccess, Port, SecretRef,
    Transport,
};

const SERVER: &str = "nats://nats.platform:4222";

fn pod(name: &str, role: Role, graph: Option<&str>) -> Pod {
    Pod {
        name: name.into(),
        namespace: "prod".into(),
        ip: Some("10.0.0.1".into()),
        graph: graph.map(Arc::from),
        role,
        phase: "Running".into(),
        ready: true,
        containers: vec![container(role)],
        dynamo_namespace: graph.map(|graph| format!("prod-{graph}").into()),
        nats: NatsAccess { servers: Some(SERVER.into()), ..NatsAccess::default() },
        ..Pod::default()
    }
}

fn container(role: Role) -> Container {
    Container {
        name: "main".into(),
        role,
        image: "".into(),
        ports: Vec::new(),
        http_port: None,
        system_port: None,
        tls: false,
    }
}

fn seen(pods: &[Pod]) -> Seen<'_> {
    Seen { namespace: "prod", pods: pods.iter().collect(), ..Seen::default() }
}

fn secret(name: &str) -> SecretRef {
    SecretRef { name: name.into(), key: "k".into() }
}

#[test]
fn one_deployment_is_attached_to_whole_routers_first() {
    let pods = [
        pod("a-worker", Role::Worker, Some("g")),
        pod("nats-0", Role::Other, None),
        pod("z-frontend", Role::Frontend, Some("g")),
        pod("planner", Role::Planner, Some("g")),
    ];

    let wanted = wanted(&seen(&pods), &Choice::default());

    assert_eq!(wanted.dgd.as_deref(), Some("g"));
    let logs: Vec<&str> = wanted.logs.iter().map(|log| log.pod.as_ref()).collect();
    assert_eq!(logs, ["z-frontend", "a-worker"]);
    let scrapes: Vec<(&str, u16)> = wanted.scrapes.iter().map(|s| (&*s.pod, s.port)).collect();
    assert_eq!(scrapes, [("z-frontend", 8000), ("a-worker", 9090)]);
    let nats = wanted.nats.unwrap();
    assert_eq!(nats.from, "NATS_SERVER of pod z-frontend");
    assert_eq!(nats.dynamo_namespaces, [Arc::from("prod-g")]);
    assert_eq!(nats.login, Login::Unset);
    assert!(wanted.notes.is_empty(), "{:?}", wanted.notes);
}

#[test]
fn of_several_deployments_the_chosen_one_or_all_with_a_note() {
    let pods = [
        pod("a", Role::Worker, Some("one")),
        pod("b", Role::Worker, Some("two")),
        pod("c", Role::Frontend, Some("two")),
    ];
    let cases: [(Option<&str>, &[&str], Option<&str>); 3] = [
        (Some("two"), &["c", "b"], None),
        (None, &["c", "a", "b"], Some("2 graph deployments (one, two)")),
        (Some("three"), &[], Some("no graph deployment `three`")),
    ];
    for (dgd, expected, note) in cases {
        let choice = Choice { dgd: dgd.map(str::to_owned), ..Choice::default() };

        let wanted = wanted(&seen(&pods), &choice);

        let logs: Vec<&str> = wanted.logs.iter().map(|log| log.pod.as_ref()).collect();
        assert_eq!(logs, expected, "{dgd:?}");
        assert_eq!(wanted.candidates, ["one", "two"], "{dgd:?}");
        match note {
            Some(note) => assert!(wanted.notes[0].contains(note), "{:?}", wanted.notes),
            None => assert!(wanted.notes.is_empty(), "{:?}", wanted.notes),
        }
    }
}

#[test]
fn ports_are_those_that_are_set_then_named_then_usual() {
    let named = |name: &str| vec![Port { name: name.into(), number: 7000 }];
    let cases = [
        (container(Role::Frontend), Some(8000)),
        (Container { ports: named("http"), ..container(Role::Frontend) }, Some(7000)),
        (
            Container { http_port: Some(1), ports: named("http"), ..container(Role::Frontend) },
            Some(1),
        ),
        (Container { system_port: Some(2), ..container(Role::Frontend) }, Some(8000)),
        (container(Role::Prefill), Some(9090)),
        (Container { system_port: Some(2), ..container(Role::Decode) }, Some(2)),
        (Container { ports: named("system"), ..container(Role::Worker) }, Some(7000)),
        (container(Role::StandaloneRouter), None),
        (Container { system_port: Some(3), ..container(Role::StandaloneRouter) }, Some(3)),
        (container(Role::Planner), None),
        (container(Role::Other), None),
    ];
    for (container, expected) in cases {
        assert_eq!(metrics_port(&container), expected, "{container:?}");
    }
}

#[test]
fn logins_are_references_or_nothing() {
    let inline = |name: &str| vec![Arc::from(name)];
    let with = |change: fn(&mut NatsAccess)| {
        let mut access = NatsAccess { servers: Some(SERVER.into()), ..NatsAccess::default() };
        change(&mut access);
        access
    };
    let user = Some(NatsUser::In(secret("u")));
    let named = Some(NatsUser::Named("alice".into()));
    let cases = [
        (with(|_| {}), Login::Unset),
        (
            with(|n| (n.user, n.password) = (Some(secret("u")), Some(secret("p")))),
            Login::Password { user, password: secret("p") },
        ),
        (
            with(|n| (n.user_name, n.password) = (Some("alice".into()), Some(secret("p")))),
            Login::Password { user: named, password: secret("p") },
        ),
        (with(|n| n.token = Some(secret("t"))), Login::Token(secret("t"))),
        (with(|n| n.nkey = Some(secret("n"))), Login::Nkey(secret("n"))),
        (with(|n| n.creds = Some(secret("c"))), Login::Creds(secret("c"))),
        (with(|n| n.login_in_address = true), Login::Withheld),
        (NatsAccess { inline: inline("NATS_AUTH_TOKEN"), ..with(|_| {}) }, Login::Withheld),
        (
            NatsAccess {
                inline: inline("NATS_AUTH_PASSWORD"),
                ..with(|n| n.creds = Some(secret("c")))
            },
            Login::Withheld,
        ),
    ];
    for (access, expected) in cases {
        let pods = [Pod { nats: access, ..pod("f", Role::Frontend, Some("g")) }];

        let wanted = wanted(&seen(&pods), &Choice::default());

        assert_eq!(wanted.nats.unwrap().login, expected);
        assert_eq!(wanted.notes.is_empty(), expected != Login::Withheld, "{:?}", wanted.notes);
    }
}

#[test]
fn what_cannot_answer_is_left_alone() {
    let started = |phase: &str, terminating| Pod {
        phase: phase.into(),
        terminating,
        ..pod("w", Role::Worker, Some("g"))
    };
    let cases = [
        (started("Running", false), 1, 1),
        (started("", false), 1, 1),
        (started("Pending", false), 0, 0),
        (started("Succeeded", false), 0, 0),
        (started("Failed", false), 1, 1),
        (started("Running", true), 1, 0),
        (Pod { ip: None, ..started("Running", false) }, 1, 0),
    ];
    for (pod, logs, scrapes) in cases {
        let pods = [pod];

        let wanted = wanted(&seen(&pods), &Choice::default());

        assert_eq!((wanted.logs.len(), wanted.scrapes.len()), (logs, scrapes), "{:?}", pods[0]);
    }
}

#[test]
fn events_that_nats_does_not_carry_are_said() {
    let worker = |version: Option<&str>, plane: Option<&str>| Pod {
        version: version.map(Arc::from),
        event_plane: plane.map(Arc::from),
        ..pod("w", Role::Worker, Some("g"))
    };
    let cases = [
        (worker(Some("0.9.0"), None), false),
        (worker(Some("1.3.1"), None), true),
        (worker(Some("1.3.1"), Some("nats")), false),
        (worker(Some("1.0.0"), Some("zmq")), true),
        (worker(None, None), false),
    ];
    for (pod, expected) in cases {
        let pods = [pod];

        let wanted = wanted(&seen(&pods), &Choice::default());

        let said = wanted.notes.iter().any(|note| note.contains("over ZMQ"));
        assert_eq!(said, expected, "{:?}", pods[0].version);
    }
}

#[test]
fn events_over_zmq_are_nothing_to_note_once_a_record_says_where() {
    let pods = [Pod { version: Some("1.6.1".into()), ..pod("w", Role::Worker, Some("g")) }];
    let channel = Channel {
        namespace: "".into(),
        topic: "kv-events".into(),
        publisher: 7,
        transport: Transport::Zmq { endpoint: "tcp://10.0.0.1:5".into() },
    };
    let record = Advertised { record: "w".into(), pod: Some("w".into()), channels: vec![channel] };
    let seen = Seen { channels: vec![(&record, &record.channels[0])], ..seen(&pods) };

    let wanted = wanted(&seen, &Choice::default());

    assert_eq!(wanted.zmq.len(), 1);
    assert!(!wanted.notes.iter().any(|note| note.contains("over ZMQ")), "{:?}", wanted.notes);
}

#[test]
fn a_deployment_without_nats_or_with_two_is_said() {
    let bare = |name, role| Pod { nats: NatsAccess::default(), ..pod(name, role, Some("g")) };
    let none = [bare("f", Role::Frontend)];
    let wanted_none = wanted(&seen(&none), &Choice::default());
    assert_eq!(wanted_none.nats, None);
    assert!(wanted_none.notes[0].contains("no pod has NATS_SERVER"), "{:?}", wanted_none.notes);

    let other = NatsAccess { servers: Some("tls://other:4222".into()), ..NatsAccess::default() };
    let two = [pod("f", Role::Frontend, Some("g")), Pod { nats: other, ..bare("w", Role::Worker) }];
    let wanted_two = wanted(&seen(&two), &Choice::default());
    assert_eq!(&*wanted_two.nats.unwrap().servers, SERVER);
    assert!(wanted_two.notes[0].contains("tls://other:4222"), "{:?}", wanted_two.notes);
}

#[test]
fn only_config_maps_of_the_chosen_deployment_are_read() {
    let file = |map: &str| EngineFile {
        path: "/c/agg.yaml".into(),
        source: ConfigSource::ConfigMap { name: map.into(), key: "agg.yaml".into() },
        engine: crate::domain::Backend::TrtLlm,
        overridden: Vec::new(),
        otherwise: Vec::new(),
        followed: false,
    };
    let reads = |name: &str, graph: &str, map: &str| Pod {
        engine_file: Some(file(map)),
        ..pod(name, Role::Worker, Some(graph))
    };
    let pods = [reads("a", "one", "m1"), reads("b", "two", "m2")];
    let planned = Graph {
        name: "two".into(),
        namespace: "prod".into(),
        api: None,
        generation: None,
        changed: None,
        backend: None,
        dynamo_namespace: None,
        components: vec![Component {
            name: "Worker".into(),
            role: Role::Worker,
            backend: None,
            replicas: None,
            nodes: None,
            ready: None,
            hidden: Vec::new(),
            engine_file: Some(file("m3")),
            variables_from: Vec::new(),
            manifest: crate::domain::ManifestPart::default(),
        }],
    };
    let seen = Seen { graphs: vec![&planned], ..seen(&pods) };

    let all = wanted(&seen, &Choice::default());
    let chosen = wanted(&seen, &Choice { dgd: Some("two".into()), ..Choice::default() });

    assert_eq!(all.config_maps, ["m1", "m2", "m3"].map(ConfigMapUse::from));
    assert_eq!(chosen.config_maps, ["m2", "m3"].map(ConfigMapUse::from));
}

#[test]
fn an_empty_namespace_wants_nothing_and_says_so() {
    let wanted = wanted(&seen(&[]), &Choice::default());

    assert!(wanted.notes.is_empty());
    assert_eq!(wanted.empty.as_deref(), Some("no Dynamo pod in namespace `prod`"));
    assert_eq!((wanted.logs.len(), wanted.nats), (0, None));
}

#[test]
fn targets_are_bounded() {
    let pods: Vec<Pod> =
        (0..600).map(|n| pod(&format!("w{n:03}"), Role::Worker, Some("g"))).collect();

    let wanted = wanted(&seen(&pods), &Choice::default());

    assert_eq!((wanted.logs.len(), wanted.scrapes.len()), (TARGET_LIMIT, TARGET_LIMIT));
    assert_eq!(wanted.notes.len(), 2);
}

#[test]
fn engines_are_listened_to_where_one_has_a_socket_and_else_that_is_said() {
    let deep = Choice { deep: true, ..Choice::default() };
    let mut worker = pod("w", Role::Worker, Some("g"));
    let silent = wanted(&seen(std::slice::from_ref(&worker)), &deep);
    assert!(silent.zmq.is_empty());
    assert!(silent.notes.iter().any(|note| note.contains("no engine has an event socket")));

    worker.engine_events = Some(EngineSocket { port: 20080, by: "the default port of vLLM" });
    worker.nats = NatsAccess::default();
    let mut pending = Pod { name: "p".into(), phase: "Pending".into(), ..worker.clone() };
    pending.ip = Some("10.0.0.2".into());
    let heard = wanted(&seen(&[worker, pending]), &deep);
    let found: Vec<_> = heard.zmq.iter().map(|to| (&*to.endpoint, &*to.from)).collect();
    assert_eq!(found, [("tcp://10.0.0.1:20080", "engine, by the default port of vLLM of pod w")]);
    // The sockets of engines are no event plane.
    assert_eq!(heard.notes.len(), 1, "{:?}", heard.notes);
    assert!(heard.notes[0].contains("NATS_SERVER"), "{:?}", heard.notes);
}
