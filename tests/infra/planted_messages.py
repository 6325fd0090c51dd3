"""Faults of topics and subscriptions, for the policies to find."""

from __future__ import annotations

from tests.infra.planted import (
    FUNCTION,
    SUBSCRIPTION,
    WORKER_TOPIC,
    account,
    case,
    changed,
    without,
)

FAULTS = [
    case(
        "subscriptions_have_dead_letters",
        changed(SUBSCRIPTION, "dead_letter_policy"),
        "no dead-letter topic",
        "missing dead letter",
    ),
    case(
        "subscriptions_have_dead_letters",
        changed(SUBSCRIPTION, "dead_letter_policy", "max_delivery_attempts", to=5),
        "after 5 attempts",
        "gives up early",
    ),
    case(
        "subscriptions_retry_with_pauses",
        changed(SUBSCRIPTION, "retry_policy"),
        "without a pause",
        "no retry policy",
    ),
    case(
        "subscriptions_never_expire",
        changed(SUBSCRIPTION, "expiration_policy"),
        "expires",
        "subscription expires",
    ),
    case(
        "pushes_are_signed_for_their_target",
        changed(SUBSCRIPTION, "push_config", "oidc_token"),
        "does not sign",
        "missing identity",
    ),
    case(
        "pushes_are_signed_for_their_target",
        changed(SUBSCRIPTION, "push_config", "oidc_token", "audience", to="https://elsewhere"),
        "whom its tokens are for",
        "another audience",
    ),
    case(
        "functions_end_before_their_message_comes_again",
        changed(FUNCTION, "service_config", "timeout_seconds", to=600),
        "may run 600 s",
        "timeout at the ack deadline",
    ),
    case(
        "functions_end_before_their_message_comes_again",
        without(FUNCTION),
        "no function of ours",
        "push to nobody",
    ),
    case(
        "the_mover_of_dead_letters_may_move_them",
        without('module.subscription["recovery"].google_pubsub_subscription_iam_member.agent'),
        "may not take messages",
        "agent cannot take",
    ),
    case(
        "the_mover_of_dead_letters_may_move_them",
        without("google_pubsub_topic_iam_member.dead_letters"),
        "may not publish",
        "agent cannot publish",
    ),
    case(
        "topics_have_receivers",
        without('module.subscription["park"].google_pubsub_subscription.this'),
        "received by nobody",
        "dead letters are lost",
    ),
    case(
        "waiting_messages_are_told",
        without('module.subscription["alert"].google_monitoring_alert_policy.unacked'),
        "nobody is told",
        "subscription without an alert",
    ),
    case(
        "only_the_right_ones_publish",
        changed(WORKER_TOPIC, "topic", to="tpuctl-audit"),
        "may publish on audit",
        "worker forges audit events",
    ),
    case(
        "only_the_right_ones_publish",
        changed(WORKER_TOPIC, "topic", to="tpuctl-commands"),
        "may publish on commands",
        "worker forges orders",
    ),
    case(
        "only_the_right_ones_publish",
        changed(WORKER_TOPIC, "member", to=account("alert")),
        "tpuctl-alert",
        "alert forges reports",
    ),
    case(
        "only_the_right_ones_publish",
        changed(WORKER_TOPIC, "role", to="roles/pubsub.editor"),
        "more than publishing",
        "wrong role on a topic",
    ),
    case(
        "the_tick_is_signed_and_comes_every_minute",
        changed("google_cloud_scheduler_job.tick", "http_target", "oidc_token"),
        "not signed",
        "unsigned tick",
    ),
    case(
        "the_tick_is_signed_and_comes_every_minute",
        changed("google_cloud_scheduler_job.tick", "schedule", to="*/5 * * * *"),
        "every minute",
        "slow tick",
    ),
]
