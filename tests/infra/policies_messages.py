"""Policies of topics, subscriptions and the clock: nothing is lost, nothing can be forged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.infra.plans import PREFIX, PROJECT, Plan, Resource

ATTEMPTS: Final = 100
DOMAIN: Final = f"{PROJECT}.iam.gserviceaccount.com"
DEAD_LETTERS: Final = f"{PREFIX}-dead-letters"
PUSH_ACCOUNT: Final = f"{PREFIX}-push-invoker@{DOMAIN}"
CLOCK_ACCOUNT: Final = f"{PREFIX}-scheduler-invoker@{DOMAIN}"
PUBLISHER: Final = "roles/pubsub.publisher"

# Who may publish where; {} stands for the topics of orders and reports, which people and
# workers write to, and of audit events, which only the sink does.
FUNCTION_TOPICS: Final = {
    "alert": set[str](),
    "health-check": {"alerts", "launches", "preemptions", "reports"},
    "launch": {"alerts", "launches", "preemptions"},
    "park": {"alerts"},
    "recovery": {"alerts", "launches", "preemptions"},
    "report": {"alerts", "launches", "preemptions"},
}


def subscriptions_have_dead_letters(plan: Plan) -> Iterator[str]:
    """Whatever cannot be handled ends where it is seen."""
    for each in _subscriptions(plan):
        letters = each.block("dead_letter_policy")
        if each.text("topic") == DEAD_LETTERS:
            continue
        if not str(letters.get("dead_letter_topic")).endswith(f"/topics/{DEAD_LETTERS}"):
            yield f"{each.address} has no dead-letter topic"
        elif letters.get("max_delivery_attempts") != ATTEMPTS:
            yield f"{each.address} gives up after {letters.get('max_delivery_attempts')} attempts"


def subscriptions_retry_with_pauses(plan: Plan) -> Iterator[str]:
    """Without a policy a failing message comes back at once."""
    for each in _subscriptions(plan):
        policy = each.block("retry_policy")
        if not policy.get("minimum_backoff") or not policy.get("maximum_backoff"):
            yield f"{each.address} retries without a pause"


def subscriptions_never_expire(plan: Plan) -> Iterator[str]:
    """Google deletes a subscription that is quiet for a month, unless told not to."""
    for each in _subscriptions(plan):
        if each.block("expiration_policy").get("ttl", "unset") != "":
            yield f"{each.address} expires"


def pushes_are_signed_for_their_target(plan: Plan) -> Iterator[str]:
    """A token that was meant for another function is of no use."""
    for each in _subscriptions(plan):
        push, token = each.block("push_config"), each.block("push_config", "oidc_token")
        if not push.get("push_endpoint", "").startswith("https://"):
            yield f"{each.address} does not push to https"
        if token.get("service_account_email") != PUSH_ACCOUNT:
            yield f"{each.address} does not sign its pushes as {PUSH_ACCOUNT}"
        if not token.get("audience") or token.get("audience") != push.get("push_endpoint"):
            yield f"{each.address} does not say whom its tokens are for"


def functions_end_before_their_message_comes_again(plan: Plan) -> Iterator[str]:
    """Else two instances work on one message."""
    for each in _subscriptions(plan):
        function = _target(plan, str(each.block("push_config").get("push_endpoint")))
        if function is None:
            yield f"{each.address} pushes to no function of ours"
            continue
        timeout = function.block("service_config").get("timeout_seconds", 0)
        deadline = each.values.get("ack_deadline_seconds", 0)
        if timeout >= deadline:
            yield f"{function.address} may run {timeout} s, {each.address} waits {deadline} s"


def the_mover_of_dead_letters_may_move_them(plan: Plan) -> Iterator[str]:
    """Pub/Sub's agent takes from every subscription and publishes on the dead-letter topic."""
    takes = {
        each.text("subscription")
        for each in plan.of("google_pubsub_subscription_iam_member")
        if each.text("role") == "roles/pubsub.subscriber" and _is_pubsub(each)
    }
    for each in _subscriptions(plan):
        if each.text("name") not in takes:
            yield f"{each.address}: Pub/Sub may not take messages out of it"
    if not any(_is_pubsub(each) for each in _publishers(plan, "dead-letters")):
        yield f"{DEAD_LETTERS}: Pub/Sub may not publish there"


def topics_have_receivers(plan: Plan) -> Iterator[str]:
    """A topic without a subscription loses what is published."""
    received = {each.text("topic") for each in _subscriptions(plan)}
    for each in plan.of("google_pubsub_topic"):
        if each.text("name") not in received:
            yield f"{each.address} is received by nobody"


def waiting_messages_are_told(plan: Plan) -> Iterator[str]:
    """Every subscription has an alert of its own."""
    watched = " ".join(
        str(condition.get("condition_threshold", [{}])[0].get("filter"))
        for policy in plan.of("google_monitoring_alert_policy")
        for condition in policy.values.get("conditions", [])
    )
    for each in _subscriptions(plan):
        if f'subscription_id = "{each.text("name")}"' not in watched:
            yield f"{each.address}: nobody is told when its messages wait"


def only_the_right_ones_publish(plan: Plan) -> Iterator[str]:
    """Whoever may publish on a topic can forge what is on it."""
    for each in plan.of("google_pubsub_topic_iam_member"):
        topic, member = each.text("topic").removeprefix(f"{PREFIX}-"), each.text("member")
        if each.text("role") != PUBLISHER:
            yield f"{each.address}: {each.text('role')} is more than publishing"
        elif not _may_publish(topic, member, each):
            yield f"{each.address}: {member or 'somebody unknown'} may publish on {topic}"


def the_tick_is_signed_and_comes_every_minute(plan: Plan) -> Iterator[str]:
    """One job, as an account that may do nothing else."""
    jobs = list(plan.of("google_cloud_scheduler_job"))
    if len(jobs) != 1:
        yield f"{len(jobs)} scheduler jobs instead of one"
    for each in jobs:
        target, token = each.block("http_target"), each.block("http_target", "oidc_token")
        if each.text("schedule") != "* * * * *":
            yield f"{each.address} does not come every minute"
        if token.get("service_account_email") != CLOCK_ACCOUNT:
            yield f"{each.address} is not signed as {CLOCK_ACCOUNT}"
        if not token.get("audience") or token.get("audience") != target.get("uri"):
            yield f"{each.address} does not say whom its token is for"


def _subscriptions(plan: Plan) -> Iterator[Resource]:
    return plan.of("google_pubsub_subscription")


def _publishers(plan: Plan, topic: str) -> Iterator[Resource]:
    for each in plan.of("google_pubsub_topic_iam_member"):
        if each.text("topic") == f"{PREFIX}-{topic}" and each.text("role") == PUBLISHER:
            yield each


def _is_pubsub(binding: Resource) -> bool:
    return binding.text("member").endswith("@gcp-sa-pubsub.iam.gserviceaccount.com")


def _target(plan: Plan, url: str) -> Resource | None:
    """Find the function behind the address of its service."""
    for each in plan.of("google_cloudfunctions2_function"):
        if url.startswith(f"https://{each.text('name')}-"):
            return each
    return None


def _may_publish(topic: str, member: str, binding: Resource) -> bool:
    account = member.removeprefix("serviceAccount:").removesuffix(f"@{DOMAIN}")
    name = account.removeprefix(f"{PREFIX}-")
    if name in FUNCTION_TOPICS:
        return topic in FUNCTION_TOPICS[name]
    if topic == "commands":
        return member.startswith(("user:", "group:"))
    if topic == "reports":
        return name == "worker" or name.startswith("w-")
    if topic == "audit":
        return binding.late == ("member",)  # the sink's account, which Google names
    return topic == "dead-letters" and _is_pubsub(binding)


POLICIES = (
    subscriptions_have_dead_letters,
    subscriptions_retry_with_pauses,
    subscriptions_never_expire,
    pushes_are_signed_for_their_target,
    functions_end_before_their_message_comes_again,
    the_mover_of_dead_letters_may_move_them,
    topics_have_receivers,
    waiting_messages_are_told,
    only_the_right_ones_publish,
    the_tick_is_signed_and_comes_every_minute,
)
