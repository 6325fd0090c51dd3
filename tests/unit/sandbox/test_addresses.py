"""Networks of hosts: two sandboxes of one machine never share one."""

import sys

import pytest

from sandbox import addresses

LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux has more than one loopback address"
)


@LINUX
def test_networks_differ_while_they_are_claimed() -> None:
    """A wanted one is given when it is free, and not twice."""
    first, claim = addresses.claim_network()
    second, other = addresses.claim_network(first)
    assert claim is not None
    assert other is not None
    claim.close()

    third, last = addresses.claim_network(first)

    assert last is not None
    other.close()
    last.close()
    assert first != second
    assert first == third


def test_hosts_have_addresses_of_their_own() -> None:
    """Thousands of them."""
    found = {addresses.address("127.77", number) for number in range(1, 5001)}

    assert 5000 == len(found)
    assert {"127"} == {each.split(".")[0] for each in found}


def test_without_a_network_all_hosts_share_the_one_address() -> None:
    """As on a Mac."""
    assert "127.0.0.1" == addresses.address("", 7)
