"""Who is believed, what an owner is called, and who may act on whose things."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.identity import (
    ADC_AUDIENCE,
    GCLOUD_AUDIENCE,
    NOBODY,
    OWNER_CHARS_MAX,
    REMOVED,
    TOKEN_REFUSED,
    Bounds,
    People,
    Person,
    Team,
    audiences_of,
    check_claims,
    own_audience,
    owner_names,
    slug,
    without_tokens,
)
from shared.core.spec_text import _SLUG as SLUG
from shared.errors import NotAuthorized

ISSUED_S, EXPIRES_S = 1_800_000_000, 1_800_003_600
GOOD: dict[str, object] = {
    "iss": "https://accounts.google.com",
    "aud": GCLOUD_AUDIENCE,
    "sub": "104857600104857600104",
    "email": "Ada.Lovelace@example.com",
    "email_verified": True,
    "iat": ISSUED_S,
    "exp": EXPIRES_S,
}
BELIEVED = audiences_of((), "proj-1")
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJlbWFpbCI6ImEifQ.c2lnbmF0dXJl-_x"

ADA, BOB = Person("1", "ada@example.com"), Person("2", "bob@example.com")
EVE, ROOT = Person("3", "eve@example.com"), Person("4", "root@example.com")
PEOPLE = People(
    "common@p.iam",
    (
        Team("vision", "Vision@p.iam", frozenset({ADA.email, BOB.email})),
        Team("text", "text@p.iam", frozenset({EVE.email})),
    ),
    frozenset({ROOT.email}),
)


def read(at_s: float = ISSUED_S + 10, **changes: object) -> Person:
    """Check claims at a publish time."""
    return check_claims({**GOOD, **changes}, BELIEVED, datetime.fromtimestamp(at_s, UTC))


# --- Claims -------------------------------------------------------------------------------------


def test_only_subject_and_email_are_kept() -> None:
    """In small letters: Google does not tell addresses apart by them."""
    assert Person("104857600104857600104", "ada.lovelace@example.com") == read()


@pytest.mark.parametrize("issuer", ["accounts.google.com", "https://accounts.google.com"])
def test_both_spellings_of_google_are_believed(issuer: str) -> None:
    """Google uses both."""
    assert read(iss=issuer).is_known


@pytest.mark.parametrize(
    "audience",
    [
        pytest.param(GCLOUD_AUDIENCE, id="gcloud"),
        pytest.param(ADC_AUDIENCE, id="application default"),
        pytest.param(own_audience("proj-1"), id="made for us"),
    ],
)
def test_an_audience_of_the_list_is_believed(audience: str) -> None:
    """Those of Google's own clients by default."""
    assert read(aud=audience).is_known


def test_a_list_of_audiences_replaces_the_default() -> None:
    """Whoever lists a client of their own does not want gcloud's; ours stays."""
    assert frozenset({"mine", "tpuctl-proj-1"}) == audiences_of(("mine",), "proj-1")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"iss": "https://evil.example"}, id="another issuer"),
        pytest.param({"iss": None}, id="no issuer"),
        pytest.param({"aud": "another.apps.googleusercontent.com"}, id="another audience"),
        pytest.param({"aud": own_audience("proj-2")}, id="another project's tpuctl"),
        pytest.param({"aud": None}, id="no audience"),
        pytest.param({"aud": [GCLOUD_AUDIENCE]}, id="a list of audiences"),
        pytest.param({"email_verified": False}, id="address not verified"),
        pytest.param({"email_verified": "true"}, id="verified, in words"),
        pytest.param({"email_verified": None}, id="verified is not said"),
        pytest.param({"email": ""}, id="empty address"),
        pytest.param({"email": None}, id="no address"),
        pytest.param({"email": "a" * 250 + "@b.de"}, id="endless address"),
        pytest.param({"email": "ada@example.com\nBcc: x"}, id="address of two lines"),
        pytest.param({"sub": ""}, id="empty subject"),
        pytest.param({"sub": 7}, id="subject is a number"),
        pytest.param({"iat": None}, id="issued never"),
        pytest.param({"iat": True}, id="issued true"),
        pytest.param({"iat": "1800000000"}, id="issued in words"),
        pytest.param({"exp": None}, id="expires never"),
        pytest.param({"exp": float("nan")}, id="expires at no number"),
        pytest.param({"iat": float("nan")}, id="issued at no number"),
    ],
)
def test_what_does_not_hold_is_refused(changes: dict[str, object]) -> None:
    """With a reason that begins in one way, so that the client knows what to do."""
    with pytest.raises(NotAuthorized) as caught:
        check_claims({**GOOD, **changes}, BELIEVED, datetime.fromtimestamp(ISSUED_S, UTC))

    assert str(caught.value).startswith(TOKEN_REFUSED)


@pytest.mark.parametrize(
    "at_s, is_believed",
    [
        pytest.param(ISSUED_S - 61, False, id="issued after it was published"),
        pytest.param(ISSUED_S - 60, True, id="clocks a minute apart, before"),
        pytest.param(ISSUED_S, True, id="just issued"),
        pytest.param(EXPIRES_S, True, id="just valid"),
        pytest.param(EXPIRES_S + 60, True, id="clocks a minute apart, after"),
        pytest.param(EXPIRES_S + 61, False, id="expired before it was published"),
    ],
)
def test_the_publish_time_decides(at_s: float, *, is_believed: bool) -> None:
    """Not the time at which a message happens to be delivered."""
    if is_believed:
        assert read(at_s).is_known
    else:
        with pytest.raises(NotAuthorized):
            read(at_s)


# --- Names --------------------------------------------------------------------------------------


def test_two_subjects_with_one_slug_get_different_second_names() -> None:
    """Both addresses make the same first name."""
    one, other = Person("1", "ada.b@example.com"), Person("2", "ada-b@example.com")

    assert owner_names(one)[0] == owner_names(other)[0]
    assert owner_names(one)[1] != owner_names(other)[1]


@given(st.text(max_size=80), st.text(min_size=1, max_size=30))
def test_every_owner_name_can_stand_in_a_path(email: str, subject: str) -> None:
    """Whatever the address is."""
    for name in owner_names(Person(subject, email)):
        assert SLUG.fullmatch(name), name
        assert len(name) <= OWNER_CHARS_MAX


def test_a_name_without_letters_is_somebody() -> None:
    """No path has an empty part."""
    assert "me" == slug("@")


# --- Who may ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "person, holder, may",
    [
        pytest.param(ADA, ADA, True, id="the owner"),
        pytest.param(Person("1", "new@example.com"), ADA, True, id="the owner, renamed"),
        pytest.param(BOB, ADA, True, id="same team"),
        pytest.param(EVE, ADA, False, id="another team"),
        pytest.param(Person("9", "who@x.y"), ADA, False, id="no team"),
        pytest.param(Person("9", "who@x.y"), Person("8", "me@x.y"), False, id="both no team"),
        pytest.param(Person("9", ADA.email), EVE, False, id="their address, another account"),
        pytest.param(ROOT, ADA, True, id="admin"),
        pytest.param(NOBODY, NOBODY, False, id="nobody is not nobody's owner"),
        pytest.param(Person("", ROOT.email), ADA, False, id="an admin's address, unproved"),
    ],
)
def test_owner_team_and_admins_may(person: Person, holder: Person, *, may: bool) -> None:
    """Nobody else."""
    assert may == PEOPLE.may_act(person, holder)


@pytest.mark.parametrize(
    "member, account, folder",
    [
        pytest.param("ada@example.com", "Vision@p.iam", "teams/vision/", id="member"),
        pytest.param("ADA@example.com", "Vision@p.iam", "teams/vision/", id="capitals"),
        pytest.param("eve@example.com", "text@p.iam", "teams/text/", id="another team"),
        pytest.param("who@example.com", "common@p.iam", "", id="no team"),
        pytest.param("", "common@p.iam", "", id="nobody"),
    ],
)
def test_the_settings_say_the_account_and_the_folder(
    member: str, account: str, folder: str
) -> None:
    """A team's own, or the common ones."""
    assert Bounds(account, folder) == PEOPLE.bounds_of(member)


def test_worker_accounts_are_known_in_small_letters() -> None:
    """As addresses of persons are."""
    assert {"common@p.iam", "vision@p.iam", "text@p.iam"} == PEOPLE.accounts
    assert frozenset() == People().accounts


# --- Removing tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, cleaned",
    [
        pytest.param(f'{{"id_token": "{TOKEN}"}}', f'{{"id_token": "{REMOVED}"}}', id="field"),
        pytest.param(f'{{"x": "{TOKEN}", "y": 1}}', f'{{"x": "{REMOVED}", "y": 1}}', id="shape"),
        pytest.param(TOKEN[:-5], REMOVED, id="cut off in the signature"),
        pytest.param(TOKEN[:30], REMOVED, id="cut off in the claims"),
        pytest.param(
            '{"id_token": "ya29.opaque", "a": 1}',
            f'{{"id_token": "{REMOVED}", "a": 1}}',
            id="opaque",
        ),
        pytest.param('{"id_token" :\n"ya29.cut', f'{{"id_token" :\n"{REMOVED}', id="never closed"),
        pytest.param(
            '{"id_token": "\\u0065yJhbG.x.y", "a": 1}',
            f'{{"id_token": "{REMOVED}", "a": 1}}',
            id="escaped",
        ),
        pytest.param('{"kind": "stop"}', '{"kind": "stop"}', id="no token"),
    ],
)
def test_tokens_are_removed(text: str, cleaned: str) -> None:
    """By the name of their field, and by their shape wherever they are."""
    assert cleaned == without_tokens(text)


def test_a_token_inside_quoted_json_is_removed() -> None:
    """As in an error that quotes a whole message."""
    text = '{"data": "{\\"id_token\\": \\"opaque-token\\", \\"a\\": 1}"}'

    assert "opaque-token" not in without_tokens(text)
