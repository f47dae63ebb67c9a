//! What a port-forward needs, and what happens without.

use super::*;

fn forwards_asked(kube: &FakeKube) -> usize {
    kube.requests().iter().filter(|it| it.path.ends_with("/portforward")).count()
}

#[tokio::test]
async fn a_missing_right_is_named_and_not_asked_for_again_within_a_minute() {
    let kube = platform();
    kube.deny("create", "pods/portforward");
    let mut it = forward(&kube).await;

    let error = it.forwarder.listen(nats()).await.unwrap_err().to_string();
    let needed = "a port-forward needs `get` and `create` on `pods/portforward` in namespace \
                  `dynamo-system`";
    assert!(error.starts_with(needed), "{error}");
    let note = it.delivered.until_noted("`pods/portforward`").await;
    assert_eq!(note.state, SourceState::Down);
    assert!(note.retry_ms.is_some_and(|left| left > 50_000), "{note:?}");

    // Once, and once more in case that the API server has only just started.
    assert_eq!(forwards_asked(&kube), 2);
    for _ in 0..5 {
        assert_eq!(it.forwarder.listen(nats()).await.unwrap_err().to_string(), error);
    }
    assert_eq!(forwards_asked(&kube), 2);
}

#[tokio::test]
async fn an_api_that_refuses_everybody_while_it_starts_is_not_believed() {
    let kube = platform();
    let endpoint = Endpoint::start(Manners::Text("text"));
    kube.forward(POD, 4222, endpoint.address);
    kube.deny_everything_for(Duration::from_secs(1));
    let it = forward(&kube).await;

    it.forwarder.listen(nats()).await.unwrap();
}

#[tokio::test]
async fn a_pod_of_a_service_is_found_with_any_of_the_rights_that_suffice() {
    let table: [(&[(&str, &str)], bool); 4] = [
        (&[], true),
        (&[("get", "services")], true),
        (&[("list", "endpointslices")], true),
        (&[("get", "services"), ("list", "endpointslices")], false),
    ];
    for (denied, found) in table {
        let kube = platform();
        let endpoint = Endpoint::start(Manners::Text("text"));
        kube.forward(POD, 4222, endpoint.address);
        for (verb, resource) in denied {
            kube.deny(verb, resource);
        }
        let it = forward(&kube).await;

        let listening = it.forwarder.listen(nats()).await;

        match listening {
            Ok(listening) => assert!(found && listening.pod == pod(POD), "{denied:?}"),
            Err(error) => {
                assert!(!found, "{denied:?}: {error}");
                let needed = "finding the pods of service `dynamo-platform-nats` needs \
                              `get services` or `list endpointslices`";
                assert!(error.to_string().starts_with(needed), "{error}");
            }
        }
    }
}
