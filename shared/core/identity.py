"""Who somebody is, as far as a token signed by Google says it, and who works together.

Signatures are checked elsewhere; here is what a token must say to be believed, the name that
an owner gets from it, and which worker account and whose jobs a person may use. A token itself
never comes here, only what it claims.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from shared.core.names import team_folder
from shared.errors import NotAuthorized

ISSUERS: Final = frozenset({"accounts.google.com", "https://accounts.google.com"})
# The OAuth clients of gcloud and of its application-default login, as both publish them.
GCLOUD_AUDIENCE: Final = "32555940559.apps.googleusercontent.com"
ADC_AUDIENCE: Final = "764086051850-6qr4p6gpi6hn506pt8ejuq83di341hur.apps.googleusercontent.com"
# How far Google's clocks for tokens and for messages may be apart.
CLOCK_SKEW_S: Final = 60.0

OWNER_CHARS_MAX: Final = 40
NAMELESS: Final = "me"  # the owner whose name has no letter that a path may have
EMAIL_CHARS_MAX: Final = 254  # RFC 5321, less the brackets of a path
SUBJECT_CHARS_MAX: Final = 255  # OpenID Connect Core, section 2
_DIGEST_CHARS = 8
_SHOWN_CHARS_MAX = 80
# How the reason begins when a token is the reason.
TOKEN_REFUSED: Final = "the identity token"  # noqa: S105 - words, not a token

_TOKEN = re.compile(r"eyJ[\w-]{8,}(?:\.[\w-]*)*")
_TOKEN_FIELD = re.compile(r'(\\*"id_token\\*"\s*:\s*\\*")(?:[^"\\]|\\.)*', re.DOTALL)
REMOVED: Final = "[token removed]"


@dataclass(frozen=True, slots=True)
class Person:
    """A Google account: its subject never changes and is never given away, its e-mail may be."""

    subject: str = ""
    email: str = ""

    @property
    def is_known(self) -> bool:
        """Google vouched for them."""
        return self.subject != ""


NOBODY: Final = Person()


@dataclass(frozen=True, slots=True)
class Team:
    """People who trust one another: whoever runs code under an account can use all it may use.

    Members are e-mail addresses, in a box names of its users.
    """

    name: str
    worker_account: str
    members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What somebody's jobs are kept in: the account of their slices, a folder of the bucket.

    "" are the project's default account, and the top of the bucket.
    """

    worker_account: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class People:
    """Who works together, under which worker account; whoever is in no team has the common one."""

    worker_account: str = ""
    teams: tuple[Team, ...] = ()
    admins: frozenset[str] = frozenset()

    @property
    def accounts(self) -> frozenset[str]:
        """Every account that slices run as, in small letters."""
        named = (self.worker_account, *(team.worker_account for team in self.teams))
        return frozenset(account.lower() for account in named if account)

    def team_of(self, member: str) -> Team | None:
        """Find the team of an e-mail address, or of a user of this machine."""
        return next((team for team in self.teams if member.lower() in team.members), None)

    def bounds_of(self, member: str) -> Bounds:
        """Say as what somebody's slices run, and where in the bucket they read and write."""
        team = self.team_of(member)
        if team is None:
            return Bounds(self.worker_account)
        return Bounds(team.worker_account, team_folder(team.name))

    def is_admin(self, person: Person) -> bool:
        """They may act for everybody."""
        return person.is_known and person.email in self.admins

    def may_act(self, person: Person, holder: Person) -> bool:
        """Say whether somebody may act on what another one owns."""
        if person.is_known and person.subject == holder.subject:
            return True
        team = self.team_of(person.email)
        is_together = team is not None and team == self.team_of(holder.email)
        return (person.is_known and is_together) or self.is_admin(person)


def own_audience(project: str) -> str:
    """Name the audience of tokens that are made for the tpuctl of one project only."""
    return f"tpuctl-{project}"


def audiences_of(listed: Collection[str], project: str) -> frozenset[str]:
    """Say for whom a token may be made: the listed clients, or gcloud's; and always for us."""
    return frozenset({*(listed or (GCLOUD_AUDIENCE, ADC_AUDIENCE)), own_audience(project)})


def check_claims(
    claims: Mapping[str, object], audiences: Collection[str], published_at: datetime
) -> Person:
    """Read who signed an order from a token whose signature holds.

    What counts is the time at which the order was published: a redelivery may come hours later.
    Raises NotAuthorized with the first claim that does not hold.
    """
    issuer, audience = claims.get("iss"), claims.get("aud")
    if issuer not in ISSUERS:
        raise NotAuthorized(f"the identity token was issued by {_shown(issuer)}, not by Google")
    if not isinstance(audience, str) or audience not in audiences:
        raise NotAuthorized(
            f"the identity token was made for {_shown(audience)}, which is not among the clients"
            " that this installation believes (cloud.audiences)"
        )
    _check_times(_seconds(claims, "iat"), _seconds(claims, "exp"), published_at.timestamp())
    if claims.get("email_verified") is not True:
        raise NotAuthorized("the identity token names no e-mail address that Google verified")
    email, subject = (
        _text(claims, "email", EMAIL_CHARS_MAX),
        _text(claims, "sub", SUBJECT_CHARS_MAX),
    )
    return Person(subject, email.lower())


def owner_names(person: Person) -> tuple[str, str]:
    """Name an owner after an e-mail address, and otherwise if another one has that name."""
    plain = slug(person.email)
    digest = sha256(person.subject.encode()).hexdigest()[:_DIGEST_CHARS]
    kept = plain[: OWNER_CHARS_MAX - _DIGEST_CHARS - 1].rstrip("-")
    return plain, f"{kept}-{digest}"


def slug(text: str) -> str:
    """Make a name of what may be an e-mail address, so that it can stand in a path."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not words:
        return NAMELESS
    return (words if words[0].isalpha() else f"u-{words}")[:OWNER_CHARS_MAX].rstrip("-")


def without_tokens(text: str) -> str:
    """Remove from a message whatever is an identity token, whole or cut off, or stands for one."""
    return _TOKEN.sub(REMOVED, _TOKEN_FIELD.sub(rf"\g<1>{REMOVED}", text))


def _check_times(issued_s: float, expires_s: float, published_s: float) -> None:
    """Both comparisons are written so that no number at all fails them."""
    if not issued_s - CLOCK_SKEW_S <= published_s:
        raise NotAuthorized("the identity token was issued after the order was published")
    if not published_s <= expires_s + CLOCK_SKEW_S:
        raise NotAuthorized("the identity token had expired when the order was published")


def _seconds(claims: Mapping[str, object], claim: str) -> float:
    value = claims.get(claim)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotAuthorized(f"the identity token says no time in {claim!r}")
    return float(value)


def _text(claims: Mapping[str, object], claim: str, chars_max: int) -> str:
    value = claims.get(claim)
    if not isinstance(value, str) or not 0 < len(value) <= chars_max or not value.isprintable():
        raise NotAuthorized(f"the identity token says nothing usable in {claim!r}")
    return value


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN_CHARS_MAX]
